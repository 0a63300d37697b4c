"""Neither the order of the queries nor the batches they come in changes a digit; one query and none work too."""

from __future__ import annotations

import copy
import json
import pickle
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.rich_dataset import rich_dataset
from tests.strategies import World, datasets, worlds

from rag_titan.evaluation import RAGEvaluator, evaluator
from rag_titan.evaluation.data import gathering
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.evaluation.partial import Partial, partial_of

LISTS = ("per_query", "queries")


def timeless(report: dict[str, Any]) -> dict[str, Any]:
    """The report without the time at which it was made."""
    return {**report, "meta": {**report["meta"], "created_at": None}}


def by_id(node: Any) -> Any:
    """The same with every list per query sorted by id."""
    if isinstance(node, dict):
        return {
            key: sorted(value, key=lambda row: row["id"]) if key in LISTS and isinstance(value, list) else by_id(value)
            for key, value in node.items()
        }
    return node


def evaluated(dataset: dict[str, Any], **options: Any) -> dict[str, Any]:
    return timeless(RAGEvaluator(k=3, also_at=(1, 5), **options).evaluate(**dataset))


@contextmanager
def batches_of(read: int, computed: int) -> Iterator[None]:
    """As many queries are read at once, and about as many are computed at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "HOT", read)
        patch.setattr(gathering, "BATCH", computed)
        yield


def text(report: dict[str, Any]) -> str:
    return json.dumps(by_id(report), sort_keys=True, allow_nan=False)


@pytest.fixture(scope="module")
def dataset() -> dict[str, Any]:
    return rich_dataset(seed=11, queries=23)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_the_queries_changes_no_digit(dataset: dict[str, Any], seed: int) -> None:
    mixed = copy.deepcopy(dataset)
    random.Random(seed).shuffle(mixed["queries"])
    for part in ("vectors", "query_vectors", "index_results"):
        pairs = list(mixed["embeddings"][part].items())
        random.Random(seed).shuffle(pairs)
        mixed["embeddings"][part] = dict(pairs)
    assert text(evaluated(mixed)) == text(evaluated(dataset))


@pytest.mark.parametrize("sizes", [(1, 1), (1, 5), (2, 2), (7, 7), (5, 12), (22, 22), (1000, 1000)])
@pytest.mark.parametrize("per_query", ["report", None])
def test_the_size_of_the_batches_changes_no_digit(
    dataset: dict[str, Any], sizes: tuple[int, int], per_query: str | None
) -> None:
    whole = evaluated({**dataset, "per_query": per_query})
    with batches_of(*sizes):
        assert json.dumps(evaluated({**dataset, "per_query": per_query})) == json.dumps(whole)


def test_the_same_data_give_the_same_report_byte_for_byte(
    dataset: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    reports = [json.dumps(RAGEvaluator(k=3).evaluate(**copy.deepcopy(dataset))) for _ in range(2)]
    assert reports[0] == reports[1]
    assert json.loads(reports[0])["meta"]["created_at"] == "2023-11-14T22:13:20+00:00"


def test_the_data_are_left_as_they_were(dataset: dict[str, Any]) -> None:
    before = copy.deepcopy(dataset)
    evaluated(dataset)
    assert dataset == before


def test_an_evaluator_keeps_nothing_of_a_run(dataset: dict[str, Any]) -> None:
    used = RAGEvaluator(k=3)
    first = timeless(used.evaluate(**dataset))
    used.evaluate(queries=[{"id": "other", "retrieved_ids": []}])
    assert timeless(used.evaluate(**dataset)) == first


@pytest.mark.parametrize("seed", [1, 2])
def test_partial_results_merge_in_any_order(dataset: dict[str, Any], seed: int) -> None:
    """Split, computed apart, pickled, and added up in any order: the same sums, samples and counts."""
    run = evaluator._Run(RAGEvaluator(k=3, also_at=(1,)), dataset_from(**dataset), "report")
    (queries,) = run.dataset.queries.batches(1000)
    whole = partial_of(queries, run.plan)
    dice = random.Random(seed)
    cuts = [0, *sorted(dice.sample(range(1, len(queries)), 4)), len(queries)]
    parts = [partial_of(queries[a:b], run.plan) for a, b in pairwise(cuts)]
    dice.shuffle(parts)
    merged = Partial()
    for part in parts:
        merged.add(pickle.loads(pickle.dumps(part)))
    assert {stage: tally.moments for stage, tally in merged.stages.items()} == {
        stage: tally.moments for stage, tally in whole.stages.items()
    }
    for stage, every in run.plan.rows.items():
        if stage in whole.stages:
            rows = [row for row in every if row.key in whole.stages[stage].of]
            assert merged.stages[stage].summary(rows) == whole.stages[stage].summary(rows)
            assert merged.stages[stage].detail(rows, whole.given) == whole.stages[stage].detail(rows, whole.given)
    assert (merged.queries, merged.given, merged.gold_ids) == (whole.queries, whole.given, whole.gold_ids)
    assert merged.tally.report() == whole.tally.report()
    assert merged.notices.texts() == whole.notices.texts()
    assert sorted(merged.verdicts, key=lambda row: row["id"]) == whole.verdicts


def test_a_reason_survives_merging() -> None:
    """Why the chunker's evidence is not measured is known from the chunks and from every batch of quotes."""
    chunks = [{"id": "a", "text": "two"}, {"id": "b", "text": "three four"}]
    queries = [{"id": f"q{i}", "expected_evidence": ["four"]} for i in range(4)]
    dataset = {"document_text": "two and two are three four", "chunks": chunks, "queries": queries}
    for sizes in ((1000, 1000), (1, 1)):
        with batches_of(*sizes):
            detail = evaluated(dataset)["chunking"]["detail"]["evidence_completeness"]
        assert (detail["n"], detail["of"]) == (0, 4)
        assert "1 of 2 chunks have no sure place" in detail["reason"]


