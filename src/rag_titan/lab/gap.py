"""The similarity gap: how far the best result stands out from the tenth, over corpus sizes (whitepaper, 2.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.lab.exact import exact_search
from rag_titan.lab.findings import Finding
from rag_titan.lab.neighbours import PROBES, ROOM, Part, Sample, floats, without

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RANK = 10
STEPS = 5  # sizes, each twice the one before
COLLAPSED = 0.02  # of the way from the typical score to the best
_TYPICAL = 1000  # rows that the typical score is the median over
_LEAST = 200  # rows: below, the tenth is far away for want of others


def similarity_gap(sample: Sample, seed: int) -> Part:
    """Mean cosine of rank 1 less that of rank 10, in parts of the corpus of rising size, the whole being the last.

    Of each probe the gap is also taken as a share of the way from the typical score (the median over 1,000 rows) to
    the best, so that it means the same for models whose cosines are all high. It has collapsed where the median share
    is below 0.02 with the whole corpus: the first ten can then hardly be told apart. Vectors of fewer than 8 numbers
    have no room for so many, and are not judged.
    """
    order = np.random.default_rng(seed).permutation(sample.lengths.usable)
    sizes = sorted({len(order) >> step for step in range(STEPS)})
    sizes = [size for size in sizes if size > RANK]
    probes, own = sample.probes[:PROBES], sample.of_rows[:PROBES]
    if not sizes or not len(probes):
        return Part(None)
    typical = _typical(probes, floats(sample.stored, np.sort(order[:_TYPICAL])))
    rows = [_of_size(sample, probes, own, typical, np.sort(order[:size])) for size in sizes]
    last, first = rows[-1], rows[0]
    collapsed = last["median_share"] is not None and last["median_share"] < COLLAPSED and sizes[-1] >= _LEAST
    collapsed = bool(collapsed) and sample.stored.width >= ROOM
    values = {"rank": RANK, "n": len(probes), "sizes": rows, "collapsed": collapsed}
    if not collapsed:
        return Part(values)
    text = (
        f"the similarity gap has collapsed: with {sizes[-1]:,} vectors the best is {last['gap']:.4f} above the tenth, "
        f"{last['median_share']:.1%} of what it is above a typical one; with {sizes[0]:,} it was {first['gap']:.4f}"
    )
    advice = "Expect a noisy top K: remove near-duplicates, add a reranker or filters, or use a stronger model."
    return Part(values, (Finding("gap_collapsed", text, advice, None, len(probes)),))


def _of_size(sample: Sample, probes: Floats, own: Ints, typical: Floats, corpus: Ints) -> dict[str, Any]:
    whole = len(corpus) == len(sample.stored.rows)
    found, values = exact_search(probes, sample.stored.rows if whole else _Picked(sample.stored.rows, corpus), 11)
    found = np.where(found >= 0, corpus[np.maximum(found, 0)], -1)
    scores = without(found, values, own)[1]
    gaps = scores[:, 0] - scores[:, RANK - 1]
    above = scores[:, 0] - typical
    shares = np.full(len(gaps), np.nan)
    np.divide(gaps, above, out=shares, where=above > 1e-9)
    known, shares = gaps[~np.isnan(gaps)], shares[~np.isnan(shares)]
    return {
        "size": len(corpus),
        "gap": float(known.mean()) if len(known) else None,
        "median_share": float(np.median(shares)) if len(shares) else None,
    }


class _Picked:
    """Some rows of a matrix, read a slice at a time."""

    def __init__(self, rows: NDArray[Any], picked: Ints) -> None:
        self._rows, self._picked = rows, picked
        self.shape = (len(picked), *rows.shape[1:])

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        picked: NDArray[Any] = self._rows[self._picked[rows]]
        return picked


def _typical(probes: Floats, rows: Floats) -> Floats:
    """(m,) median cosine with the rows."""
    left = probes / np.linalg.norm(probes, axis=1, keepdims=True)
    right = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    typical: Floats = np.median(left @ right.T, axis=1)
    return typical
