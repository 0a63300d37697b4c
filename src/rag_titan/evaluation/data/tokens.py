"""What a token is: where the words of a text stand, and the form in which they are compared.

Tokens are found in the text as it is, so their offsets are those of the text; then each is lower-cased and brought to
Unicode form NFC (DESIGN: "Tokens"; metrics.txt, third rule).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import SettingsError
from rag_titan.evaluation.conventions import Tokenizer
from rag_titan.evaluation.measures.interning import runs

Ints = NDArray[np.int64]
Pairs = Iterable[tuple[int, int]]

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


class _Kinds(dict[int, str]):
    """Code point -> one letter for what it is to a tokenizer; each is looked up once, when it first occurs.

    w  letter, digit or underscore        s  the same in a script without spaces
    m  combining mark                     j  zero width joiner or non-joiner      "-"  anything else
    """

    def __missing__(self, point: int) -> str:
        self[point] = kind = _kind(chr(point))
        return kind


def _kind(char: str) -> str:
    if char.isalnum() or char == "_":
        block = bisect_right(_FIRSTS, ord(char)) - 1
        return "s" if block >= 0 and ord(char) <= UNSPACED[block][1] else "w"
    if char in _JOINERS:
        return "j"
    return "m" if unicodedata.category(char)[0] == "M" else "-"


_KINDS = _Kinds()


def kinds_of(text: str) -> str:
    """For each character of the text the letter of its kind (see _Kinds).

    >>> kinds_of("é e\\u0301 世!")
    'w-wm-s-'
    """
    return text.translate(_KINDS)


@cache
def _word_of_kinds() -> re.Pattern[str]:
    return re.compile("w(?:[wm]|j+(?=[wm]))*|s(?:m|j+(?=m))*")


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"\w+")


@cache
def _ascii_words() -> bytes:
    return bytes(chr(c).isalnum() or chr(c) == "_" for c in range(128)) + bytes(128)


def _pairs(text: str, tokenizer: str | Tokenizer) -> Pairs:
    if callable(tokenizer):
        return _checked(text, tokenizer)
    if tokenizer == "word" or text.isascii():
        return (m.span() for m in _word().finditer(text))
    return (m.span() for m in _word_of_kinds().finditer(kinds_of(text)))


def _checked(text: str, tokenizer: Tokenizer) -> Pairs:
    last = 0
    for start, end in tokenizer(text):
        if not last <= start < end <= len(text):
            raise SettingsError(
                f"conventions.tokenizer: must return the tokens as (start, end), in order and inside the text, "
                f"got ({start}, {end}) in a text of {len(text)} characters."
            )
        last = end
        yield int(start), int(end)


def token_spans(text: str, tokenizer: str | Tokenizer = "unicode") -> tuple[Ints, Ints]:
    """(n_tokens,) first character of each token, and one past its last, as offsets of `text`.

    `tokenizer` as in Conventions. Raises SettingsError when a tokenizer of your own returns something else than
    (start, end) pairs in order and inside the text.

    >>> [x.tolist() for x in token_spans("Hi, Bob!")]
    [[0, 4], [2, 7]]
    >>> [x.tolist() for x in token_spans("你好 cafe\\u0301")]  # a character each; the accent belongs to its letter
    [[0, 1, 3], [1, 2, 8]]
    """
    if text.isascii() and not callable(tokenizer):
        return runs(np.frombuffer(text.encode().translate(_ascii_words()), dtype=np.bool_))
    spans = np.array(list(_pairs(text, tokenizer)), dtype=np.int64).reshape(-1, 2)
    return spans[:, 0].copy(), spans[:, 1].copy()


def normal(token: str) -> str:
    """A token as it is compared: lower case, NFC.

    >>> normal("CAFE\\u0301") == "caf\\u00e9"
    True
    """
    return token.lower() if token.isascii() else unicodedata.normalize("NFC", token.lower())


@dataclass(frozen=True, eq=False)
class Split:
    """A way to cut a text into the texts of its tokens.

    tokens    text -> the tokens, in order
    by_piece  no token reaches over ASCII white space or depends on what stands beyond it: a text may be cut there
    at_once   the same for many ASCII texts without white space, where that can be done faster than one by one
    """

    tokens: Callable[[str], list[str]]
    by_piece: bool = True
    at_once: Callable[[list[str]], list[list[str]]] | None = None

    def of_pieces(self, pieces: Sequence[str]) -> list[list[str]]:
        """The tokens of each piece; pieces have no ASCII white space inside."""
        if self.at_once is None:
            return [self.tokens(piece) for piece in pieces]
        plain = iter(self.at_once([piece for piece in pieces if piece.isascii()]))
        return [next(plain) if piece.isascii() else self.tokens(piece) for piece in pieces]


def words(tokenizer: str | Tokenizer = "unicode") -> Split:
    """The words of a text, normalised.

    >>> words().tokens("Hi, Bob! 3.5 m²")
    ['hi', 'bob', '3', '5', 'm²']
    >>> words("word").tokens("हिन्दी")  # Python's \\w+ cuts at vowel signs
    ['ह', 'न', 'द']
    """
    if callable(tokenizer):
        return Split(lambda text: [normal(text[a:b]) for a, b in _checked(text, tokenizer)], by_piece=False)
    return UNICODE_WORDS if tokenizer == "unicode" else PLAIN_WORDS


def _plain_words(text: str) -> list[str]:
    if text.isascii():
        return _word().findall(text.lower())
    return [normal(word) for word in _word().findall(text)]


def _unicode_words(text: str) -> list[str]:
    if text.isascii():
        return _plain_words(text)
    return [normal(text[m.start() : m.end()]) for m in _word_of_kinds().finditer(kinds_of(text))]


def _ascii_pieces(pieces: list[str]) -> list[list[str]]:
    find = _word().findall
    lowered = "\n".join(pieces).lower().split("\n")
    return [[piece] if piece.isalnum() else find(piece) for piece in lowered]


UNICODE_WORDS = Split(_unicode_words, at_once=_ascii_pieces)
PLAIN_WORDS = Split(_plain_words, at_once=_ascii_pieces)
