"""VectorHealth: the silent faults of vectors, found before a user finds them (whitepaper, section 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.lab.exact import check_metric, exact_search
from rag_titan.lab.gap import similarity_gap
from rag_titan.lab.mixture import two_models
from rag_titan.lab.neighbours import (
    Part,
    Sample,
    contrast,
    duplicates,
    hubness,
    metric_agreement,
    self_retrieval,
    without,
)
from rag_titan.lab.norms import HALF, Lengths, broken, findings_of
from rag_titan.lab.stored import StoredVectors, check_width, stored_vectors

MOST = 1000  # neighbours


class VectorHealth:
    """Tests of stored vectors, and of the vectors of queries against them.

    metric  how the index compares: "cosine", "dot" or "l2"
    k       how many neighbours are looked at
    sample  rows, and queries, that are drawn for the tests that search; all lengths are read in any case
    seed    the same seed draws the same

    Raises SettingsError for another metric, for fewer than 1 or more than 1,000 neighbours, and below 10 rows.

    >>> rng = np.random.default_rng(0)
    >>> vectors = rng.normal(size=(300, 64)) + 1
    >>> vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    >>> health = VectorHealth().check(vectors, 3 * vectors[:50] + 0.1)
    >>> [finding["kind"] for finding in health["findings"]]
    ['norm_mismatch']
    """

    def __init__(self, *, metric: str = "cosine", k: int = 10, sample: int = 2000, seed: int = 0) -> None:
        check_metric(metric)
        for name, value, least in (("k", k, 1), ("sample", sample, 10), ("seed", seed, 0)):
            if type(value) is not int or value < least:
                raise SettingsError(f"{name}: must be a whole number from {least} on, got {value!r}. Choose another.")
        if k > MOST:
            raise SettingsError(f"k: must be at most {MOST:,} neighbours, got {k:,}. Choose fewer.")
        self.metric, self.k, self.sample, self.seed = metric, k, sample, seed

    def check(
        self,
        vectors: Any,
        queries: Any = None,
        *,
        ids: Sequence[Any] | None = None,
        query_ids: Sequence[Any] | None = None,
        reembedded: Any = None,
    ) -> dict[str, Any]:
        """What was measured, and `findings`: {kind, text, advice, count, of, ids} each.

        vectors     (n, d) array (also one that stays in its file), list of lists, {id: vector}, or StoredVectors
        queries     (m, d) vectors of questions
        reembedded  (n, d) the same texts embedded again as questions are: row i is that of vectors[i]

        Everything is plain values; what could not be measured is None. Vectors may hold NaN, infinity and zeros: those
        are findings. Raises DatasetError for what is no matrix of numbers, and for matrices of different widths.
        """
        stored = stored_vectors("vectors", vectors, ids)
        asked = None if queries is None else stored_vectors("queries", queries, query_ids)
        again = None if reembedded is None else stored_vectors("reembedded", reembedded)
        _check_widths(stored, asked, again)
        lengths = Lengths.of(stored)
        of_queries, of_again = (None if other is None else Lengths.of(other) for other in (asked, again))
        return {**_described(stored, asked), "metric": self.metric, **self._tested(lengths, of_queries, of_again)}

    def _tested(self, lengths: Lengths, queries: Lengths | None, again: Lengths | None) -> dict[str, Any]:
        """What the tests measured and found."""
        sample = Sample.drawn(lengths, queries, size=self.sample, metric=self.metric, k=self.k, seed=self.seed)
        parts = self._parts(sample, again) if len(lengths.usable) else {}
        found = findings_of(lengths, queries, self.metric)
        found += [] if again is None else broken("vectors embedded again", again)
        found += [finding for part in parts.values() for finding in part.findings]
        return {
            "sample": {"rows": len(sample.rows), "probes": len(sample.probes), "seed": self.seed},
            "norms": {"vectors": lengths.as_dict(), "queries": None if queries is None else queries.as_dict()},
            **{name: part.values for name, part in parts.items()},
            "notes": _notes(lengths, queries, sample),
            "findings": [finding.as_dict() for finding in found],
        }

    def _parts(self, sample: Sample, again: Lengths | None) -> dict[str, Part]:
        return {
            "metrics": metric_agreement(sample),
            "self_retrieval": self_retrieval(sample, again),
            "duplicates": duplicates(sample, _nearest_cosine(sample)),
            "hubness": hubness(sample),
            "similarity_gap": similarity_gap(sample, self.seed),
            "contrast": contrast(sample),
            "two_models": two_models(sample, self.seed),
        }


def _nearest_cosine(sample: Sample) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(s,) of each row of the sample the highest cosine with another vector."""
    rows = np.asarray(sample.stored.rows[sample.rows], dtype=np.float64)
    found, values = exact_search(rows, sample.stored.rows, 2, "cosine")
    return without(found, values, sample.rows)[1][:, 0]


def _described(stored: StoredVectors, asked: StoredVectors | None) -> dict[str, Any]:
    return {
        name: None if of is None else {
            "where": of.where, "count": len(of), "dimensions": of.width, "dtype": str(of.rows.dtype),
        }
        for name, of in (("vectors", stored), ("queries", asked))
    }  # fmt: skip


def _check_widths(stored: StoredVectors, asked: StoredVectors | None, again: StoredVectors | None) -> None:
    check_width(stored, asked)
    check_width(stored, again)
    if again is not None and len(again) != len(stored):
        rule = f"must have a row for each of the {len(stored)} vectors of {stored.where}, got {len(again)}."
        raise DatasetError(again.where, rule + " Embed the same texts in the same order.")


def _notes(lengths: Lengths, queries: Lengths | None, sample: Sample) -> list[str]:
    """What is no fault and good to know."""
    notes = []
    for what, of in (("indexed", lengths), ("query", queries)):
        if of is None or not len(of.not_unit):
            continue
        if of.are_unit and not len(of.off):
            notes.append(
                f"the lengths of {len(of.not_unit):,} {what} vectors are off by up to {of.deviations.max():.1e}, more "
                f"than {of.tolerance:.0e} and less than {HALF:.0e}: as if they had been kept in half precision"
            )
        elif not of.are_unit:
            share = len(of.not_unit) / len(of.usable)
            notes.append(
                f"{share:.0%} of the {what} vectors are not of length 1: use them by cosine, or normalise them"
            )
    if len(sample.rows) < len(lengths.usable):
        drawn = f"{len(sample.rows):,} of {len(lengths.usable):,} vectors"
        notes.append(f"the tests that search were made with {drawn}, drawn at random, against all")
    return notes
