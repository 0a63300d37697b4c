"""Answers of chains, engines and generators, in all the forms in which they come."""

from __future__ import annotations

from types import SimpleNamespace as Thing
from typing import Any

import pytest

from rag_titan.errors import DatasetError
from rag_titan.pipeline.adapters.answers import Answer, Usage, answer_of

DOCUMENT = {"page_content": "Leave is 25 days."}
CITED, OTHER = Thing(content="a", meta={"referenced": True}), Thing(content="b", meta={"referenced": False})


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("25 days", Answer("25 days")),
        ("", Answer("")),
        ({"answer": "25 days", "context": [DOCUMENT]}, Answer("25 days", [DOCUMENT])),
        ({"result": "25 days", "source_documents": []}, Answer("25 days", [])),
        ({"answer": "25 days", "context": "as text"}, Answer("25 days")),
        ({"answer": "25 days", "citations": ["c1"], "abstained": False}, Answer("25 days", None, ["c1"], False)),
        ({"output": {"text": "25 days"}}, Answer("25 days")),
        (Thing(content="25 days", usage_metadata=None), Answer("25 days")),
        (
            Thing(content="25", usage_metadata={"input_tokens": 20, "output_tokens": 4, "total_tokens": 24}),
            Answer("25", usage=Usage(4, 24)),
        ),
        (
            Thing(content=[{"type": "thinking"}, {"type": "text", "text": "25 "}, "days"], response_metadata={}),
            Answer("25 days"),
        ),
        (
            Thing(content="25", response_metadata={"prompt_eval_count": 6, "eval_count": 2}),
            Answer("25", usage=Usage(2, 8)),
        ),
        (Thing(response="25 days", source_nodes=[DOCUMENT], metadata={}), Answer("25 days", [DOCUMENT])),
        (Thing(get_response=lambda: Thing(response="25 days", source_nodes=[])), Answer("25 days", [])),
        (
            {"replies": ["25 days"], "meta": [{"usage": {"completion_tokens": 4, "total_tokens": 24}}]},
            Answer("25 days", usage=Usage(4, 24)),
        ),
        (
            {"replies": [Thing(text="25 days", meta={"usage": {"completion_tokens": 4}})]},
            Answer("25 days", usage=Usage(4)),
        ),
        ({"answers": [Thing(data="25", documents=[CITED, OTHER], meta={})]}, Answer("25", [CITED, OTHER], [CITED])),
    ],
)
def test_an_answer_is_read(value: Any, answer: Answer) -> None:
    assert answer_of(value) == answer


@pytest.mark.parametrize("value", [None, 3, [], {}, {"replies": []}, {"answer": None}, Thing(text=lambda: "a method")])
def test_what_holds_no_text_is_an_error(value: Any) -> None:
    with pytest.raises(DatasetError, match=r"^answer: must be text, or hold one, got \w+\.$"):
        answer_of(value)


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ({}, Usage()),
        (None, Usage()),
        ({"completion_tokens": 4, "prompt_tokens": -1}, Usage(4)),
        ({"output_tokens": True, "total_tokens": "24"}, Usage()),
        (Thing(usage=Thing(completion_tokens=4, prompt_tokens=20, total_tokens=25)), Usage(4, 25)),
    ],
)
def test_tokens_are_counts_or_nothing(told: Any, usage: Usage) -> None:
    assert Usage.of(told) == usage


def test_usage_adds_up_and_unknown_is_not_zero() -> None:
    assert [Usage(1, 2) + Usage(None, 3), Usage() + Usage(0)] == [Usage(1, 5), Usage(0)]
