"""Planted faults of vectors are found, and clean vectors raise nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.lab.spaces import Space, unit

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.lab import StoredVectors, VectorHealth, read_vectors

SEEDS = range(4)


def kinds(health: dict[str, Any]) -> list[str]:
    return [finding["kind"] for finding in health["findings"]]


def finding(health: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(one for one in health["findings"] if one["kind"] == kind)


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("seed", SEEDS)
def test_clean_vectors_raise_nothing(seed: int, metric: str) -> None:
    space = Space(seed)
    health = VectorHealth(metric=metric, sample=600).check(space.vectors(1500), space.vectors(200))
    assert health["findings"] == []
    json.dumps(health, allow_nan=False)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_tolerance_knows_the_storage(seed: int, dtype: str) -> None:
    vectors = Space(seed).vectors(800)
    stored = np.round(127 * vectors / np.abs(vectors).max()) if dtype == "int8" else unit(vectors.astype(float))
    health = VectorHealth(sample=300).check(stored.astype(dtype))
    assert health["findings"] == []
    assert health["norms"]["vectors"]["tolerance"] == {"float64": 1e-6, "float16": 1e-3, "int8": 1e-2}[dtype]


@pytest.mark.parametrize("seed", SEEDS)
def test_queries_that_are_not_normalised(seed: int) -> None:
    space = Space(seed)
    lengths = np.random.default_rng(seed).uniform(2, 9, size=(100, 1))
    health = VectorHealth(sample=300).check(space.vectors(700), lengths * space.vectors(100))
    assert kinds(health) == ["norm_mismatch"]
    assert finding(health, "norm_mismatch")["count"] == 100


@pytest.mark.parametrize("seed", SEEDS)
def test_indexed_vectors_that_are_not_normalised(seed: int) -> None:
    space = Space(seed)
    lengths = np.random.default_rng(seed).uniform(0.5, 9, size=(700, 1))
    found = kinds(VectorHealth(metric="dot", sample=300).check(lengths * space.vectors(700), space.vectors(100)))
    assert {"norm_mismatch", "not_normalised", "self_retrieval", "metrics_disagree"} <= set(found)


@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize("seed", SEEDS)
def test_two_models_in_one_index(seed: int, share: float) -> None:
    n = int(share * 2000)
    vectors = np.vstack([Space(seed).vectors(2000 - n), Space(seed + 100).vectors(n)])
    health = VectorHealth(sample=300).check(vectors)
    assert kinds(health) == ["two_models"]
    found = finding(health, "two_models")
    assert n / 3 < found["count"] <= 1.02 * n
    assert sum(row >= 2000 - n for row in found["ids"]) in (0, 20)  # all of one model


def test_vectors_without_structure_are_not_called_two_models() -> None:
    noise = unit(np.random.default_rng(0).normal(size=(2000, 64)))
    health = VectorHealth(sample=300).check(noise)
    assert health["two_models"]["decided"] is False
    assert "two_models" not in kinds(health)


@pytest.mark.parametrize(("n", "d"), [(250, 32), (250, 384), (1500, 32), (1500, 128)])
@pytest.mark.parametrize("seed", range(2))
def test_clusters_that_vary_in_no_direction_are_not_called_two_models(seed: int, n: int, d: int) -> None:
    """Fifty topics, some large and most small, and around each the same noise: every few of them have directions of
    their own, those between them, and yet nothing is of another model."""
    rng = np.random.default_rng([seed, n, d])
    share = 1 / np.arange(1, 51)
    topics = rng.normal(size=(50, d))[rng.choice(50, size=n, p=share / share.sum())]
    found = VectorHealth(sample=100).check(unit(topics + 0.4 * rng.normal(size=(n, d))))
    assert found["two_models"]["decided"] is False
    assert "two_models" not in kinds(found)


def test_two_vectors_again_and_again_are_not_called_two_models() -> None:
    vectors = np.tile(Space(0).vectors(2), (500, 1))
    assert "two_models" not in kinds(VectorHealth(sample=100).check(vectors))


@pytest.mark.parametrize("seed", SEEDS)
def test_duplicates(seed: int) -> None:
    vectors = Space(seed).vectors(700)
    vectors[600:650] = vectors[:50]
    health = VectorHealth(sample=700).check(vectors, ids=[f"c{row:03}" for row in range(700)])
    assert finding(health, "equal_vectors")["count"] == 50
    assert finding(health, "equal_vectors")["ids"] == [f"c{row}" for row in range(600, 620)]
    assert finding(health, "near_duplicates")["count"] == 100  # the copies and their originals


@pytest.mark.parametrize("seed", SEEDS)
def test_near_duplicates_alone(seed: int) -> None:
    space = Space(seed)
    vectors = space.vectors(700)
    vectors[699] = unit(vectors[:1] + 1e-3 * np.random.default_rng(seed).normal(size=(1, 128)))[0]
    health = VectorHealth(sample=700).check(vectors)
    assert kinds(health) == ["near_duplicates"]
    assert finding(health, "near_duplicates")["ids"] == [0, 699]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_collapsing_gap(seed: int) -> None:
    """Of 50 texts there are 64 versions each: the best stands out in a 16th of them, and not in all."""
    centres = Space(seed).vectors(50, topics=50)
    noise = np.random.default_rng(seed).normal(size=(3200, 128)) / np.sqrt(128)
    health = VectorHealth(sample=400).check(unit(np.repeat(centres, 64, axis=0) + 0.1 * noise))
    assert "gap_collapsed" in kinds(health)
    gaps = [row["gap"] for row in health["similarity_gap"]["sizes"]]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 10 * gaps[-1]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_long_vector_is_a_hub_of_the_dot_product(seed: int) -> None:
    vectors = Space(seed).vectors(900)
    vectors[7] = 5 * unit(vectors.mean(axis=0, keepdims=True))[0]
    health = VectorHealth(metric="dot", sample=900).check(vectors)
    assert finding(health, "hubs")["ids"] == [7]
    assert finding(health, "norms_mixed")["ids"] == [7]
    assert health["hubness"]["largest_hub"] == 7


@pytest.mark.parametrize("seed", SEEDS)
def test_texts_embedded_again_by_another_model(seed: int) -> None:
    vectors = Space(seed).vectors(400)
    again = unit(vectors + 0.05 * np.random.default_rng(seed).normal(size=vectors.shape))
    found = VectorHealth(sample=400).check(vectors, reembedded=again)
    assert kinds(found)[-1:] == ["self_similarity"]
    assert finding(found, "self_similarity")["count"] == 400
    assert found["self_retrieval"]["similarity_about_1_share"] == 0.0
    assert kinds(VectorHealth(sample=400).check(vectors, reembedded=vectors)) == []


def test_vectors_of_noise_in_many_dimensions_have_no_contrast() -> None:
    health = VectorHealth(sample=50).check(unit(np.random.default_rng(0).normal(size=(200, 6000))))
    assert "no_contrast" in kinds(health)


def test_broken_vectors_are_counted_and_named() -> None:
    vectors = Space(0).vectors(300)
    vectors[3, 5], vectors[4, 1], vectors[9], vectors[12] = np.nan, np.inf, 0, 2 * vectors[12]
    health = VectorHealth(sample=300).check(vectors)
    assert kinds(health)[:3] == ["not_finite", "zero", "norms_mixed"]
    assert [one["ids"] for one in health["findings"][:3]] == [[3, 4], [9], [12]]
    json.dumps(health, allow_nan=False)


@pytest.mark.parametrize("dtype", ["float64", "longdouble"])
@pytest.mark.parametrize(("size", "kind"), [(1e20, "not_finite"), (1e200, "not_finite"), (1e-20, "zero")])
def test_lengths_that_no_index_can_square_are_findings(size: float, kind: str, dtype: str) -> None:
    """An index works in 32 bits, where the square of 1e20 is infinite and that of 1e-20 next to nothing."""
    vectors = Space(0).vectors(300).astype(dtype)
    vectors[[3, 7]] *= size
    found = VectorHealth(sample=300).check(vectors, vectors[3:5])
    assert [(one["kind"], one["count"]) for one in found["findings"]] == [(kind, 2), (kind, 1)]
    assert found["self_retrieval"]["n"] == 298
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(("value", "kind"), [(np.nan, "not_finite"), (1e200, "not_finite"), (0.0, "zero")])
def test_texts_embedded_again_into_nothing_are_a_finding(value: float, kind: str) -> None:
    vectors = Space(0).vectors(60)
    again = vectors.astype(np.float64)
    again[5] = value
    found = VectorHealth().check(vectors, reembedded=again)
    assert [(one["kind"], one["ids"]) for one in found["findings"]] == [(kind, [5])]
    assert found["self_retrieval"]["n"] == 59
    again[:] = value
    found = VectorHealth().check(vectors, reembedded=again)
    assert [(one["kind"], one["count"]) for one in found["findings"]] == [(kind, 60)]
    assert found["self_retrieval"] is None


def test_equal_vectors_are_no_hubs_of_each_other() -> None:
    vectors = np.vstack([Space(0).vectors(200), np.tile(Space(1).vectors(1), (300, 1))])
    found = VectorHealth(sample=500).check(vectors)
    assert {"equal_vectors", "hubs"} & set(kinds(found)) == {"equal_vectors"}
    assert found["hubness"]["n"] == 201


@pytest.mark.parametrize("d", [2, 4])
def test_vectors_of_few_numbers_are_near_each_other_for_want_of_room(d: int) -> None:
    vectors = unit(np.random.default_rng(0).normal(size=(500, d)))
    found = VectorHealth(sample=500).check(vectors)
    assert found["findings"] == []
    assert found["duplicates"]["near"] > 0


def test_rounding_to_8_bits_is_no_disagreement_of_metrics() -> None:
    rng = np.random.default_rng(0)
    vectors = unit(rng.normal(size=(30, 8))[rng.integers(30, size=3000)] + 0.2 * rng.normal(size=(3000, 8)))
    stored = np.round(127 * vectors / np.abs(vectors).max()).astype(np.int8)
    found = VectorHealth(sample=300).check(stored)
    assert 0.9 <= min(found["metrics"]["shared"].values()) < 0.99
    assert "metrics_disagree" not in kinds(found)


def test_nothing_but_broken_vectors() -> None:
    health = VectorHealth().check(np.array([[np.nan, 1.0], [0.0, 0.0]]), np.zeros((1, 2)))
    assert kinds(health) == ["not_finite", "zero", "zero"]
    json.dumps(health, allow_nan=False)


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_very_few_vectors(n: int) -> None:
    vectors = Space(0).vectors(n)
    assert VectorHealth().check(vectors)["findings"] == []
    assert VectorHealth().check(vectors, vectors[:1])["findings"] == []


def test_l2_squared_is_2_less_2_cosines_for_unit_vectors_only() -> None:
    vectors = Space(0).vectors(300).astype(np.float64)
    assert VectorHealth().check(unit(vectors))["metrics"]["l2_identity_largest_deviation"] < 2e-6
    assert VectorHealth().check(3 * vectors)["metrics"]["l2_identity_largest_deviation"] > 1


def test_rounding_to_half_precision_is_a_note_and_no_finding() -> None:
    vectors = Space(0).vectors(300).astype(np.float16).astype(np.float32)
    health = VectorHealth().check(vectors)
    assert health["findings"] == []
    assert health["norms"]["vectors"]["not_unit_share"] > 0.5
    assert "half precision" in health["notes"][0]


def test_the_same_seed_draws_the_same() -> None:
    vectors = Space(0).vectors(900)
    first, second, other = (VectorHealth(sample=100, seed=seed).check(vectors) for seed in (1, 1, 2))
    assert json.dumps(first) == json.dumps(second)
    assert first["similarity_gap"] != other["similarity_gap"]


def test_vectors_in_their_file_give_what_vectors_in_memory_give(tmp_path: Path) -> None:
    vectors = Space(0).vectors(900)
    np.save(tmp_path / "v.npy", vectors)
    mapped = read_vectors(tmp_path / "v.npy")
    assert isinstance(mapped.rows, np.memmap)
    here, there = (VectorHealth(sample=200).check(given) for given in (vectors, mapped))
    assert here["vectors"].pop("where") != there["vectors"].pop("where")
    assert here == there


def test_an_npz_has_ids_and_queries(tmp_path: Path) -> None:
    space = Space(0)
    ids = np.array([f"c{row}" for row in range(50)])
    file = tmp_path / "e.npz"
    np.savez(file, ids=ids, vectors=space.vectors(50), query_ids=np.array(["q1"]), query_vectors=space.vectors(1))
    stored = read_vectors(file)
    assert stored.names(np.array([4])) == ["c4"]
    assert stored.queries is not None
    assert stored.queries.names(np.array([0])) == ["q1"]
    assert read_vectors(file, queries=True).names(np.array([0])) == ["q1"]


def test_a_dataset_has_vectors_by_id(tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    file.write_text(json.dumps({"queries": [], "embeddings": {"vectors": {"a": [1, 0], "b": [0, 1]}}}))
    assert read_vectors(file).names(np.array([1])) == ["b"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "must be a matrix"),
        (np.empty((0, 4)), "at least one vector"),
        (np.ones(4), "must be a matrix"),
        ([[1.0, 2.0], [1.0]], "one length"),
        ({"a": [1.0, 2.0], "b": [1.0]}, r"\(as in b\)"),
        ([["x"]], "numbers only"),
        (np.array([[True]]), "floats or whole numbers"),
        (np.array([["x"]]), "floats or whole numbers"),
        ("text", "list of vectors"),
        ([[1.0], None], "NoneType in it"),
        ([range(3)], "range in it"),
        ([["1", "2"]], "numbers only"),
        ([[True, False]], "numbers only"),
        ([[10**400, 1]], "numbers only"),
        (np.ma.masked_array(np.ones((2, 2)), mask=[[True, False], [False, False]]), "plain array, got a masked one"),
        ({"ids": 5, "vectors": [[1, 2]]}, "list of ids, got int"),
        ({1: [1, 2], "1": [2, 1]}, "ids that differ, got '1' more than once"),
    ],
)
def test_what_is_no_matrix_is_refused(given: Any, said: str) -> None:
    with pytest.raises(DatasetError, match=said):
        VectorHealth().check(given)


def test_files_that_hold_no_matrix_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(b"no matrix")
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "empty.npy").write_bytes(b"")
    np.save(tmp_path / "whole.npy", np.ones((5, 4)))
    whole = (tmp_path / "whole.npy").read_bytes()
    (tmp_path / "negative.npy").write_bytes(whole.replace(b"(5, 4)", b"(-5, 4)"))
    (tmp_path / "cut.npy").write_bytes(whole[:-8])
    for name in ("a.npy", "o.npy", "empty.npy", "negative.npy", "cut.npy"):
        with pytest.raises(DatasetError, match=name):
            read_vectors(tmp_path / name)
    (tmp_path / "d.json").write_text('{"queries": []}')
    with pytest.raises(DatasetError, match="embeddings"):
        read_vectors(tmp_path / "d.json")


def test_matrices_of_different_widths_are_refused() -> None:
    with pytest.raises(DatasetError, match="4 numbers a vector"):
        VectorHealth().check(np.ones((3, 4)), np.ones((2, 5)))
    with pytest.raises(DatasetError, match="a row for each of the 3"):
        VectorHealth().check(np.ones((3, 4)), reembedded=np.ones((2, 4)))
    with pytest.raises(DatasetError, match="as many ids"):
        StoredVectors("v", np.ones((3, 4)), ["a"])
    with pytest.raises(DatasetError, match="ids that differ"):
        StoredVectors("v", np.ones((3, 4)), ["a", "b", "a"])
    with pytest.raises(DatasetError, match="list of ids, got int"):
        VectorHealth().check(np.ones((3, 4)), ids=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options", [{"metric": "hamming"}, {"k": 0}, {"sample": 3}, {"seed": -1}, {"k": 2.5}, {"k": 1001}]
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        VectorHealth(**options)
