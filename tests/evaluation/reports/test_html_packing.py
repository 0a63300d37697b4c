from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.reports.html_packing import KINDS, NONE, SIGNS, Packer, packed_codes


def column(chunks: list[int | str], **changes: Any) -> dict[str, Any]:
    found = {"title": "Search", "k": 2, "chunks": chunks, "moved": False, "marks": {}, "notes": {}, "scores": []}
    return {**found, **changes}


def test_rankings_name_their_chunks_once() -> None:
    before = column([70, 80, "gone"], marks={1: "gold"}, notes={1: "grade 1"}, scores=["0.9", "", "0.5"])
    after = column(["gone", 70, 90], title="After reranking", k=None, moved=True)
    blocks = [
        {"kind": "chunks", "title": "In", "items": [{"chunk": 80, "note": "whole", "places": [[1, 4], [6, 9]]}]},
        {"kind": "columns", "title": "Rankings", "columns": [before, after]},
        {"kind": "budget", "title": "Context", "says": "2 chunks.", "used": 30.0, "max": 2.5,
         "parts": [[90, 20.0, "gold"], [60, None, ""]]},
    ]  # fmt: skip
    packer = Packer()
    chunks, inside, rankings, budget = packer.page(blocks, "")
    word = {text: place for place, text in enumerate(packer.words)}
    assert chunks == [70, 80, "gone", 90, 60]
    assert inside == [2, word["In"], 1, word["whole"], [1, 4, 6, 9]]
    assert rankings[:2] == [3, word["Rankings"]]
    assert rankings[2] == [word["Search"], 2, 0, 3, {1: word["gold"]}, {1: word["grade 1"]}, "0.9 - 0.5"]
    assert rankings[3] == [word["After reranking"], None, 1, [2, 0, 3], {}, {}, ""]
    assert budget == [4, word["Context"], "2 chunks.", 30, 2.5, 3, 20, word["gold"], 4, None, 0]
    assert json.dumps(budget[3]) == "30"


def test_a_text_stands_alone_where_nothing_in_it_is_marked() -> None:
    packer = Packer()
    marked = {"kind": "text", "title": "Answer", "runs": [("in ", ""), ("5", "number")]}
    plain = {"kind": "text", "title": "Question", "runs": [("Where?", "")]}
    facts = {"kind": "list", "title": "Evidence", "items": [("gold", "c1", "; grade 1"), ("", "c2", "")]}
    _, answer, asked, listed = packer.page([marked, plain, facts], "Why?")
    word = {text: place for place, text in enumerate(packer.words)}
    assert answer[2:] == ["in ", 0, "5", word["number"]]
    assert asked[2:] == ["Where?"]
    assert listed[2:] == [["c1", word["; grade 1"]], word["gold"], "c2", 0]


def test_only_the_question_is_taken_from_the_list() -> None:
    blocks = [{"kind": "text", "title": title, "runs": [("Why?", "")]} for title in ("Question", "Answer")]
    _, question, answer = Packer().page(blocks, "Why?")
    assert (question[2:], answer[2:]) == ([0], ["Why?"])


@given(st.integers(1, 80).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(-1, n - 1)))))
def test_codes_come_back(given_codes: tuple[int, list[int]]) -> None:
    different, codes = given_codes
    packed = packed_codes(codes, different)
    assert isinstance(packed, str) is (different <= len(SIGNS))
    assert [SIGNS.find(code) if isinstance(code, str) else code for code in packed] == codes


def test_the_script_knows_the_same_kinds_and_signs() -> None:
    script = files("rag_titan.evaluation.reports").joinpath("templates", "data.js").read_text(encoding="utf-8")
    kinds, signs = re.findall(r"const (?:KINDS|SIGNS) = (.*);", script)
    assert json.loads(kinds) == list(KINDS)
    assert json.loads(signs) == SIGNS
    assert NONE not in SIGNS