def test_one_query(dataset: dict[str, Any]) -> None:
    name = dataset["queries"][0]["id"]
    report = evaluated({**dataset, "queries": dataset["queries"][:1]})
    full = evaluated(dataset)
    for stage in ("retrieval", "reranking", "augmentation", "generation", "end_to_end"):
        (alone,) = report[stage]["per_query"]
        assert alone == next(row for row in full[stage]["per_query"] if row["id"] == name)
        assert {detail["ci95"] for detail in report[stage]["detail"].values()} == {None}
    assert report["retrieval"]["summary"]["recall_at_k"] == report["retrieval"]["per_query"][0]["recall_at_k"]


@pytest.mark.parametrize("queries", [[], None])
def test_no_queries(dataset: dict[str, Any], queries: list[Any] | None) -> None:
    report = evaluated({**dataset, "queries": queries})
    for stage in ("retrieval", "reranking", "augmentation", "generation", "end_to_end"):
        assert report[stage] is None
    assert report["chunking"]["coverage"] is not None
    assert (report["queries"], report["diagnosis"]["counts"]["questions"]) == ([], 0)


def test_without_lists_per_query_the_rest_is_the_same(dataset: dict[str, Any]) -> None:
    full, short = evaluated(dataset), timeless(RAGEvaluator(k=3, also_at=(1, 5)).evaluate(**dataset, per_query=None))
    assert "queries" not in short
    for stage in ("retrieval", "generation", "end_to_end", "embedding"):
        rest = {key: value for key, value in full[stage].items() if key != "per_query"}
        assert short[stage] == rest
    for key in ("diagnosis", "root_causes", "scorecard", "warnings", "meta"):
        assert short[key] == full[key]


SIZES = st.sampled_from([(1, 1), (1, 3), (2, 2), (3, 3)])


@settings(max_examples=25)
@given(world=worlds(queries=6), sizes=SIZES, seed=st.randoms(use_true_random=False))
@pytest.mark.parametrize("per_query", ["report", None])
def test_random_worlds_in_any_order_and_any_batches(
    per_query: str | None, world: World, sizes: tuple[int, int], seed: random.Random
) -> None:
    mixed = list(world.queries)
    seed.shuffle(mixed)
    rest = {"documents": world.documents, "chunks": world.chunks, "per_query": per_query}
    whole = text(evaluated({**rest, "queries": world.queries}))
    with batches_of(*sizes):
        assert text(evaluated({**rest, "queries": mixed})) == whole


@settings(max_examples=50)
@given(dataset=datasets(hostile=False), sizes=SIZES)
@pytest.mark.parametrize("per_query", ["report", None])
def test_random_datasets_in_any_order_and_any_batches(
    per_query: str | None, dataset: dict[str, Any], sizes: tuple[int, int]
) -> None:
    whole = text(evaluated({**dataset, "per_query": per_query}))
    with batches_of(*sizes):
        turned = {**dataset, "queries": dataset["queries"][::-1], "per_query": per_query}
        assert text(evaluated(turned)) == whole


@settings(max_examples=50)
@given(dataset=datasets(hostile=False))
def test_random_datasets_without_lists_per_query_give_the_same_report(dataset: dict[str, Any]) -> None:
    full, short = evaluated(dataset), evaluated({**dataset, "per_query": None})
    assert text(without_lists(full)) == text(short)


def without_lists(node: Any) -> Any:
    """The report as it is when nobody wants lists per query."""
    if isinstance(node, dict):
        return {key: without_lists(value) for key, value in node.items() if not (key in LISTS and type(value) is list)}
    return node
