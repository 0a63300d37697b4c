"""Two embedding models in one index: groups of vectors that share no structure at all.

The vectors of one model vary in the same few directions whatever they are about, so that the cosines between two of
its topics vary much more than those of random directions do. Vectors of two models are to each other as random
directions are. So: draw vectors, group them by spherical k-means, and compare each two groups by

    alignment = d tr(S_a S_b) / (tr S_a tr S_b),

S being the covariance inside a group. It is 1 in the mean for covariances that are turned at random against each other,
and d / (effective rank) for equal ones. Groups, and families of groups, whose alignment is 1.08 or more in the mean are
of one model. Where the halves of a group are not aligned with each other (vectors without structure, as generated
noise) the test can say nothing and finds nothing.

A group of several topics has directions of its own, those between its topics. So two families are called two models
only where each is aligned with itself in the steps from a vector to its nearest neighbour, too: vectors that lie in
clusters and vary inside them in no direction rather than another (as those of `sklearn.datasets.make_blobs`) tell
nothing of models.

Measured: passages of five sources (news, medicine, finance, chats, a speech) embedded by one model came to 1.18 or more
between sources in the mean, and those of two models to 0.94 to 1.02. In steps, families of two models came to 1.37 or
more in 20 mixtures, and of 13 pairs of families of one model the lower one came to 1.29 at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.lab.findings import Finding, smallest
from rag_titan.lab.neighbours import Part, Sample, floats

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST = 4000  # vectors that are looked at
GROUP = 60  # vectors in a group, in the mean
LEAST = 20  # in a group that can be compared
POWER = 2.0  # the halves of a group must be so much aligned
RELATED = 1.08  # families that are aligned so much in the mean are of one model; 1 is chance
FAMILY = 40  # vectors in a family that is called another model
ENOUGH = 8 * GROUP  # vectors: fewer are a handful of topics, which are always unlike each other
NEAR = 1.33  # so much must the halves of a family be aligned in the steps between neighbours
ROUNDING = 1e-24  # the product of two spreads that are nothing but rounding
_ROUNDS = 12


def two_models(sample: Sample, seed: int) -> Part:
    """Are there two models in one index? See above; `values` tells what can be said where nothing is found."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(sample.lengths.usable)[:MOST])
    vectors = floats(sample.stored, rows)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    values: dict[str, Any] = {"n": len(rows), "groups": 0, "decided": False, "families": None}
    if len(rows) < ENOUGH:
        return Part(values)
    group = _grouped(vectors, len(rows) // GROUP, rng)
    kept = np.flatnonzero(np.bincount(group) >= LEAST)
    own, between = _alignments(vectors, [np.flatnonzero(group == g) for g in kept], rng)
    strong = np.flatnonzero(own >= POWER)
    values |= {"groups": len(kept), "own_alignment": float(np.median(own)) if len(own) else None}
    if len(strong) < 2:
        return Part(values)
    between = between[np.ix_(strong, strong)]
    families = _families(between)
    members = [np.isin(group, kept[strong[families == f]]) for f in np.unique(families)]
    members = [inside for inside in members if inside.sum() >= FAMILY]
    members.sort(key=lambda inside: -int(inside.sum()))
    if len(members) < 2:
        return Part(values | {"decided": True, "families": [int(inside.sum()) for inside in members]})
    main, other = members[0], np.logical_or.reduce(members[1:])
    if min(_near_alignment(vectors, group, inside, rng) for inside in (main, other)) < NEAR:
        return Part(values)
    values |= {"decided": True, "families": [int(inside.sum()) for inside in members]}
    values |= _centroids(vectors[main], vectors[other])
    values["alignment_between"] = float(np.median(between[families[:, np.newaxis] != families]))
    return Part(values, (_finding(sample, rows[other], values, float(np.median(own[strong]))),))


def _finding(sample: Sample, other: Ints, values: Mapping[str, Any], own: float) -> Finding:
    text = (
        f"the vectors seem to be of two models: at least {len(other):,} of {values['n']:,} share no directions with "
        f"the rest (alignment {values['alignment_between']:.2f}, 1 being chance; in the groups {own:.1f})"
    )
    advice = "Embed the whole corpus again with one model; cosines between two models mean nothing."
    return Finding("two_models", text, advice, len(other), values["n"], smallest(sample.stored.names(other)))


def _near_alignment(vectors: Floats, group: Ints, inside: NDArray[np.bool_], rng: np.random.Generator) -> float:
    """How much two halves of a family are aligned in the steps from a vector to its nearest neighbour."""
    halves = np.array_split(rng.permutation(np.flatnonzero(inside)), 2)
    a, b = (np.vstack([_steps(vectors[half[group[half] == g]]) for g in np.unique(group[half])]) for half in halves)
    return _alignment(a, b)


def _steps(rows: Floats) -> Floats:
    """(n, d) each row less the one that is most like it; of a single row none."""
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -np.inf)
    return np.asarray(rows - rows[cosines.argmax(axis=1)] if len(rows) > 1 else rows[:0], dtype=np.float64)


