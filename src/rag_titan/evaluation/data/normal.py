"""Texts as they are compared when only their words matter."""

from __future__ import annotations

import unicodedata


def normal_text(text: str) -> str:
    """NFC, white space squeezed.

    >>> normal_text(" two \\n words ")
    'two words'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def question_key(text: str) -> str:
    """What is the same in two spellings of a question: NFKC, without case, white space squeezed, no punctuation at its
    end. A question of punctuation alone keeps it.

    >>> question_key(" How many\\u00a0days? ") == question_key("how many DAYS"), question_key("???")
    (True, '???')
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    words = " ".join(folded.split())
    end = len(words)
    while end and (words[end - 1] == " " or unicodedata.category(words[end - 1])[0] == "P"):
        end -= 1
    return words[:end] or words
