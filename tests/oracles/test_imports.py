"""What others published comes out of their own files, read by the importers."""

from __future__ import annotations

from statistics import fmean

import pytest
from tests.oracles.test_public_results import assert_published, path_of, published, summaries

from rag_titan.evaluation import import_run

pytestmark = pytest.mark.oracle


def topics(qrels: str, run: str) -> list[dict[str, object]]:
    return import_run("trec", path_of(f"trec_eval/{qrels}"), path_of(f"trec_eval/{run}")).queries


def test_the_averages_of_trec_eval() -> None:
    assert_published(summaries(topics("qrels.test", "results.test")), published("out.test.a")["all"])


def test_qrels_with_comments_give_the_same_averages() -> None:
    assert_published(summaries(topics("qrels.test.with-comments", "results.test")), published("out.test.a")["all"])


def test_every_topic_of_trec_eval() -> None:
    rows = published("out.test.aq")
    for query in topics("qrels.test", "results.test"):
        assert_published(summaries([query]), rows[str(query["id"])])


def test_the_averages_over_all_topics_of_a_run_that_lacks_one() -> None:
    assert_published(
        summaries(topics("qrels.test", "results.trunc"), all_topics=True), published("out.test.aqc")["all"]
    )


def test_the_averages_over_the_topics_in_the_run() -> None:
    queries, rows = topics("qrels.test", "results.trunc"), published("out.test.aqc")
    there = [rows[str(query["id"])] for query in queries if "retrieved_ids" in query]
    assert len(there) == len(queries) - 1
    assert_published(summaries(queries), {measure: fmean(row[measure] for row in there) for measure in there[0]})


def test_the_averages_at_relevance_level_2() -> None:
    queries = topics("qrels.rel_level", "results.test")
    assert_published(summaries(queries, relevance_level=2), published("out.test.aql")["all"])


@pytest.mark.parametrize(
    ("name", "queries", "judgements"),
    [
        ("qrels.beir-v1.0.0-scifact.test.txt", 300, 339),
        ("qrels.beir-v1.0.0-nfcorpus.test.txt", 323, 12334),
        ("qrels.dl19-passage.txt", 43, 9260),
        ("qrels.miracl-v1.0-zh-dev.tsv", 393, 3928),
    ],
)
def test_the_counts_of_public_qrels(name: str, queries: int, judgements: int) -> None:
    """As their collections state them: BEIR (Thakur and others 2021), TREC 2019 DL, MIRACL (Zhang and others 2023)."""
    imported = import_run("trec", path_of(f"qrels/{name}"))
    assert len(imported.queries) == queries
    assert sum(len(query["relevance"]) for query in imported.queries) == judgements
    assert imported.notices.texts() == []


def test_a_run_that_comes_as_text_and_as_json_is_the_same() -> None:
    text = import_run("trec", path_of("trec_runs/qrels.trec"), path_of("trec_runs/run.trec")).queries
    values = import_run("trec", path_of("trec_runs/qrels.json"), path_of("trec_runs/run.json")).queries
    assert [{key: value for key, value in query.items() if key != "run_tag"} for query in text] == values
