"""Where a sentence ends: after . ! ? or their like in other scripts, quotes closed, before white space or the end.

The full stops of scripts written without spaces need none after them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_titan.evaluation.conventions import Tokenizer
from rag_titan.evaluation.data.tokens import words
from rag_titan.evaluation.data.vocabulary import Vocabulary
from rag_titan.evaluation.measures.ragged import Ints, Ragged, offsets_of

_CLOSING = "\"'”’»)\\]」』）"
_FULL = "。！？｡။។៕"  # these end a sentence whatever follows
_END = re.compile(f"[.!?…।॥؟۔։።{_FULL}](?:(?<=[{_FULL}])[{_CLOSING}]*|[{_CLOSING}]*(?=\\s|$))")


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, in order; joined they are the text.

    >>> sentences_of("Leave is 3.5 days. (Ask!) Why? 好。是")
    ['Leave is 3.5 days.', ' (Ask!)', ' Why?', ' 好。', '是']
    """
    parts, start = [], 0
    for found in _END.finditer(text):
        parts.append(text[start : found.end()])
        start = found.end()
    if start < len(text):
        parts.append(text[start:])
    return parts


def coded_sentences(texts: Sequence[str | None], tokenizer: str | Tokenizer) -> tuple[Ragged, Ints]:
    """The words of every sentence of every text as codes of one vocabulary, and the (n + 1,) offsets of each text's."""
    lists = [sentences_of(text or "") for text in texts]
    sentences = [sentence for some in lists for sentence in some]
    return Vocabulary().encode(sentences, words(tokenizer)), offsets_of([len(some) for some in lists])
