"""Texts -> the set of words of each, as sorted integers: what near-duplicates are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.tokens import token_spans, words
from rag_titan.evaluation.data.vocabulary import Vocabulary
from rag_titan.evaluation.measures.interning import PADDING, Codes, KeyIndex, Keys, run_keys
from rag_titan.evaluation.measures.ragged import Ints, Ragged, offsets_of
from rag_titan.evaluation.measures.text import blocks

_BLOCK = 1 << 19  # characters of text that are split at once: what is made of them stays in the processor's cache
_ROW = 32  # bits left for a word's code beside the number of its text


@dataclass(frozen=True)
class WordSets:
    """The words of n texts.

    counts  (n,) words of each text, every occurrence counted
    sets    (n lists) int32 codes of its different words, rising
    keys    (n_words,) a 64-bit key of each word by its code. It depends on the word alone, not on the other texts; two
            different words of more than 8 bytes share one, and are then taken for one, with a chance of 2^-64
    """

    counts: Ints
    sets: Ragged
    keys: Keys


class _Words:
    """Texts -> the key of each word. Of texts in ASCII nothing is kept, of others no more than a full vocabulary."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._known: Keys = np.empty(0, np.uint64)  # by code in the vocabulary

    def keys(self, texts: Sequence[str]) -> tuple[Keys, Ints]:
        """(total,) the keys of all words of all texts, and (total,) the text that each is in, in no order."""
        plain = np.fromiter((text.isascii() for text in texts), dtype=bool, count=len(texts))
        keys, rows = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for some, encode in ((np.flatnonzero(plain), _of_ascii), (np.flatnonzero(~plain), self._of_any)):
            if len(some):
                found, lengths = encode([texts[row] for row in some.tolist()])
                keys.append(found)
                rows.append(np.repeat(some, lengths))
        return np.concatenate(keys), np.concatenate(rows)

    def _of_any(self, texts: Sequence[str]) -> tuple[Keys, Ints]:
        fresh = self._vocabulary.fresh()
        if fresh is not self._vocabulary:
            self._vocabulary, self._known = fresh, self._known[:0]
        lists = self._vocabulary.encode(texts, words())
        new = [token.encode() for token in self._vocabulary.token_texts(len(self._known))]
        edges = offsets_of([len(token) for token in new])
        self._known = np.append(self._known, run_keys(b"".join(new) + bytes(PADDING), edges[:-1], edges[1:]))
        return self._known[lists.values], lists.lengths


def _of_ascii(texts: Sequence[str]) -> tuple[Keys, Ints]:
    """The keys of the words of texts whose words need no normal form, straight from their bytes, and words a text."""
    joined = "\n".join(texts)
    starts, ends = token_spans(joined)
    edges = offsets_of([len(text) + 1 for text in texts])
    return run_keys(joined.lower().encode() + bytes(PADDING), starts, ends), np.diff(np.searchsorted(starts, edges))


def distinct(values: Ints) -> Ints:
    """The different values, rising; `values` is sorted in place. (np.unique hashes, at a third of the speed.)"""
    values.sort()
    first: NDArray[np.bool_] = np.diff(values, prepend=values[:1] - 1) != 0
    return values[first]


def word_sets(texts: Sequence[str]) -> WordSets:
    """The words of each text, as `data/tokens.py` finds them: lower case, NFC, a character each where no spaces are.

    >>> found = word_sets(["To be, or not to be", "", "Be!"])
    >>> found.counts.tolist(), found.sets.lengths.tolist(), found.sets.values.tolist()
    ([6, 0, 1], [4, 0, 1], [0, 1, 2, 3, 1])
    """
    found, index = _Words(), KeyIndex()
    counts, lengths, keys = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    values: list[Codes] = [np.empty(0, np.int32)]
    for start, stop in blocks(np.fromiter(map(len, texts), np.int64, len(texts)), _BLOCK):
        every, rows = found.keys(texts[start:stop])
        codes, new = index.codes(every)
        keys.append(every[new])
        different = distinct((rows << _ROW) | codes)
        counts.append(np.bincount(rows, minlength=stop - start))
        lengths.append(np.bincount(different >> _ROW, minlength=stop - start))
        values.append((different & ((1 << _ROW) - 1)).astype(np.int32))
    sets = Ragged(np.concatenate(values), offsets_of(np.concatenate(lengths)))
    return WordSets(np.concatenate(counts), sets, np.concatenate(keys))
