"""The explaining path: what it takes over, and what it says about what it cannot take."""

from __future__ import annotations

import json
import math
from datetime import datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import hostile_records

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.cleaning import clean_anything, clean_record, cleaners_of, near_name
from rag_titan.evaluation.data.decoding import QUERIES, Intake, RecordDecoder
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place
from rag_titan.evaluation.data.records import Chunk, Inputs, Query
from rag_titan.evaluation.data.vectors import vector_table


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


def clean(**keys: Any) -> Query:
    query = clean_record(Query, {"id": "q", **keys}, Place("queries[3]"))
    assert isinstance(query, Query)
    return query


def refused(**keys: Any) -> str:
    with pytest.raises(DatasetError) as caught:
        clean(**keys)
    assert caught.value.where.startswith("queries[3]")
    return str(caught.value).removeprefix("queries[3]")


@pytest.mark.parametrize(
    ("given_id", "text"),
    [
        (7, "7"), (-7, "-7"), (7.0, "7"), (np.int64(7), "7"), (np.float32(7), "7"), (Decimal(7), "7"),
        (np.str_("7"), "7"), ("07", "07"), ("7.0", "7.0"),
        (Colour.RED, "red"), (Level.HIGH, "3"), (2**53, str(2**53)), ("ä", "ä"),
    ],
)  # fmt: skip
def test_an_id_is_text_or_a_whole_number(given_id: Any, text: str) -> None:
    query = clean(id=given_id, retrieved_ids=[given_id, "x"], relevance={given_id: 1})
    assert query.id == text
    assert query.retrieved_ids == [text, "x"]
    assert query.relevance == {text: 1.0}


@pytest.mark.parametrize(
    "given_id", [True, np.True_, 1.5, float(2**53), 10**40, b"c1", ["c1"], {"id": 1}, math.nan, math.inf]
)
def test_what_is_no_id(given_id: Any) -> None:
    assert "must be an id (text or whole number), got" in refused(retrieved_ids=["c1", given_id])


def test_lists_of_whole_numbers_are_ids_however_large() -> None:
    assert clean(retrieved_ids=[1, 2]).retrieved_ids == ["1", "2"]
    assert clean(retrieved_ids=[1, 2**60]).retrieved_ids == ["1", str(2**60)]
    assert clean(retrieved_ids=[1, -(2**60)]).retrieved_ids == ["1", str(-(2**60))]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (
            {"retrieved_ids": ["a", "b", None]},
            ".retrieved_ids[2]: must be an id (text or whole number), got null. Remove it.",
        ),
        ({"retrieved_ids": "c1"}, '.retrieved_ids: must be a list, got the text "c1"; write ["c1"].'),
        ({"citations": 4}, ".citations: must be a list, got the number 4; write [4]."),
        ({"expected_evidence": {"quote": "x"}}, ".expected_evidence: must be a list, got an object; write [{...}]."),
        ({"expected_evidence": [4]}, ".expected_evidence[0]: must be text or an object, got the number 4."),
        (
            {"expected_evidence": [{"text": "x"}]},
            ".expected_evidence[0]: must have a quote, or start and end, or any_of.",
        ),
        (
            {"expected_evidence": [{"start": 4}]},
            ".expected_evidence[0]: must have a quote, or start and end, or any_of.",
        ),
        (
            {"expected_evidence": ["x", {"any_of": [{"start": 5, "end": 3}]}]},
            ".expected_evidence[1].any_of[0]: must end at or after its start, got start 5 and end 3.",
        ),
        (
            {"expected_evidence": [{"quote": "x", "occurrence": 0}]},
            ".expected_evidence[0].occurrence: must be a whole number from 1, got the number 0.",
        ),
        (
            {"expected_evidence": [{"start": 0, "end": 2.5}]},
            ".expected_evidence[0].end: must be a whole number from 0, got the number 2.5.",
        ),
        ({"relevance": ["c1"]}, ".relevance: must be an object, got a list."),
        ({"relevance": {"c1": None}}, '.relevance["c1"]: must be a number, got null.'),
        ({"relevance": {"c1": True}}, '.relevance["c1"]: must be a number, got true.'),
        (
            {"relevance": {"c1": math.nan}},
            '.relevance["c1"]: must be a finite number, got NaN. Write the grade, or leave the id out.',
        ),
        (
            {"relevance": {1: 2, "1": 3}},
            '.relevance["1"]: must stand there once; the whole number and the text are the same id.',
        ),
        ({"answer": 1912}, '.answer: must be text, got the number 1912. Write "1912".'),
        ({"answer": ["a"]}, ".answer: must be text, got a list."),
        ({"latency_ms": "30"}, '.latency_ms: must be a number, got the text "30". Write 30 without quotes.'),
        ({"latency_ms": "fast"}, '.latency_ms: must be a number, got the text "fast".'),
        ({"latency_ms": False}, ".latency_ms: must be a number, got false."),
        ({"answerable": "yes"}, '.answerable: must be true or false, got the text "yes".'),
        ({"answerable": 1}, ".answerable: must be true or false, got the number 1."),
        ({"tags": {"team": ["a"]}}, '.tags["team"]: must be text or a number or true or false, got a list.'),
        ({"timestamp": []}, ".timestamp: must be text or a number, got a list."),
        (
            {"verified_claims": [{"text": "x"}]},
            '.verified_claims[0].supported: must be given; the object has the key text. Add "supported".',
        ),
        ({"verified_claims": [{"supported": None}]}, ".verified_claims[0].supported: must be given; got null."),
        ({"id": None, "answer": "x"}, ".id: must be given; got null."),
    ],
)
def test_an_error_names_the_place_the_rule_and_what_to_do(keys: dict[str, Any], text: str) -> None:
    assert refused(**keys) == text


