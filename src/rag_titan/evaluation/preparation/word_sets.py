"""Texts -> the set of words of each, as sorted integers: what near-duplicates are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.fingerprint import Hashes, text_hashes
from rag_titan.evaluation.data.tokens import words
from rag_titan.evaluation.data.vocabulary import Vocabulary
from rag_titan.evaluation.measures.interning import Codes, KeyIndex
from rag_titan.evaluation.measures.ragged import Ints, Ragged, offsets_of
from rag_titan.evaluation.measures.text import blocks

_BLOCK = 1 << 22  # characters of text that are split at once
_ROW = 32  # bits left for a word's code beside the number of its text


@dataclass(frozen=True)
class WordSets:
    """The words of n texts.

    counts  (n,) words of each text, every occurrence counted
    sets    (n lists) int32 codes of its different words, rising
    keys    (n_words,) a 64-bit hash of each word by its code. It depends on the word alone, not on the other texts; two
            different words share one with a chance of 2^-64
    """

    counts: Ints
    sets: Ragged
    keys: Hashes


class _Coder:
    """Texts -> word codes. The texts of the words are let go of whenever there are too many of them; hashes stay."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._known: Codes = np.empty(0, np.int32)  # code in the vocabulary -> code here
        self._index = KeyIndex()
        self._keys: list[Hashes] = [np.empty(0, np.uint64)]

    def encode(self, texts: Sequence[str]) -> Ragged:
        """(len(texts) lists) codes of the words of each text, in order."""
        fresh = self._vocabulary.fresh()
        if fresh is not self._vocabulary:
            self._vocabulary, self._known = fresh, self._known[:0]
        lists = self._vocabulary.encode(texts, words())
        new = text_hashes(self._vocabulary.token_texts(len(self._known)))
        new[new == 0] = 1  # which the index keeps for "nothing"
        codes, unknown = self._index.codes(new)
        self._keys.append(new[unknown])
        self._known = np.append(self._known, codes)
        return Ragged(self._known[lists.values], lists.offsets)

    def keys(self) -> Hashes:
        """(n_words,) the hashes by code."""
        return np.concatenate(self._keys)


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
    coder = _Coder()
    counts, lengths = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    values: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    for start, stop in blocks(np.fromiter(map(len, texts), np.int64, len(texts)), _BLOCK):
        lists = coder.encode(texts[start:stop])
        different = distinct((lists.rows << _ROW) | lists.values)
        counts.append(lists.lengths)
        lengths.append(np.bincount(different >> _ROW, minlength=len(lists)))
        values.append((different & ((1 << _ROW) - 1)).astype(np.int32))
    sets = Ragged(np.concatenate(values), offsets_of(np.concatenate(lengths)))
    return WordSets(np.concatenate(counts), sets, coder.keys())
