"""The normalisation behind exact match and the answer's token scores."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from rag_titan.evaluation.data.tokens import Split, space_out
from rag_titan.evaluation.measures.ragged import Ints, offsets_of


@cache
def _rules() -> tuple[dict[int, None], re.Pattern[str]]:
    """ASCII punctuation, as str.translate deletes it, and an article as a whole word."""
    return dict.fromkeys(map(ord, string.punctuation)), re.compile(r"\b(?:a|an|the)\b")


def official(text: str) -> str:
    """The normalisation of the official script (SQuAD evaluate-v2.0), but for its last step, squeezing white space.

    Lower case; ASCII punctuation deleted, so that what stood beside it joins; a, an, the taken out.

    >>> official("The U.S.' 3.5-point lead").split(), official("A").split()
    (['us', '35point', 'lead'], [])
    """
    punctuation, article = _rules()
    return article.sub(" ", text.lower().translate(punctuation))


def in_any_script(text: str) -> str:
    """The same after NFC, and cut into characters where the script has no spaces.

    >>> in_any_script("The café, 你好").split()
    ['café', '你', '好']
    """
    return official(text) if text.isascii() else space_out(official(unicodedata.normalize("NFC", text)))


def with_articles(text: str) -> str:
    """The same with the articles left in.

    >>> with_articles("A").split()
    ['a']
    """
    left = unicodedata.normalize("NFC", text).lower().translate(_rules()[0])
    return left if text.isascii() else space_out(left)


def _find(text: str, normalise: Callable[[str], str]) -> tuple[list[str], Ints]:
    """The tokens of a text, and of each the start of its line: normalisation keeps lines but moves what is in them."""
    lines = [line.split() for line in normalise(text).split("\n")]
    starts = offsets_of([len(line) + 1 for line in text.split("\n")])[:-1]
    return [token for line in lines for token in line], np.repeat(starts, [len(line) for line in lines])


OFFICIAL = Split(partial(_find, normalise=official))
IN_ANY_SCRIPT = Split(partial(_find, normalise=in_any_script))
WITH_ARTICLES = Split(partial(_find, normalise=with_articles))
