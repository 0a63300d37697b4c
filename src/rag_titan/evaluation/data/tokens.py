"""What a token is: where the words of a text stand, and the form in which they are compared.

Tokens are found in the text as it is, so their offsets are those of the text; then each is lower-cased and brought to
Unicode form NFC (DESIGN: "Tokens"; metrics.txt, third rule).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import RagTitanError, SettingsError
from rag_titan.evaluation.conventions import Tokenizer
from rag_titan.evaluation.measures.interning import runs
from rag_titan.evaluation.measures.ragged import Ints, offsets_of

Spans = tuple[Ints, Ints]
Kinds = NDArray[np.uint8]
Mask = NDArray[np.bool_]

# Blocks of the scripts that are written without spaces between words: first and last code point.
UNSPACED = (
    (0x0E00, 0x0E7F), (0x0E80, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F), (0x1780, 0x17FF),  # Burmese, Khmer
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C),  # repetition marks, numerals
    (0x3040, 0x30FF), (0x31F0, 0x31FF),  # kana
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF),  # Han
    (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F),  # Burmese
    (0xF900, 0xFAFF), (0xFF66, 0xFF9F),  # Han, kana of half width
    (0x116D0, 0x116FF), (0x1AFF0, 0x1B16F), (0x20000, 0x3FFFF),  # Burmese, kana, Han
)  # fmt: skip
_FIRSTS = [first for first, _ in UNSPACED]
_JOINERS = "\u200c\u200d"  # zero width non-joiner and joiner: they shape the letters beside them

# What a character is to a tokenizer; 0 is "not looked up yet".
_OTHER, _LETTER, _LONE, _MARK, _JOINER = range(1, 6)  # letter: or digit, or "_"; lone: one of a script without spaces


def _kind(char: str) -> int:
    if char.isalnum() or char == "_":
        block = bisect_right(_FIRSTS, ord(char)) - 1
        return _LONE if block >= 0 and ord(char) <= UNSPACED[block][1] else _LETTER
    if char in _JOINERS:
        return _JOINER
    return _MARK if unicodedata.category(char)[0] == "M" else _OTHER


@cache
def _kind_table() -> Kinds:
    """(0x110000,) the kind of each code point, filled in as they come."""
    return np.zeros(0x110000, dtype=np.uint8)


def _kinds(text: str) -> Kinds:
    """(n_characters,)"""
    points, table = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4"), _kind_table()
    kinds: Kinds = table[points]
    if not kinds.all():
        for point in set(points[kinds == 0].tolist()):
            table[point] = _kind(chr(point))
        kinds = table[points]
    return kinds


class _Tokens(NamedTuple):
    """By character of a text, (n_characters,): starts a token; is in one; is in one of a script without spaces."""

    starts: Mask
    inside: Mask
    lone: Mask


def _unicode_tokens(text: str) -> _Tokens:
    """A mark belongs to the character that it stands on; so does a joiner if a mark follows or it joins two letters."""
    kinds = _kinds(text)
    joins = kinds == _JOINER
    solid = (kinds != _MARK) & ~joins
    places = np.arange(len(kinds))
    before = np.maximum.accumulate(np.where(solid, places, -1))
    kinds = np.append(kinds, np.uint8(_OTHER))  # behind the end and, as number -1, before the start
    base = kinds[before]
    if joins.any():
        after = np.minimum.accumulate(np.where(joins, len(places), places)[::-1])[::-1]
        held = (kinds[after] == _MARK) | ((kinds[after] == _LETTER) & (base == _LETTER))
        base[joins & ~held] = _OTHER
    lone = base == _LONE
    inside = lone | (base == _LETTER)
    starts = inside & ((lone & solid) | (base != np.append(np.uint8(_OTHER), base[:-1])))
    return _Tokens(starts, inside, lone)


def _unicode_spans(text: str) -> Spans:
    starts, inside, _ = _unicode_tokens(text)
    ends = inside & np.append(starts[1:] | ~inside[1:], True)
    return np.flatnonzero(starts), np.flatnonzero(ends) + 1


def space_out(text: str) -> str:
    """The text with a space before and after each character (with its marks) of a script without spaces.

    >>> space_out("在2019年!").split()
    ['在', '2019', '年', '!']
    """
    starts, _, lone = _unicode_tokens(text)
    cuts = np.flatnonzero((starts & lone) | (~lone & np.append(False, lone[:-1]))).tolist()
    return " ".join(text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True))


@cache
def _ascii_words() -> bytes:
    return bytes(chr(c).isalnum() or chr(c) == "_" for c in range(128)) + bytes(128)


def _listed(spans: Iterator[tuple[int, int]]) -> Spans:
    pairs = np.array(list(spans), dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def _checked(text: str, tokenizer: Tokenizer) -> Iterator[tuple[int, int]]:
    rule = "conventions.tokenizer: must return the tokens as (start, end), in order and inside the text"
    last = 0
    for pair in _returned(text, tokenizer):
        try:
            start, end = map(index, pair)
        except (TypeError, ValueError):
            raise SettingsError(f"{rule}, got {pair!r:.60} as a token. Give offsets, not texts.") from None
        if not last <= start < end <= len(text):
            raise SettingsError(f"{rule}, got ({start}, {end}) in a text of {len(text)} characters.")
        last = end
        yield start, end


def _returned(text: str, tokenizer: Tokenizer) -> list[Any]:
    """What a tokenizer of the caller's makes of a text, in a list."""
    rule = "conventions.tokenizer: must return the tokens of any text as [(start, end), ...]"
    try:
        found: Any = tokenizer(text)
        if isinstance(found, Iterable):
            return list(found)
    except RagTitanError:
        raise
    except Exception as error:
        raise SettingsError(f"{rule}, got a {type(error).__name__} ({error}).") from error
    raise SettingsError(f"{rule}, got {found!r:.60}.")


