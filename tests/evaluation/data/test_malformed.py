"""What is said about texts that are no JSON."""

from __future__ import annotations

import json

import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.malformed import not_json, utf8


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"id": 1,}', "a comma before }"),
        ("[1, 2 , ]", "a comma before ]"),
        ('{"id": 1},', "a comma after it"),
        ('{"id": 1} {"id": 2}', "another one behind it"),
        ('{"id": 1} x', 'got "x" behind it'),
        ('{"id": 1', "ends in the middle"),
        ('{"id": [1,', "ends in the middle"),
        ('{"id": "a', "the text from column 8 on has no end"),
        ('{"id": "a\nb"}', "a line break or tab inside a text"),
        ("{'id': 1}", "single quotes"),
        ('{"id": None}', "got None. Write null"),
        ('{"id": True}', "got True. Write true"),
        ("  ", "got nothing"),
        ("id,answer", 'got "id,answer" in column 1'),
        ('{"id" 1}', "got \"1}\" in column 7 (expecting ':' delimiter)"),
        ('{"id": 1 "x": 2}', "in column 10"),
    ],
)
def test_the_rule_names_the_fault(text: str, words: str) -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads(text)
    rule = not_json(text, caught.value)
    assert words in rule
    assert rule.startswith("must ")
    assert rule.endswith(".")


def test_utf8_lets_surrogates_through_and_names_other_bytes() -> None:
    assert utf8("a\ud800".encode("utf-8", "surrogatepass"), "line 1") == "a\ud800"
    with pytest.raises(
        DatasetError, match=r"line 1: must be UTF-8, got the byte 0xe4 as byte 2\. Save the file as UTF-8\."
    ):
        utf8("aä".encode("latin-1"), "line 1")
