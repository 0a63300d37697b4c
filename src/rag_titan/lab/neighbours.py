"""What the neighbours of sampled vectors say: self-retrieval, near-duplicates, hubs, the metrics, gap and contrast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.vectors import repeated
from rag_titan.lab.exact import METRICS, exact_search, scores
from rag_titan.lab.findings import Finding, smallest
from rag_titan.lab.norms import Lengths
from rag_titan.lab.stored import StoredVectors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAME = 0.999  # a cosine from which on two vectors stand for one text
ALIKE, ALIKE_IN_8_BITS = 0.99, 0.9  # the top K that metrics must share
ROOM = 8  # numbers a vector: with fewer, many vectors come close to others by chance
HUB, HUB_TIMES = 0.1, 10  # in so many of the top K, and so many times more than by chance
CONTRAST = 1.1  # the farthest is hardly farther than the nearest
CORPUS = 20_000  # rows that tests of pairs of metrics and of contrast are made on
PROBES = 500


class Part(NamedTuple):
    """What one test measured, and what it found."""

    values: dict[str, Any] | None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Sample:
    """The vectors, and those that are searched for.

    rows     (s,) rows of the vectors, drawn and in rising order, that have a direction
    corpus   (c,) more of them, among which the costly tests look
    probes   (m, d) vectors of queries, or of the rows drawn where no queries are given
    of_rows  (m,) the row of each probe, -1 for a query
    """

    stored: StoredVectors
    lengths: Lengths
    rows: Ints
    corpus: Ints
    probes: Floats
    of_rows: Ints
    metric: str
    k: int

    @classmethod
    def drawn(cls, lengths: Lengths, queries: Lengths | None, *, size: int, metric: str, k: int, seed: int) -> Sample:
        """`size` rows and `size` queries, the same for the same seed."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(lengths.usable)
        rows = np.sort(order[:size])
        if queries is not None and len(queries.usable):
            asked = np.sort(rng.permutation(queries.usable)[:size])
            probes, of_rows = floats(queries.stored, asked), np.full(len(asked), -1)
        else:
            probes, of_rows = floats(lengths.stored, rows), rows
        return cls(lengths.stored, lengths, rows, np.sort(order[:CORPUS]), probes, of_rows, metric, k)

    def nearest(self, metric: str, corpus: Ints | None = None, most: int | None = None) -> tuple[Ints, Floats]:
        """The k nearest of each of the first `most` probes, itself left out: rows (m, k) and scores (m, k)."""
        among: Any = self.stored.rows if corpus is None else self.stored.rows[corpus]
        found, values = exact_search(self.probes[:most], among, self.k + 1, metric)
        if corpus is not None:
            found = np.where(found >= 0, corpus[np.maximum(found, 0)], -1)
        return without(found, values, self.of_rows[:most])


def floats(stored: StoredVectors, rows: Ints) -> Floats:
    """(m, d) some rows in float64."""
    return np.asarray(stored.rows[rows], dtype=np.float64)


def without(found: Ints, values: Floats, own: Ints) -> tuple[Ints, Floats]:
    """The first k of k + 1 columns, the own row of each left out.

    >>> without(np.array([[4, 7, 9], [1, 2, 3]]), np.zeros((2, 3)), np.array([7, -1]))[0].tolist()
    [[4, 9], [1, 2]]
    """
    out = (found == own[:, np.newaxis]) & (found >= 0)
    out[~out.any(axis=1), -1] = True
    shape = (len(found), found.shape[1] - 1)
    return found[~out].reshape(shape), values[~out].reshape(shape)