def token_spans(text: str, tokenizer: str | Tokenizer = "unicode") -> Spans:
    """(n_tokens,) first character of each token, and one past its last, as offsets of `text`.

    `tokenizer` as in Conventions. Raises SettingsError when a tokenizer of your own returns something else than
    (start, end) pairs in order and inside the text.

    >>> [x.tolist() for x in token_spans("Hi, Bob!")]
    [[0, 4], [2, 7]]
    >>> [x.tolist() for x in token_spans("你好 cafe\\u0301")]  # a character each; the accent belongs to its letter
    [[0, 1, 3], [1, 2, 8]]
    """
    if callable(tokenizer):
        return _listed(_checked(text, tokenizer))
    if text.isascii():
        return runs(np.frombuffer(text.encode().translate(_ascii_words()), dtype=np.bool_))
    if tokenizer == "unicode":
        return _unicode_spans(text)
    return _listed(match.span() for match in re.finditer(r"\w+", text))


def normal(token: str) -> str:
    """A token as it is compared: lower case, NFC.

    >>> normal("CAFE\\u0301") == "caf\\u00e9"
    True
    """
    return token.lower() if token.isascii() else unicodedata.normalize("NFC", token.lower())


@dataclass(frozen=True, eq=False)
class Split:
    """A way to cut a text into the texts of its tokens.

    find      text -> its tokens, and (n_tokens,) where each starts (any place on its line will do)
    by_piece  no token reaches over ASCII white space or depends on what stands beyond it: a text may be cut there
    """

    find: Callable[[str], tuple[list[str], Ints]]
    by_piece: bool = True

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text, in order."""
        return self.find(text)[0]

    def of_pieces(self, pieces: Sequence[str]) -> tuple[list[str], Ints]:
        """The tokens of many pieces, one after the other, and (n_pieces,) how many each has.

        Pieces have no ASCII white space in them, so that they can be looked through as the lines of one text.
        """
        tokens, starts = self.find("\n".join(pieces))
        edges = offsets_of(np.fromiter(map(len, pieces), np.int64, len(pieces)) + 1)
        return tokens, np.diff(np.searchsorted(starts, edges))


def words(tokenizer: str | Tokenizer = "unicode") -> Split:
    """The words of a text, normalised.

    >>> words().tokens("Hi, Bob! 3.5 m²")
    ['hi', 'bob', '3', '5', 'm²']
    >>> words("word").tokens("हिन्दी")  # Python's \\w+ cuts at vowel signs
    ['ह', 'न', 'द']
    """
    if callable(tokenizer):
        return Split(partial(_words, tokenizer=tokenizer), by_piece=False)
    return UNICODE_WORDS if tokenizer == "unicode" else PLAIN_WORDS


def _words(text: str, tokenizer: str | Tokenizer) -> tuple[list[str], Ints]:
    starts, ends = token_spans(text, tokenizer)
    plain = text.isascii()
    if plain:
        text = text.lower()
    found = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return found if plain else list(map(normal, found)), starts


UNICODE_WORDS = Split(partial(_words, tokenizer="unicode"))
PLAIN_WORDS = Split(partial(_words, tokenizer="word"))
