"""Seeded random numbers that are the same on every machine and with every version of numpy.

Counter-based: the i-th number is a hash of the seed and i (SplitMix64: Steele, Lea and Flood 2014, "Fast splittable
pseudorandom number generators"), so any block of them can be drawn by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_STEP = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def words(seed: int, first: int, count: int) -> NDArray[np.uint64]:
    """Numbers `first` to `first + count - 1` of the seed's sequence, (count,) uint64, all values equally likely.

    >>> words(7, 2, 3).tolist() == words(7, 0, 5).tolist()[2:]
    True
    """
    start = (int(_mixed(np.array([seed & _MASK], dtype=np.uint64))[0]) + first * _STEP) & _MASK
    return _mixed(np.arange(count, dtype=np.uint64) * np.uint64(_STEP) + np.uint64(start))


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def coins(seed: int, first: int, rows: int, width: int, stride: int) -> NDArray[np.uint8]:
    """(rows, width) zeros and ones. Row r is that of number `first + r` whatever the width is, up to 64 * stride."""
    needed = -(-width // 64)
    numbers = np.arange(rows, dtype=np.uint64) + np.uint64(first)
    places: NDArray[np.uint64] = np.add.outer(numbers * np.uint64(stride), np.arange(needed, dtype=np.uint64))
    start = int(_mixed(np.array([seed & _MASK], dtype=np.uint64))[0])
    bits = _mixed(places * np.uint64(_STEP) + np.uint64(start)).astype("<u8").view(np.uint8)
    return np.unpackbits(bits, axis=1, count=width)


def picks(seed: int, rows: int, width: int) -> NDArray[np.float64]:
    """(rows, width): how often each of `width` places is picked, by `width` picks with replacement in each row."""
    high = words(seed, 0, rows * width) >> np.uint64(32)
    chosen = ((high * np.uint64(width)) >> np.uint64(32)).astype(np.int64).reshape(rows, width)
    chosen += np.arange(0, rows * width, width)[:, None]
    return np.bincount(chosen.ravel(), minlength=rows * width).reshape(rows, width).astype(np.float64)


def normals(seed: int, count: int) -> NDArray[np.float64]:
    """(count,) standard normal numbers (Box and Muller 1958)."""
    uniform = ((words(seed, 0, 2 * count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    radius = np.sqrt(-2 * np.log(uniform[:count]))
    turned: NDArray[np.float64] = radius * np.cos(2 * np.pi * uniform[count:])
    return turned
