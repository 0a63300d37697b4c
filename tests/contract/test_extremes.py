"""Values at the ends of what a number can hold: no picture, no table and no comparison prints infinity or NaN."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.reports.compare import compare
from rag_titan.evaluation.reports.html import html
from rag_titan.evaluation.reports.html_figures import histogram, interval, reach, scaled
from rag_titan.evaluation.reports.junit import junit
from rag_titan.evaluation.reports.markdown import markdown

ENDS = [0.0, 5e-324, 1e-308, 1e-9, 1.0, 1e15, 1e300, 1e308, 1.7976931348623157e308]
AMOUNTS = st.one_of(st.sampled_from(ENDS), st.floats(0, allow_infinity=False))
SIGNED = st.one_of(AMOUNTS, AMOUNTS.map(lambda value: -value))
NOT_FINITE = re.compile(r"(?<![A-Za-z])-?(inf|nan|infinity)(?![A-Za-z])", re.IGNORECASE)


def query(number: int, latency: float, cost: float) -> dict[str, Any]:
    timed = {"latency_ms": latency, "cost_usd": cost, "search_latency_ms": latency, "rerank_latency_ms": cost}
    return {"id": f"q{number}", "expected_chunk_ids": ["a"], "retrieved_ids": ["a"], "answer": "x", **timed}


@settings(max_examples=8, phases=[Phase.generate])  # to shrink a whole report takes minutes
@given(st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=1, max_size=4), st.lists(AMOUNTS, min_size=1, max_size=4))
def test_no_output_says_infinity(now: list[tuple[float, float]], before: list[float]) -> None:
    report = RAGEvaluator(k=1, explorer=True).evaluate(queries=[query(i, *pair) for i, pair in enumerate(now)])
    older = RAGEvaluator(k=1).evaluate(queries=[query(i, value, value) for i, value in enumerate(before)])
    comparison = compare(report, older)
    json.dumps([report, comparison], allow_nan=False)
    page = html(report, comparison).partition("<body")[2].partition("<script")[0]
    for said in (page, markdown(report, comparison), junit(report, comparison, per_query=True)):
        assert NOT_FINITE.search(said) is None, NOT_FINITE.search(said)


@given(SIGNED, st.lists(SIGNED, min_size=2, max_size=2), SIGNED, SIGNED)
def test_an_interval_lies_on_its_axis(value: float, ends: list[float], low: float, high: float) -> None:
    found = interval(value, sorted(ends), low, high)
    if found is None:
        assert low >= high
        return
    assert found.span is not None
    assert 0 <= found.at <= 100
    assert 0 <= found.span.start <= 100
    assert 0 <= found.span.size <= 100
    assert found.zero is None or 0 <= found.zero <= 100


@given(st.lists(SIGNED, max_size=6))
def test_every_value_has_its_place_in_a_histogram(values: list[float]) -> None:
    found = histogram(values)
    assert sum(found.counts) == len(values)
    assert all(abs(edge) <= 1.7976931348623157e308 for edge in found.edges)
    assert all(0 <= bar.size <= 100 for _, bar in found.bars)
    most = reach(values)
    assert all(0 <= scaled(value, most).size <= 100 for value in values)
