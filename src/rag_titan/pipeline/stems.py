"""Words as a keyword search compares them: English stems by PyStemmer, without the words that every question has."""

from __future__ import annotations

from collections.abc import Sequence

from rag_titan.errors import MissingExtraError
from rag_titan.evaluation.data.tokens import words

_COMMON = """
a an and are as at be by can could did do does for from get has have how i if in is it may me my of on or our
shall should that the their there they this to us was we were what when where which who whom whose why will
with would you your
"""
COMMON = frozenset(_COMMON.split())


def stems(texts: Sequence[str]) -> list[list[str]]:
    """The stems of each text's words in order; characters of scripts written without spaces stand alone.

    Raises MissingExtraError without PyStemmer.

    >>> stems(["How many paid days do I get?", "年休", "What is it?"])
    [['mani', 'paid', 'day'], ['年', '休'], []]
    """
    try:
        from Stemmer import Stemmer
    except ImportError:
        raise MissingExtraError("PyStemmer", "pipeline") from None
    stemmer = Stemmer("english")  # one for each call: threads may not share it
    tokens = words().tokens
    return [stemmer.stemWords([word for word in tokens(text) if word not in COMMON]) for text in texts]


def telling_words(text: str) -> list[str]:
    """The words of a text, each once and as it is searched for before it is stemmed, without those of every question.

    >>> telling_words("What does E4711 mean? E4711!")
    ['e4711', 'mean']
    """
    return [word for word in dict.fromkeys(words().tokens(text)) if word not in COMMON]
