"""Tables put together from small ones, with and without rankings, say what one table says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_titan.errors import SettingsError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.data import gathering

IDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)
QUERY = st.fixed_dictionaries(
    {},
    optional={
        "retrieved_ids": IDS,
        "reranked_ids": IDS,
        "context_ids": IDS,
        "expected_chunk_ids": IDS,
        "expected_evidence": st.lists(st.sampled_from(["one two", "three"]), max_size=2),
        "retrieved_texts": st.lists(st.sampled_from(["one two", "x"]), max_size=2),
        "retrieval_latency_ms": st.floats(0, 9),
        "answer": st.sampled_from(["one", "two"]),
        "expected_answer": st.sampled_from(["one", "two"]),
    },
)
CHUNKS = [{"id": name, "text": text} for name, text in zip("abcd", ["one two", "three", "four", "five"], strict=True)]


def without_lists(report: dict[str, Any]) -> str:
    """A report as text, without its lists per query and its time."""
    parts = {key: value for key, value in report.items() if key not in ("queries", "meta")}
    for stage in parts.values():
        if isinstance(stage, dict):
            stage.pop("per_query", None)
    return json.dumps(parts)


@settings(max_examples=40)
@given(queries=st.lists(QUERY, max_size=9), k=st.integers(1, 4), deep=st.integers(1, 20))
def test_reports_with_and_without_lists_agree_to_the_last_digit(
    queries: list[dict[str, Any]], k: int, deep: int
) -> None:
    data = {"queries": [{"id": i, **query} for i, query in enumerate(queries)], "chunks": CHUNKS}
    own = RAGEvaluator(k, also_at=[deep])
    whole = without_lists(own.evaluate(**data))
    assert without_lists(own.evaluate(**data, per_query=None)) == whole
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "HOT", 2)
        patch.setattr(gathering, "BATCH", 4)
        assert without_lists(own.evaluate(**data, per_query=None)) == whole
        assert without_lists(own.evaluate(**data)) == whole


def test_rankings_are_let_go_where_only_cut_metrics_need_them(tmp_path: Path) -> None:
    lines = [{"id": i, "retrieved_ids": ["a", "a", "b"], "relevance": {"b": 2}} for i in range(5)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    report = RAGEvaluator(2).evaluate_path(path, per_query=None)
    summary = report["retrieval"]["summary"]
    assert (summary["mrr_at_k"], summary["duplicate_rate_at_k"], summary["empty_rate"]) == (0.5, 0.5, 0.0)
    assert report["retrieval"]["detail"]["recall_at_k"]["n"] == 5


def test_k_may_lie_far_beyond_every_list() -> None:
    query = {"id": 1, "retrieved_ids": ["x", "b", "y"], "relevance": {"b": 3, "c": 1}}
    deep, near = (RAGEvaluator(k).evaluate(queries=[query])["retrieval"]["summary"] for k in (10**9, 3))
    assert deep["precision_at_k"] == 1e-9
    for key in ("recall_at_k", "mrr_at_k", "ndcg_at_k", "hit_at_k", "average_precision_at_k"):
        assert deep[key] == near[key]


@pytest.mark.parametrize("k", [0, -1, 10**9 + 1, 10**4000, 2.5, "3", True, None])
def test_k_is_a_whole_number_that_arrays_can_hold(k: Any) -> None:
    with pytest.raises(SettingsError, match=r"k: must be a whole number from 1 to 1,000,000,000, got ") as caught:
        RAGEvaluator(k)
    assert len(str(caught.value)) < 200
