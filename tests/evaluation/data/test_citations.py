"""Which brackets are citation markers, and what they cite."""

from __future__ import annotations

import pytest

from rag_titan.evaluation.data.citations import read_markers

CONTEXT = ["c2", "c4", "d,7"]


@pytest.mark.parametrize(
    ("answer", "text", "ids"),
    [
        ("25 days [1].", "25 days  .", ["c2"]),
        ("25 days[1][2]more", "25 days  more", ["c2", "c4"]),
        ("both [1, 2] and [2;1]", "both   and  ", ["c2", "c4", "c4", "c2"]),
        ("by id [c9], [ c4 ]", "by id  ,  ", ["c9", "c4"]),
        ("an id with a comma [d,7]", "an id with a comma  ", ["d,7"]),
        ("mixed [1, c9]", "mixed  ", ["c2", "c9"]),
        ("the year [2020]", "the year [2020]", None),
        ("beyond the context [4]", "beyond the context [4]", None),
        ("from one [0]", "from one [0]", None),
        ("one bad part [1, 9]", "one bad part [1, 9]", None),
        ("a word [sic] []", "a word [sic] []", None),
        ("[1] [sic]", "  [sic]", ["c2"]),
        ("nested [[1]]", "nested [ ]", ["c2"]),
        ("[٢]", " ", ["c4"]),
        ("[²] [" + "1" * 5000 + "]", "[²] [" + "1" * 5000 + "]", None),
        ("none", "none", None),
    ],
)
def test_a_marker_is_what_resolves(answer: str, text: str, ids: list[str] | None) -> None:
    assert read_markers(answer, CONTEXT, {"c9"}) == (text, ids)


def test_a_number_without_context_is_a_word_unless_it_is_an_id() -> None:
    assert read_markers("x [1]", None) == ("x [1]", None)
    assert read_markers("x [1]", [], {"1"}) == ("x  ", ["1"])
    assert read_markers("x [1]", ["c7"], {"1"}) == ("x  ", ["c7"])  # a place in the context comes first
