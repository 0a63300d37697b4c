"""Combinations of a pipeline on golden questions: what is shared, what is measured, and what fails alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.small import GOLDEN, LEAVE, TRAVEL, counted, handbook

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.pipeline import Settings, Variant, compare_pipelines, comparing, variants_of
from rag_titan.pipeline.chunking.chunkers import chunker_of
from rag_titan.pipeline.comparison import Comparison, Row
from rag_titan.pipeline.embedding.embedders import CallableEmbedder
from rag_titan.pipeline.parts import Document, Found
from rag_titan.pipeline.stores.memory import MemoryStore
from rag_titan.pipeline.titan import RAGTitan

DOCUMENTS = [Document("leave.md", LEAVE), Document("travel.md", TRAVEL)]
SMALL = {"chunk_size": 20, "chunk_overlap": 0, "k": 2, "candidates": 10, "abstain_below": 0.2, "reranker": "none"}
TIMES = ("p95_latency_ms",)


@pytest.fixture(autouse=True)
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Vectors that count words, in the place of a model; every passage that was embedded."""
    passages: list[str] = []

    def remembered(texts: Sequence[str]) -> list[list[float]]:
        passages.extend(texts)
        return [[0.1, *some] for some in counted(texts)]

    def of_questions(texts: Sequence[str]) -> list[list[float]]:
        return [[0.1, *some] for some in counted(texts)]

    monkeypatch.setattr(comparing, "embedder_of", lambda settings: CallableEmbedder(remembered, "counts", of_questions))
    return passages


def plain(comparison: Comparison) -> dict[str, Any]:
    """Without the times."""
    whole = comparison.as_dict()
    for row in whole["rows"]:
        for name in TIMES:
            del row["values"][name]
    return whole


def test_every_combination_is_measured_on_every_question() -> None:
    variants = variants_of(
        SMALL, chunkers=["section", "words"], retrievers=["bm25", "vectors", "hybrid"], rag_types=["simple", "adaptive"]
    )
    comparison = compare_pipelines(DOCUMENTS, GOLDEN, variants)
    assert len(comparison.rows) == 12
    assert {row.variant.name for row in comparison.rows} == {variant.name for variant in variants}
    assert (comparison.questions, comparison.documents, comparison.k) == (3, 2, 2)
    for row in comparison.rows:
        assert row.error is None
        assert {row.n[name] for name in ("recall_in_words", "recall_at_k", "mrr_at_k", "token_f1")} == {2}
        assert (row.n["answered"], row.n["answer_f1"]) == (3, 2)


def test_what_is_loaded_at_a_first_search_is_in_the_times_of_no_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    whole = MemoryStore.matching

    def matching(self: MemoryStore, question: str, k: int) -> list[Found]:
        searched.append(question)
        return whole(self, question, k)

    monkeypatch.setattr(MemoryStore, "matching", matching)
    compare_pipelines(DOCUMENTS, GOLDEN, variants_of(SMALL, retrievers=["bm25", "hybrid"]))
    questions = [query["question"] for query in GOLDEN]
    assert [text for text in searched if text in questions] == questions * 2
    assert searched[0] not in questions
    assert searched[0] not in questions


def test_the_values_are_those_worked_by_hand() -> None:
    text = "Leave is 28 days. Hotels cost 95 euros. Trains are free."
    golden = [{"id": "q", "question": "Hotels cost?", "expected_evidence": ["95 euros"], "expected_answer": "95 euros"}]
    settings = {**SMALL, "chunker": "sentence", "chunk_size": 4, "retriever": "bm25", "k": 1}
    [row] = compare_pipelines([Document("d", text)], golden, variants_of(settings), words=3).rows
    assert row.chunks == 3
    assert row.values["recall_at_k"] == row.values["mrr_at_k"] == row.values["ndcg_at_k"] == 1.0
    assert (row.values["token_recall"], row.values["token_precision"], row.values["token_iou"]) == (1.0, 0.5, 0.5)
    assert row.values["token_f1"] == pytest.approx(2 * 1.0 * 0.5 / 1.5)
    assert row.values["recall_in_words"] == 0.5  # "Hotels cost 95" of "Hotels cost 95 euros"
    assert row.values["answered"] == 1.0


