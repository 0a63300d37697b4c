"""Where many texts occur in many documents: one pass over the documents, however many texts are looked for.

Every text is known by a few windows of 16 characters (4 or 1 in short texts). A hash rolls over the documents (Karp and
Rabin 1987, "Efficient randomized pattern-matching algorithms"); where it meets a window's hash, the whole text is
compared, so that a collision costs time and never a wrong place.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.ragged import Ints, Ragged, offsets_of

Hashes = NDArray[np.uint32]
_WIDTHS = (16, 4, 1)
_MULTIPLIERS = {  # odd numbers, so that no bit is lost; by the width that is doubled
    1: np.uint32(0x9E3779B1),
    2: np.uint32(0x85EBCA77),
    4: np.uint32(0xC2B2AE3D),
    8: np.uint32(0x27D4EB2F),
}
_WINDOWS = 4  # per text; the rarest of them is the one that is followed
_BLOCK = 1024  # candidates compared at a time
_PIECE = 1 << 16  # characters hashed at a time: what fits into the processor's second cache


def occurrences(
    texts: Sequence[str], wanted: Sequence[str], within: Ints | None = None, limit: Ints | int = 2
) -> Ragged:
    """For each wanted text the places where it occurs, rising, at most `limit` of them.

    texts   the documents, thought one after the other: the first character of texts[i] has the number of all
            characters before it; nothing is found across the edge of two documents
    wanted  what to find, character for character; an empty text is found nowhere
    within  (len(wanted),) the only document in which to look, -1 for all
    limit   how many places are enough, for all or for each

    Occurrences may overlap.

    >>> found = occurrences(["one two", "two aaa"], ["two", "aa", "one two two"])
    >>> [found.values[a:b].tolist() for a, b in zip(found.offsets, found.offsets[1:])]
    [[4, 7], [11, 12], []]
    """
    only = np.full(len(wanted), -1) if within is None else within
    most = np.broadcast_to(np.asarray(limit, dtype=np.int64), len(wanted))
    depth: dict[tuple[str, int], int] = {}
    for key, enough in zip(zip(wanted, only.tolist(), strict=True), most.tolist(), strict=True):
        depth[key] = max(depth.get(key, 0), enough)
    distinct = list(dict.fromkeys(text for text, _ in depth if text))
    trails = dict(zip(distinct, _trails(texts, distinct), strict=True))
    edges = offsets_of([len(text) for text in texts]).tolist()
    places = {key: _verified(texts, edges, key, trails[key[0]], n) for key, n in depth.items() if key[0]}
    found = [places.get((w, d), [])[:n] for w, d, n in zip(wanted, only.tolist(), most.tolist(), strict=True)]
    flat = [place for row in found for place in row]
    return Ragged(np.array(flat, dtype=np.int64), offsets_of([len(row) for row in found]))


def _verified(texts: Sequence[str], edges: Sequence[int], key: tuple[str, int], trail: Ints, limit: int) -> list[int]:
    """The places of a trail at which the whole text stands, the first `limit` of them."""
    text, only = key
    if only >= 0:
        low, high = np.searchsorted(trail, edges[only : only + 2])
        trail = trail[low:high]
    found: list[int] = []
    for block in range(0, len(trail), _BLOCK):
        for place in trail[block : block + _BLOCK].tolist():
            document = bisect_right(edges, place) - 1
            if place >= 0 and texts[document].startswith(text, place - edges[document]):
                found.append(place)
                if len(found) == limit:
                    return found
    return found


@dataclass(frozen=True)
class _Windows:
    """The windows of one width: of which text, how far from its start, and their hashes."""

    owners: Ints
    shifts: Ints
    hashes: Hashes


def _trails(texts: Sequence[str], wanted: Sequence[str]) -> list[Ints]:
    """For each wanted text the places at which it may start: those of its rarest window."""
    trails = [np.zeros(0, dtype=np.int64)] * len(wanted)
    lengths = np.array([len(text) for text in wanted], dtype=np.int64)
    groups = []
    for width, below in zip(_WIDTHS, (None, *_WIDTHS), strict=False):
        owners = np.flatnonzero((lengths >= width) & (lengths < (below or np.inf)))
        if len(owners):
            groups.append((width, _windows(wanted, owners, lengths[owners], width)))
    met = _met(texts, [(width, windows.hashes) for width, windows in groups])
    for (_, windows), (hashes, places) in zip(groups, met, strict=True):
        order = np.argsort(hashes, kind="stable")
        hashes, places = hashes[order], places[order]
        low = np.searchsorted(hashes, windows.hashes, side="left")
        high = np.searchsorted(hashes, windows.hashes, side="right")
        rarest = np.lexsort((windows.shifts, high - low, windows.owners))
        first = np.concatenate(([True], np.diff(windows.owners[rarest]) > 0))
        for i in rarest[first].tolist():
            trails[int(windows.owners[i])] = places[low[i] : high[i]] - windows.shifts[i]
    return trails


def _windows(wanted: Sequence[str], owners: Ints, lengths: Ints, width: int) -> _Windows:
    """Windows evenly spread over each text, its start and its end among them."""
    steps = np.arange(_WINDOWS) if width > 1 else np.zeros(1, dtype=np.int64)
    shifts = (lengths[:, None] - width) * steps // max(_WINDOWS - 1, 1)
    who = np.repeat(owners, len(steps))
    pieces = [wanted[i][a : a + width] for i, a in zip(who.tolist(), shifts.ravel().tolist(), strict=True)]
    return _Windows(who, shifts.ravel(), _rolled(_codes("".join(pieces)).reshape(-1, width), [width])[0][..., 0])


def _met(texts: Sequence[str], groups: list[tuple[int, Hashes]]) -> list[tuple[Hashes, Ints]]:
    """For each width the hashes of the windows that the documents hold, with their places, in the documents' order."""
    looks = [(width, np.unique(hashes)) for width, hashes in groups]
    tables = [_table(hashes) for _, hashes in looks]
    found: list[list[tuple[Hashes, Ints]]] = [[] for _ in looks]
    for start, piece in _pieces(texts, max((width for width, _ in looks), default=1)) if looks else ():
        rolled = _rolled(_codes(piece), [width for width, _ in looks])
        for of_width, (_, hashes), (shift, table), into in zip(rolled, looks, tables, found, strict=True):
            windows = of_width[: _PIECE if len(piece) > _PIECE else None]
            at = np.flatnonzero(table.take(windows >> shift, mode="wrap"))  # wrap: spares the check of the bounds
            near = np.minimum(np.searchsorted(hashes, windows[at]), len(hashes) - 1)
            at = at[hashes[near] == windows[at]]
            into.append((windows[at], at + start))
    return [_joined(rows) for rows in found]


