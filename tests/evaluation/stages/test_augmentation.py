"""Every metric of the augmentation stage, on contexts small enough to be counted by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Chunk, Query
from rag_titan.evaluation.data.tables import QueryTable, Settings
from rag_titan.evaluation.evaluator import RAGEvaluator
from rag_titan.evaluation.stages.augmentation import METRICS, AugmentationInputs
from rag_titan.evaluation.stages.stage import measure, per_query_rows

TEXT = "Ships sail at dawn. Fees are due in May. Dogs stay outside."
PARTS = {"a": "Ships sail at dawn. ", "b": "Fees are due in May. ", "c": "Dogs stay outside."}
BY_PLACE = ("context_precision", "context_recall", "context_noise", "evidence_edge_placement")


def table_of(queries: list[dict[str, Any]], chunks: Any = None, text: str | None = TEXT, **settings: Any) -> QueryTable:
    rows = tuple(Chunk(id=name, text=part) for name, part in (PARTS if chunks is None else chunks).items())
    records = [msgspec.convert({"id": f"q{i}", **query}, Query) for i, query in enumerate(queries)]
    notices = Notices()
    corpus = Corpus(rows, Documents.of(document_text=text), True, notices)
    return QueryTable(records, corpus, Settings(**settings), notices)


def values(*queries: dict[str, Any], **options: Any) -> tuple[list[dict[str, Any]], list[str]]:
    table = table_of(list(queries), **options)
    return per_query_rows(METRICS, measure(METRICS, AugmentationInputs(table)), table.ids), table.notices.texts()


def one(query: dict[str, Any], **options: Any) -> dict[str, Any]:
    return values(query, **options)[0][0]


def test_the_keys_are_those_of_the_seed_in_its_order() -> None:
    assert [row.key for row in METRICS] == [
        "context_precision", "context_recall", "context_noise", "context_sufficient", "duplicate_ratio",
        "budget_compliant", "evidence_edge_placement", "mean_context_tokens",
    ]  # fmt: skip


def test_a_context_with_all_the_evidence() -> None:
    got = one(
        {"context_ids": ["b", "a", "c"], "expected_evidence": ["sail at", "Dogs stay outside"]}, max_context_tokens=12
    )
    assert got == {
        "id": "q0",
        "context_precision": pytest.approx(5 / 12),
        "context_recall": 1.0,
        "context_noise": pytest.approx(7 / 12),
        "context_sufficient": 1.0,
        "duplicate_ratio": 0.0,
        "budget_compliant": 1.0,
        "evidence_edge_placement": 0.5,  # one in the middle (0), one last (1)
        "context_tokens": 12.0,
    }


def test_evidence_in_two_chunks_is_there_but_not_enough() -> None:
    got = one({"context_ids": ["a", "b"], "expected_evidence": ["dawn. Fees"]})
    assert (got["context_recall"], got["context_sufficient"]) == (1.0, 0.0)


def test_half_of_the_quotes_is_not_enough() -> None:
    got = one({"context_ids": ["a"], "expected_evidence": ["sail at", "Dogs"]})
    assert (got["context_recall"], got["context_sufficient"]) == (pytest.approx(2 / 3), 0.0)


def test_where_ids_and_text_are_given_the_ids_count() -> None:
    got = one({"context_ids": ["a"], "context": "Dogs", "expected_evidence": ["Dogs"]})
    assert (got["context_sufficient"], got["context_tokens"]) == (0.0, 4.0)


def test_one_of_several_quotes_is_enough() -> None:
    got = one({"context_ids": ["c"], "expected_evidence": [{"any_of": ["due in May", "Dogs stay"]}]})
    assert (got["context_sufficient"], got["context_recall"], got["context_precision"]) == (1.0, 1.0, 2 / 3)


def test_a_repeated_chunk_counts_twice_in_the_budget_and_once_in_the_context() -> None:
    got = one({"context_ids": ["c", "c", "a"], "expected_evidence": ["Dogs"]}, max_context_tokens=9)
    assert (got["context_tokens"], got["budget_compliant"]) == (10.0, 0.0)
    assert got["duplicate_ratio"] == pytest.approx(3 / 10)
    assert got["context_precision"] == pytest.approx(1 / 7)
    assert got["evidence_edge_placement"] == 0.5  # first, and in the middle


def test_overlapping_chunks_are_duplicates_only_where_the_documents_are_there() -> None:
    chunks = {"a": "Ships sail at dawn.", "b": "at dawn. Fees are due"}
    query = {"context_ids": ["a", "b", "b"]}
    assert one(query, chunks=chunks)["duplicate_ratio"] == pytest.approx(7 / 14)
    assert one(query, chunks=chunks, text=None)["duplicate_ratio"] == pytest.approx(5 / 14)


def test_an_empty_context_is_a_miss() -> None:
    got = one({"context_ids": [], "expected_evidence": ["Dogs"]}, max_context_tokens=5)
    measured = {key: number for key, number in got.items() if number is not None}
    want = {"context_recall": 0.0, "context_sufficient": 0.0, "budget_compliant": 1.0, "context_tokens": 0.0}
    assert measured == {"id": "q0", **want}


def test_without_labels_the_label_free_ones_remain() -> None:
    got = one({"context_ids": ["a"]}, max_context_tokens=3)
    assert {key for key, number in got.items() if number is not None} == {
        "id", "duplicate_ratio", "budget_compliant", "context_tokens",
    }  # fmt: skip


@pytest.mark.parametrize("chunk", ["zz", "cleaned"])
def test_a_chunk_that_cannot_be_placed_leaves_its_query_out_and_is_named(chunk: str) -> None:
    queries = [
        {"context_ids": ["c", chunk], "expected_evidence": ["Dogs"]},
        {"context_ids": ["c"], "expected_evidence": ["Dogs"]},
    ]
    rows, notices = values(*queries, chunks={**PARTS, "cleaned": "DOGS!"})
    assert {rows[0][key] for key in (*BY_PLACE, "context_sufficient", "duplicate_ratio")} == {None}
    assert rows[1]["context_recall"] == rows[1]["context_sufficient"] == 1.0
    assert sum(f"query q0 ({chunk})." in notice for notice in notices) == 1


def test_the_budget_needs_the_texts_alone() -> None:
    chunks = {**PARTS, "cleaned": "DOGS!"}
    assert one({"context_ids": ["c", "cleaned"]}, chunks=chunks)["context_tokens"] == 4.0
    assert one({"context_ids": ["c", "zz"]}, chunks=chunks)["context_tokens"] is None


def test_a_context_of_text_alone() -> None:
    evidence = {"expected_evidence": ["sail at dawn", "Dogs"]}
    rows, notices = values(
        {"context": "Ships sail at dawn. Dogs", **evidence},
        {"context": "Ships sail", **evidence},
        {"context": ""},
        {},
        max_context_tokens=3,
    )
    assert [row["context_sufficient"] for row in rows] == [1.0, 0.0, None, None]
    assert [row["budget_compliant"] for row in rows] == [0.0, 1.0, 1.0, None]
    assert {row[key] for row in rows for key in (*BY_PLACE, "duplicate_ratio")} == {None}
    assert notices == []


def test_without_documents_sufficiency_goes_by_the_words_of_the_chunks() -> None:
    rows, _ = values(
        {"context_ids": ["a"], "expected_evidence": ["sail at  dawn"]},
        {"context_ids": ["b"], "expected_evidence": ["sail at dawn"]},
        {"context_ids": ["b"], "expected_evidence": [{"start": 0, "end": 4}]},
        text=None,
    )
    assert [row["context_sufficient"] for row in rows] == [1.0, 0.0, None]
    assert {row[key] for row in rows for key in BY_PLACE} == {None}


def test_the_order_of_the_queries_changes_nothing() -> None:
    queries = [
        {"context_ids": ["a", "c"], "expected_evidence": ["Dogs"]},
        {"context_ids": ["b"], "expected_evidence": ["in May", "sail"]},
        {"context": "Dogs", "expected_evidence": ["Dogs"]},
    ]
    forth, back = values(*queries)[0], values(*queries[::-1])[0][::-1]
    assert [{**row, "id": ""} for row in forth] == [{**row, "id": ""} for row in back]


@pytest.mark.parametrize("stages", [None, ["generation"], ["augmentation"], ["generation", "augmentation"]])
@pytest.mark.parametrize("documents", [{}, {"document_text": TEXT}])
def test_a_context_chunk_without_text_is_told_once(stages: Any, documents: dict[str, Any]) -> None:
    query = {"id": "q1", "answer": "At dawn.", "context_ids": ["a", "bare"]}
    chunks = [{"id": "a", "text": PARTS["a"]}, {"id": "bare"}]
    report = RAGEvaluator(stages=stages).evaluate(chunks, [query], **documents)
    (told,) = [warning for warning in report["warnings"] if "q1" in warning]
    assert "`context_ids` name a chunk that is unknown or has no text or sure place: query q1 (bare)." in told