def test_a_quote_that_the_chunker_cuts_counts_as_missed_and_not_as_unmeasured() -> None:
    golden = [
        {"id": "q", "question": "annual leave days", "expected_evidence": ["28 days of annual leave per calendar"]}
    ]
    cut = variants_of({**SMALL, "chunker": "words", "chunk_size": 4, "retriever": "bm25"})
    [row] = compare_pipelines(DOCUMENTS, golden, cut).rows
    assert (row.values["recall_at_k"], row.n["recall_at_k"]) == (0.0, 1)
    assert row.values["token_recall"] is not None
    assert row.values["token_recall"] > 0


def test_an_index_is_made_once_for_all_that_share_it(embedded: list[str]) -> None:
    variants = variants_of(
        SMALL, chunkers=["section"], retrievers=["bm25", "vectors"], rag_types=["simple", "adaptive"]
    )
    [first, *_] = compare_pipelines(DOCUMENTS, GOLDEN[:1], variants).rows
    of_index = embedded[: first.chunks]
    assert len(of_index) == len(set(of_index)) == first.chunks
    assert not any(text in of_index for text in embedded[first.chunks :])


def test_the_same_comparison_comes_out_the_same_whatever_the_order_of_the_combinations() -> None:
    variants = variants_of(SMALL, chunkers=["section", "words", "sentence"], retrievers=["bm25", "vectors"])
    first, again = (compare_pipelines(DOCUMENTS, GOLDEN, variants) for _ in range(2))
    assert plain(first) == plain(again)
    turned = compare_pipelines(DOCUMENTS, GOLDEN, list(reversed(variants)))
    values = [{name: row.values[name] for name in row.values if name not in TIMES} for row in turned.rows]
    assert values == [{n: row.values[n] for n in row.values if n not in TIMES} for row in first.rows]


def test_a_combination_that_fails_is_named_and_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(settings: Settings) -> Any:
        if settings.chunker == "words":
            raise RuntimeError("no words today")
        return chunker_of(settings)

    monkeypatch.setattr(comparing, "chunker_of", broken)
    variants = variants_of(SMALL, chunkers=["words", "section"], retrievers=["bm25", "vectors"])
    comparison = compare_pipelines(DOCUMENTS, GOLDEN, variants)
    assert [row.variant.settings.chunker for row in comparison.rows] == ["section", "section", "words", "words"]
    assert {row.error for row in comparison.failed} == {"RuntimeError: no words today"}
    assert "no words today" in comparison.markdown()


def test_a_question_that_fails_is_an_error_of_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(RAGTitan):
        def ask(self, question: str) -> dict[str, Any]:
            if "hotel" in question:
                raise TimeoutError("slow")
            return super().ask(question)

    monkeypatch.setattr(comparing, "RAGTitan", Failing)
    [row] = compare_pipelines(DOCUMENTS, GOLDEN, variants_of(SMALL)).rows
    assert (row.error, row.errors, row.questions) == (None, 1, 3)
    assert row.n["answered"] == 3


def test_gold_chunk_ids_are_left_out_and_named() -> None:
    golden = [{**GOLDEN[0], "expected_chunk_ids": ["travel.md#2"], "relevance": {"travel.md#1": 2}}]
    comparison = compare_pipelines(DOCUMENTS, golden, variants_of(SMALL))
    without = plain(compare_pipelines(DOCUMENTS, GOLDEN[:1], variants_of(SMALL)))
    assert plain(comparison)["rows"] == without["rows"]
    assert comparison.warnings[0] == "gold chunk ids were left out, since ids change with the chunker: g1."
    assert golden[0]["expected_chunk_ids"] == ["travel.md#2"]


def test_without_quotes_it_says_so_and_orders_by_what_there_is() -> None:
    golden = [{"id": "q", "question": "How many days of leave?", "expected_answer": "28 days"}]
    comparison = compare_pipelines(DOCUMENTS, golden, variants_of(SMALL))
    assert comparison.by == "answer_f1"
    assert "no golden question has expected_evidence, so that no retrieval can be compared." in comparison.warnings
    assert "Recall in 500 words is measured of none; the order is by Answer F1." in comparison.warnings


def test_the_golden_file_is_no_document(tmp_path: Path) -> None:
    golden = tmp_path / "golden.json"
    golden.write_text(json.dumps(GOLDEN))
    comparison = compare_pipelines([*handbook(tmp_path), golden], golden, variants_of(SMALL))
    assert comparison.documents == 2
    assert f"{golden}: holds the golden questions, and was not read as a document." in comparison.warnings


