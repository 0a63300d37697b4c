"""The confusion matrix of retrieval: counted by hand, and against sets."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.lab.confusion import confusion_matrix

IDS = [f"c{i}" for i in range(12)]


def dataset(*queries: dict[str, Any]) -> dict[str, Any]:
    return {"queries": [{"id": f"q{i}", **query} for i, query in enumerate(queries)]}


def test_the_example_of_the_whitepaper() -> None:
    # section 2.2: four relevant, five retrieved, three of them relevant
    one = {"expected_chunk_ids": ["a", "b", "c", "d"], "retrieved_ids": ["a", "x", "b", "y", "c"]}
    matrix = confusion_matrix(dataset(one), k=5, corpus_size=1000)
    pooled = matrix.pooled()
    assert [pooled[key] for key in ("tp", "fp", "fn", "tn")] == [3, 2, 1, 994]
    assert (pooled["precision"], pooled["recall"]) == (3 / 5, 3 / 4)
    assert pooled["f1"] == pytest.approx(2 * 0.6 * 0.75 / (0.6 + 0.75))
    assert not hasattr(matrix, "accuracy")
    assert "accuracy" not in json.dumps(matrix.as_dict())


def test_a_repeated_id_counts_once_and_the_list_is_cut_after_that() -> None:
    one = {"expected_chunk_ids": ["z"], "retrieved_ids": ["a", "a", "b", "z"]}
    matrix = confusion_matrix(dataset(one), k=3, corpus_size=4)
    assert [int(part[0]) for part in (matrix.tp, matrix.fp, matrix.fn)] == [1, 2, 0]
    assert matrix.tn is not None
    assert matrix.tn.tolist() == [1]


def test_a_search_that_returned_nothing_has_no_precision() -> None:
    row = confusion_matrix(dataset({"expected_chunk_ids": ["a"], "retrieved_ids": []}), corpus_size=9).as_dict()
    first = row["per_query"][0]
    assert (first["precision"], first["recall"], first["f1"], first["tn"]) == (None, 0.0, 0.0, 8)
    assert row["means"]["precision"] == {"value": None, "n": 0, "ci95": None}
    assert row["pooled"]["precision"] is None


def test_pooled_weighs_chunks_and_the_mean_weighs_questions() -> None:
    wide = {"expected_chunk_ids": ["a", "b", "c", "d"], "retrieved_ids": ["a"]}
    narrow = {"expected_chunk_ids": ["a"], "retrieved_ids": ["a", "x"]}
    matrix = confusion_matrix(dataset(wide, narrow), corpus_size=10)
    pooled, means = matrix.pooled(), matrix.means()
    assert (pooled["recall"], means["recall"].value) == (2 / 5, 5 / 8)
    assert (pooled["precision"], means["precision"].value) == (2 / 3, 3 / 4)


def test_questions_without_gold_or_without_a_ranking_are_counted_apart() -> None:
    matrix = confusion_matrix(
        dataset({"expected_chunk_ids": ["a"], "retrieved_ids": ["a"]}, {"retrieved_ids": ["a"]},
                {"expected_chunk_ids": ["a"]}, {"relevance": {"a": 0}, "retrieved_ids": ["a"]})
    )  # fmt: skip
    assert (matrix.ids, matrix.unmeasured) == (["q0"], 3)


def test_without_a_corpus_size_tn_is_not_known() -> None:
    one = {"expected_chunk_ids": ["a"], "retrieved_ids": ["a"]}
    matrix = confusion_matrix(dataset(one))
    assert matrix.tn is None
    assert matrix.as_dict()["per_query"][0]["tn"] is None
    chunks = [{"id": name, "text": name} for name in ("a", "b", "c")]
    assert confusion_matrix({**dataset(one), "chunks": chunks}).corpus_size == 3


def test_a_corpus_smaller_than_what_was_seen_is_refused() -> None:
    one = {"expected_chunk_ids": ["a", "b"], "retrieved_ids": ["a", "x"]}
    with pytest.raises(SettingsError, match=r"^corpus_size: must be at least 3, as many as .*, got 2\. Give the"):
        confusion_matrix(dataset(one), corpus_size=2)
    for wrong in (True, 0, "9", 3.0, float("nan")):
        with pytest.raises(SettingsError, match=r"^corpus_size: must be a whole number from 1, got "):
            confusion_matrix(dataset(one), corpus_size=wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=r"^corpus_size: must be at most 1,000,000,000,000,000, got a larger"):
        confusion_matrix(dataset(one), corpus_size=10**19)
    other = {"expected_chunk_ids": ["a"], "retrieved_ids": ["y", "z"]}
    with pytest.raises(SettingsError, match=r"at least 4, as many chunks as were retrieved for all questions, got 3"):
        confusion_matrix(dataset(one, other), corpus_size=3)


def test_the_largest_corpus_is_counted_exactly() -> None:
    """20,000 questions of 10^15 chunks: their sum is beyond 64 bits."""
    one = {"expected_chunk_ids": ["a"], "retrieved_ids": ["a"]}
    assert confusion_matrix(dataset(*[one] * 20_000), corpus_size=np.int64(10**15)).pooled()["tn"] == 20_000 * (
        10**15 - 1
    )


def test_without_labels_there_is_none() -> None:
    with pytest.raises(DatasetError, match=r"^queries: must have retrieved_ids and expected_chunk_ids"):
        confusion_matrix(dataset({"retrieved_ids": ["a"]}))


@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from(IDS), min_size=1), st.lists(st.sampled_from(IDS), max_size=15)),
        min_size=1, max_size=5,
    ),
    st.integers(1, 12),
)  # fmt: skip
def test_it_is_what_sets_say(pairs: list[tuple[set[str], list[str]]], k: int) -> None:
    queries = [{"expected_chunk_ids": sorted(gold), "retrieved_ids": ids} for gold, ids in pairs]
    matrix = confusion_matrix(dataset(*queries), k=k, corpus_size=len(IDS))
    for i, (gold, ids) in enumerate(pairs):
        top = set(list(dict.fromkeys(ids))[:k])
        assert matrix.tp[i] == len(top & gold)
        assert matrix.fp[i] == len(top - gold)
        assert matrix.fn[i] == len(gold - top)
        assert matrix.tn is not None
        assert matrix.tn[i] == len(set(IDS) - top - gold)
    total = sum(matrix.pooled()[key] or 0 for key in ("tp", "fp", "fn", "tn"))
    assert total == len(pairs) * len(IDS)
