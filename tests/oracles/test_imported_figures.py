"""The figures that the sources of real logs publish, out of what is imported of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from tests.architecture.source_tree import ROOT

from rag_titan.errors import DatasetError
from rag_titan.evaluation import RAGEvaluator, read_dataset
from rag_titan.evaluation.importers import alce, autorag, open_rag_eval, ragchecker, squad
from rag_titan.evaluation.importers.imported import Imported

pytestmark = pytest.mark.oracle

SHARED = ROOT.parent / "shared" / "data"


def path_of(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"not here: {name}")
    return path


def report_of(got: Imported, **settings: Any) -> dict[str, Any]:
    return RAGEvaluator(**settings).evaluate_dataset(got.dataset())


# AutoRAG.


@pytest.mark.parquet
@pytest.mark.parametrize(
    ("retrieval", "returned", "column"),
    [("hybrid_retrieval", 8, "retrieval"), ("semantic_retrieval", 10, ""), ("lexical_retrieval", 10, "")],
)
def test_retrieval_of_autorag(retrieval: str, returned: int, column: str) -> None:
    """AutoRAG divides precision by the number returned, copies of one passage included: that is K."""
    pytest.importorskip("pyarrow")
    folder = path_of("autorag/result_project")
    got = autorag.read([folder], retrieval=retrieval)
    assert {len(query["retrieved_ids"]) for query in got.queries} == {returned}
    rows = report_of(got, k=returned)["retrieval"]["per_query"]
    figures = own_figures(folder / "retrieve_node_line" / retrieval / "0.parquet")
    assert len(rows) == len(figures) == 10
    for row, figure in zip(rows, figures, strict=True):
        assert row["recall_at_k"] == figure["retrieval_recall"]
        assert row["precision_at_k"] == pytest.approx(figure["retrieval_precision"], abs=1e-12)
        assert row["f1_at_k"] == pytest.approx(figure["retrieval_f1"], abs=1e-12)
    if column:
        assert [query["autorag"][f"{column}_recall"] for query in got.queries] == [r["recall_at_k"] for r in rows]


def own_figures(path: Path) -> list[dict[str, float]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows: list[dict[str, float]] = parquet.read_table(path).to_pylist()
    return rows


@pytest.mark.parquet
def test_reranker_of_autorag() -> None:
    pytest.importorskip("pyarrow")
    got = autorag.read([path_of("autorag")])
    reranked = [query | {"retrieved_ids": query["reranked_ids"]} for query in got.queries]
    rows = report_of(Imported(reranked, got.chunks), k=5)["retrieval"]["per_query"]
    for query, row in zip(got.queries, rows, strict=True):
        for ours, theirs in (("recall_at_k", "recall"), ("precision_at_k", "precision"), ("f1_at_k", "f1")):
            figure = query["autorag"][f"passage_reranker_retrieval_{theirs}"]
            assert row[ours] == pytest.approx(figure, abs=1e-12)
    assert fmean(row["recall_at_k"] for row in rows) == 1.0
    assert fmean(row["precision_at_k"] for row in rows) == pytest.approx(0.2)


@pytest.mark.parquet
def test_tables_of_autorag_without_a_run() -> None:
    pytest.importorskip("pyarrow")
    got = autorag.read([path_of("autorag/gen_qa.parquet"), path_of("autorag/gen_corpus.parquet")])
    known = {chunk["id"] for chunk in got.chunks or ()}
    assert (len(got.queries), len(known)) == (20, 55)
    assert {name for query in got.queries for name in query["expected_chunk_ids"]} <= known
    assert all(query["expected_answers"] for query in got.queries)


# RAGChecker.


def test_faithfulness_of_ragchecker() -> None:
    path = path_of("ragchecker/checking_outputs.json")
    got = ragchecker.read([path])
    generation = report_of(got)["generation"]
    published = json.loads(path.read_text("utf-8"))
    assert round(100 * generation["summary"]["annotated_claim_support"], 1) == 68.2
    assert published["metrics"]["generator"]["faithfulness"] == 68.2
    for query, row in zip(got.queries, generation["per_query"], strict=True):
        assert row["annotated_claim_support"] == pytest.approx(query["metrics"]["faithfulness"], abs=1e-12)


OF_RAGCHECKER = {  # its name: ours, where it is another
    "precision": "answer_claim_precision",
    "recall": "answer_claim_recall",
    "f1": "answer_claim_f1",
    "context_precision": "context_precision_unranked",
}


def test_every_figure_of_ragchecker_comes_from_the_verdicts() -> None:
    path = path_of("ragchecker/checking_outputs.json")
    got = ragchecker.read([path])
    judge = report_of(got)["judge"]
    printed = [figures for part in json.loads(path.read_text("utf-8"))["metrics"].values() for figures in part.items()]
    assert len(printed) == 11
    for name, figure in printed:
        assert round(100 * judge["summary"][OF_RAGCHECKER.get(name, name)], 1) == figure
    assert round(100 * judge["summary"]["context_precision"], 1) == 95.8  # by rank, which RAGChecker does not print
    for query, row in zip(got.queries, judge["per_query"], strict=True):
        for name, figure in query["metrics"].items():
            assert row[OF_RAGCHECKER.get(name, name)] == pytest.approx(figure, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "queries", "chunks"),
    [("checking_inputs", 2, 7), ("human_labeled_data", 560, 0), ("baseline_ragchecker", 560, 0)],
)
def test_other_files_of_ragchecker(name: str, queries: int, chunks: int) -> None:
    got = ragchecker.read([path_of(f"ragchecker/{name}.json")])
    assert (len(got.queries), len(got.chunks or ())) == (queries, chunks)
    summary = report_of(got)["generation"]["summary"]
    assert summary["answer_f1"] is not None
    assert summary["rouge_l_f1"] is not None


def test_every_label_of_ragchecker_is_kept() -> None:
    got = ragchecker.read([path_of("ragchecker/human_labeled_data.json")])
    labels = [label for query in got.queries for label in query["comparisons"] if label["place"] == "first"]
    assert len(labels) == 560


# ALCE. Its answers stand there without the citations and documents: its own figures that need no model come out.


def test_lengths_and_string_matches_of_alce() -> None:
    path = path_of("alce/human_eval_utility_completed.json")
    for dataset, systems in json.loads(path.read_text("utf-8")).items():
        for system, answers in systems.items():
            got = alce.read([path], dataset=dataset, system=system)
            overall = answers["overall_results"]
            assert fmean(len(query["answer"].split()) for query in got.queries) == pytest.approx(overall["length"])
            correct = 100 * fmean(fmean(query["automatic_correctness_scores"]) for query in got.queries)
            assert correct == pytest.approx(overall["claims_nli" if dataset == "eli5" else "str_em"])
            assert all(1 <= query["utility_score"] <= 5 for query in got.queries)


def test_all_systems_of_alce_at_once() -> None:
    got = alce.read([path_of("alce/human_eval_utility_completed.json")])
    assert len({query["id"] for query in got.queries}) == len(got.queries) == 800
    summary = report_of(got)["generation"]["summary"]
    assert {key for key, value in summary.items() if value is not None} == set()


# open-rag-eval.


@pytest.mark.parametrize("name", ["csv_results", "test_csv_connector"])
def test_csv_of_open_rag_eval(name: str) -> None:
    got = open_rag_eval.read([path_of(f"open_rag_eval/{name}.csv")])
    assert [query["id"] for query in got.queries] == [*(f"query_{i}" for i in range(1, 6)), "query_6/1", "query_6/2"]
    assert [len(query["citations"]) for query in got.queries] == [4, 1, 1, 2, 5, 1, 1]
    assert len(got.chunks or ()) == 16
    report = report_of(got)
    assert report["generation"]["summary"]["citations_outside_context_rate"] == pytest.approx(0.25 / 7)
    assert report["generation"]["summary"]["context_grounding"] is not None


# SQuAD and XQuAD.


@pytest.mark.parametrize(("model", "answered"), [("bert_single", 817), ("logistic_regression", 1188)])
def test_predictions_of_squad(model: str, answered: int) -> None:
    got = squad.read([path_of("xquad/xquad.en.json"), path_of(f"squad/{model}.json")])
    report = report_of(got, conventions="squad")
    assert (len(got.queries), len(got.documents or ())) == (1190, 240)
    assert report["generation"]["detail"]["exact_match"]["n"] == answered
    assert report["end_to_end"]["error_rate"] == (1190 - answered) / 1190


def places_hold(got: Imported) -> bool:
    documents = got.documents or {}
    return all(
        documents[span["doc_id"]][span["start"] : span["end"]] == query["expected_answers"][0]
        for query in got.queries
        for span in query["expected_evidence"]
    )


@pytest.mark.parametrize("language", ["en", "zh", "hi", "th", "ar", "de", "ru"])
def test_every_answer_of_xquad_stands_in_its_paragraph(language: str) -> None:
    got = squad.read([path_of(f"xquad/xquad.{language}.json")])
    assert len(got.queries) == 1190
    assert not got.notices.texts()
    assert places_hold(got)


READERS: tuple[tuple[Callable[..., Imported], str], ...] = (
    (ragchecker.read, "ragchecker/checking_outputs.json"),
    (alce.read, "alce/human_eval_utility_completed.json"),
    (open_rag_eval.read, "open_rag_eval/csv_results.csv"),
    (squad.read, "xquad/xquad.en.json"),
)


@pytest.mark.parametrize(("read", "name"), READERS)
def test_what_is_written_is_what_was_imported(read: Callable[..., Imported], name: str, tmp_path: Path) -> None:
    got = read([path_of(name)])
    got.write(tmp_path)
    assert RAGEvaluator().evaluate_dataset(read_dataset(tmp_path))["retrieval"] == report_of(got)["retrieval"]


def outcome(read: Callable[..., Imported], path: Path) -> Imported | str:
    """What was imported, or the sentence about why nothing was."""
    try:
        return read([path])
    except DatasetError as error:
        return str(error)


@pytest.mark.parametrize("share", [1, 10, 50, 90, 99])
@pytest.mark.parametrize(("read", "name"), READERS)
def test_what_is_cut_off_is_one_sentence(read: Callable[..., Imported], name: str, share: int, tmp_path: Path) -> None:
    data = path_of(name).read_bytes()
    part = tmp_path / Path(name).name
    part.write_bytes(data[: len(data) * share // 100])
    got = outcome(read, part)
    assert part.name in got if isinstance(got, str) else got.queries
    assert "\n" not in (got if isinstance(got, str) else "")
