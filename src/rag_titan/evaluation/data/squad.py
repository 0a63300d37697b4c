"""The normalisation behind exact match and the answer's token scores."""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache

from rag_titan.evaluation.data.tokens import Split, kinds_of

ARTICLES = frozenset(("a", "an", "the"))


@cache
def _rules() -> tuple[dict[int, None], re.Pattern[str], re.Pattern[str]]:
    """ASCII punctuation as str.translate deletes it; an article as a whole word; a part of a word, by kinds."""
    punctuation = dict.fromkeys(map(ord, string.punctuation))
    return punctuation, re.compile(r"\b(?:a|an|the)\b"), re.compile("s(?:m|j+(?=m))*|[^s]+")


def official(text: str) -> list[str]:
    """The tokens of the official script (SQuAD evaluate-v2.0).

    Lower case; ASCII punctuation deleted, so that what stood beside it joins; a, an, the taken out; cut at white space.

    >>> official("The U.S.' 3.5-point lead"), official("A")
    (['us', '35point', 'lead'], [])
    """
    punctuation, article, _ = _rules()
    return article.sub(" ", text.lower().translate(punctuation)).split()


def unicode_tokens(text: str) -> list[str]:
    """The same after NFC, and cut into characters where the script has no spaces.

    >>> unicode_tokens("The café, 你好")
    ['café', '你', '好']
    """
    return official(text) if text.isascii() else _by_character(official(unicodedata.normalize("NFC", text)))


def with_articles(text: str) -> list[str]:
    """The same with the articles left in.

    >>> with_articles("A")
    ['a']
    """
    tokens = unicodedata.normalize("NFC", text).lower().translate(_rules()[0]).split()
    return tokens if text.isascii() else _by_character(tokens)


def _by_character(tokens: list[str]) -> list[str]:
    part = _rules()[2]
    return [token[m.start() : m.end()] for token in tokens for m in part.finditer(kinds_of(token))]


def _ascii_pieces(pieces: list[str]) -> list[list[str]]:
    """`official` for pieces without white space: what is left of one by lower case and punctuation is mostly a word."""
    left = "\n".join(pieces).lower().translate(_rules()[0]).split("\n")
    return [[word] if word.isalnum() and word not in ARTICLES else official(word) for word in left]


OFFICIAL = Split(official, at_once=_ascii_pieces)
UNICODE = Split(unicode_tokens, at_once=_ascii_pieces)
UNICODE_WITH_ARTICLES = Split(with_articles)
