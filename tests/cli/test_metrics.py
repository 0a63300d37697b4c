"""rag-titan metrics: what the catalogue says of every metric."""

from __future__ import annotations

from tests.cli.conftest import Run

from rag_titan.evaluation import CATALOGUE


def test_every_metric_is_listed_with_formula_and_advice(run: Run) -> None:
    done = run("metrics")
    assert done.code == 0
    for row in CATALOGUE.values():
        assert f"  {row.key}" in done.lines
        assert any(line.endswith(f": {row.formula}") for line in done.lines)
        assert f"    {row.advice}" in done.lines


def test_one_stage_can_be_asked_for(run: Run) -> None:
    done = run("metrics", "reranking")
    keys = [line.strip() for line in done.lines if line.startswith("  ") and not line.startswith("    ")]
    assert keys == [row.key for row in CATALOGUE.values() if row.stage == "reranking"]
    assert "    nDCG@K, weight 4: nDCG@K of the reranked list" in done.lines


def test_what_is_scored_only_against_a_target_says_so(run: Run) -> None:
    lines = run("metrics", "end_to_end").lines
    assert any(line.startswith("    Mean Cost, weight 1 with a target: ") for line in lines)
    assert any(line.startswith("    Error Rate, not scored: ") for line in lines)


def test_an_unknown_stage_names_the_nearest(run: Run) -> None:
    done = run("metrics", "retreival")
    assert (done.code, done.out) == (2, "")
    assert done.err == "rag-titan: unknown stage 'retreival'; the nearest is 'retrieval'.\n"