def test_every_step_of_every_question_is_written(tmp_path: Path) -> None:
    variants = variants_of(SMALL, retrievers=["bm25", "vectors"])
    compare_pipelines(DOCUMENTS, GOLDEN, variants, trace=tmp_path / "trace")
    files = sorted((tmp_path / "trace").iterdir())
    assert [file.name for file in files] == [
        "01-sentence-20-0-bm25-reranker-none-simple.jsonl", "02-sentence-20-0-vectors-reranker-none-simple.jsonl",
    ]  # fmt: skip
    lines = [json.loads(line) for line in files[1].read_text().splitlines()]
    assert [line["question"] for line in lines] == [query["question"] for query in GOLDEN]
    assert [step["step"] for step in lines[0]["steps"]] == ["retrieve", "rerank", "generate"]
    assert lines[0]["result"]["retrieved_ids"] == [one["id"] for one in lines[0]["steps"][0]["found"]]


def test_a_trace_changes_no_value(tmp_path: Path) -> None:
    variants = variants_of(SMALL, rerankers=["none", "sentence"], rag_types=["simple", "adaptive"])
    traced = compare_pipelines(DOCUMENTS, GOLDEN, variants, trace=tmp_path)
    assert plain(traced) == plain(compare_pipelines(DOCUMENTS, GOLDEN, variants))


def test_progress_counts_up_to_all_questions_of_all_combinations() -> None:
    seen: list[tuple[int, int, str]] = []
    variants = variants_of(SMALL, retrievers=["bm25", "vectors"])
    compare_pipelines(DOCUMENTS, GOLDEN, variants, progress=lambda *said: seen.append(said))
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    assert {done for done, _, _ in seen} == set(range(7))
    assert seen[0][2] == f"indexing 1 of 2: {variants[0].name}"
    assert seen[-1] == (6, 6, f"asking 2 of 2: {variants[1].name}")