def _joined(rows: list[tuple[Hashes, Ints]]) -> tuple[Hashes, Ints]:
    if not rows:
        return np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int64)
    return np.concatenate([hashes for hashes, _ in rows]), np.concatenate([places for _, places in rows])


def _pieces(texts: Sequence[str], width: int) -> Iterator[tuple[int, str]]:
    """The documents in pieces, each with the number of its first character.

    Short documents are joined; a long one is cut into pieces that overlap by `width` - 1, of which the first `_PIECE`
    windows count.
    """
    start, size = 0, 0
    waiting: list[str] = []
    for text in texts:
        if waiting and size + len(text) > _PIECE:
            yield start - size, "".join(waiting)
            waiting, size = [], 0
        if len(text) > _PIECE:
            for cut in range(0, len(text), _PIECE):
                yield start + cut, text[cut : cut + _PIECE + width - 1]
        else:
            waiting.append(text)
            size += len(text)
        start += len(text)
    if waiting:
        yield start - size, "".join(waiting)


def _table(hashes: Hashes) -> tuple[np.uint32, NDArray[np.bool_]]:
    """A table of the hashes' first bits: where it says no, no hash begins so."""
    bits = min(24, max(12, len(hashes).bit_length() + 6))
    shift = np.uint32(32 - bits)
    table = np.zeros(1 << bits, dtype=bool)
    table[hashes >> shift] = True
    return shift, table


def _codes(text: str) -> Hashes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _rolled(codes: Hashes, widths: Sequence[int]) -> list[Hashes]:
    """For each width (..., n - width + 1) the hashes of the windows along the last axis, none where n is less."""
    levels = {1: codes}
    for width, multiplier in _MULTIPLIERS.items():
        if width < max(widths) and codes.shape[-1] >= 2 * width:
            level = levels[width]
            levels[2 * width] = level[..., :-width] * multiplier + level[..., width:]
    levels[1] = codes * _MULTIPLIERS[1]  # else the first bits of a single character would all be 0
    return [levels.get(width, codes[..., :0]) for width in widths]
