"""Redaction: no text of the data comes out, wherever a report would show one; ids and tags stay."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_titan.evaluation import RAGEvaluator, ReportManager, per_query_rows
from rag_titan.evaluation.data.notices import Notices, Private, Skipped
from rag_titan.evaluation.data.redaction import KEY, Redaction
from rag_titan.evaluation.reports.html import html
from rag_titan.evaluation.reports.junit import junit
from rag_titan.evaluation.reports.markdown import markdown

SECRET = re.compile("secret", re.IGNORECASE)
STUB = re.compile(r"\[text: \d+ characters, (?:hmac-)?sha256 [0-9a-f]{8}\]")
NUMBER = itertools.count(1)


def secret(words: str = "") -> str:
    return f"secret{next(NUMBER)}x {words}".strip()


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)


CHUNK_TEXTS = [
    secret("leave is 25 days. Secret"),
    secret("pay is full."),
    secret("parking costs 12 euros. ") + "x" * 5000,
]
DOCUMENT = " ".join(CHUNK_TEXTS)
WRONG = {"task_success": False}


CHUNKS = [
    {"id": f"c{i}", "text": text, "metadata": {secret(): secret(), secret(): "\ud800"}}
    for i, text in enumerate(CHUNK_TEXTS, 1)
]


def queries() -> Iterator[dict[str, Any]]:
    """A question for each sentence that a verdict can say, each text with a word that must not come out."""
    quote = {"expected_evidence": [CHUNK_TEXTS[0]]}
    yield {"question": secret(), **quote, "retrieved_ids": ["c2", "c3"], "answer": secret()}
    yield {"expected_evidence": [f"{CHUNK_TEXTS[0]} {CHUNK_TEXTS[1]}"], "retrieved_ids": ["c1"]}  # cut by the chunker
    yield {**quote, "retrieved_ids": ["c1"], "reranked_ids": ["c2"], "context_ids": ["c2"]}
    yield {**quote, "retrieved_ids": ["c1"], "context_ids": ["c2"], "answer": secret("99 [c3]"), **WRONG}
    yield {**quote, "context": secret("5"), "answer": secret("77, 88"), **WRONG}
    yield {"expected_evidence": [secret("is nowhere")], "retrieved_ids": ["c1"]}
    yield {"expected_evidence": [{"any_of": [secret(), CHUNK_TEXTS[1]]}], "retrieved_texts": [secret(), CHUNK_TEXTS[1]]}
    yield {"error": secret(), "question": secret()}
    yield {"answer": secret(), "expected_answer": secret(), "expected_answers": [secret()]}
    yield {"answer": secret(), "required_facts": [secret(), secret()]}
    yield {"answer": secret(), "verified_claims": [{"supported": False, "text": secret()}]}
    yield {"answer": secret(), "answerable": False, "abstained": False}
    yield {"answer": "I cannot say", "answerable": True, "abstained": True, **quote, "context_ids": ["c1"]}
    yield {"answer": secret("\ud800"), "question": secret("\udc00"), secret(): secret(), "retrieved_ids": []}
    yield {"answer": secret(), "answers": secret(), "expected_chunk_id": secret(), "latency_ms": -1}


ROWS = [{"id": f"q{i}", "tags": {"language": "en"}, **query} for i, query in enumerate(queries())]


def outputs(report: dict[str, Any]) -> Iterator[str]:
    """Everything that is made of a report."""
    yield json.dumps(report, ensure_ascii=False)
    yield json.dumps(per_query_rows(report), ensure_ascii=False)
    yield json.dumps(ReportManager().failed_queries(report), ensure_ascii=False)
    yield markdown(report)
    yield html(report)
    yield junit(report, per_query=True)


def evaluated(**options: Any) -> dict[str, Any]:
    data = {"chunks": CHUNKS, "document_text": DOCUMENT, "queries": ROWS}
    return RAGEvaluator(k=1, explorer=True, by=["language"], **options).evaluate(**data, max_context_tokens=1000)


def test_the_data_of_this_test_would_come_out_in_every_part() -> None:
    """Without redaction, so that the tests below are worth something."""
    report = evaluated()
    for part in ("warnings", "queries", "explorer"):
        assert SECRET.search(json.dumps(report[part])), part
    assert all(map(SECRET.search, outputs(report)))
    rules = {row["correct_by"] for row in report["queries"]}
    assert {"error", "task_success", "verified_claims", "required_facts", "short_reference"} <= rules
    assert {step["stage"] for step in report["diagnosis"]["funnel"] if step["lost"]} == {
        *("chunking", "retrieval", "reranking", "augmentation", "end_to_end", "generation")
    }


@pytest.mark.parametrize("key", ["", "a key"])
def test_no_text_comes_out(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, key)
    report = evaluated(redact=True)
    for text in outputs(report):
        assert not SECRET.search(text)
        assert ("hmac-" in text) == (bool(key) and "[text:" in text)
    assert report["explorer"]["redacted"] is True
    assert report["queries"][0]["tags"] == report["explorer"]["queries"][0]["tags"] == {"language": "en"}


def test_nothing_but_texts_changes() -> None:
    """The same verdicts, numbers and warnings, with stubs where texts were."""

    def bare(report: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in report.items() if key not in ("meta", "explorer", "warnings", "queries")}
        return {**kept, "queries": [{**row, "why": len(row["why"])} for row in report["queries"]]}

    plain, redacted = evaluated(), evaluated(redact=True)
    assert bare(redacted) == bare(plain)
    assert len(redacted["warnings"]) == len(plain["warnings"])
    mine, theirs = redacted["explorer"], plain["explorer"]
    assert mine["chunks"].keys() == theirs["chunks"].keys()
    for row, other in zip(mine["queries"], theirs["queries"], strict=True):
        assert row.keys() == other.keys()
        same = ("id", "tags", "gold", "retrieved", "reranked", "context", "budget", "metrics", "abstained")
        assert [row[key] for key in same] == [other[key] for key in same]
        assert [item["whole_in"] for item in row["evidence"]] == [item["whole_in"] for item in other["evidence"]]
        assert row["answer_marks"] == []
        assert all(item["places"] == [] for item in row["evidence"])
        texts = [row["question"], row["answer"], row["error"], *row["references"], *(f["text"] for f in row["facts"])]
        assert all(STUB.fullmatch(text) for text in texts if text is not None)
    assert all(STUB.fullmatch(chunk["text"]) and not chunk["cut"] for chunk in mine["chunks"].values())


def test_numbers_are_counted() -> None:
    query = {"id": "q", "context": "5", "answer": "77, 88", **WRONG}
    (verdict,) = RAGEvaluator(redact=True).evaluate(queries=[query])["queries"]
    assert verdict["why"][:2] == ["marked as not successful", "not in the context: 2 numbers"]


def test_files_and_what_is_said_of_their_records(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    bad = [{"id": "x1", "answer": [secret()]}, {"id": "x2", "relevance": {"c1": secret()}}, {secret(): secret()}]
    path.write_text("\n".join(map(json.dumps, [*ROWS, *bad, {"id": "q0"}])))
    evaluator = RAGEvaluator(k=1, explorer=True, redact=True)
    report = evaluator.evaluate_path(path, skip_bad_records=True)
    assert report["meta"]["skipped"] == {
        "count": 4,
        "first": [f"queries.jsonl line {line}: breaks a rule." for line in (16, 17, 18, 19)],
    }
    assert not any(map(SECRET.search, outputs(report)))
    assert SECRET.search(json.dumps(RAGEvaluator(k=1).evaluate_path(path, skip_bad_records=True)["meta"]["skipped"]))


def test_processes_take_the_same_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_titan.evaluation.evaluator.LEAST", 100)
    monkeypatch.setenv(KEY, "a key")
    path = tmp_path / "queries.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    evaluator = RAGEvaluator(k=1, explorer=True, redact=True)
    one, two = (evaluator.evaluate_path(path, per_query=None, processes=n) for n in (1, 2))
    assert json.dumps(two["explorer"]) == json.dumps(one["explorer"])
    assert two["warnings"] == one["warnings"]
    assert not SECRET.search(json.dumps(two))


def test_columns_and_sheets(tmp_path: Path) -> None:
    path = tmp_path / "logs.csv"
    path.write_text("id,secret_a,secret_a,answer\nq1,secret b,secret c,secret d,secret e\n")
    plain, redacted = (
        RAGEvaluator(redact=redact).evaluate_path(path, columns={"question": "secret_z"})["warnings"]
        for redact in (False, True)
    )
    assert len(redacted) == len(plain) == 3
    assert all(map(SECRET.search, plain))
    assert not any(map(SECRET.search, redacted))


@pytest.mark.parquet
def test_lists_per_query_in_a_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    path = tmp_path / "rows.parquet"
    data = {"chunks": CHUNKS, "document_text": DOCUMENT, "queries": ROWS}
    RAGEvaluator(k=1, redact=True).evaluate(**data, per_query=path)
    assert not SECRET.search(str(pyarrow.parquet.read_table(path).to_pylist()))


def test_the_hash_is_that_of_the_text() -> None:
    digest = hashlib.sha256("ä".encode()).hexdigest()[:8]
    assert Redaction()("ä") == f"[text: 1 characters, sha256 {digest}]"
    keyed = hmac.new(b"k", "ä".encode(), "sha256").hexdigest()[:8]
    assert Redaction(b"k")("ä") == f"[text: 1 characters, hmac-sha256 {keyed}]"
    assert STUB.fullmatch(Redaction()("\ud800"))


def test_the_key_is_not_shown() -> None:
    assert "hidden" not in repr(Redaction(b"hidden"))


def test_a_private_kind_of_warning_keeps_its_sentence_and_counts() -> None:
    notices, other = Notices(), Notices()
    notices.add("the key 'a' stands in {ids}.", ["q1"], Private("the key {text} stands in {ids}.", "a"))
    other.add("the key 'a' stands in {ids}.", ["q2"], Private("the key {text} stands in {ids}.", "a"))
    other.add("cells: {ids}.", ["b", "a"], Private(ids=True))
    merged = notices.merge(other)
    assert merged.texts() == ["cells: a, b.", "the key 'a' stands in q1, q2."]
    assert merged.texts(lambda text: f"<{text}>") == ["cells: <a>, <b>.", "the key <a> stands in q1, q2."]


def test_places_of_records_that_were_left_out() -> None:
    skipped = Skipped()
    skipped.add("line 3: id: must be text, got the text 'x'.", "line 3")
    merged = skipped.merge(skipped)
    assert merged.told() == merged.first == ["line 3: id: must be text, got the text 'x'."] * 2
    assert merged.told(redacted=True) == ["line 3: breaks a rule."] * 2
