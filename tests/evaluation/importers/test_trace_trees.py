"""Broken sources of spans: what is missing, doubled, cut off or in a circle, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.evaluation.importers.made_spans import (
    BIKES,
    KIND,
    LEAVE,
    SICK,
    imported,
    llm,
    rag,
    retriever,
    root,
    span,
)

from rag_titan.errors import DatasetError
from rag_titan.evaluation.importers.traces import read


def test_a_trace_without_its_root(tmp_path: Path) -> None:
    result = imported(rag()[1:], tmp_path)
    [query] = result.queries
    assert (query["question"], query["answer"], query["retrieved_ids"]) == ("rewritten", "25 days.", ["d1", "d2"])
    assert "latency_ms" not in query
    assert result.notices.texts() == ["the root span is not in the source, so that latency_ms is not known: query t1."]


def test_a_span_whose_parent_is_missing_still_counts(tmp_path: Path) -> None:
    lost = retriever("find", "nobody", 10, 30, ("d1", LEAVE))
    result = imported([root(), lost], tmp_path)
    assert (result.queries[0]["retrieved_ids"], result.queries[0]["latency_ms"]) == (["d1"], 100)
    assert len(result.notices.texts()) == 1


def test_requests_that_share_a_trace_id(tmp_path: Path) -> None:
    later = [
        span("again", None, 200, 300, {KIND: "CHAIN", "input.value": "And sick pay?", "output.value": "Full."}),
        retriever("find2", "again", 210, 220, ("d2", SICK)),
        llm("ask2", "again", 230, 290, "", "Full."),
    ]
    result = imported([*later, *rag()], tmp_path)
    assert [(q["id"], q["question"], q["answer"]) for q in result.queries] == [
        ("t1", "How long is leave?", "25 days."),
        ("t1/again", "And sick pay?", "Full."),
    ]
    assert [q["retrieved_ids"] for q in result.queries] == [["d1", "d2"], ["d2"]]
    assert result.notices.texts() == [
        "several requests have one trace id; the later ones got the id of their root span behind it: trace t1."
    ]


def test_a_span_that_was_written_twice_counts_once(tmp_path: Path) -> None:
    result = imported([*rag(), *rag()], tmp_path)
    assert result.queries == imported(rag(), tmp_path).queries
    assert result.notices.texts() == [
        "spans that came before with the same id and the same content were counted once: trace t1."
    ]


def test_different_spans_with_one_id_are_both_kept(tmp_path: Path) -> None:
    twin = retriever("find", "root", 31, 35, ("d3", BIKES))
    result = imported([*rag(), twin], tmp_path)
    assert result.queries[0]["retrieved_ids"] == ["d1", "d2", "d3"]
    assert "different spans of one trace have the same id; both were kept: trace t1." in result.notices.texts()


def test_spans_in_a_circle_are_read(tmp_path: Path) -> None:
    spans = [retriever("a", "b", 0, 9, ("d1", LEAVE)), span("b", "a", 1, 2, {KIND: "CHAIN"}), span("c", "c", 1, 2, {})]
    assert imported(spans, tmp_path).queries[0]["retrieved_ids"] == ["d1"]


def test_a_deep_chain_of_spans_is_read(tmp_path: Path) -> None:
    chain = [span(f"s{i}", f"s{i - 1}" if i else None, 0, 9, {KIND: "CHAIN"}) for i in range(3000)]
    spans = [*chain, retriever("find", "s2999", 1, 2, ("d1", LEAVE))]
    assert imported(spans, tmp_path).queries[0]["retrieved_ids"] == ["d1"]


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    idle = span("db", None, 0, 1, {"db.system": "postgresql"}, trace="t9")
    untraced = span("x", None, 0, 1, {KIND: "LLM"}, trace="")
    judge = [
        span("judge", "root", 91, 95, {KIND: "EVALUATOR"}),
        llm("verdict", "judge", 92, 94, "Is it right?", "Yes."),
    ]
    result = imported([*rag(), idle, untraced, {"question": "?"}, *judge], tmp_path)
    assert result.queries == imported(rag(), tmp_path).queries
    assert result.notices.texts() == [
        "spans of evaluations were left out: trace t1.",
        "spans.jsonl: records that are no spans were left out: line 8.",
        "spans.jsonl: spans without a trace id were left out: line 7.",
        "traces with neither a retrieval nor a call of a model were left out: t9.",
    ]


def test_a_source_that_is_cut_off_keeps_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in rag())[:-30])
    result = read([path])
    assert result.queries[0]["retrieved_ids"] == ["d1", "d2"]
    assert result.notices.texts() == [
        "spans.jsonl: the last line is cut off and was left out, line 5; the lines before it were read."
    ]


@pytest.mark.parametrize("content", ["", "{}", '{"a": 1}\n', "nonsense", '{"resourceSpans": []}'])
def test_a_source_without_spans_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "spans.json"
    path.write_text(content)
    with pytest.raises(DatasetError, match="must hold"):
        read([path])


def test_one_source_that_cannot_be_read_does_not_lose_the_others(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(b"PK\x03\x04")
    imported(rag(), tmp_path)
    result = read([bad, tmp_path / "spans.jsonl"])
    assert len(result.queries) == 1
    assert result.notices.texts()[0].startswith("could not be read further: bad.json: must be JSON")


def test_a_file_of_something_else_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "golden.jsonl").write_text('{"question": "?"}\n' * 50)
    imported(rag(), tmp_path)
    assert read([tmp_path]).notices.texts() == ["sources without any span were left out: golden.jsonl."]


def test_lone_surrogates_can_be_written(tmp_path: Path) -> None:
    result = imported([root(**{"output.value": "25 \ud800 days."}), rag()[1]], tmp_path)
    assert result.write(tmp_path / "out")[0].read_text("utf-8").count("25 \ufffd days.") == 1
