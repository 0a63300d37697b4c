"""--redact: no text of the data in the reports, on the terminal, or in the sentence of an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, Write, dataset, query


@pytest.mark.parametrize("key", ["answer", "expected_evidence", "required_facts", "latency_ms", "abstained", "tags"])
@pytest.mark.parametrize("value", ["SECRET words", [{"quote": "SECRET", "occurrence": "SECRET"}]])
def test_redacted_nothing_quotes_a_text_of_the_data(
    run: Run, write: Write, tmp_path: Path, key: str, value: Any
) -> None:
    asked = query("q1", question="SECRET?", answer="SECRET 45", expected_evidence=["SECRET nowhere"], error="SECRET")
    write(dataset({**asked, "required_facts": ["SECRET"], "expected_answer": "SECRET", key: value}))
    files = ("--html", "r.html", "--junit", "j.xml", "--junit-per-query")
    done = run("evaluate", "--input", "data.json", "--output", "r.json", *files, "--redact")
    written = [tmp_path / name for name in ("r.json", "r.md", "r.html", "j.xml")]
    said = [done.out, done.err, *(path.read_text(encoding="utf-8") for path in written if path.exists())]
    assert not [text for text in said if "SECRET" in text]
    if done.code == 2 and "got " in done.err:
        assert f"queries[0].{key}" in done.err


GIVEN: dict[str, Any] = {
    "queries": [{"id": "a", "expected_chunk_ids": ["c1"], "retrieved_ids": ["c1"]}],
    "chunks": [{"id": "c1", "text": "x"}],
    "documents": {"d": "foo CANARY foo CANARY"},
}


@pytest.mark.parametrize("key", ["expected_evidence", "structural_blocks"])
@pytest.mark.parametrize("quote", ["CANARY gone", "CANARY", {"quote": "CANARY", "occurrence": 7}])
def test_redacted_the_evidence_of_the_documents_is_not_quoted(
    run: Run, write: Write, tmp_path: Path, key: str, quote: Any
) -> None:
    write({**GIVEN, key: [quote]})
    done = run("evaluate", "--input", "data.json", "--output", "r.json", "--html", "r.html", "--redact")
    assert done.code == 0
    said = [done.out, done.err, *((tmp_path / name).read_text("utf-8") for name in ("r.json", "r.md", "r.html"))]
    assert not [text for text in said if "CANARY" in text]
    assert f"{key}: " in (tmp_path / "r.json").read_text("utf-8")


NUMBER = 4929123412341234
BROKEN = {
    "a number for a text": ({"answer": NUMBER}, "queries[0].answer: must be text"),
    "a key of tags": ({"tags": {"CANARY": ["x"]}}, "queries[0].tags[...]: must be"),
    "a key of relevance": ({"relevance": {"CANARY": "high"}}, "queries[0].relevance[...]: must be a number"),
    "a key of unjudged": ({"verdicts": {"unjudged": {"CANARY": 5}}}, "queries[0].verdicts.unjudged[...]: must be text"),
    "two labels": (
        {"relevance": {"CANARY": 0}, "expected_chunk_ids": ["CANARY"]}, "queries[0].relevance[...]: must be above 0"
    ),
    "an absent key": ({"id": None, "CANARY": 1}, "queries[0].id: must be given"),
    "a span": (
        {"expected_evidence": [{"doc_id": "d", "start": 0, "end": 8, "quote": "x"}]}, "`start` and `end` must hold"
    ),
    "a document": ({"expected_evidence": [{"doc_id": "CANARY", "quote": "x"}]}, "must be the id of a document"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_redacted_an_error_says_its_place_and_rule_alone(run: Run, write: Write, name: str) -> None:
    broken, said = BROKEN[name]
    write({**GIVEN, "queries": [{"id": "a", **broken}]})
    done = run("evaluate", "--input", "data.json", "--redact")
    assert done.code == 2
    assert said in done.err
    assert done.err.endswith(", got what --redact hides. Run it without --redact to see it.\n")
    assert "CANARY" not in done.err
    assert str(NUMBER) not in done.err
    assert "--redact" not in run("evaluate", "--input", "data.json").err


@pytest.mark.parametrize(
    "data",
    [
        {**GIVEN, "CANARY": 5},
        {**GIVEN, "documents": {"CANARY": 5}},
        {**GIVEN, "embeddings": {"vectors": {"CANARY": ["x"]}}},
        {**GIVEN, "embeddings": {"CANARY": {}}},
        {**GIVEN, "chunks": [{"id": "CANARY", "text": "x"}] * 2},
        {**GIVEN, "queries": [{"id": "CANARY"}] * 2},
        "CANARY",
    ],
)
def test_redacted_no_error_quotes_the_dataset(run: Run, write: Write, data: Any) -> None:
    write(data)
    done = run("evaluate", "--input", "data.json", "--redact")
    assert done.code == 2
    assert "CANARY" not in done.out + done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "text", [b'{"id": "a"}\n{"id": CANARY}\n', b'{"id": "a"} CANARY\n', b'{"id": "a", "CANARY": "\xff"}\n{"id": 2}\n']
)
def test_redacted_a_broken_line_is_not_quoted(run: Run, tmp_path: Path, text: bytes) -> None:
    (tmp_path / "data.jsonl").write_bytes(text)
    done = run("evaluate", "--input", "data.jsonl", "--redact")
    assert "CANARY" not in done.out + done.err
    assert done.code == 0 or "line " in done.err


def test_redacted_a_file_that_is_not_there_is_named(run: Run) -> None:
    assert run("evaluate", "--input", "none.json", "--redact").err == run("evaluate", "--input", "none.json").err


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ({"queries": [{"id": "q", "why": "CANARY"}], "meta": {}}, "queries: must have the form that its schema"),
        ({"retrieval": {"summary": {"CANARY": "x"}, "detail": {"CANARY": 5}}}, "retrieval: must have the form"),
        ({"meta": {"k": "CANARY"}}, "meta: must have the form that its schema says, got what --redact hides."),
        ({"CANARY": 1}, "must be a report of rag-titan, got other JSON."),
        (None, "must be a whole report, got one that breaks off at line 1"),
    ],
)
def test_redacted_a_broken_baseline_is_not_quoted(
    run: Run, write: Write, tmp_path: Path, report: dict[str, Any] | None, said: str
) -> None:
    write(GIVEN)
    (tmp_path / "base.json").write_text('{"CANARY": "' if report is None else json.dumps(report))
    given = ("evaluate", "--input", "data.json", "--output", "r.json", "--baseline", "base.json")
    done = run(*given, "--redact")
    assert (done.code, "CANARY" in done.err) == (2, False)
    assert done.err.startswith(f"rag-titan: base.json: {said}")
    if said.endswith("hides."):
        assert "CANARY" in run(*given).err
