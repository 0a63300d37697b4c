"""Lists of token codes compared pair by pair: token overlap, longest common subsequence, phrases, grounding.

Codes are integers from 0; list i of one Ragged is compared with list i of the other. NaN is "undefined" (0/0).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.ragged import Ragged, offsets_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_CODE_BITS = 32
_SURROGATES = (0xD800, 0xE000)  # code points that no text may hold
_LAST_POINT = 0x10FFFF
_MOST_CODES = _LAST_POINT + 1 - (_SURROGATES[1] - _SURROGATES[0])


class Overlap(NamedTuple):
    """(n,) token precision, recall and F1 of each pair."""

    precision: Floats
    recall: Floats
    f1: Floats


def take(lists: Ragged, rows: Ints) -> Ragged:
    """The lists of the given rows, in that order; a row may come several times. Rows in a run are not copied.

    >>> from rag_titan.evaluation.measures.ragged import ragged
    >>> some = take(ragged([[7, 8], [], [9]]), np.array([2, 0]))
    >>> some.values.tolist(), some.offsets.tolist()
    ([9, 7, 8], [0, 1, 3])
    """
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return part(lists, int(rows[0]), int(rows[-1]) + 1)
    lengths = lists.lengths[rows]
    offsets = offsets_of(lengths)
    at = np.repeat(lists.offsets[:-1][rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return Ragged(lists.values[at], offsets)


def part(lists: Ragged, start: int, stop: int) -> Ragged:
    """The lists `start` to `stop` (not included), without a copy of their values."""
    offsets = lists.offsets[start : stop + 1]
    return Ragged(lists.values[offsets[0] : offsets[-1]], offsets - offsets[0])


def blocks(sizes: Ints, most: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of runs of rows whose sizes add up to at most `most`, or of one row that is larger; none left out.

    >>> list(blocks(np.array([2, 2, 9, 1]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    edges = offsets_of(sizes)
    start = 0
    while True:
        stop = int(np.searchsorted(edges, edges[start] + most, side="right")) - 1
        stop = min(max(stop, start + 1), len(sizes))
        yield start, stop
        if stop >= len(sizes):
            return
        start = stop


def ratio(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    """(n,) part / whole, NaN where `whole` is 0."""
    out: Floats = np.full(len(whole), np.nan)
    return np.divide(part, whole, out=out, where=whole != 0)


def _keys(lists: Ragged) -> Ints:
    """(total,) one integer for each element: its list, then its code."""
    keys = lists.rows << _CODE_BITS
    keys |= lists.values
    return keys


def equal(a: Ragged, b: Ragged) -> Mask:
    """(n,) True where the two lists are the same.

    >>> from rag_titan.evaluation.measures.ragged import ragged
    >>> equal(ragged([[1, 2], [3]]), ragged([[1, 2], [4]])).tolist()
    [True, False]
    """
    same: Mask = a.lengths == b.lengths
    left, right = (x.values[np.repeat(same, x.lengths)] for x in (a, b))
    rows = np.repeat(np.arange(len(a)), np.where(same, a.lengths, 0))
    same[rows[left != right]] = False
    return same


def matches(a: Ragged, b: Ragged) -> Ints:
    """(n,) token occurrences that both lists have: for each token the smaller of its two counts, summed.

    >>> from rag_titan.evaluation.measures.ragged import ragged
    >>> matches(ragged([[5, 5, 5]]), ragged([[5, 6, 5]])).tolist()
    [2]
    """
    keys = np.concatenate([_keys(a), _keys(b)])
    keys <<= 1
    keys[len(a.values) :] |= 1
    keys.sort()
    first = np.flatnonzero(np.diff(keys >> 1, prepend=-1))
    in_both = np.diff(np.append(first, len(keys)))
    in_b = np.add.reduceat(keys & 1, first) if len(first) else in_both
    rows = keys[first] >> (_CODE_BITS + 1)
    return np.bincount(rows, weights=np.minimum(in_b, in_both - in_b), minlength=len(a)).astype(np.int64)


def overlap(a: Ragged, b: Ragged) -> Overlap:
    """Token precision (over `a`), recall (over `b`) and F1 of two multisets (SQuAD, Rajpurkar et al. 2016).

    Of two empty lists F1 is 1 (SQuAD 2.0, Rajpurkar et al. 2018); of an empty and another it is 0. Precision over an
    empty `a` and recall over an empty `b` are NaN.

    >>> from rag_titan.evaluation.measures.ragged import ragged
    >>> two = overlap(ragged([[5, 5, 5], []]), ragged([[5], [6]]))
    >>> two.precision.round(3).tolist(), two.recall.tolist(), two.f1.tolist()
    ([0.333, nan], [1.0, 0.0], [0.5, 0.0])
    """
    same = matches(a, b)
    f1 = ratio(2 * same, a.lengths + b.lengths)
    f1[np.isnan(f1)] = 1.0
    return Overlap(ratio(same, a.lengths), ratio(same, b.lengths), f1)


def lcs_lengths(a: Ragged, b: Ragged) -> Ints:
    """(n,) length of the longest common subsequence of each pair (bit-parallel: Hyyrö 2004), in linear memory.

    >>> from rag_titan.evaluation.measures.ragged import ragged
    >>> lcs_lengths(ragged([[1, 2, 3]]), ragged([[3, 1, 9, 3]])).tolist()
    [2]
    """
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cpdist

    left, right = _as_text(a, b)
    return cpdist(left, right, scorer=LCSseq.similarity, dtype=np.int64) if left else np.empty(0, np.int64)


def _as_text(a: Ragged, b: Ragged) -> tuple[list[str], list[str]]:
    """Each list as a text with one character for each code, which is how rapidfuzz reads it without a copy."""
    codes = np.concatenate([a.values, b.values]).astype(np.uint32)
    if len(codes) and codes.max() >= _MOST_CODES:
        codes = _dense(codes, np.concatenate([a.rows, b.rows]))
    codes[codes >= _SURROGATES[0]] += np.uint32(_SURROGATES[1] - _SURROGATES[0])
    text = codes.astype("<u4").tobytes().decode("utf-32-le")
    return _slices(text, a.offsets), _slices(text, b.offsets + len(a.values))


def _slices(text: str, offsets: Ints) -> list[str]:
    edges = offsets.tolist()
    return [text[start:end] for start, end in pairwise(edges)]


def _dense(codes: NDArray[np.uint32], rows: Ints) -> NDArray[np.uint32]:
    """Codes that count from 0 anew in each pair; equal ones of a pair stay equal."""
    keys, inverse = np.unique((rows << _CODE_BITS) | codes, return_inverse=True)
    first = np.searchsorted(keys >> _CODE_BITS, rows)
    dense: NDArray[np.uint32] = (inverse - first).astype(np.uint32)
    return dense


def rouge_l(a: Ragged, b: Ragged) -> Floats:
    """(n,) ROUGE-L F1 (Lin 2004, beta 1): 2PR / (P + R) with P = LCS / |a| and R = LCS / |b|; NaN of two empty lists.

    >>> from rag_titan.evaluation.measures.ragged import ragged
    >>> rouge_l(ragged([[1, 2, 3]]), ragged([[3, 1, 2]])).round(3).tolist()
    [0.667]
    """
    return ratio(2 * lcs_lengths(a, b), a.lengths + b.lengths)


def contained(a: Ragged, b: Ragged) -> Mask:
    """(total of a,) True where an element of `a` stands anywhere in the same list of `b`.

    >>> from rag_titan.evaluation.measures.ragged import ragged
    >>> contained(ragged([[1, 2], [1]]), ragged([[2], [1]])).tolist()
    [False, True, True]
    """
    there, asked = np.sort(_keys(b)), _keys(a)
    if not len(there):
        return np.zeros(len(asked), dtype=bool)
    at = np.searchsorted(there, asked)
    found: Mask = there[np.minimum(at, len(there) - 1)] == asked
    return found


def distinct(lists: Ragged) -> Ragged:
    """Each list with every element once, in rising order.

    >>> from rag_titan.evaluation.measures.ragged import ragged
    >>> distinct(ragged([[4, 1, 4]])).values.tolist()
    [1, 4]
    """
    keys = np.sort(_keys(lists))
    keys = keys[np.diff(keys, prepend=-1) > 0]
    counts = np.bincount(keys >> _CODE_BITS, minlength=len(lists))
    return Ragged(keys & ((1 << _CODE_BITS) - 1), offsets_of(counts))


def shares(lists: Ragged, mask: Mask) -> Floats:
    """(n,) the share of each list's elements where `mask` (total,) is True; NaN of an empty list."""
    return ratio(lists.sums(mask), lists.lengths)


