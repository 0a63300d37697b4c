"""Kappa, precision, recall and correlations under scikit-learn and scipy, and RAGChecker's published correlations."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from tests.architecture.source_tree import ROOT

from rag_titan.judge.agreement import agreement, correlations

pytestmark = pytest.mark.oracle

RAGCHECKER = ROOT.parent / "shared" / "data" / "ragchecker"
CLASSES = ("supported", "contradicted", "not_supported")


def random_labels(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rng = np.random.default_rng(seed)
    sides: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for i in range(25):
        size = int(rng.integers(1, 6))
        labels = rng.integers(0, 3, size)
        others = np.where(rng.random(size) < 0.6, labels, rng.integers(0, 3, size))
        for side, given in zip(sides, (labels, others), strict=True):
            claims = [{"context": CLASSES[label]} for label in given]
            grades = {str(n): int(label) for n, label in enumerate(given)}
            side.append({"id": i, "verdicts": {"answer_claims": claims, "chunk_relevance": grades}})
    return sides


def flat(side: list[dict[str, Any]]) -> list[int]:
    return [grade for query in side for grade in query["verdicts"]["chunk_relevance"].values()]


@pytest.mark.parametrize("seed", range(5))
def test_labels(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    judge, human = random_labels(seed)
    mine, theirs = flat(judge), flat(human)
    found = {entry["what"]: entry for entry in agreement(judge, human)["labels"]}
    claims, grades = found["answer_claims.context"], found["chunk_relevance"]
    assert claims["agreement"]["value"] == pytest.approx(metrics.accuracy_score(theirs, mine), abs=1e-12)
    assert claims["kappa"]["value"] == pytest.approx(metrics.cohen_kappa_score(theirs, mine), abs=1e-12)
    precision, recall, _, support = metrics.precision_recall_fscore_support(theirs, mine, labels=[0, 1, 2])
    for code, entry in enumerate(claims["classes"]):
        assert entry["precision"]["value"] == pytest.approx(precision[code], abs=1e-12)
        assert entry["recall"]["value"] == pytest.approx(recall[code], abs=1e-12)
        assert entry["human"] == support[code]
    for weights in ("linear", "quadratic"):
        expected = metrics.cohen_kappa_score(theirs, mine, weights=weights)
        assert grades[f"kappa_{weights}"]["value"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_correlations(seed: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 8, 60) / 7
    y = np.round(x + rng.normal(0, 0.5, 60), 1)
    found = correlations(x.tolist(), y.tolist())
    assert found["pearson"]["value"] == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert found["spearman"]["value"] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of resamples without spread
        by_scipy = stats.bootstrap(
            (x, y), lambda a, b: stats.pearsonr(a, b)[0], paired=True, vectorized=False, n_resamples=1999,
            method="percentile", rng=np.random.default_rng(0),
        ).confidence_interval  # fmt: skip
    assert found["pearson"]["ci95"] == pytest.approx([by_scipy.low, by_scipy.high], abs=0.03)


@pytest.mark.parametrize(("label", "published"), [("correctness", 49.66), ("completeness", 60.67), ("overall", 61.93)])
def test_the_meta_evaluation_of_ragchecker(label: str, published: float) -> None:
    """Two answers to one question: by how much the second is better, by the judge's scores and by each of two people.

    Ru et al. 2024, table 2, and the script beside its data: 280 pairs of answers with two labels each.
    """
    if not RAGCHECKER.exists():
        pytest.skip("not here: ragchecker")
    human, judge = (
        json.loads((RAGCHECKER / name).read_text()) for name in ("human_labeled_data.json", "baseline_ragchecker.json")
    )
    key = f"{label}_label"
    gains = {
        pair["instance_id"]: pair["model2"]["ragchecker"][key] - pair["model1"]["ragchecker"][key] for pair in judge
    }
    assert len(gains) == 280
    pairs = [row["instance_id"] for row in human]
    found = correlations([gains[pair] for pair in pairs], [row[key] for row in human], questions=pairs)["pearson"]
    assert found["n"] == 560
    assert round(100 * found["value"], 2) == published
    low, high = found["ci95"]
    assert low < found["value"] < high
