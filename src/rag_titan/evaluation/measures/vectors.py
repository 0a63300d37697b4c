"""Norms, duplicates, cosines, exact top K and the recall against it (metrics.txt, sections 1 and 2).

Vectors are the rows of a float matrix (n, d). What a report shows is summed by numpy in float64 over rows of
the same length, in the order of the rows, never by BLAS, so that neither blocks, nor threads, nor the number of queries
change a digit. A vector of zeros has no direction: its cosines are NaN and it is in no top K.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.ragged import Ragged

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Matrix = NDArray[np.floating[Any]]

TIE = 1e-6  # a cosine this close to the K-th best counts as found
_ROWS = 256  # rows worked on at a time: in float64 they fit the cache of a core
_SMALL, _LARGE = 1e-140, 1e140  # squared norms between these can be multiplied without leaving float64


def norms(vectors: Matrix) -> Floats:
    """(n,) Euclidean length of each vector; 0 only for a vector of zeros.

    >>> norms(np.array([[3.0, 4.0], [0.0, 0.0], [1e-200, 0.0]])).tolist()
    [5.0, 0.0, 1e-200]
    """
    lengths = np.empty(len(vectors))
    for part in _parts(len(vectors)):
        _, squares, exponents = _balanced(vectors[part])
        lengths[part] = np.ldexp(np.sqrt(squares), exponents)
    return lengths


def repeated(vectors: Matrix) -> Mask:
    """(n,) True where an equal vector stands in an earlier row; 0.0 and -0.0 are equal.

    >>> repeated(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -0.0]])).tolist()
    [False, False, True]
    """
    prints = _fingerprints(vectors)
    order = np.argsort(prints, kind="stable")
    starts = (
        np.concatenate(([True], prints[order[1:]] != prints[order[:-1]])) if len(order) else np.empty(0, dtype=bool)
    )
    first = order[np.flatnonzero(starts)][np.cumsum(starts) - 1]
    later, first = order[~starts], first[~starts]
    equal = np.empty(len(later), dtype=bool)
    for part in _parts(len(later)):
        equal[part] = (vectors[later[part]] == vectors[first[part]]).all(axis=1)
    again = np.zeros(len(vectors), dtype=bool)
    again[later[equal]] = True
    seen: set[bytes] = set()
    for row in np.sort(later[~equal]):  # other vectors of the same fingerprint: compared by their bytes
        key = (vectors[row] + 0.0).tobytes()
        again[row] = key in seen
        seen.add(key)
    return again


def cosines(left: Matrix, right: Matrix, left_rows: Ints, right_rows: Ints) -> Floats:
    """(p,) cosine of left[left_rows[i]] and right[right_rows[i]], within -1..1; NaN where either is a vector of zeros.

    Vectors that are equal have the cosine 1.0 to the last digit.

    >>> vectors = np.array([[0.1, 0.2], [0.2, 0.4], [0.0, 0.0]])
    >>> cosines(vectors, vectors, np.array([0, 0]), np.array([1, 2])).tolist()
    [1.0, nan]
    """
    values = np.empty(len(left_rows))
    for part in _parts(len(left_rows)):
        a, a_squares, _ = _balanced(left[left_rows[part]])
        b, b_squares, _ = _balanced(right[right_rows[part]])
        product = a_squares * b_squares
        dots = (a * b).sum(axis=1)
        values[part] = _ratio(dots, np.sqrt(product), product > 0)
    return np.clip(values, -1.0, 1.0, out=values)


def mean_gold_cosines(gold: Ragged, gold_cosines: Floats) -> Floats:
    """(m,) mean cosine of a query and its gold vectors; NaN without a gold vector that has a direction.

    gold          for each of m queries the rows of its gold vectors
    gold_cosines  (total,) the cosine of each with its query, NaN where undefined
    """
    total, count = _gold_totals(gold, gold_cosines)
    return _ratio(total, count, count > 0)


def mean_other_cosines(queries: Matrix, vectors: Matrix, gold: Ragged, gold_cosines: Floats) -> Floats:
    """(m,) mean cosine of a query and the vectors that are not its gold, those of zeros left out; NaN of none.

    The sum over all vectors is the product of the query with the sum of the unit vectors: O(d) a query. `gold` names no
    row twice for a query.

    >>> vectors, query = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), np.array([[1.0, 0.0]])
    >>> mean_other_cosines(query, vectors, Ragged(np.array([0]), np.array([0, 1])), np.array([1.0])).tolist()
    [0.5]
    """
    everywhere, count = np.zeros(vectors.shape[1]), 0
    for part in _parts(len(vectors)):
        units, directed = unit_rows(vectors[part])
        everywhere += units.sum(axis=0)
        count += int(directed.sum())
    sums = np.empty(len(queries))
    for part in _parts(len(queries)):
        units, directed = unit_rows(queries[part])
        sums[part] = np.where(directed, (units * everywhere).sum(axis=1), np.nan)
    gold_sum, gold_count = _gold_totals(gold, gold_cosines)
    others = count - gold_count
    means = _ratio(sums - gold_sum, others, others > 0)
    return np.clip(means, -1.0, 1.0, out=means)


def _gold_totals(gold: Ragged, gold_cosines: Floats) -> tuple[Floats, Floats]:
    """(m,) sum, and (m,) number, of the gold cosines that are defined."""
    defined = ~np.isnan(gold_cosines)
    return gold.sums(np.where(defined, gold_cosines, 0.0)), gold.sums(defined)


def gold_recall(gold: Ragged, gold_cosines: Floats, gold_sizes: Ints, kth_best: Floats) -> Floats:
    """(m,) share of a query's gold whose cosine reaches the K-th best of all; NaN without gold.

    gold_sizes  (m,) |G_q|, which counts the gold chunks without a vector too: they are never found
    kth_best    (m,) the K-th best cosine; NaN where nothing can be searched, and so nothing is found
    """
    found = gold.sums(gold_cosines >= kth_best[gold.rows] - TIE)
    return _ratio(found, gold_sizes, gold_sizes > 0)


def index_recall(results: Ragged, result_cosines: Floats, kth_best: Floats, size: int) -> Floats:
    """(m,) share of the exact top K that an index returned; NaN where there is no exact top K.

    results         for each query the rows of those of the K first distinct results that have a vector
    result_cosines  (total,) the cosine of each with its query, NaN where undefined
    kth_best        (m,) the K-th best cosine, NaN where nothing can be searched
    size            |E|: K, or the number of vectors that can be searched when that is less

    A result that ties with the K-th best counts, whichever of the tied ones the exact search names.
    """
    found = np.minimum(results.sums(result_cosines >= kth_best[results.rows] - TIE), size)
    return _ratio(found, size, ~np.isnan(kth_best) & (size > 0))


def cohesion(vectors: Matrix, offsets: Ints) -> Floats:
    """(g,) mean cosine over all pairs of vectors inside a group; NaN below two vectors that have a direction.

    offsets  (g + 1,) group i is vectors[offsets[i]:offsets[i + 1]]

    With unit vectors e the pairs need not be formed: (|sum e|^2 - m) / (m (m - 1)).

    >>> cohesion(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [5.0, 5.0]]), np.array([0, 3, 4])).round(4).tolist()
    [0.3333, nan]
    """
    values = np.full(len(offsets) - 1, np.nan)
    first = 0
    while first < len(values):
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _ROWS, side="right")) - 1)
        groups = slice(first, last)
        values[groups] = _cohesion(vectors[offsets[first] : offsets[last]], offsets[first : last + 1] - offsets[first])
        first = last
    return np.clip(values, -1.0, 1.0, out=values)


def _cohesion(vectors: Matrix, offsets: Ints) -> Floats:
    units, directed = unit_rows(vectors)
    counts = Ragged(directed, offsets).sums(directed)
    filled = np.flatnonzero(np.diff(offsets))
    squares = np.zeros(len(counts))
    if len(filled):
        sums = np.add.reduceat(units, offsets[filled], axis=0)
        squares[filled] = (sums * sums).sum(axis=1)
    pairs = counts * (counts - 1)
    return _ratio(squares - counts, pairs, pairs > 0)


def unit_rows(vectors: Matrix) -> tuple[Floats, Mask]:
    """Rows of length 1 in float64, and which rows have a direction; those that have none stay zero."""
    rows, squares, _ = _balanced(vectors)
    directed = squares > 0
    return rows / np.where(directed, np.sqrt(squares), 1.0)[:, np.newaxis], directed


def _balanced(vectors: Matrix) -> tuple[Floats, Floats, Any]:
    """Rows in float64 (not to be written to), their squared norms, and the power of two that each row was divided by.

    Only rows whose squares would leave the range are divided; the power is 0 for the others.
    """
    rows = np.ascontiguousarray(vectors, dtype=np.float64)
    with np.errstate(over="ignore"):
        squares = (rows * rows).sum(axis=1)
    far = np.flatnonzero(~((squares > _SMALL) & (squares < _LARGE)))
    if not len(far):
        return rows, squares, 0
    exponents = np.zeros(len(rows), dtype=np.intc)
    exponents[far] = np.frexp(np.abs(rows[far]).max(axis=1, initial=0.0))[1]
    rows = np.ldexp(rows, -exponents[:, np.newaxis])
    squares[far] = (rows[far] * rows[far]).sum(axis=1)
    return rows, squares, exponents


def _ratio(part: Floats, whole: Floats | Ints | int, defined: Mask) -> Floats:
    """part / whole, NaN where it is not defined."""
    values = np.full(len(part), np.nan)
    np.divide(part, whole, out=values, where=defined)
    return values


def _parts(n: int) -> Iterator[slice]:
    return (slice(start, min(start + _ROWS, n)) for start in range(0, n, _ROWS))


def _fingerprints(vectors: Matrix) -> NDArray[np.uint64]:
    """(n,) a hash of each vector's bits, equal for equal vectors: a sum of products with odd constants modulo 2^64."""
    n, d = vectors.shape
    factors = np.arange(1, d + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # the steps of SplitMix64
    factors ^= factors >> np.uint64(30)
    factors *= np.uint64(0xBF58476D1CE4E5B9)
    factors |= np.uint64(1)  # numpy.random would do as well, but takes longer to load than a small evaluation
    prints = np.empty(n, dtype=np.uint64)
    for part in _parts(n):
        bits = np.add(vectors[part], 0.0, dtype=np.float64).view(np.uint64)  # -0.0 + 0.0 is 0.0
        bits ^= bits >> np.uint64(32)  # round numbers have their ones in the high bits, which a product would lose
        prints[part] = np.multiply(bits, factors, out=bits).sum(axis=1)
    return prints
