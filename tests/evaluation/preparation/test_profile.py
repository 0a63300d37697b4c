"""What a profile says of documents, worked by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import SettingsError
from rag_titan.evaluation import profile_documents
from rag_titan.evaluation.preparation.profile import ISSUES

WORDS = " ".join(f"word{number}" for number in range(38))


def test_the_figures_of_a_small_collection() -> None:
    documents = [
        {"id": "a", "text": "one two three four", "category": "hr"},
        {"id": "b", "text": "five six", "category": "hr"},
        {"id": "c", "text": "five six", "category": "it"},
        {"id": "d", "text": " \n"},
    ]
    assert profile_documents(documents, min_words=3, near_duplicate=None) == {
        "document_count": 4,
        "mean_words": 2.0,
        "words": {"total": 8, "mean": 2.0, "median": 2.0, "min": 0, "max": 4},
        "categories": {"hr": 2, "it": 1},
        "category_words": {
            "hr": {"documents": 2, "total": 6, "mean": 3.0, "median": 3.0, "min": 2, "max": 4},
            "it": {"documents": 1, "total": 2, "mean": 2.0, "median": 2.0, "min": 2, "max": 2},
        },
        "exact_duplicates": [["b", "c"]],
        "near_duplicates": [],
        "issues": {"b": ["tiny"], "c": ["tiny", "exact duplicate"], "d": ["empty"]},
        "issue_counts": {"empty": 1, "tiny": 2, "exact duplicate": 1},
        "clean_share": 0.25,
        "warnings": [],
    }


def issues(documents: Any, **options: Any) -> Any:
    return profile_documents(documents, **{"min_words": 1, **options})["issues"]


def test_a_document_with_just_the_least_words_is_not_tiny() -> None:
    assert issues({"a": "one two three", "b": "one two"}, min_words=3, near_duplicate=None) == {"b": ["tiny"]}


def test_the_first_copy_in_the_order_given_is_the_clean_one() -> None:
    assert issues({"b": WORDS, "a": WORDS, "c": WORDS}) == {"a": ["exact duplicate"], "c": ["exact duplicate"]}


def test_empty_texts_are_no_copies() -> None:
    assert issues({"a": "", "b": "", "c": " ", "d": " "}) == {name: ["empty"] for name in "abcd"}


def test_a_near_duplicate_names_the_earliest_that_it_is_near() -> None:
    """37 of 38 words shared: 37 / 39 = 0.949; the third shares 36 with the first (36 / 40 = 0.9)."""
    second = WORDS.replace("word0 ", "Other ")
    third = second.replace("word1 ", "another ")
    profile = profile_documents({"a": WORDS, "b": second, "c": third}, near_duplicate=0.9)
    assert profile["near_duplicates"] == [
        {"id": "b", "of": "a", "similarity": 37 / 39},
        {"id": "c", "of": "a", "similarity": 0.9},
    ]
    assert profile["issues"] == {"b": ["near duplicate"], "c": ["near duplicate"]}


def test_words_in_another_order_or_writing_are_near_and_not_exact() -> None:
    assert issues({"a": "One two, three.", "b": "three TWO one"}) == {"b": ["near duplicate"]}


def test_a_copy_of_a_near_duplicate_is_an_exact_one_only() -> None:
    second = WORDS.replace("word0 ", "other ")
    found = issues({"a": WORDS, "b": second, "c": second})
    assert found == {"b": ["near duplicate"], "c": ["exact duplicate"]}


def test_near_duplicates_can_be_switched_off() -> None:
    profile = profile_documents({"a": "one two", "b": "two one"}, min_words=1, near_duplicate=None)
    assert (profile["issues"], profile["near_duplicates"]) == ({}, [])


def test_bytes_that_cannot_be_decoded_are_an_issue_and_what_can_be_read_is_counted() -> None:
    profile = profile_documents({"a": b"two \xe9t\xe9 words", "b": b"two words"}, min_words=1)
    assert profile["issues"] == {"a": ["undecodable bytes"]}
    assert profile["words"]["total"] == 5  # two, t, words


@pytest.mark.parametrize("text", ["two\ufffd words", "t\0w\0o\0", "x\udcff", "\ufffd"])
def test_a_text_that_was_decoded_badly_before_is_the_same_issue(text: str) -> None:
    assert "undecodable bytes" in issues({"a": text})["a"]


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({"id": "scan.pdf", "text": ""}, ["empty", "no text layer"]),
        ({"id": "scan.PDF", "text": None}, ["empty", "no text layer"]),
        ({"id": "scan.pdf#p4", "text": "\f \f"}, ["empty", "no text layer"]),
        ({"id": "7", "source": "in/scan.pdf", "text": ""}, ["empty", "no text layer"]),
        ({"id": "scan.pdf.txt", "text": ""}, ["empty"]),
        ({"id": "pdf", "text": b""}, ["empty"]),
        ({"id": "scan.pdf", "text": "it has one"}, None),
    ],
)
def test_a_pdf_without_text_has_no_text_layer(document: Any, found: Any) -> None:
    assert issues([document]).get(document["id"]) == found


def test_no_documents_have_no_mean_and_no_share() -> None:
    profile = profile_documents({})
    assert (profile["document_count"], profile["mean_words"], profile["clean_share"]) == (0, None, None)
    assert profile["words"] == {"total": 0, "mean": None, "median": None, "min": None, "max": None}


def test_words_of_a_script_without_spaces_are_counted_by_character() -> None:
    assert profile_documents({"a": "你好，世界"})["mean_words"] == 4.0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"min_words": -1}, "min_words: must be a whole number from 0, got -1."),
        ({"min_words": 2.5}, "min_words: must be a whole number from 0, got 2.5."),
        ({"min_words": None}, "min_words: must be a whole number from 0, got None."),
        ({"near_duplicate": 90}, "near_duplicate: must be a finite number from 0.1 to 1, got 90."),
        ({"near_duplicate": 0}, "near_duplicate: must be a finite number from 0.1 to 1, got 0."),
        ({"near_duplicate": True}, "near_duplicate: must be a finite number from 0.1 to 1, got True."),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(SettingsError) as caught:
        profile_documents({"a": "x"}, **options)
    assert str(caught.value) == error


TEXTS = st.sampled_from(["", " ", "one", "one two", "two one", "One two", "one two three", b"caf\xe9", None, WORDS])


@given(st.dictionaries(st.sampled_from(["a", "b.pdf", "c", "d", "e"]), TEXTS))
def test_every_profile_is_plain_json_and_agrees_with_itself(documents: dict[str, Any]) -> None:
    profile = profile_documents(documents, min_words=2)
    assert json.loads(json.dumps(profile, allow_nan=False)) == profile
    assert list(profile["issues"]) == [name for name in documents if name in profile["issues"]]
    for found in profile["issues"].values():
        assert found == [issue for issue in ISSUES if issue in found]
    later = [name for group in profile["exact_duplicates"] for name in group[1:]]
    assert sorted(later) == sorted(n for n, found in profile["issues"].items() if "exact duplicate" in found)
    near = {found["id"]: found["of"] for found in profile["near_duplicates"]}
    assert sorted(near) == sorted(n for n, found in profile["issues"].items() if "near duplicate" in found)
    assert all(list(documents).index(of) < list(documents).index(name) for name, of in near.items())
    assert profile_documents(documents, min_words=2) == profile