def self_retrieval(sample: Sample, again: Lengths | None) -> Part:
    """Is a vector its own nearest, within ties, and does the text embedded again have a cosine about 1 to it?"""
    rows = sample.rows if again is None else np.intersect1d(sample.rows, again.usable)
    if not len(rows):
        return Part(None)
    asked = floats(sample.stored if again is None else again.stored, rows)
    stored = floats(sample.stored, rows)
    own = scores(asked, stored, sample.metric)
    best = exact_search(asked, sample.stored.rows, 1, sample.metric)[1][:, 0]
    scale = {"cosine": 1.0, "dot": np.abs(best), "l2": np.sqrt((asked**2).sum(axis=1))}[sample.metric]
    lost = rows[own < best - sample.lengths.tolerance * scale]
    cosine = scores(asked, stored, "cosine")
    unlike = rows[cosine < SAME]
    values = {
        "n": len(rows), "reembedded": again is not None, "metric": sample.metric,
        "first_share": 1 - len(lost) / len(rows), "similarity_about_1_share": 1 - len(unlike) / len(rows),
        "mean_similarity": float(cosine.mean()), "least_similarity": float(cosine.min()),
    }  # fmt: skip
    found = []
    if len(lost):
        text = f"{len(lost):,} of {len(rows):,} vectors are not the nearest to themselves by {sample.metric}"
        advice = "Check the metric of the index, whether vectors are normalised, and the model behind both sides."
        found.append(_finding("self_retrieval", sample, lost, len(rows), text, advice))
    if len(unlike):
        text = (
            f"{len(unlike):,} of {len(rows):,} texts embedded again have a cosine below {SAME} to their stored vector, "
            f"{cosine.mean():.3f} in the mean"
        )
        advice = "Check that model, version, prefix and preprocessing are those of the indexed vectors."
        found.append(_finding("self_similarity", sample, unlike, len(rows), text, advice))
    return Part(values, tuple(found))


def duplicates(sample: Sample, nearest_cosine: Floats | None) -> Part:
    """Equal vectors among all, and rows of the sample that have another with a cosine of 0.999 or more.

    nearest_cosine  (s,) of each row of the sample the highest cosine with another vector; None: it was not searched
    """
    equal = sample.lengths.usable[repeated(sample.stored.rows[sample.lengths.usable])]
    n = len(sample.lengths.usable)
    near = None if nearest_cosine is None else sample.rows[np.nan_to_num(nearest_cosine, nan=-1.0) >= SAME]
    values = {
        "equal": len(equal), "of": n, "threshold": SAME,
        "near": None if near is None else len(near), "near_of": None if near is None else len(sample.rows),
    }  # fmt: skip
    found = []
    if len(equal):
        text = f"{len(equal):,} of {n:,} vectors are equal to an earlier one"
        found.append(_finding("equal_vectors", sample, equal, n, text, "Remove duplicate chunks before indexing."))
    if near is not None and len(near) > len(equal) and sample.stored.width >= ROOM:
        text = f"{len(near):,} of {len(sample.rows):,} vectors looked at have another with a cosine of {SAME} or more"
        advice = "Look at their texts: copies and boilerplate push other chunks out of the top K."
        found.append(_finding("near_duplicates", sample, near, len(sample.rows), text, advice))
    return Part(values, tuple(found))


def metric_agreement(sample: Sample) -> Part:
    """Do dot product, cosine and distance find the same K? And how far is L2^2 from 2 - 2 cos?

    A row that one metric finds and another does not counts as shared where it ties with the other's K-th best.
    """
    top = {metric: sample.nearest(metric, sample.corpus, PROBES) for metric in METRICS}
    pairs = [("dot", "cosine"), ("l2", "cosine"), ("dot", "l2")]
    shared = {f"{a}_{b}": _shared(sample, top[a][0], top[b][1], b) for a, b in pairs}
    least = min((value for value in shared.values() if value is not None), default=None)
    n = min(len(sample.probes), PROBES)
    values: dict[str, Any] = {"k": sample.k, "n": n, "among": len(sample.corpus), "shared": shared}
    values["l2_identity_largest_deviation"] = _identity(sample)
    exact = sample.stored.rows.dtype.kind == "f"
    if least is None or least >= (ALIKE if exact else ALIKE_IN_8_BITS):
        return Part(values)
    pair = ", ".join(f"{name.replace('_', ' and ')} {value:.0%}" for name, value in shared.items() if value is not None)
    text = f"the metrics rank differently: of the top {sample.k} they share {least:.0%} or more ({pair})"
    advice = "Normalise all vectors, or make sure that index and model mean the same metric."
    return Part(values, (Finding("metrics_disagree", text, advice, None, n),))


def _shared(sample: Sample, found: Ints, other: Floats, metric: str) -> float | None:
    """The mean share of the rows found that another metric finds, too, within ties."""
    real = found >= 0
    if not real.any():
        return None
    query, column = np.nonzero(real)
    rows = floats(sample.stored, found[query, column])
    probes = sample.probes[query]
    score = scores(probes, rows, metric)
    last = np.fmin.reduce(other, axis=1)[query]
    scale = np.maximum(np.abs(last), 1e-300) if metric == "dot" else 1.0
    scale = np.sqrt((probes**2).sum(axis=1)) if metric == "l2" else scale
    return float((score >= last - max(sample.lengths.tolerance, 1e-6) * scale).mean())