class Readings(NamedTuple):
    """Lists of tokens of which some can be read in two ways; where there is one way, both codes are the same.

    >>> from rag_titan.evaluation.measures.ragged import ragged
    >>> once = ragged([[1, 2]])
    >>> Readings(once, once).offsets.tolist()
    [0, 2]
    """

    one: Ragged
    other: Ragged

    @property
    def offsets(self) -> Ints:
        return self.one.offsets

    @property
    def lengths(self) -> Ints:
        return self.one.lengths


def phrases_found(phrases: Readings, texts: Readings, rows: Ints) -> Mask:
    """(n_phrases,) True where the tokens of a phrase stand one after the other in the text of row `rows[i]`.

    Two tokens are alike when either reading of one is either reading of the other. An empty phrase is never found.

    >>> from rag_titan.evaluation.measures.ragged import ragged
    >>> text, phrase = ragged([[1, 2, 3]]), ragged([[2, 3], [3, 2], []])
    >>> phrases_found(Readings(phrase, phrase), Readings(text, text), np.zeros(3, dtype=int)).tolist()
    [True, False, False]
    """
    lengths = phrases.lengths
    tries = np.where(lengths > 0, np.maximum(texts.lengths[rows] - lengths + 1, 0), 0)
    phrase = np.repeat(np.arange(len(rows)), tries)
    start = np.repeat(texts.offsets[rows], tries) + Ragged(phrase, offsets_of(tries)).places
    found = np.zeros(len(rows), dtype=bool)
    step = 0
    while len(phrase):
        same = _alike(phrases, phrases.offsets[phrase] + step, texts, start + step)
        phrase, start, step = phrase[same], start[same], step + 1
        whole = lengths[phrase] == step
        found[phrase[whole]] = True
        phrase, start = phrase[~whole], start[~whole]
    return found


def _alike(a: Readings, at_a: Ints, b: Readings, at_b: Ints) -> Mask:
    alike = np.zeros(len(at_a), dtype=bool)
    for mine in a:
        for theirs in b:
            alike |= mine.values[at_a] == theirs.values[at_b]
    return alike
