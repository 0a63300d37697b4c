"""Word sets compared by Jaccard's index |A and B| / |A or B| (Jaccard 1901): neighbours, and all pairs inside a group.

Words are integer codes from 0 below 2^31. NaN is "undefined" (0/0).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.ragged import Ints, Ragged, offsets_of
from rag_titan.evaluation.measures.text import part, ratio

Floats = NDArray[np.float64]
_CODE_BITS = 32
_CODE = (1 << _CODE_BITS) - 1
_WORDS = 1 << 16  # words of lists that are compared at a time, unless one group has more
_PAIRS = 1 << 20  # words shared by pairs that are held at a time
_DENSE = 4  # up to this many possible pairs for each shared word they are counted in a table


def word_sets(lists: Ragged) -> Ragged:
    """Each list with every word once, rising.

    >>> word_sets(Ragged(np.array([4, 1, 4]), np.array([0, 3]))).values.tolist()
    [1, 4]
    """
    keys = _keys(lists)
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]  # np.unique takes several times as long
    return Ragged(keys & _CODE, offsets_of(np.bincount(keys >> _CODE_BITS, minlength=len(lists))))


def jaccard(a: Ragged, b: Ragged) -> Floats:
    """(n,) Jaccard's index of set i of `a` and set i of `b` (see word_sets); NaN where both are empty.

    >>> jaccard(Ragged(np.array([1, 2]), np.array([0, 2])), Ragged(np.array([2, 4]), np.array([0, 2]))).tolist()
    [0.3333333333333333]
    """
    keys = np.concatenate((_keys(a), _keys(b)))
    keys.sort()
    both = np.bincount(keys[1:][keys[1:] == keys[:-1]] >> _CODE_BITS, minlength=len(a))
    return ratio(both, a.lengths + b.lengths - both)


def _keys(lists: Ragged) -> Ints:
    """(total,) one integer for each word: its list, then its code."""
    keys = lists.rows << _CODE_BITS
    keys |= lists.values
    return keys


def ends_of(lists: Ragged, size: int) -> tuple[Ragged, Ragged]:
    """The last `size` elements of each list, and the first.

    >>> last, first = ends_of(Ragged(np.array([1, 2, 3, 4]), np.array([0, 3, 4])), 2)
    >>> last.values.tolist(), first.values.tolist()
    ([2, 3, 4], [1, 2, 4])
    """
    from_end = np.repeat(lists.lengths, lists.lengths) - lists.places
    return lists.keep(from_end <= size), lists.keep(lists.places < size)


def mean_pair_jaccard(lists: Ragged, offsets: Ints) -> Floats:
    """(g,) mean Jaccard's index over all pairs of lists inside a group; NaN below two lists that are not empty.

    offsets  (g + 1,) group i holds the lists offsets[i]:offsets[i + 1]

    Only pairs that share a word are formed: each word brings together the lists that have it.

    >>> sentences = Ragged(np.array([1, 2, 1, 3, 4]), np.array([0, 2, 4, 5]))
    >>> mean_pair_jaccard(sentences, np.array([0, 3, 3])).round(4).tolist()  # (1/3 + 0 + 0) / 3
    [0.1111, nan]
    """
    means = np.full(len(offsets) - 1, np.nan)
    size = (
        lists.offsets[offsets] + offsets + np.arange(len(offsets))
    )  # of words, lists and groups: none has 2^16 of any
    first = 0
    while first < len(means):
        last = max(first + 1, int(np.searchsorted(size, size[first] + _WORDS, side="right")) - 1)
        edges = offsets[first : last + 1] - offsets[first]
        means[first:last] = _means_of_groups(part(lists, int(offsets[first]), int(offsets[last])), edges)
        first = last
    return means


class _Words(NamedTuple):
    """The different words of n lists, of which those in one group are compared.

    rows   (w,) the list of each word, rising
    later  (w,) how many later lists of its group have it too
    at     (w,) where the first of these stands in `sharing`
    sharing  (w,) the lists, so ordered that those of one group with one word follow each other
    sizes  (n,) words in each list
    """

    rows: Ints
    later: Ints
    at: Ints
    sharing: Ints
    sizes: Ints


def _means_of_groups(lists: Ragged, edges: Ints) -> Floats:
    groups = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    words = _words(lists, groups)
    filled = np.bincount(groups[words.sizes > 0], minlength=len(edges) - 1)
    room = edges[1:][groups] - np.arange(len(lists))  # the list itself and the later ones of its group
    later = np.bincount(words.rows, weights=words.later, minlength=len(lists)).astype(np.int64)
    cost, sums, start = offsets_of(1 + later), np.zeros(len(lists)), 0
    while start < len(lists):
        stop = max(start + 1, int(np.searchsorted(cost, cost[start] + _PAIRS, side="right")) - 1)
        sums[start:stop] = _sums_with_later(words, room, start, stop)
        start = stop
    return ratio(np.bincount(groups, weights=sums, minlength=len(edges) - 1), filled * (filled - 1) // 2)


def _words(lists: Ragged, groups: Ints) -> _Words:
    """One sort of (group, word, list) in one integer: in a block the first and the last need 32 bits together."""
    bits = max(len(lists) - 1, 0).bit_length()
    keys = groups[lists.rows] << (31 + bits)
    keys |= lists.values.astype(np.int64) << bits
    keys |= lists.rows
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]
    sharing = keys & ((1 << bits) - 1)
    run_starts = np.flatnonzero(np.diff(keys >> bits, prepend=-1) > 0)
    run_lengths = np.diff(np.append(run_starts, len(keys)))
    later = np.repeat(run_starts + run_lengths, run_lengths) - 1 - np.arange(len(keys))
    order = np.argsort(sharing.astype(np.uint16 if bits <= 16 else np.uint32), kind="stable")  # 16 bits: a radix sort
    rows = sharing[order]
    return _Words(rows, later[order], order + 1, sharing, np.bincount(rows, minlength=len(lists)))


def _sums_with_later(words: _Words, room: Ints, start: int, stop: int) -> Floats:
    """For the lists start:stop the sum of their indices with the later lists of their group."""
    low, high = np.searchsorted(words.rows, [start, stop])
    counts, rows = words.later[low:high], words.rows[low:high] - start
    ends = np.cumsum(counts)
    at = np.repeat(words.at[low:high] - (ends - counts), counts)
    at += np.arange(len(at))
    bases = offsets_of(room[start:stop])
    shift = bases[:-1] - np.arange(start, stop)  # list j stands at shift[i] + j in the row of list i
    slots = np.repeat(shift[rows], counts) + words.sharing[at]
    if int(bases[-1]) <= _DENSE * len(slots):
        counted = np.bincount(slots, minlength=int(bases[-1]))
        met = np.flatnonzero(counted)
        both, of_row = counted[met], np.repeat(np.arange(stop - start), room[start:stop])[met]
    else:
        slots.sort()
        first = np.flatnonzero(np.diff(slots, prepend=-1) > 0)
        met, both = slots[first], np.diff(first, append=len(slots))
        of_row = np.searchsorted(bases, met, side="right") - 1
    index = both / (words.sizes[of_row + start] + words.sizes[met - shift[of_row]] - both)
    sums: Floats = np.bincount(of_row, weights=index, minlength=stop - start).astype(np.float64)
    return sums