def test_a_comparison_never_writes_into_the_store_of_the_settings(tmp_path: Path) -> None:
    compare_pipelines(DOCUMENTS, GOLDEN, variants_of({**SMALL, "store": str(tmp_path / "mine.db")}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ({"chunkers": ["paragraf"]}, "chunker: must be one of"),
        ({"retrievers": ["dense"]}, "retriever: must be one of"),
        ({"rag_types": ["simpel"]}, "rag_type: must be simple or adaptive, got 'simpel'; the nearest is 'simple'"),
        ({"rag_types": ["agentic"]}, "rag_type: must be simple or adaptive, got 'agentic'."),
        ({"sizes": [0]}, "chunk_size: must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_is_refused_before_the_work(axes: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        variants_of(None, **axes)


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(SettingsError, match="variants: must be at least one combination, got none"):
        compare_pipelines(DOCUMENTS, GOLDEN, [])
    with pytest.raises(SettingsError, match="words: must be a whole number from 1, got 0"):
        compare_pipelines(DOCUMENTS, GOLDEN, variants_of(SMALL), words=0)
    with pytest.raises(SettingsError, match="k: must be a whole number from 1, got 0"):
        compare_pipelines(DOCUMENTS, GOLDEN, variants_of(SMALL), k=0)
    with pytest.raises(
        SettingsError, match="by: must be a column of the table, got 'token_f2'; the nearest is 'token_f1'"
    ):
        compare_pipelines(DOCUMENTS, GOLDEN, variants_of(SMALL), by="token_f2")
    with pytest.raises(DatasetError, match="files: must hold at least one document with text, got none"):
        compare_pipelines(["no/such.md"], GOLDEN, variants_of(SMALL))


def test_the_overlap_fits_every_size_and_one_that_is_set_is_kept_where_it_fits() -> None:
    def overlaps(sizes: list[int], **settings: int) -> list[int]:
        return [one.settings.chunk_overlap for one in variants_of(settings, sizes=sizes)]

    assert overlaps([1, 20, 40, 120, 600]) == [0, 3, 6, 20, 100]
    assert overlaps([20, 100, 600], chunk_size=300, chunk_overlap=60) == [4, 60, 60]
    assert overlaps([10, 100], chunk_overlap=0) == [0, 0]
    with pytest.raises(SettingsError, match="chunk_size: must be at least 1, got 0"):
        variants_of(sizes=[0])


def test_a_combination_that_is_named_twice_is_run_once() -> None:
    assert len(variants_of(SMALL, chunkers=["words", "words"], sizes=[20, 30, 20])) == 2


# --- the table --------------------------------------------------------------------------------------


def row(chunker: str, **values: float | None) -> Row:
    return Row(Variant("simple", Settings(chunker=chunker)), dict(values), {name: 9 for name in values if values[name]})


def test_the_best_is_first_ties_go_by_the_next_column_and_what_failed_comes_last() -> None:
    failed = Row(Variant("simple", Settings(chunker="page")), error="no")
    rows = [
        failed,
        row("words", recall_in_words=0.5, token_f1=0.1),
        row("section", recall_in_words=None, token_f1=0.9),
        row("sentence", recall_in_words=0.5, token_f1=0.2),
        row("paragraph", recall_in_words=0.6, token_f1=0.0),
    ]
    names = [one.variant.settings.chunker for one in Comparison(rows, 5, 500).rows]
    assert names == ["paragraph", "sentence", "words", "section", "page"]
    by_f1 = Comparison(rows, 5, 500, by="token_f1").rows
    assert by_f1[0].variant.settings.chunker == "section"


def test_where_the_first_column_is_the_same_for_all_the_next_decides_and_it_says_so() -> None:
    rows = [  # of the sample of the README
        row("paragraph", recall_in_words=1.0, recall_at_k=0.975, mrr_at_k=0.95, ndcg_at_k=0.944, token_f1=0.047),
        row("sentence", recall_in_words=1.0, recall_at_k=1.0, mrr_at_k=1.0, ndcg_at_k=1.0, token_f1=0.045),
        row("section", recall_in_words=1.0, recall_at_k=1.0, mrr_at_k=0.95, ndcg_at_k=0.963, token_f1=0.048),
    ]
    comparison = Comparison(rows, 5, 500)
    assert [one.variant.settings.chunker for one in comparison.rows] == ["sentence", "section", "paragraph"]
    assert next(comparison.notes()) == (
        "Recall in 500 words is 1.000 for all; best first by Recall@5, then MRR@5, then nDCG@5, then Token F1; "
        "0 questions, 0 documents."
    )


def test_where_all_columns_are_the_same_for_all_none_is_said_to_be_better() -> None:
    rows = [row("words", recall_in_words=0.5, mrr_at_k=0.25), row("section", recall_in_words=0.5, mrr_at_k=0.25)]
    assert next(Comparison(rows, 5, 500).notes()).startswith(
        "Recall in 500 words is 0.500 for all, and all else that could order them is equal too: none is better;"
    )
    assert next(Comparison(rows[:1], 5, 500).notes()).startswith("Best first by Recall in 500 words;")


@pytest.mark.parametrize(("words", "is_said"), [(9, False), (10, True), (11, True)])
def test_it_says_where_the_words_are_as_many_as_the_documents_have(words: int, is_said: bool) -> None:
    golden = [{"id": "q", "question": "Hotels cost?", "expected_evidence": ["95 euros"]}]
    text = "Leave is 28 days. Hotels cost 95 euros. Trains free."  # 10 words
    comparison = compare_pipelines([Document("d", text)], golden, variants_of(SMALL), words=words)
    said = f"recall in {words} words looks at all that was retrieved, since the documents have 10 words together."
    assert any(warning.startswith(said) for warning in comparison.warnings) is is_said


def test_the_lowest_time_is_best() -> None:
    rows = [row("words", p95_latency_ms=30.0), row("section", p95_latency_ms=20.0)]
    assert [one.variant.settings.chunker for one in Comparison(rows, 5, 500, by="p95_latency_ms").rows] == [
        "section",
        "words",
    ]


def test_what_is_the_same_in_all_or_measured_in_none_has_no_column(tmp_path: Path) -> None:
    comparison = Comparison([row("words", recall_in_words=0.5), row("section", recall_in_words=0.75)], 5, 300)
    assert comparison.cells() == (
        ["#", "Chunker", "Recall in 300 words", "Questions"],
        [["1", "section", "0.750", "9"], ["2", "words", "0.500", "9"]],
    )
    files = comparison.save(tmp_path)
    assert [file.name for file in files] == ["comparison.json", "comparison.md"]
    assert json.loads(files[0].read_text()) == comparison.as_dict()
    page = files[1].read_text()
    assert "| 1   | section |               0.750 |         9 |" in page
    assert "Chunk ids change with the chunker, so evidence is compared as quotes and tokens" in page


def test_what_holds_of_all_is_said_once() -> None:
    rows = [row("words", token_f1=0.5), row("section", token_f1=0.4)]
    for place, one in enumerate(rows):
        one.warnings = ["of all", f"of {place}"]
    comparison = Comparison(rows, 5, 500, by="token_f1")
    assert comparison.warnings == ["of all"]
    assert [one.warnings for one in comparison.rows] == [["of 0"], ["of 1"]]
