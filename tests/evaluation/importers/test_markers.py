"""Citations [n] of answers, read as the log means them."""

from __future__ import annotations

import pytest

from rag_titan.evaluation.importers.markers import Cited, read_citations

THREE = {"1": "q/1", "2": "q/2", "3": "q/3"}


@pytest.mark.parametrize(
    ("answer", "passages", "text", "ids", "astray"),
    [
        ("Rain [1][3], snow [1].", THREE, "Rain [1][3], snow [1].", ["q/1", "q/3"], []),
        ("All of it [1, 2; 3].", THREE, "All of it [1, 2; 3].", ["q/1", "q/2", "q/3"], []),
        ("Rain [4] or [2, 5].", THREE, "Rain  or [q/2].", ["q/4", "q/2", "q/5"], ["[4]", "[2, 5]"]),
        ("Seven [2].", {"2": "q/2", "3": "q/3"}, "Seven [q/2].", ["q/2"], []),
        ("No marker, [a] or x[i].", THREE, "No marker, [a] or x[i].", [], []),
        ("[1]", {}, "", ["q/1"], ["[1]"]),
        ("Rain [01].", THREE, "Rain [01].", ["q/1"], []),
    ],
)
def test_markers(answer: str, passages: dict[str, str], text: str, ids: list[str], astray: list[str]) -> None:
    assert read_citations(answer, passages, "q") == Cited(text, ids, astray)


def test_a_number_of_many_digits() -> None:
    cited = read_citations(f"Rain [{'9' * 5000}].", THREE, "q")
    assert cited.ids == ["q/" + "9" * 20]
