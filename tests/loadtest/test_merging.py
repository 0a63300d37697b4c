"""Files of load tests: what is refused, and when several are no single one."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loadtest.virtual import OneWorker, ScriptedTarget, virtual_test

from rag_titan.errors import DatasetError
from rag_titan.loadtest.histogram import Latencies
from rag_titan.loadtest.merging import merged, read_result
from rag_titan.loadtest.plan import Plan

pytestmark = pytest.mark.load
pytest.importorskip("hdrh")
PLAN = Plan(rates=[10, 20], duration=10, warm_up=0, arrivals="fixed", trials=1, sla_ms=500, resolution=1)
JUNK: list[Any] = [None, True, -1, 1e400, float("nan"), 10**400, "x", "\ud800", [], {}, [[1]], {"of": 1}]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("load") / "load.json"
    virtual_test(OneWorker(0.02), PLAN).save(file)
    return json.loads(file.read_text())


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, one in inner for found in places(one, (*path, key)))]


@given(data=st.data())
def test_a_file_with_anything_wrong_in_it_is_refused_or_can_be_used(
    record: Any, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    broken = copy.deepcopy(record)
    *path, last = data.draw(st.sampled_from([place for place in places(record) if place]))
    inside = broken
    for key in path:
        inside = inside[key]
    if data.draw(st.booleans()):
        inside[last] = data.draw(st.sampled_from(JUNK))
    else:
        del inside[last]
    file = tmp_path_factory.mktemp("broken") / "load.json"
    file.write_text(json.dumps(broken))
    try:
        found = merged([read_result(file)])
    except DatasetError:
        return
    json.dumps(found.record(), allow_nan=False)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "[]", "null", "\xff"])
def test_what_is_no_file_of_a_load_test(tmp_path: Path, text: str) -> None:
    file = tmp_path / "load.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(DatasetError, match="must be what `rag-titan load --output` wrote"):
        read_result(file)


class LateOnce(ScriptedTarget):
    """Holds the generator up in the first step, once."""

    async def answer(self, question: str) -> Any:
        import asyncio

        if len(self.asked) == 50:
            asyncio.get_running_loop().block(0.9)  # type: ignore[attr-defined]  # of the loop of the tests
        return await super().answer(question)


def test_a_generator_that_ran_a_step_again_was_not_beside_the_others() -> None:
    late, in_time = virtual_test(LateOnce(), PLAN), virtual_test(ScriptedTarget(), PLAN)
    assert (late.invalid, len(late.steps)) == (None, 3)
    both = merged([late, in_time])
    assert both.invalid is not None
    assert both.invalid.startswith("One generator was late at 10 requests a second")
    assert both.knee is None
    assert merged([late]).invalid is None


def test_runs_of_other_plans_are_no_single_one() -> None:
    one = virtual_test(ScriptedTarget(), PLAN)
    for options in ({"sla_ms": 400}, {"share": 0.95}, {"warm_up": 1}):
        other = virtual_test(ScriptedTarget(), Plan(**{**vars(PLAN), **options}))
        with pytest.raises(DatasetError, match=f"must be of one {next(iter(options))}, got"):
            merged([one, other])


def test_a_rate_of_several_trials_is_sustained_when_all_of_them_say_so() -> None:
    class SlowLater(ScriptedTarget):
        async def answer(self, question: str) -> Any:
            import asyncio

            await asyncio.sleep(0.6 if 300 <= len(self.asked) < 330 else 0.01)
            return await super().answer(question)

    plan = Plan(rates=[10], duration=10, warm_up=0, arrivals="fixed", trials=5, sla_ms=500, resolution=1)
    both = merged([virtual_test(SlowLater(), plan)] * 2)
    assert len(both.steps) == 5
    assert both.knee is not None
    assert both.knee.rate is None


@given(st.lists(st.floats(0.001, 170_000_000), min_size=1, max_size=300), st.sampled_from([0.5, 0.95, 0.99]))
def test_quantiles_are_those_of_numpy_within_a_thousandth(values: list[float], share: float) -> None:
    """Up to 47 hours: a request may take a day, and be due long before it is sent."""
    times = np.array(values)
    found = Latencies.measured(times).quantile(share)
    assert found == pytest.approx(np.quantile(times, share, method="inverted_cdf"), rel=1e-3, abs=0.001)


@given(st.lists(st.floats(0.001, 3_000_000), max_size=50), st.lists(st.floats(0.001, 3_000_000), max_size=50))
def test_two_histograms_are_that_of_all_also_where_one_has_other_settings(one: list[float], two: list[float]) -> None:
    from hdrh.histogram import HdrHistogram

    narrow = HdrHistogram(1, 3_600_000_000, 3)  # as files of an earlier version have it
    for value in one:
        narrow.record_value(round(value * 1000))
    summary = {"histogram": narrow.encode().decode(), "of": len(one), "mean": float(np.mean(one)) if one else None}
    both = Latencies.read(summary, "x").plus(Latencies.measured(np.array(two)))
    every = Latencies.measured(np.array(one + two))
    assert (both.of, both.answered) == (every.of, every.answered)
    assert both.mean == pytest.approx(every.mean) if every.mean is not None else both.mean is None
    for share in (0.5, 0.99):
        expected = every.quantile(share)
        assert both.quantile(share) == (expected and pytest.approx(expected, rel=2e-3, abs=0.002))
