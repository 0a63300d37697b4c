"""Which values a tally keeps for the intervals of its means."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation import metric as kinds
from rag_titan.evaluation.measures.resampling import KEPT, interval95
from rag_titan.evaluation.measures.sums import Moments
from rag_titan.evaluation.metric import P95, Metric, Stage
from rag_titan.evaluation.stages.stage import StageTally


def row(key: str, reduce: kinds.Reduce = kinds.MEAN) -> Metric:
    return Metric(key, Stage.RETRIEVAL, key, "", "", kinds.RATE, "query", (), lambda inputs: np.empty(0), reduce)


ROWS = (row("f1"), row("spread", kinds.VARIATION), row("slow", P95))


def tally(values: np.ndarray) -> StageTally:
    return StageTally.tally(ROWS, dict.fromkeys((r.key for r in ROWS), values))


CELLS = st.one_of(st.sampled_from([0.0, 1.0, np.nan]), st.floats(0, 1))


@given(values=st.lists(CELLS, min_size=1, max_size=40), seed=st.integers(0, 99))
def test_neither_order_nor_batches_change_an_interval(values: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = np.array_split(rng.permutation(np.array(values)), rng.integers(1, 8))
    merged = StageTally()
    for part in parts:
        merged = pickle.loads(pickle.dumps(tally(part))).merge(merged)
    kept = np.array(values)[~np.isnan(values)]
    wanted = interval95(Moments.of(kept), 0, 1, kept)
    assert merged.detail(ROWS, {})["f1"]["ci95"] == tally(np.array(values)).detail(ROWS, {})["f1"]["ci95"] == wanted
    assert [merged.detail(ROWS, {})[key]["ci95"] for key in ("spread", "slow")] == [None, None]


@pytest.mark.parametrize("n", [KEPT, KEPT + 1])
def test_values_are_kept_up_to_a_number(n: int) -> None:
    """A batch of zeros and ones keeps none: the moments say how many there were."""
    values = np.concatenate([np.random.default_rng(1).random(n - 50), np.zeros(30), np.ones(20)])
    merged = tally(values[:-50]).merge(tally(values[-50:]))
    assert not tally(values[-50:]).values
    assert {key: len(kept) for key, kept in merged.values.items()} == ({"f1": n} if n <= KEPT else {})
    wanted = interval95(Moments.of(values), 0, 1, values)
    assert merged.detail(ROWS, {})["f1"]["ci95"] == wanted