def _identity(sample: Sample) -> float | None:
    """The largest |L2^2 - (2 - 2 cos)| over pairs of a probe and a row of the corpus: 0 for unit vectors."""
    m = min(len(sample.probes), len(sample.corpus), PROBES)
    others = np.roll(sample.corpus[:m], 1)  # a probe may be the row in its place
    rows, probes = floats(sample.stored, others), sample.probes[:m]
    cosine = scores(probes, rows, "cosine")
    gaps = np.abs(scores(probes, rows, "l2") ** 2 - (2 - 2 * cosine))
    gaps = gaps[~np.isnan(gaps)]
    return float(gaps.max()) if len(gaps) else None


def hubness(sample: Sample) -> Part:
    """Are some rows among the nearest of too many? (Radovanović, Nanopoulos, Ivanović 2010, "Hubs in Space")

    The skewness of how often a row is among the K nearest of the sampled rows, in the sample; the largest hub. Of equal
    vectors one is looked at: which of them an index names first is no matter of hubs.
    """
    vectors = floats(sample.stored, sample.rows)
    distinct = ~repeated(vectors)
    rows, vectors = sample.rows[distinct], vectors[distinct]
    n = len(rows)
    if n <= sample.k + 1:
        return Part(None)
    found, values = exact_search(vectors, vectors, sample.k + 1, sample.metric)
    inside = without(found, values, np.arange(n))[0]
    counts = np.bincount(inside[inside >= 0], minlength=n).astype(np.float64)
    spread = counts - counts.mean()
    deviation = float(np.sqrt((spread**2).mean()))
    largest, share, chance = int(counts.argmax()), float(counts.max()) / n, sample.k / (n - 1)
    values_of = {
        "k": sample.k, "n": n, "skewness": float((spread**3).mean()) / deviation**3 if deviation else None,
        "largest_hub": sample.stored.names(rows[[largest]])[0], "largest_hub_share": share,
        "expected_share": chance, "never_found_share": float((counts == 0).mean()),
    }  # fmt: skip
    hubs = rows[(counts / n >= HUB) & (counts / n >= HUB_TIMES * chance)]
    if not len(hubs):
        return Part(values_of)
    text = (
        f"{len(hubs):,} of {n:,} vectors are hubs: the largest is in the top {sample.k} of {share:.0%} of the others, "
        f"where {chance:.1%} would be even"
    )
    advice = "Look at their texts (empty, boilerplate, very short), and normalise vectors of unlike lengths."
    return Part(values_of, (_finding("hubs", sample, hubs, n, text, advice),))


def contrast(sample: Sample) -> Part:
    """The distance of the farthest over that of the nearest (Beyer et al. 1999), both angles as chords sqrt(2 - 2 cos).

    The median over the probes; those that have an equal vector, with distance 0, are counted and left out.
    """
    m = min(len(sample.probes), PROBES)
    nearest = sample.nearest("cosine", sample.corpus, m)[1][:, 0]
    farthest = -exact_search(-sample.probes[:m], sample.stored.rows[sample.corpus], 1, "cosine")[1][:, 0]
    near, far = np.sqrt(np.maximum(2 - 2 * nearest, 0)), np.sqrt(2 - 2 * farthest)
    kept = (near > 1e-6) & ~np.isnan(far)
    if not kept.any():
        return Part(None)
    ratio = float(np.median(far[kept] / near[kept]))
    values = {"n": int(kept.sum()), "left_out": int(m - kept.sum()), "among": len(sample.corpus), "ratio": ratio}
    if ratio >= CONTRAST or len(sample.corpus) < 100:
        return Part(values)
    text = f"the farthest vector is only {ratio:.2f} times as far as the nearest: everything looks alike"
    advice = "Check the model and its input; vectors of noise look like this."
    return Part(values, (Finding("no_contrast", text, advice, None, int(kept.sum())),))


def _finding(kind: str, sample: Sample, rows: Ints, of: int, text: str, advice: str) -> Finding:
    return Finding(kind, text, advice, len(rows), of, smallest(sample.stored.names(rows)))