def test_a_missing_key_is_an_error_that_lists_the_keys_there_are() -> None:
    with pytest.raises(
        DatasetError, match=r'line 2: id: must be given; the object has the keys query_id, n\. Add "id"\.'
    ):
        clean_record(Query, {"query_id": 1, "n": 2}, Place("line 2", ": "))
    with pytest.raises(DatasetError, match=r"the keys k0, .*, k7 and 4 more"):
        clean_record(Query, {f"k{i}": 1 for i in range(12)}, Place("line 2", ": "))


def test_null_is_not_given_and_so_is_the_nan_that_pandas_leaves_in_texts_and_lists() -> None:
    query = clean(
        answer=None, context=math.nan, retrieved_ids=np.float64("nan"), answerable=math.nan, latency_ms=math.nan
    )
    assert (query.answer, query.context, query.retrieved_ids, query.answerable) == (None, None, None, None)
    assert query.latency_ms is not None
    assert math.isnan(query.latency_ms), "a time that is NaN is left out later, with a warning"


def test_numbers_become_plain_floats() -> None:
    query = clean(latency_ms=np.float32(0.5), cost_usd=3, total_tokens=10**400, output_tokens=-(10**400))
    assert [type(v) for v in (query.latency_ms, query.cost_usd)] == [float, float]
    assert (query.latency_ms, query.total_tokens, query.output_tokens) == (0.5, math.inf, -math.inf)
    assert clean(relevance={"a": 2, "b": np.int8(1)}).relevance == {"a": 2.0, "b": 1.0}
    assert clean(relevance={"a": 2**60}).relevance == {"a": 2.0**60}
    assert clean(retrieved_scores=[1, None, np.float64(0.5)]).retrieved_scores == [1.0, None, 0.5]


def test_tags_keep_whole_numbers_whole() -> None:
    tags = clean(tags={"a": 2**53 + 1, "b": 1.5, "c": np.int8(3), "d": math.nan, "e": True, "f": "x", "g": None}).tags
    assert repr(tags) == repr({"a": 2**53 + 1, "b": 1.5, "c": 3, "d": None, "e": True, "f": "x", "g": None})
    assert "at most 40 digits" in refused(tags={"a": 10**50})


def test_other_forms_of_lists_flags_and_times() -> None:
    query = clean(
        retrieved_ids=np.array([3, 1]),
        expected_chunk_ids=set("hgfedcba"),
        context_ids=("a", 1),
        task_success=np.bool_(True),
        timestamp=datetime(2026, 11, 12, 6, 30),
    )
    assert query.retrieved_ids == ["3", "1"]
    assert query.expected_chunk_ids == list("abcdefgh"), "a set has no order; sorted it is the same in every process"
    assert query.context_ids == ["a", "1"]
    assert query.task_success is True
    assert query.timestamp == "2026-11-12T06:30:00"


def test_lone_surrogates_are_replaced_with_a_notice_and_pairs_joined() -> None:
    notices = Notices()
    place = Place("line 4", ": ", notices)
    record = {
        "id": "q",
        "answer": "a\ud800b",
        "question": "\ud83d\ude00",
        "retrieved_ids": ["x", "\udfff"],
        "tags": {"\ud800": 1},
    }
    query = clean_record(Query, record, place)
    assert (query.answer, query.question, query.retrieved_ids) == ("a\ufffdb", "\U0001f600", ["x", "\ufffd"])
    assert query.tags == {"\ufffd": 1.0}
    [text] = notices.texts()
    assert text.startswith("a lone surrogate (half of a character) was replaced by U+FFFD in line 4: answer, line 4:")
    text.encode()


