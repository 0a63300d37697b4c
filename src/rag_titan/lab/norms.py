"""Lengths of vectors: which are not finite, zero or not of length 1, as exactly as their storage allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.lab.exact import LONGEST
from rag_titan.lab.findings import Finding, smallest
from rag_titan.lab.stored import BLOCK, StoredVectors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HALF = 1e-3  # what half precision does to a length
_WHOLE = 1e-2  # what 8 bits do
_SINGLE = 1e-6
_MOST = 0.5  # from this share on a set of vectors is one of unit vectors


def tolerance_of(dtype: np.dtype[Any]) -> float:
    """How far a length may be from 1 for the storage alone: 1e-6 in 32 and 64 bits, 1e-3 in 16, 1e-2 in whole numbers.

    >>> tolerance_of(np.dtype("float16")), tolerance_of(np.dtype("int8"))
    (0.001, 0.01)
    """
    if dtype.kind != "f":
        return _WHOLE
    return HALF if dtype.itemsize < 4 else _SINGLE


@dataclass(frozen=True)
class Lengths:
    """The Euclidean lengths of stored vectors.

    values  (n,) NaN where a number of the vector is not finite, or its square leaves float32, as any index would have
            it; 0 where all are 0, or their squares come to nothing
    unit    what counts as 1: vectors of whole numbers have been multiplied, so that the median length counts as 1
    """

    stored: StoredVectors
    values: Floats
    unit: float

    @classmethod
    def of(cls, stored: StoredVectors) -> Lengths:
        """Read all vectors once, a block at a time."""
        values = np.concatenate(list(_by_blocks(stored.rows)))
        known = values[values > 0]
        whole = stored.rows.dtype.kind != "f" and len(known)
        return cls(stored, values, float(np.median(known)) if whole else 1.0)

    @property
    def tolerance(self) -> float:
        """See `tolerance_of`."""
        return tolerance_of(self.stored.rows.dtype)

    @cached_property
    def not_finite(self) -> Ints:
        """Rows."""
        return np.flatnonzero(np.isnan(self.values))

    @cached_property
    def zero(self) -> Ints:
        """Rows."""
        return np.flatnonzero(self.values == 0)

    @cached_property
    def usable(self) -> Ints:
        """Rows that have a direction."""
        return np.flatnonzero(self.values > 0)

    @cached_property
    def deviations(self) -> Floats:
        """(usable,) how far each length is from 1."""
        return np.abs(self.values[self.usable] / self.unit - 1)

    @cached_property
    def not_unit(self) -> Ints:
        """Rows that have a direction and not the length 1."""
        return self.usable[self.deviations > self.tolerance]

    @property
    def unit_share(self) -> float | None:
        """Of those that have a direction; None of none."""
        return 1 - len(self.not_unit) / len(self.usable) if len(self.usable) else None

    @property
    def are_unit(self) -> bool:
        """True where most have the length 1, as far as half precision would show it."""
        return bool(len(self.usable)) and float((self.deviations <= max(self.tolerance, HALF)).mean()) > _MOST

    @cached_property
    def off(self) -> Ints:
        """Rows whose length is not 1, and by more than half precision explains."""
        return self.usable[self.deviations > max(self.tolerance, HALF)]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        known = self.values[self.usable]
        low, middle, high = np.quantile(known, [0, 0.5, 1]).tolist() if len(known) else (None, None, None)
        return {
            "count": len(self.values),
            "dtype": str(self.stored.rows.dtype),
            "tolerance": self.tolerance,
            "counts_as_1": self.unit,
            "not_finite": len(self.not_finite),
            "zero": len(self.zero),
            "not_unit": len(self.not_unit),
            "not_unit_share": None if not len(known) else len(self.not_unit) / len(known),
            "largest_deviation": float(self.deviations.max()) if len(known) else None,
            "shortest": low,
            "median": middle,
            "longest": high,
        }


def _by_blocks(rows: NDArray[Any]) -> Iterator[Floats]:
    for start in range(0, len(rows), BLOCK):
        block = np.asarray(rows[start : start + BLOCK], dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
        lengths = np.where(lengths <= LONGEST, lengths, np.nan)
        yield np.where(lengths < 1 / LONGEST, 0.0, lengths)


def findings_of(vectors: Lengths, queries: Lengths | None, metric: str) -> list[Finding]:
    """What is wrong with the lengths: broken vectors, unlike ones, and vectors and queries that differ."""
    found: list[Finding] = []
    for what, lengths in (("indexed vectors", vectors), ("query vectors", queries)):
        if lengths is not None:
            found += [*broken(what, lengths), *_unlike(what, lengths)]
    if queries is not None:
        found += _mismatch(vectors, queries)
    if metric == "dot" and not vectors.are_unit and len(vectors.usable):
        found.append(_finding(
            "not_normalised", vectors, vectors.not_unit,
            f"{len(vectors.not_unit):,} of {len(vectors.usable):,} indexed vectors are not of length 1, and the index "
            "compares by dot product: longer vectors come first whatever the question",
            "Divide every vector by its length before it is indexed, unless the model was trained for dot products.",
        ))  # fmt: skip
    return found


def _finding(kind: str, lengths: Lengths, rows: Ints, text: str, advice: str) -> Finding:
    names = smallest(lengths.stored.names(rows))
    return Finding(kind, text, advice, len(rows), len(lengths.values), names)


def broken(what: str, lengths: Lengths) -> list[Finding]:
    """The vectors that have no direction."""
    found = []
    n = len(lengths.values)
    if len(rows := lengths.not_finite):
        text = f"{len(rows):,} of {n:,} {what} hold NaN, infinity or numbers too large to be squared"
        found.append(_finding("not_finite", lengths, rows, text, "Embed these again; an index returns them anywhere."))
    if len(rows := lengths.zero):
        text = f"{len(rows):,} of {n:,} {what} are all zeros, or as good as that: they have no direction"
        found.append(_finding("zero", lengths, rows, text, "Look whether their texts are empty, and leave them out."))
    return found


def _unlike(what: str, lengths: Lengths) -> list[Finding]:
    """Some of length 1 and some not, in one set."""
    unlike = lengths.off if lengths.are_unit else _few_units(lengths)
    if not len(unlike):
        return []
    n, rest = len(lengths.usable), "are not of length 1 while the others are"
    rest = rest if lengths.are_unit else "are of length 1 while the others are not"
    text = f"{len(unlike):,} of {n:,} {what} {rest}"
    return [_finding("norms_mixed", lengths, unlike, text, "Embed all in one way: normalise all of them, or none.")]


def _few_units(lengths: Lengths) -> Ints:
    """The unit vectors among others, where there are more of them than lengths around 1 would bring by chance."""
    units = lengths.usable[lengths.deviations <= lengths.tolerance]
    near = int((lengths.deviations <= 100 * lengths.tolerance).sum())
    return units if lengths.stored.rows.dtype.kind == "f" and len(units) > max(3, near / 10) else units[:0]


def _mismatch(vectors: Lengths, queries: Lengths) -> list[Finding]:
    """Queries of length 1 against vectors that are not, or the other way round."""
    if vectors.are_unit == queries.are_unit or not len(vectors.usable) or not len(queries.usable):
        return []
    which, other = ("query", "indexed") if vectors.are_unit else ("indexed", "query")
    off, whole = (queries, queries) if vectors.are_unit else (vectors, vectors)
    middle = float(np.median(off.values[off.usable]))
    text = (
        f"the {other} vectors are of length 1 and the {which} vectors are not: {len(off.not_unit):,} of "
        f"{len(whole.usable):,}, of median length {middle:.4g}. Dot products are then no cosines"
    )
    return [_finding("norm_mismatch", off, off.not_unit, text, "Normalise both, where vectors are written and asked.")]
