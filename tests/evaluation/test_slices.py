"""Slices: what the report says of the questions with one value of a tag is what a run on these questions alone says."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.rich_dataset import rich_dataset

from rag_titan.errors import DatasetError
from rag_titan.evaluation import RAGEvaluator, ReportManager, ScoreAggregator, evaluator, slice_tallies, slices
from rag_titan.evaluation.data import gathering
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.evaluation.metric import RATE, Metric, Stage
from rag_titan.evaluation.partial import QUERY_STAGES
from rag_titan.evaluation.scoring.policy import SLICE_MINIMUM, Choice
from rag_titan.evaluation.slice_tallies import tag_values

Query = dict[str, Any]
VALUES = ("de", "en", "2", 2, 2.0, True, None, "")


def query(name: object, rank: int | None, **tags: Any) -> Query:
    """A question whose gold chunk stands at that rank, or is not found."""
    found = ["x", "y", "z"] if rank is None else [*["x", "y", "z"][: rank - 1], "gold"]
    return {"id": str(name), "expected_chunk_ids": ["gold"], "retrieved_ids": found, "tags": tags}


def run(queries: Sequence[Query], *by: str, **options: Any) -> dict[str, Any]:
    report = RAGEvaluator(k=3, by=by, **options).evaluate(queries=list(queries))
    json.dumps(report, allow_nan=False)
    return report


def sliced(queries: Sequence[Query], *by: str, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = run(queries, *by, **options)["slices"]
    return found


def names(entries: Sequence[Mapping[str, Any]]) -> list[tuple[str, str | None]]:
    return [(entry["tag"], entry["value"]) for entry in entries]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "BATCH", 7)
    monkeypatch.setattr(gathering, "HOT", 3)
    monkeypatch.setattr(slices, "GATHERED", 20)


# --- the slow twin -------------------------------------------------------------------------------------


def patchy(seed: int, count: int) -> dict[str, Any]:
    """Questions in a random order that lack some keys, with tags."""
    data, dice = rich_dataset(seed, count), random.Random(seed)
    for row in data["queries"]:
        row["tags"] = {"language": dice.choice(VALUES), "tier": dice.choice("abc")}
        if row["tags"]["tier"] == "c":  # nothing of the answer is known in this slice
            for key in [key for key in row if key not in ("id", "tags", "expected_chunk_ids", "retrieved_ids")]:
                row.pop(key)
        for key in dice.sample(sorted(row.keys() - {"id", "tags"}), min(3, len(row) - 2)):
            row.pop(key)
        if dice.random() < 0.1:
            row.pop("tags")
    return {**data, "queries": dice.sample(data["queries"], count)}


def values_by_hand(query: Query, tag: str) -> str | None:
    value = (query.get("tags") or {}).get(tag)
    if value is True:
        return "true"
    return None if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def alone(data: Mapping[str, Any], kept: Sequence[Query]) -> dict[str, Any]:
    """What a run on these questions alone says, in the form of a slice."""
    report = RAGEvaluator(k=3).evaluate(**{**data, "queries": list(kept)})
    parts = {str(stage): report[stage] for stage in QUERY_STAGES if stage in report}
    overall = ScoreAggregator().aggregate(parts)["overall"]
    failed = len(ReportManager().failed_queries(report))
    return {
        "n": len(kept),
        "score": overall["score"],
        "coverage": overall["coverage"],
        "failed": failed,
        "failed_share": failed / len(kept),
        "stages": {stage: _as_in_a_slice(part) for stage, part in parts.items()},
    }


def _as_in_a_slice(part: dict[str, Any] | None) -> dict[str, Any] | None:
    if part is None:
        return None
    summary = part["summary"] if "summary" in part else {k: v for k, v in part.items() if k in part["detail"]}
    return {"summary": summary, "detail": {k: {"n": d["n"], "ci95": d["ci95"]} for k, d in part["detail"].items()}}


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_a_slice_says_what_a_run_on_its_questions_alone_says(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICES_MOST", Choice(6, "some are left"))
    monkeypatch.setattr(slices, "SLICE_MINIMUM", Choice(5, "some are too small"))
    data = patchy(seed, 70)
    found = RAGEvaluator(k=3, by=["language", "tier"]).evaluate(**data)["slices"]
    left = {tag: {values_by_hand(query, tag) for query in data["queries"]} for tag in ("language", "tier")}
    for entry in found["slices"]:
        tag, value = entry.pop("tag"), entry.pop("value")
        left[tag].remove(value)
        assert entry == alone(data, [query for query in data["queries"] if values_by_hand(query, tag) == value])
    assert found["pooled"]
    sizes = [
        (tag, value, sum(values_by_hand(q, tag) == value for q in data["queries"]))
        for tag in left
        for value in left[tag]
    ]
    assert sorted(map(str, found["small"])) == sorted(
        str({"tag": tag, "value": value, "n": n}) for tag, value, n in sizes if n < 5
    )
    for entry in found["pooled"]:
        tag = entry.pop("tag")
        assert entry.pop("slices") == len(left[tag])
        if entry["n"] >= 5:
            assert entry == alone(data, [query for query in data["queries"] if values_by_hand(query, tag) in left[tag]])
    whole = alone(data, data["queries"])
    whole.pop("stages")
    assert found["whole"] == whole


def test_a_stage_of_which_the_slice_carries_nothing_is_none() -> None:
    told = [{**query(i, 1, kind="told"), "answer": "yes", "expected_answer": "yes"} for i in range(10)]
    silent = [query(f"s{i}", 1, kind="silent") for i in range(10)]
    found = {entry["value"]: entry["stages"] for entry in sliced([*told, *silent], "kind")["slices"]}
    assert found["silent"]["generation"] is None
    assert found["told"]["generation"]["summary"]["answer_f1"] == 1.0
    assert found["told"]["retrieval"]["detail"]["recall_at_k"]["n"] == 10


# --- which are shown, and in which order ---------------------------------------------------------------


def test_the_worst_stand_first_and_the_scores_are_those_of_the_ranks() -> None:
    good = [query(f"g{i}", 1, language="en") for i in range(10)]
    bad = [query(f"b{i}", None, language="de") for i in range(12)]
    middle = [query(f"m{i}", 2, language="fr") for i in range(10)]
    found = sliced([*good, *bad, *middle], "language")
    assert names(found["slices"]) == [("language", "de"), ("language", "fr"), ("language", "en")]
    first = found["slices"][0]
    assert (first["n"], first["failed"], first["failed_share"], first["score"]) == (12, 12, 1.0, 0.0)
    assert first["stages"]["retrieval"]["summary"]["recall_at_k"] == 0.0
    assert found["slices"][1]["stages"]["retrieval"]["summary"]["mrr_at_k"] == 0.5
    assert (found["whole"]["n"], found["whole"]["failed"]) == (32, 12)
    assert (found["by"], found["minimum"], found["most"], found["pooled"], found["small"]) == (
        ["language"],
        10,
        20,
        [],
        [],
    )


def test_slices_without_a_score_stand_last_the_most_failures_first() -> None:
    scored = [query(i, 1, kind="scored") for i in range(10)]
    unscored = [{"id": f"u{i}", "tags": {"kind": "fine"}} for i in range(10)]
    broken = [{"id": f"e{i}", "tags": {"kind": "broken"}, "error": "timeout"} for i in range(10)]
    free = ScoreAggregator(stages=["retrieval"], metric_weights={"end_to_end": {"task_success_rate": 0}})
    found = sliced([*unscored, *scored, *broken], "kind", scorer=free)["slices"]
    assert [(entry["value"], entry["score"]) for entry in found][1:] == [("broken", None), ("fine", None)]
    assert found[0]["score"] is not None


def test_equal_slices_stand_by_name() -> None:
    rows = [query(f"{tag}{value}{i}", 1, **{tag: value}) for tag in "ba" for value in "yx" for i in range(10)]
    shown = names(sliced(rows, "b", "a")["slices"])
    assert shown == [("a", None), ("a", "x"), ("a", "y"), ("b", None), ("b", "x"), ("b", "y")]


def test_a_small_slice_is_counted_and_pooled_but_not_reported() -> None:
    rows = [query(i, 1, language="en") for i in range(15)]
    rows += [query(f"a{i}", None, language="de") for i in range(9)] + [
        query(f"b{i}", 1, language="fr") for i in range(6)
    ]
    found = sliced(rows, "language")
    assert names(found["slices"]) == [("language", "en")]
    assert found["small"] == [{"tag": "language", "value": "de", "n": 9}, {"tag": "language", "value": "fr", "n": 6}]
    (pool,) = found["pooled"]
    assert (pool["slices"], pool["n"], pool["failed"]) == (2, 15, 9)
    assert pool["stages"]["retrieval"]["summary"]["recall_at_k"] == 0.4


def test_a_pool_of_too_few_questions_has_no_values_either() -> None:
    rows = [query(i, 1, language="en") for i in range(15)] + [query(f"a{i}", None, language="de") for i in range(9)]
    (pool,) = sliced(rows, "language")["pooled"]
    assert pool == {
        "tag": "language", "slices": 1, "n": 9, "score": None, "coverage": None, "failed": None, "failed_share": None,
        "stages": None,
    }  # fmt: skip


def test_a_tag_with_many_values_leaves_room_for_the_others_and_nothing_leaves_silently() -> None:
    rows = [
        query(f"{t}-{i}", 1 + (t + i) % 3, tenant=t, language="de" if i % 2 else "en")
        for t in range(30)
        for i in range(10)
    ]
    found = sliced(rows, "tenant", "language")
    assert len(found["slices"]) == 20
    assert {value for tag, value in names(found["slices"]) if tag == "language"} == {"de", "en"}
    (pool,) = found["pooled"]
    assert (pool["tag"], pool["slices"], pool["n"]) == ("tenant", 12, 120)
    shown = [entry for entry in found["slices"] if entry["tag"] == "tenant"]
    assert sum(entry["n"] for entry in shown) + pool["n"] == 300
    assert max(entry["score"] for entry in shown) <= pool["score"]


def test_nothing_is_sliced_unless_it_is_asked_for() -> None:
    assert "slices" not in run([query(1, 1, language="de")])


def test_without_questions_the_slices_are_empty() -> None:
    found = sliced([], "language")
    assert (found["slices"], found["pooled"], found["small"]) == ([], [], [])
    assert (found["whole"]["n"], found["whole"]["score"], found["whole"]["failed_share"]) == (0, None, None)


# --- tags and their values -----------------------------------------------------------------------------


def test_values_are_told_apart_by_their_text() -> None:
    given = [1, 1.0, "1", True, "true", False, 0.5, 1e300, 10**20, -0.0, None, "", "a|b\n"]
    expected = [
        "1", "1", "1", "true", "true", "false", "0.5", "1e+300", "100000000000000000000", "0", None, "", "a|b\n"
    ]  # fmt: skip
    assert tag_values([{"t": value} for value in given], "t") == expected
    assert tag_values([None, {}, {"other": 1}], "t") == [None, None, None]


def test_a_list_is_no_value_of_a_tag() -> None:
    with pytest.raises(DatasetError, match=r'queries\[0\]\.tags\["language"\]: must be text or a number'):
        sliced([query(1, 1, language=["de", "en"])], "language")


def test_questions_without_the_tag_are_a_slice_of_their_own() -> None:
    rows = [query(i, 1, language="en") for i in range(10)] + [query(f"n{i}", None) for i in range(10)]
    rows += [{**query(f"m{i}", None), "tags": None} for i in range(3)]
    assert [(e["value"], e["n"]) for e in sliced(rows, "language")["slices"]] == [(None, 13), ("en", 10)]


def test_a_tag_that_no_question_carries_is_told_with_the_nearest() -> None:
    report = run([query(i, 1, language="en", tenant="x") for i in range(12)], "langauge")
    assert report["warnings"] == ["by: no question has the tag 'langauge'; the nearest is 'language'."]
    assert (report["slices"]["slices"], report["slices"]["pooled"]) == ([], [])
    told = run([query(i, 1, language="en", tenant="x") for i in range(12)], "zzz")["warnings"]
    assert told == ["by: no question has the tag 'zzz'; the tags are language, tenant."]


def test_a_tag_where_there_are_none_is_told() -> None:
    rows = [{"id": str(i), "expected_chunk_ids": ["a"], "retrieved_ids": ["a"]} for i in range(12)]
    assert run(rows, "language")["warnings"] == ["by: no question has the tag 'language'; no question has tags."]


def test_of_a_tag_that_names_single_questions_all_are_pooled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_tallies, "MOST_VALUES", 11)
    rows = [query(i, 1 + i % 2, user=i, language="de") for i in range(12)]
    report = run(rows, "user", "language")
    assert report["warnings"] == [
        "by: the tag 'user' has more than 11 different values, so its slices are pooled. "
        "Slice by a tag that puts many questions together."
    ]
    (pool,) = report["slices"]["pooled"]
    assert (pool["tag"], pool["slices"], pool["n"]) == ("user", None, 12)
    assert pool["stages"]["retrieval"]["summary"]["mrr_at_k"] == 0.75
    assert names(report["slices"]["slices"]) == [("language", "de")]
    assert report["slices"]["small"] == []
    assert run(rows[:11], "user")["warnings"] == []


@pytest.mark.usefixtures("small_batches")
def test_exactly_as_many_values_as_are_kept_stay_apart_over_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_tallies, "MOST_VALUES", 40)
    rows = [query(i, 1, user=i) for i in range(41)]
    assert len(sliced(rows[:40], "user")["small"]) == 40
    assert (sliced(rows, "user")["small"], sliced(rows, "user")["pooled"][0]["slices"]) == ([], None)


def test_percentiles_of_a_large_slice_are_known_to_a_thousandth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_tallies, "MOST_KEPT", 12)
    rows = [{**query(i, 1, kind=i > 11), "latency_ms": 100 + i / 7} for i in range(12 + 15)]
    found = {entry["value"]: entry["stages"]["end_to_end"]["summary"] for entry in sliced(rows, "kind")["slices"]}
    assert found["false"]["p50_latency_ms"] == pytest.approx(100 + 5.5 / 7, rel=1e-12)
    assert found["true"]["p50_latency_ms"] != pytest.approx(100 + 19 / 7, rel=1e-12)
    assert found["true"]["p50_latency_ms"] == pytest.approx(100 + 19 / 7, rel=0.001)


def test_a_metric_of_ones_own_that_is_not_by_question_is_in_no_slice() -> None:
    spans = Metric(
        "spans", Stage.RETRIEVAL, "Spans", "", "", RATE, "span", ("retrieved_ids",), lambda inputs: np.ones(3)
    )  # fmt: skip
    report = run([query(i, 1, language="de") for i in range(10)], "language", metrics=[spans])
    assert report["retrieval"]["summary"]["spans"] == 1.0
    assert "spans" not in report["slices"]["slices"][0]["stages"]["retrieval"]["summary"]


# --- batches, files and processes ----------------------------------------------------------------------

TAGS = st.fixed_dictionaries({}, optional={"a": st.sampled_from([*VALUES, *range(5)]), "b": st.sampled_from("xy")})
ROWS = st.lists(st.tuples(st.sampled_from([None, 1, 2, 3]), TAGS, st.floats(0, 1e6) | st.none()), max_size=9)


def tallies(rows: Sequence[tuple[int | None, dict[str, Any], float | None]], start: int) -> Any:
    made = RAGEvaluator(k=3, by=["a", "b"])
    queries = [
        {**query(f"q{start + i}", rank, **tags), **({} if ms is None else {"latency_ms": ms})}
        for i, (rank, tags, ms) in enumerate(rows)
    ]
    dataset = dataset_from(queries=queries)
    parts = [part.slices for part in made.partials(dataset, dataset.queries)]
    whole = slices.SliceTallies()
    for part in parts:
        whole = whole.merge(part)
    return whole


def told(tally: Any) -> Any:
    made = RAGEvaluator(k=3, by=["a", "b"])
    rows = {stage: tuple(row for row in made.rows if row.stage == stage) for stage in Stage}
    return tally.warnings(made.by), tally.report(made.by, rows, made.scorer)


@settings(deadline=None, max_examples=15)
@given(batches=st.lists(ROWS, min_size=1, max_size=4), seed=st.integers(0, 99), most=st.sampled_from([2, 5, 1000]))
def test_neither_order_nor_batches_nor_pickling_change_a_digit(batches: list[Any], seed: int, most: int) -> None:
    dice = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "SLICE_MINIMUM", Choice(2, "small sets"))
        patch.setattr(slice_tallies, "MOST_VALUES", most)
        patch.setattr(slice_tallies, "MOST_KEPT", 4)
        whole = told(tallies([row for batch in batches for row in batch], 0))
        patch.setattr(slices, "GATHERED", 6)
        parts = [tallies(batch, 100 * i) for i, batch in enumerate(batches)]
        while len(parts) > 1:
            one, other = dice.sample(parts, 2)
            parts = [part for part in parts if part is not one and part is not other]
            merged = one.merge(other)
            parts.append(pickle.loads(pickle.dumps(merged)) if dice.random() < 0.5 else merged)
        assert told(parts[0]) == whole


def lines(count: int) -> Iterator[str]:
    dice = random.Random(5)
    for i in range(count):
        made = query(i, dice.choice([None, 1, 2, 3]), language=dice.choice(VALUES), tenant=dice.randrange(30))
        yield json.dumps({**made, "latency_ms": dice.random(), "answer": "a b", "expected_answer": "a"})


def test_processes_files_and_lists_per_query_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "LEAST", 2000)
    path = tmp_path / "queries.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines(400)), encoding="utf-8")
    made = RAGEvaluator(k=2, by=["language", "tenant"])
    one = made.evaluate_path(path, processes=1, per_query=None)
    two = made.evaluate_path(path, processes=2, per_query=None)
    listed = made.evaluate_path(path)
    assert json.dumps(one["slices"]) == json.dumps(two["slices"]) == json.dumps(listed["slices"])
    assert (len(one["slices"]["slices"]), one["warnings"]) == (20, two["warnings"])


def test_the_minimum_is_the_policys() -> None:
    assert sliced([query(1, 1, language="de")], "language")["minimum"] == SLICE_MINIMUM.value
