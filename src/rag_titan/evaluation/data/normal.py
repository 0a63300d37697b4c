"""Texts as they are compared when only their words matter."""

from __future__ import annotations

import unicodedata


def normal_text(text: str) -> str:
    """NFC, white space squeezed.

    >>> normal_text(" two \\n words ")
    'two words'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())
