"""Byte strings as small integers: where they stand in a buffer, an 8-byte key for each, and a code for each key.

Nothing here loops over the strings: a text of millions of words costs a few array operations.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Codes = NDArray[np.int32]

PADDING = 8  # bytes that must follow the last string of a buffer, so that a whole word can be read at its last byte
_WORD = 8
_MIXED = 64  # longer strings than this are hashed one by one
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio (Knuth, TAOCP vol. 3, 6.4: multiplicative hashing)
_HALF = np.uint64(32)
_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(_WORD + 1)], dtype=np.uint64)


def runs(inside: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Starts and ends of the runs of True in `inside` (n,).

    >>> [x.tolist() for x in runs(np.array([True, True, False, True]))]
    [[0, 3], [2, 4]]
    """
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    edges += 1
    if len(inside) and inside[0]:
        edges = np.insert(edges, 0, 0)
    if len(inside) and inside[-1]:
        edges = np.append(edges, len(inside))
    return edges[0::2], edges[1::2]


def run_keys(buffer: bytes, starts: Ints, ends: Ints) -> Keys:
    """(n,) a key for each string buffer[start:end]: equal strings have equal keys, and no key is 0.

    Different strings of one length up to 8 bytes never share a key; longer ones do with a chance of 2^-64 a pair, as
    with any 8-byte hash. `buffer` must hold PADDING more bytes behind the last string.

    >>> keys = run_keys(b"to be or not to be" + bytes(PADDING), np.array([0, 3, 13]), np.array([2, 5, 15]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    words = np.ndarray((len(buffer) - _WORD + 1,), dtype="<u8", buffer=buffer, strides=(1,))
    lengths = ends - starts
    keys = words[starts] & _MASKS.take(lengths, mode="clip")
    keys ^= lengths.view(np.uint64) * _MULTIPLIER
    _mix(keys)
    for done in range(_WORD, _MIXED, _WORD):
        longer = np.flatnonzero(lengths > done)
        if not len(longer):
            break
        word = words[starts[longer] + done] & _MASKS.take(lengths[longer] - done, mode="clip")
        word ^= keys[longer]
        keys[longer] = _mix(word)
    for i in np.flatnonzero(lengths > _MIXED).tolist():
        digest = hashlib.blake2b(buffer[starts[i] : ends[i]], digest_size=_WORD).digest()
        keys[i] = int.from_bytes(digest, "little")
    keys[keys == 0] = 1
    return keys


def _mix(keys: Keys) -> Keys:
    """Spread the bits in place; different keys stay different."""
    keys *= _MULTIPLIER
    keys ^= keys >> _HALF
    keys *= _MULTIPLIER
    return keys


class KeyIndex:
    """Keys -> codes 0, 1, 2, ... in the order in which they first came: an open-addressed table in two arrays.

    >>> index = KeyIndex()
    >>> index.codes(np.array([50, 70, 50], dtype=np.uint64))
    (array([0, 1, 0], dtype=int32), array([0, 1]))
    >>> index.codes(np.array([90, 70], dtype=np.uint64))  # the second array: where the new ones stand
    (array([2, 1], dtype=int32), array([0]))
    """

    _ROOM = 4  # places a key; few keys then share one

    def __init__(self, bits: int = 12) -> None:
        self._count = 0
        self._allot(bits)

    def __len__(self) -> int:
        return self._count

    def _allot(self, bits: int) -> None:
        self._shift = np.uint64(64 - bits)
        self._last = (1 << bits) - 1
        self._keys = np.zeros(1 << bits, dtype=np.uint64)
        self._codes = np.zeros(1 << bits, dtype=np.int32)

    def codes(self, keys: Keys) -> tuple[Codes, Ints]:
        """(n,) the code of each key (none may be 0), and the places where a key stands that was not known before."""
        slots, unknown = self._slots(keys)
        codes = self._codes[slots]
        if not len(unknown):
            return codes, unknown
        fresh, first = np.unique(keys[unknown], return_index=True)
        order = np.argsort(first)
        self._add(fresh[order])
        codes[unknown] = self._codes[self._slots(keys[unknown])[0]]
        return codes, unknown[first[order]]

    def _slots(self, keys: Keys) -> tuple[Ints, Ints]:
        """(n,) where each key stands, or the empty place where it would; and which keys are not there."""
        slots = (keys >> self._shift).view(np.int64)
        searching = np.flatnonzero(self._keys[slots] != keys)
        absent = []
        while len(searching):
            held = self._keys[slots[searching]]
            absent.append(searching[held == 0])
            searching = searching[(held != 0) & (held != keys[searching])]
            slots[searching] = (slots[searching] + 1) & self._last
        return slots, np.sort(np.concatenate(absent)) if absent else searching

    def _add(self, fresh: Keys) -> None:
        """Different keys that are not there yet get the next codes."""
        codes = np.arange(self._count, self._count + len(fresh), dtype=np.int32)
        self._count += len(fresh)
        if self._count * self._ROOM > len(self._keys):
            old = np.flatnonzero(self._keys)
            fresh, codes = np.concatenate([self._keys[old], fresh]), np.concatenate([self._codes[old], codes])
            self._allot((self._count * self._ROOM).bit_length())
        while len(fresh):
            slots, _ = self._slots(fresh)
            self._keys[slots] = fresh  # of several that meet in one place the last stays, the others look further
            won = self._keys[slots] == fresh
            self._codes[slots[won]] = codes[won]
            fresh, codes = fresh[~won], codes[~won]
