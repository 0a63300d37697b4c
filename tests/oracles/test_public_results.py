"""Results that other projects published: trec_eval's own test outputs, and SQuAD predictions on XQuAD's references."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from tests.architecture.source_tree import ROOT
from tests.oracles.references import OF_TREC_EVAL, SQUAD

from rag_titan.evaluation import RAGEvaluator

SHARED = ROOT.parent / "shared" / "data"
CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
FOUR_DIGITS = 0.5e-4 + 1e-9

pytestmark = pytest.mark.oracle


def path_of(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"not here: {name}")
    return path


def topics(qrels: str, run: str) -> list[dict[str, Any]]:
    """One query a topic of the qrels; trec_eval orders by score, then by document, both falling."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path_of(f"trec_eval/{qrels}").read_text("utf-8").splitlines():
        topic, _, document, grade = line.split()
        grades[topic][document] = int(grade)
    returned: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for line in path_of(f"trec_eval/{run}").read_text("utf-8").splitlines():
        topic, _, document, _, score = line.split()[:5]
        returned[topic].append((float(score), document))
    ranked = {topic: [document for _, document in sorted(rows, reverse=True)] for topic, rows in returned.items()}
    return [
        {"id": topic, "relevance": labels, **({"retrieved_ids": ranked[topic]} if topic in ranked else {})}
        for topic, labels in grades.items()
    ]


def published(name: str) -> dict[str, dict[str, float]]:
    """{topic or "all": {measure: value}} of an output of trec_eval."""
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for line in path_of(f"trec_eval/{name}").read_text("utf-8").splitlines():
        measure, topic, value = line.split()
        if measure.startswith(tuple(OF_TREC_EVAL)):
            values[topic][measure] = float(value)
    return values


def summaries(queries: list[dict[str, Any]], **changes: Any) -> dict[int, dict[str, float]]:
    """{K: summary} at every cut-off of trec_eval, from one run."""
    evaluator = RAGEvaluator(k=CUTS[0], also_at=CUTS[1:], conventions={"preset": "trec_eval", **changes})
    part = evaluator.evaluate(queries=queries)["retrieval"]
    return {CUTS[0]: part["summary"], **{int(k): summary for k, summary in part["at"].items()}}


def assert_published(got: dict[int, dict[str, float]], wanted: dict[str, float]) -> None:
    checked = 0
    for k, summary in got.items():
        for theirs, ours in OF_TREC_EVAL.items():
            if f"{theirs}_{k}" in wanted:
                assert summary[ours] == pytest.approx(wanted[f"{theirs}_{k}"], abs=FOUR_DIGITS), f"{theirs}_{k}"
                checked += 1
    assert checked >= 4 * len(CUTS)


def test_the_averages_of_trec_eval() -> None:
    assert_published(summaries(topics("qrels.test", "results.test")), published("out.test.a")["all"])


def test_every_topic_of_trec_eval() -> None:
    rows = published("out.test.aq")
    for query in topics("qrels.test", "results.test"):
        assert_published(summaries([query]), rows[query["id"]])


def test_the_averages_over_all_topics_of_a_run_that_lacks_one() -> None:
    queries = topics("qrels.test", "results.trunc")
    assert sum("retrieved_ids" not in query for query in queries) == 1
    assert_published(summaries(queries, all_topics=True), published("out.test.aqc")["all"])


def test_the_averages_over_the_topics_in_the_run() -> None:
    """What trec_eval averages without -c: the rows of the topics that have a run."""
    queries, rows = topics("qrels.test", "results.trunc"), published("out.test.aqc")
    there = [rows[query["id"]] for query in queries if "retrieved_ids" in query]
    wanted = {measure: fmean(row[measure] for row in there) for measure in there[0]}
    assert_published(summaries(queries), wanted)


def test_the_averages_over_the_topics_in_the_run_are_those_of_pytrec_eval() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    queries = topics("qrels.test", "results.trunc")
    measures = {f"{name}.{','.join(map(str, CUTS))}" for name in OF_TREC_EVAL}
    evaluator = pytrec_eval.RelevanceEvaluator({query["id"]: query["relevance"] for query in queries}, measures)
    run = {
        query["id"]: {name: -float(rank) for rank, name in enumerate(query["retrieved_ids"])}
        for query in queries
        if "retrieved_ids" in query
    }
    found = list(evaluator.evaluate(run).values())
    assert len(found) == len(queries) - 1
    assert_published(summaries(queries), {measure: fmean(row[measure] for row in found) for measure in found[0]})


def test_the_averages_at_relevance_level_2() -> None:
    queries = topics("qrels.rel_level", "results.test")
    assert_published(summaries(queries, relevance_level=2), published("out.test.aql")["all"])


def test_every_topic_at_relevance_level_2() -> None:
    rows = published("out.test.aql")
    for query in topics("qrels.rel_level", "results.test"):
        assert_published(summaries([query], relevance_level=2), rows[query["id"]])


# SQuAD and XQuAD.


def xquad(language: str) -> dict[str, str]:
    """{question id: reference}"""
    articles = json.loads(path_of(f"xquad/xquad.{language}.json").read_text("utf-8"))["data"]
    questions = (question for article in articles for part in article["paragraphs"] for question in part["qas"])
    return {question["id"]: question["answers"][0]["text"] for question in questions}


@pytest.mark.parametrize(("model", "joined"), [("bert_single.json", 817), ("logistic_regression.json", 1188)])
def test_published_predictions_under_the_official_rule(model: str, joined: int) -> None:
    answers, references = json.loads(path_of(f"squad/{model}").read_text("utf-8")), xquad("en")
    log = [{"id": i, "answer": answers[i], "expected_answer": gold} for i, gold in references.items() if i in answers]
    assert len(log) == joined
    SQUAD.check(log)


@pytest.mark.parametrize("conventions", ["seed", "squad"])
@pytest.mark.parametrize("language", ["en", "zh", "hi"])
def test_gold_against_gold_is_one_in_every_language(language: str, conventions: str) -> None:
    log = [{"id": name, "answer": text, "expected_answer": text} for name, text in xquad(language).items()]
    part = RAGEvaluator(conventions=conventions).evaluate(queries=log)["generation"]
    keys = ("exact_match", "answer_precision", "answer_recall", "answer_f1", "rouge_l_f1")
    assert {key: part["summary"][key] for key in keys} == dict.fromkeys(keys, 1.0)
    assert {key: part["detail"][key]["n"] for key in keys} == dict.fromkeys(keys, len(log))