def test_unknown_keys_are_left_out_and_noticed_when_near_a_known_one() -> None:
    notices = Notices()
    chunk = clean_record(Chunk, {"id": "c", "txt": "x", "language": "en"}, Place("chunks[0]", notices=notices))
    assert chunk == Chunk(id="c")
    assert notices.texts() == [
        "the key 'txt' is not known and was not read; did you mean 'text'? It stands in chunks[0]."
    ]


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("expected_chunk_id", "expected_chunk_ids"),
        ("Retrieved-IDs", "retrieved_ids"),
        ("retrievedIds", "retrieved_ids"),
        ("latency", "latency_ms"),
        ("answers", "answer"),
        ("user_agent", None),
        ("model", None),
    ],
)
def test_near_names(key: str, near: str | None) -> None:
    assert near_name(key, Query.__struct_fields__) == near


def test_anything_is_made_strict_json() -> None:
    place = Place("x")
    given_value = {
        "a": [np.int32(1), math.nan, (math.inf, "\ud800")],
        2: datetime(2026, 1, 2),
        "o": object,
        "n": Decimal("1.5"),
    }
    assert clean_anything(given_value, place) == {
        "a": [1, None, [None, "\ufffd"]],
        "2": "2026-01-02T00:00:00",
        "o": "<class 'object'>",
        "n": 1.5,
    }


def test_the_options_have_rules_too() -> None:
    rules = cleaners_of(Inputs)
    place = Place("x")
    assert rules["size_limits"]([1, np.int64(5)], place) == (1.0, 5.0)
    for name, value in (
        ("size_limits", [1]),
        ("size_limits", [1, 2, 3]),
        ("size_limits", [-1, 2]),
        ("max_context_tokens", math.inf),
        ("max_context_tokens", -1),
        ("boundary_tolerance", "1"),
        ("required_metadata", "page"),
        ("expected_metadata", {"c1": ["page"]}),
    ):
        with pytest.raises(DatasetError):
            rules[name](value, place)


@given(hostile_records())
def test_whatever_comes_is_cleaned_or_refused_with_a_place(record: Any) -> None:
    place = Place("queries[3]")
    try:
        query = clean_record(Query, record, place)
    except DatasetError as error:
        told = str(error)
    else:
        told = ""
        _is_clean(query)
    told.encode()
    assert not told or told.startswith("queries[3]")


def _is_clean(query: Query) -> None:
    assert type(query.id) is str
    for name in ("retrieved_ids", "expected_chunk_ids", "citations"):
        assert all(type(item) is str for item in getattr(query, name) or ())
    for name in ("answer", "question", "error"):
        (getattr(query, name) or "").encode()
    assert all(math.isfinite(grade) for grade in (query.relevance or {}).values())


EMPTY_IDS: list[tuple[dict[str, Any], str]] = [
    ({"id": ""}, "id"),
    ({"id": "q", "retrieved_ids": ["a", ""]}, "retrieved_ids[1]"),
    ({"id": "q", "retrieved_ids": ["ä", ""]}, "retrieved_ids[1]"),
    ({"id": "q", "relevance": {"a": 1, "": 2}}, 'relevance[""]'),
    ({"id": "q", "expected_evidence": [{"quote": "x", "doc_id": ""}]}, "expected_evidence[0].doc_id"),
]


@pytest.mark.parametrize(("record", "where"), EMPTY_IDS)
@pytest.mark.parametrize("as_json", [False, True])
def test_an_empty_text_is_no_id(record: dict[str, Any], where: str, as_json: bool) -> None:
    decoder = RecordDecoder(QUERIES, lambda number: Place("line 1", ": "), Intake())
    told = f"line 1: {where}: must be an id (text or whole number), got an empty text. Remove it, or write the id."
    with pytest.raises(DatasetError) as caught:
        decoder.lines(json.dumps(record).encode(), 1) if as_json else decoder.values([record], 1)
    assert str(caught.value) == told


def test_an_empty_text_is_no_id_of_a_vector() -> None:
    for key, ids in (("indexed_ids", ["a", ""]), ("index_results", {"q": [""]}), ("vectors", {"": [1.0]})):
        whole = {"vectors": {"a": [1.0]}, "query_vectors": {"q": [1.0]}, key: ids}
        with pytest.raises(DatasetError, match=rf"^embeddings\.{key}.*must be an id .*, got an empty text"):
            vector_table(whole)


def test_a_tag_may_have_any_name() -> None:
    assert clean_record(Query, {"id": "q", "tags": {"": "x"}}, Place("q")).tags == {"": "x"}