def _grouped(vectors: Floats, k: int, rng: np.random.Generator) -> Ints:
    """(n,) the group of each unit vector: spherical k-means (Dhillon, Modha 2001), begun as k-means++ does."""
    centres = vectors[[int(rng.integers(len(vectors)))]]
    distance = 1 - vectors @ centres[0]
    for _ in range(k - 1):
        weights = np.maximum(distance, 0) + 1e-12
        row = int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum()))
        centres = np.vstack([centres, vectors[min(row, len(vectors) - 1)]])
        distance = np.minimum(distance, 1 - vectors @ centres[-1])
    for _ in range(_ROUNDS):
        group = (vectors @ centres.T).argmax(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, group, vectors)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), centres)
    nearest: Ints = (vectors @ centres.T).argmax(axis=1)
    return nearest


def _alignments(vectors: Floats, groups: list[Ints], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(g,) the alignment of the halves of each group, and (g, g) that of each two groups."""
    halves = [np.array_split(rng.permutation(rows), 2) for rows in groups]
    own = np.array([_alignment(_centred(vectors[a]), _centred(vectors[b])) for a, b in halves])
    centred = [_centred(vectors[rows]) for rows in groups]
    between = np.ones((len(groups), len(groups)))
    for i, a in enumerate(centred):
        for j in range(i):
            between[i, j] = between[j, i] = _alignment(a, centred[j])
    return own, between


def _centred(rows: Floats) -> Floats:
    centred: Floats = rows - rows.mean(axis=0)
    return centred


def _alignment(a: Floats, b: Floats) -> float:
    """d tr(S_a S_b) / (tr S_a tr S_b) of centred rows; 1 where a group has no spread."""
    spread = float((a * a).sum() * (b * b).sum())
    return a.shape[1] * float(((a @ b.T) ** 2).sum()) / spread if spread > ROUNDING else 1.0


def _families(between: Floats) -> Ints:
    """(g,) the family of each group: the two that are most aligned in the mean are joined, while they are enough.

    Average linkage (Sokal, Michener 1958): one pair of groups that are aligned by chance, or one group of vectors of
    both models, does not join two models.
    """
    member = np.eye(len(between))
    while len(member) > 1:
        sizes = member.sum(axis=1)
        mean = (member @ between @ member.T) / np.outer(sizes, sizes)
        np.fill_diagonal(mean, -np.inf)
        a, b = np.unravel_index(int(mean.argmax()), mean.shape)
        if mean[a, b] < RELATED:
            break
        member[a] += member[b]
        member = np.delete(member, b, axis=0)
    families: Ints = member.argmax(axis=0)
    return families


def _centroids(main: Floats, other: Floats) -> dict[str, Any]:
    """How the means of two families stand to each other: their cosine, and the share of numbers of equal sign."""
    a, b = main.mean(axis=0), other.mean(axis=0)
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return {
        "centroid_cosine": float(a @ b) / lengths if lengths else None,
        "centroid_equal_signs": float((np.sign(a) == np.sign(b)).mean()),
    }
