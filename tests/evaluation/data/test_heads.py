"""Only the first ids of a ranking are decoded: the queries are those that the whole decoder gives, or none are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import DecodeError
from msgspec.json import Decoder
from tests.strategies import hostile_records, query_records

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data import heads
from rag_titan.evaluation.data.heads import HeadDecoder, heads_of
from rag_titan.evaluation.data.records import Ids, Query
from rag_titan.evaluation.evaluator import RAGEvaluator

PIECES = ['"', ",", " ", "[", "]", "{", "}", ":", "a", "b", "\\", "\\u0061", "é", "\t", "1", "null", "", '"a"', ", "]
LOGGED = st.lists(st.text(alphabet='ab,][ é"\\:{}', min_size=0, max_size=3), max_size=6)
COMPACT, SPACED = (",", ":"), (", ", ": ")


def whole(text: bytes) -> list[str] | None:
    try:
        return Decoder(Ids).decode(text)
    except DecodeError:
        return None


def is_json(text: bytes) -> bool:
    try:
        json.loads(text.decode("utf-8", "replace"))
    except ValueError:
        return False
    return True


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), min_size=1, max_size=3), st.integers(1, 4))
@example(['"a",",","b" ,"c"'], 2)
@example(['"a",","', '"a",1,"b"'], 2)
@example(['"a","b","c"'], 2)
@example(['"a","b",12'], 1)
@example(['"a","\\ud800 is half a character"'], 1)
@example(['"a","","b"'], 2)
@example(['"","b"'], 2)
@example(['"b",""'], 2)
@example(['"x",{"a":","},"b"'], 2)
@example(['"a", "b"', '"a","b"'], 1)
@example(['"a"],["b"'], 1)
@example(['"a", ", ", "b"'], 1)
def test_any_json_in_brackets_is_read_as_the_whole_decoder_reads_it_or_not_at_all(
    bodies: list[str], depth: int
) -> None:
    texts = [f"[{body}]".encode() for body in bodies]
    texts = [text for text in texts if len(text) >= 5 and is_json(text)]
    found = heads_of(texts, depth)
    if found is not None:
        assert found == [(whole(text) or [])[:depth] for text in texts]
        assert None not in map(whole, texts)


@given(st.lists(LOGGED, min_size=1, max_size=4), st.integers(1, 4), st.sampled_from([COMPACT, SPACED]))
def test_lists_as_programs_write_them_are_read(lists: list[list[str]], depth: int, marks: tuple[str, str]) -> None:
    texts = [json.dumps(ids, separators=marks, ensure_ascii=False).encode() for ids in lists]
    texts = [text for text in texts if len(text) >= 5]
    found = heads_of(texts, depth)
    usual = all(
        name and name[0] not in ',]}: "\\' and '"' not in name and "\\" not in name for ids in lists for name in ids
    )
    assert found is not None or not usual
    if found is not None:
        assert found == [(whole(text) or [])[:depth] for text in texts]


def test_what_is_no_utf8_is_refused() -> None:
    assert heads_of([b'["a","\xff"]'], 1) is None
    assert heads_of([b'["a","\xed\xa0\x80"]'], 1) is None, "a surrogate"
    assert heads_of(['["a","é"]'.encode()], 1) == [["a"]]


def lines(*records: dict[str, Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def test_records_without_a_ranking_and_with_an_id_twice() -> None:
    rows = [["a", "b", "c"], None, [], ["d"], ["a", "a", "b", "c"], ["a", "b", "a"]]
    block = lines({"id": "none"}, *({"id": f"q{i}", "retrieved_ids": ids} for i, ids in enumerate(rows)))
    found = HeadDecoder(Query, 2).lines(block)
    assert found is not None
    assert [query.retrieved_ids for query in found] == [
        None,
        ["a", "b"],
        None,
        [],
        ["d"],
        ["a", "a", "b", "c"],
        ["a", "b"],
    ]


@pytest.mark.parametrize("key", heads.WHOLE)
def test_keys_that_ask_for_whole_rankings_have_them(key: str) -> None:
    decoder = HeadDecoder(Query, 1)
    assert decoder.lines(lines({"id": "q", "retrieved_ids": ["a", "b"], key: {} if key == "verdicts" else []})) is None
    assert decoder.lines(lines({"id": "q", "retrieved_ids": ["a", "b"], key: None})) is not None


def test_gold_ids_that_may_have_several_forms_are_looked_for_in_whole_rankings() -> None:
    ranking = {"id": "q", "retrieved_ids": ["a", "b"]}
    assert HeadDecoder(Query, 1).lines(lines({**ranking, "expected_chunk_ids": ["cafe\u0301"]})) is None
    assert HeadDecoder(Query, 1).lines(lines({**ranking, "relevance": {"caf\u00e9": 1}})) is None


def outcome(path: Path, **options: Any) -> Any:
    try:
        report = RAGEvaluator(k=2).evaluate_path(path, per_query=None, processes=1, **options)
    except DatasetError as error:
        return str(error)
    report["meta"].pop("created_at")
    return json.dumps(report)


@given(st.lists(query_records(), min_size=1, max_size=6), st.lists(hostile_records(), max_size=2), st.booleans())
def test_a_report_does_not_depend_on_how_much_was_decoded(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any], hostile: list[Any], skip: bool
) -> None:
    path = tmp_path_factory.mktemp("heads") / "queries.jsonl"
    path.write_bytes(lines(*records, *hostile))
    options = {"skip_bad_records": skip}
    made = outcome(path, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HeadDecoder, "lines", lambda self, block: None)
        assert outcome(path, **options) == made
