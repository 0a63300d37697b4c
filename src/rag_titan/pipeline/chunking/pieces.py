"""The smallest pieces of a text, which no chunker cuts, and how large each is: in words, characters or model tokens.

A word is what the evaluation counts as one, so that a size that is set here is the size that a report shows; the marks
around it belong to it, and a run of symbols on its own counts as a word. White space belongs to no piece.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.tokens import UNSPACED, token_spans
from rag_titan.pipeline.chunking.model_tokens import model_tokens

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

LONGEST_WORD = 256  # characters; longer ones are data, such as base64, and are cut
_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
_SPACES += "\u2028\u2029\u202f\u205f\u3000"  # where str.isspace
_OPENING = "([{<«‹“‘„‚「『【〔〖〘〚《〈（［｛｟｢"
_MOST_OPENING = 4  # brackets in a row that stay with the word behind them
_JOINER = "\u200d"
_MOST_EXTENDING = 16  # marks on one character that are kept with it


class Pieces(NamedTuple):
    """Of a text, in order; (n,) each unless said otherwise.

    starts, ends   where a piece stands in the text
    before, after  the units of the text up to its start, and up to its end: pieces i to j hold after[j] - before[i]
    words          (m,) the pieces that start a word of a reader: what stands between spaces, a character of Chinese
    """

    starts: Ints
    ends: Ints
    before: Ints
    after: Ints
    words: Ints


def pieces_of(text: str, unit: str, size: int) -> Pieces:
    """The pieces, in units of "words", "characters" or "tokens"; one is larger than `size` only if it is a character.

    A word is one piece; one longer than LONGEST_WORD, or in these units longer than `size`, is several.

    >>> pieces = pieces_of("Well-known: 25 %", "words", 3)
    >>> pieces.starts.tolist(), pieces.ends.tolist(), pieces.words.tolist()
    ([0, 5, 12, 15], [5, 11, 14, 16], [0, 2, 3])
    """
    cuts = _cuts(text)
    if unit == "words":
        starts, ends = _cut_to(text, cuts, LONGEST_WORD)
        before = np.arange(len(starts))
        after = before + 1
    elif unit == "characters":
        starts, ends = _cut_to(text, cuts, size)
        before, after = starts, ends
    else:
        starts, ends, before, after = _by_tokens(text, cuts, size)
    return Pieces(starts, ends, before, after, np.flatnonzero(cuts.words[starts]))


class _Cuts(NamedTuple):
    """Where a text may be cut.

    runs    (r,) where the runs without white space start, and where they end
    words   (n_characters,) where a word of a reader starts: at a run, and beside a character of a script without spaces
    every   the same and every other word of the evaluation: in "well-known", a path, a line of JSON
    tokens  (t,) where these words themselves start, without the brackets before them, and where they end
    """

    runs: tuple[Ints, Ints]
    words: Mask
    every: Mask
    tokens: tuple[Ints, Ints]


def _cuts(text: str) -> _Cuts:
    points = _points(text)
    begin, end = _runs(~_table(_SPACES)[points])
    starts, ends = token_spans(text)
    lone = _unspaced(points[starts])
    beside = lone | np.append(False, lone[:-1])
    run = np.searchsorted(begin, starts, side="right") - 1
    first = np.diff(run, prepend=-1) > 0  # word of its run, to which all signs before it belong
    places = np.where(first, begin[run], starts)
    for _ in range(_MOST_OPENING):
        places -= ~first & _table(_OPENING)[points[places - 1]]
    words = _mask(len(text), begin)
    every = words.copy()
    words[places[beside]] = True
    every[places] = True
    return _Cuts((begin, end), words, every, (starts, ends))


def _points(text: str) -> NDArray[np.uint8] | NDArray[np.uint32]:
    if text.isascii():
        return np.frombuffer(text.encode(), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


@cache
def _table(chars: str) -> Mask:
    """(0x110000,) whether each code point is one of these characters."""
    return _mask(0x110000, np.array([ord(char) for char in chars]))


def _mask(length: int, places: Ints) -> Mask:
    mask = np.zeros(length, dtype=np.bool_)
    mask[places] = True
    return mask


def _runs(inside: Mask) -> tuple[Ints, Ints]:
    edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
    return edges[0::2], edges[1::2]


def _unspaced(points: NDArray[np.uint8] | NDArray[np.uint32]) -> NDArray[np.bool_]:
    """(n,) whether each code point is of a script that is written without spaces."""
    firsts, lasts = np.array(UNSPACED).T
    block = np.searchsorted(firsts, points, side="right") - 1
    found: NDArray[np.bool_] = (block >= 0) & (points <= lasts[block])
    return found


def _pieces(cuts: _Cuts, places: Mask) -> tuple[Ints, Ints]:
    """The pieces that start there: each ends where the next one starts, or with its run."""
    starts, (begin, end) = np.flatnonzero(places), cuts.runs
    run = np.searchsorted(begin, starts, side="right") - 1
    return starts, np.minimum(end[run], np.append(starts[1:], end[-1:]))


def _cut_to(text: str, cuts: _Cuts, most: int) -> tuple[Ints, Ints]:
    """None longer than `most` characters: symbols are cut off the word first, then it is cut itself."""
    starts, ends = _pieces(cuts, cuts.every)
    long = ends - starts > most
    if not long.any():
        return starts, ends
    places, edges = cuts.every.copy(), np.concatenate(cuts.tokens)
    owner = np.searchsorted(starts, edges, side="right") - 1
    places[edges[long[owner] & (edges < ends[owner])]] = True
    starts, ends = _pieces(cuts, places)
    long = ends - starts > most
    for start, end in zip(starts[long].tolist(), ends[long].tolist(), strict=True):
        places[list(_places(text, start, end, most))] = True
    return _pieces(cuts, places)


def _places(text: str, start: int, end: int, most: int) -> Iterator[int]:
    """Where to cut text[start:end] into parts of at most `most` characters."""
    while end - start > most:
        start = _whole(text, start, start + most)
        yield start


def _whole(text: str, start: int, place: int) -> int:
    """The place, or the one before it that does not part a character from its marks; never `start` itself."""
    for earlier in range(place, max(start, place - _MOST_EXTENDING), -1):
        if not extends(text, earlier):
            return earlier
    return place


def extends(text: str, place: int) -> bool:
    """Whether the character there belongs to the one before it: an accent, a joined emoji, half of a surrogate pair.

    >>> extends("cafe\\u0301", 4), extends("cafes", 4)
    (True, False)
    """
    char = text[place]
    if char < "\u0300":
        return False
    if unicodedata.category(char)[0] == "M" or char == _JOINER or text[place - 1] == _JOINER:
        return True
    return "\U0001f3fb" <= char <= "\U0001f3ff" or "\udc00" <= char <= "\udfff"  # shades of skin; second halves


def _by_tokens(text: str, cuts: _Cuts, size: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Pieces that are cut where a model token starts as well, and how many tokens start before each and its end.

    A piece that is too long is cut where any token starts: beside its words if that is enough, else within them, and
    between a character and its marks at last.
    """
    tokens = model_tokens(text)
    aligned = _mask(len(text), tokens.starts[tokens.aligned])
    places = cuts.every & aligned
    places[cuts.runs[0]] = True
    for allowed, apart in ((aligned & ~_within_words(text, cuts), False), (aligned, False), (aligned, True)):
        starts, ends = _pieces(cuts, places)
        before, after = tokens.counts(starts, ends)
        long = after - before > size
        if not long.any():
            return starts, ends, before, after
        for start, end in zip(starts[long].tolist(), ends[long].tolist(), strict=True):
            inner = start + 1 + np.flatnonzero(allowed[start + 1 : end])
            places[[place for place in inner.tolist() if apart or not extends(text, place)]] = True
    starts, ends = _pieces(cuts, places)
    return starts, ends, *tokens.counts(starts, ends)


def _within_words(text: str, cuts: _Cuts) -> Mask:
    """(n_characters,) whether a cut there would go through a word."""
    starts, ends = cuts.tokens
    change = np.zeros(len(text) + 1, dtype=np.int8)
    change[starts + 1] += 1
    change[ends] -= 1
    within: Mask = np.cumsum(change, dtype=np.int8)[:-1] > 0
    return within
