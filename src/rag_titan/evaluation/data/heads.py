"""JSON Lines -> queries of whose rankings only the first ids are decoded, where nobody asks for the others.

Nine tenths of a log are the ids behind the first K. They are checked all the same, as bytes and many rankings at a
time: what stands between the quotes tells that each is a text, and that none is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np
from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, defstruct
from msgspec.json import Decoder
from numpy.typing import NDArray

from rag_titan.evaluation.data.forms import one_form
from rag_titan.evaluation.data.gold import lengths_of
from rag_titan.evaluation.data.records import Ids
from rag_titan.evaluation.measures.ragged import Ints, offsets_of

T = TypeVar("T", bound=Struct)
Mask = NDArray[np.bool_]

WHOLE = ("reranked_ids", "reranked_texts", "retrieved_texts", "expected_evidence", "verdicts")
"""The keys that ask for more of a ranking than its first ids."""

_RANKING = "retrieved_ids"
_RANKING_OF = attrgetter(_RANKING)
_GOLD_OF = (attrgetter("relevance"), attrgetter("expected_chunk_ids"))
_SHORT = len('["a"]')  # what is shorter holds no id: an empty list, null
_LISTS = Decoder(list[list[str]])
_AROUND = np.arange(-2, 2)  # the two characters before the place where two lists meet, and the two behind
_ENDING = np.isin(np.arange(256), list(b'",]}: \t\r'))  # what ends a text, and what may stand behind it


class HeadDecoder(Generic[T]):
    """Decodes queries, their `retrieved_ids` down to `depth` only; whole where an id stands twice among these.

    >>> from rag_titan.evaluation.data.records import Query
    >>> decoder = HeadDecoder(Query, 2)
    >>> [query.retrieved_ids for query in decoder.lines(b'{"id": "q1", "retrieved_ids": ["a", "b", "c"]}')]
    [['a', 'b']]
    >>> decoder.lines(b'{"id": "q1", "retrieved_ids": ["a", "b", 3]}') is None
    True
    """

    def __init__(self, record: type[T], depth: int) -> None:
        fields: list[Any] = [(_RANKING, Raw | UnsetType, UNSET), *((name, None, None) for name in WHOLE)]
        forbid = record.__struct_config__.forbid_unknown_fields
        kind = defstruct(
            record.__name__,
            fields,
            bases=(record,),
            forbid_unknown_fields=forbid,
            omit_defaults=True,
            gc=False,
            kw_only=True,
        )
        self._records: Decoder[Any] = Decoder(kind)
        self._ranking: Decoder[Any] = Decoder(Ids | None)
        self._depth = depth

    def lines(self, block: bytes) -> list[T] | None:
        """The records of a block of lines.

        None where one has a key of WHOLE, gold ids that may have several forms (they are looked for in whole lists), a
        ranking that is not as programs write it, or a fault, of which somebody else must say what it is.
        """
        try:
            records = self._records.decode_lines(block)
            if not all(one_form(map(gold_of, records)) for gold_of in _GOLD_OF):
                return None
            given = [record for record in records if record.retrieved_ids is not UNSET]
            rankings = self._rankings(list(map(bytes, map(_RANKING_OF, given))))
        except (DecodeError, RecursionError):
            return None
        if rankings is None:
            return None
        if len(given) < len(records):
            for record in records:
                record.retrieved_ids = None
        for record, ids in zip(given, rankings, strict=True):
            record.retrieved_ids = ids
        return records

    def _rankings(self, texts: list[bytes]) -> Sequence[list[str] | None] | None:
        """The ids of each ranking; None where the bytes do not tell."""
        some = [text for text in texts if len(text) >= _SHORT]
        heads = heads_of(some, self._depth)
        if heads is None:
            return None
        if sum(map(len, map(set, heads))) < sum(map(len, heads)):
            pairs = zip(heads, some, strict=True)
            heads = [ids if len(set(ids)) == len(ids) else self._ranking.decode(text) for ids, text in pairs]
        if len(some) == len(texts):
            return heads
        each = iter(heads)
        return [next(each) if len(text) >= _SHORT else self._ranking.decode(text) for text in texts]


def heads_of(texts: Sequence[bytes], depth: int) -> list[list[str]] | None:
    """The first `depth` ids of each ranking; each text is a valid JSON value of at least five bytes.

    None unless all are lists of texts that are not empty, written without escapes and with separators that are alike.

    >>> heads_of([b'["a","b","c"]', b'["d"]'], 2)
    [['a', 'b'], ['d']]
    >>> heads_of([b'["a","b",""]'], 2), heads_of([b'["a","b",7,"c"]'], 2)
    (None, None)
    """
    if not texts:
        return []
    data, offsets = b"".join(texts), offsets_of(lengths_of(texts))
    between = _between(data, offsets)
    if between is None:
        return None
    cuts = offsets[1:] - 1
    first, last = np.searchsorted(between, offsets[:-1]), np.searchsorted(between, offsets[1:])
    deep = last - first >= depth
    cuts[deep] = between[first[deep] + depth - 1] + 1
    heads = [data[start:cut] for start, cut in zip(offsets[:-1].tolist(), cuts.tolist(), strict=True)]
    return _LISTS.decode(b"[" + b"],".join(heads) + b"]]")


def _between(data: bytes, offsets: Ints) -> Ints | None:
    """Where the texts end that another one follows, in lists that stand one behind the other; None as for `heads_of`.

    A separator stands between two texts: where each list has one less of them than texts, it holds nothing but texts.
    What only looks like one is a text itself ("," alone), and what ends a text stands behind it.
    """
    characters = np.frombuffer(data, dtype=np.uint8)
    lists = len(offsets) - 1
    framed = characters[(offsets[:, None] + _AROUND).ravel()[2:-2]].tobytes() == b'[""]' * lists
    if not framed or b"\\" in data or not _is_utf8(data):
        return None
    comma = data.find(b'",') + 1
    spaced = data[comma + 1 : comma + 2] == b" "
    quotes = characters == ord('"')
    between = np.flatnonzero(_separators(characters, quotes, spaced))
    begins = np.append(between + (4 if spaced else 3), offsets[:-1] + 2)
    if 2 * len(begins) != np.count_nonzero(quotes) or _ENDING[characters[begins]].any():
        return None
    return between


def _separators(characters: NDArray[np.uint8], quotes: Mask, spaced: bool) -> Mask:
    """True where `","` begins, or `", "`."""
    commas = characters == ord(",")
    if not spaced:
        return np.asarray(quotes[:-2] & commas[1:-1] & quotes[2:])
    return np.asarray(quotes[:-3] & commas[1:-2] & (characters[2:-1] == ord(" ")) & quotes[3:])


def _is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False
