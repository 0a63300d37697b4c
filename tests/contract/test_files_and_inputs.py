"""Inputs, paths and options of a wrong type are refused with a sentence, in every function that reads or writes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contract.test_arguments import QUERIES, REPORT, WRONG

import rag_titan.evaluation as face
from rag_titan.evaluation import Columns, RAGEvaluator, RagTitanError, ReportManager, read_dataset

PATHS = ("a\0b", "x" * 5000, Path("y" * 300), "\ud800", Path("a/b\0c"))
DATA = '{"queries": [{"id": "q", "expected_chunk_ids": ["a"], "retrieved_ids": ["a"]}], "chunks": [{"id": "a"}]}'
LOG = '{"id": "q", "question": "Who?", "retrieved_ids": ["a"]}\n'
EVALUATOR, MANAGER = RAGEvaluator(), ReportManager()
INPUTS = (
    "chunks", "queries", "per_query", "document_text", "documents", "embeddings", "max_context_tokens",
    "expected_chunks", "expected_evidence", "structural_blocks", "required_metadata", "expected_metadata",
    "size_limits", "boundary_tolerance", "sentence_vectors", "chunk_vectors",
)  # fmt: skip


def dataset(**given: Any) -> dict[str, Any]:
    return {"dataset": read_dataset("data.json"), **given}


USES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "evaluate": (EVALUATOR.evaluate, INPUTS),
    "evaluate_path": (
        lambda **given: EVALUATOR.evaluate_path(**{"path": "data.json", **given}),
        ("path", "chunks", "documents", "columns", "per_query", "skip_bad_records", "processes"),
    ),
    "evaluate_dataset": (lambda **given: EVALUATOR.evaluate_dataset(**dataset(**given)), ("dataset", "per_query")),
    "read_dataset": (
        lambda **given: read_dataset(**{"path": "data.json", **given}), ("path", "columns", "skip_bad_records")
    ),
    "read_documents": (lambda path: face.read_documents(path), ("path",)),
    "read_golden": (lambda path: face.read_golden(path), ("path",)),
    "build_dataset": (
        lambda **given: face.build_dataset(**{"logs": "log.jsonl", "golden": "data.json", **given}),
        ("logs", "golden", "chunks", "documents", "columns"),
    ),
    "import_run": (
        lambda format="ragas", source="log.jsonl": face.import_run(format, source), ("format", "source")
    ),
    "export_trec": (
        lambda **given: face.export_trec(**{"folder": "trec", **dataset(**given)}), ("dataset", "folder")
    ),
    "profile_documents": (
        lambda **given: face.profile_documents(**{"documents": {"a": "b"}, **given}),
        ("documents", "min_words", "near_duplicate"),
    ),
    "sample_documents": (
        lambda **given: face.sample_documents(**{"documents": {"a": "b"}, **given}),
        ("documents", "size", "strategy", "seed", "profile"),
    ),
    "sample_queries": (
        lambda **given: face.sample_queries(**{"queries": QUERIES, **given}),
        ("queries", "size", "by", "seed", "columns"),
    ),
    "Columns": (
        lambda **given: EVALUATOR.evaluate_path("data.json", columns=Columns(**given)), ("paths", "tags", "off")
    ),
    "per_query_rows": (lambda report: face.per_query_rows(report), ("report",)),
    "write_per_query": (
        lambda **given: face.write_per_query(**{"report": REPORT, "path": "q.csv", **given}), ("report", "path")
    ),
    "load_json": (MANAGER.load_json, ("path",)),
    "save_json": (lambda path: MANAGER.save_json(REPORT, path), ("path",)),
    "save_markdown": (lambda path: MANAGER.save_markdown(REPORT, path), ("path",)),
}  # fmt: skip
GIVEN = {"chunks": ["Leave is 25 days."], "queries": QUERIES}
STAGES = ("Chunk", "Embedding", "Retrieval", "Reranking", "Augmentation", "Generation", "EndToEnd")


def of_stage(name: str) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """How the evaluator of one stage is called with one argument replaced, and its arguments."""
    call = getattr(face, f"{name}Evaluator")().evaluate
    parameters = inspect.signature(call).parameters
    known = {key: p.default is p.empty for key, p in parameters.items() if p.kind is not p.VAR_KEYWORD}
    given = {key: GIVEN.get(key, {"a": [1.0]}) for key, needed in known.items() if needed}
    return (lambda **other: call(**{**given, **other})), tuple(known)


USES.update({name: of_stage(name) for name in STAGES})


@pytest.mark.parametrize(("use", "argument"), [(use, name) for use, (_, names) in USES.items() for name in names])
def test_what_is_wrong_gives_a_sentence(
    use: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.json").write_text(DATA)
    Path("log.jsonl").write_text(LOG)
    for value in (*WRONG, *PATHS):
        try:
            USES[use][0](**{argument: value})
        except RagTitanError:
            pass
        except Exception as error:
            raise AssertionError(f"{use}({argument}={value!r:.60}) gave {error!r:.200}") from error
