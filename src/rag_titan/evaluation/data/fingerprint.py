"""64-bit hashes of texts and records, many at once: are ids unique, and are two runs of the same data?

The hashes depend on the bytes alone, so that processes and machines agree on them. They are for accidents, not attacks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
from msgspec.json import Encoder
from numpy.typing import NDArray

from rag_titan.evaluation.data.records import GOLD, Chunk

Hashes = NDArray[np.uint64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_WORD = 8
_KEPT = np.array([(1 << 8 * n) - 1 for n in range(_WORD + 1)], dtype=np.uint64)  # the first n bytes of a word
_ODD, _STEP, _LAST = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ENCODER = Encoder(order="sorted")
_CHUNK_IDS, _SOURCES = "expected_chunk_ids", ("expected_evidence", "required_evidence_ids")


def text_hashes(texts: Sequence[str]) -> Hashes:
    """(n,) one hash a text; equal texts have equal hashes in every process.

    >>> a, b, c = text_hashes(["q1", "q2", "q1"]).tolist()
    >>> a == c, a == b
    (True, False)
    """
    if not texts:
        return np.zeros(0, dtype=np.uint64)
    data = "\n".join(texts).encode()
    ends = _line_ends(data)
    if len(ends) == len(texts) - 1:
        return _hashes_of_spans(data, np.concatenate(([0], ends + 1)), np.concatenate((ends, [len(data)])))
    lengths = np.array([len(text.encode()) for text in texts])  # a line break inside an id
    ends = np.cumsum(lengths)
    return _hashes_of_spans("".join(texts).encode(), ends - lengths, ends)


def _record_hashes(records: Iterable[Any]) -> Hashes:
    """(n,) one hash a record, of its JSON."""
    data = _ENCODER.encode_lines(records)
    ends = _line_ends(data)
    return _hashes_of_spans(data, np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends, ends)


def _line_ends(data: bytes) -> Ints:
    return np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))


def _hashes_of_spans(data: bytes, starts: Ints, ends: Ints) -> Hashes:
    """(n,) the hash of data[start:end] for each of n spans: eight bytes of all spans at a time.

    Each step is (h xor word) * odd, and a shift.
    """
    words = np.ndarray(len(data) + 1, dtype="<u8", buffer=data + bytes(_WORD), strides=(1,))
    left = ends - starts
    hashes = left.astype(np.uint64) * _ODD
    rows, at = np.arange(len(starts)), starts
    while len(rows):
        word = words[at] & _KEPT[np.minimum(left, _WORD)]
        mixed = (hashes[rows] ^ word) * _STEP
        hashes[rows] = mixed ^ (mixed >> np.uint64(29))
        more = left > _WORD
        rows, at, left = rows[more], at[more] + _WORD, left[more] - _WORD
    return _mixed(hashes)


def _mixed(hashes: Hashes) -> Hashes:
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014): every bit of a hash touches all others."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * _STEP
    hashes = (hashes ^ (hashes >> np.uint64(27))) * _LAST
    return hashes ^ (hashes >> np.uint64(31))


class HashLog:
    """Hashes of all ids of a run, 8 bytes each, to be asked at the end which came more than once.

    >>> log = HashLog()
    >>> log.add(text_hashes(["q1", "q2"]))
    >>> log.add(text_hashes(["q3", "q1"]))
    >>> log.repeated().tolist() == text_hashes(["q1"]).tolist()
    True
    """

    def __init__(self) -> None:
        self._parts: list[Hashes] = []

    def add(self, hashes: Hashes) -> None:
        """Remember the hashes of a batch."""
        self._parts.append(hashes)

    def extend(self, other: HashLog) -> None:
        """Remember what another log remembers."""
        self._parts += other._parts

    def repeated(self) -> Hashes:
        """The hashes that came more than once, each once, rising; the log is empty afterwards."""
        every = np.empty(sum(map(len, self._parts)), dtype=np.uint64)
        end = len(every)
        while self._parts:  # from the last part on, each being let go when it is copied
            part = self._parts.pop()
            every[end - len(part) : end] = part
            end -= len(part)
        every.sort()
        return np.unique(every[1:][every[1:] == every[:-1]])


class SeenHashes:
    """Hashes of all ids so far, 8 bytes each, to be asked after every batch which of its ids came before.

    Kept as few sorted runs of rising length, each at least four times as long as the next (a log-structured merge tree:
    O'Neil and others 1996).

    >>> seen = SeenHashes()
    >>> seen.add(text_hashes(["q1", "q2", "q1"])).tolist(), seen.add(text_hashes(["q2", "q3"])).tolist()
    ([False, False, True], [True, False])
    """

    def __init__(self) -> None:
        self._runs: list[Hashes] = []

    def add(self, hashes: Hashes) -> Mask:
        """(n,) True where an earlier hash of this or an earlier batch is the same; remembers them all."""
        order = np.argsort(hashes, kind="stable")
        rising = hashes[order]
        again = np.zeros(len(hashes), dtype=bool)
        again[1:] = rising[1:] == rising[:-1]
        new = ~again
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, rising), len(run) - 1)
            again |= run[places] == rising
        if len(rising):
            self._keep(rising[new])
        seen = np.empty(len(hashes), dtype=bool)
        seen[order] = again
        return seen

    def _keep(self, run: Hashes) -> None:
        while self._runs and len(self._runs[-1]) < 4 * len(run):
            run = np.concatenate((self._runs.pop(), run))
            run.sort(kind="stable")
        self._runs.append(run)


@dataclass(frozen=True)
class Fingerprint:
    """What a set of records is, whatever their order: the sum of their hashes, modulo 2^64.

    >>> a, b = query_fingerprint(["a"], ["why?"]), query_fingerprint(["b"], [None])
    >>> a.merge(b) == query_fingerprint(["b", "a"], [None, "why?"])
    True
    >>> a.text == query_fingerprint(["a"], ["why not?"]).text
    False
    """

    total: int = 0

    @classmethod
    def of(cls, hashes: Hashes) -> Fingerprint:
        """From one hash a record."""
        return cls(int(hashes.sum(dtype=np.uint64)))

    def merge(self, other: Fingerprint) -> Fingerprint:
        """The fingerprint of both sets together."""
        return Fingerprint((self.total + other.total) % 2**64)

    @property
    def text(self) -> str:
        """16 hexadecimal digits."""
        return f"{self.total:016x}"


def chunk_fingerprint(chunks: Iterable[Chunk]) -> Fingerprint:
    """Of the chunks' ids, texts and places; metadata do not count."""
    return Fingerprint.of(_record_hashes(map(attrgetter("id", "text", "start", "end", "doc_id"), chunks)))


def query_fingerprint(ids: Sequence[str], questions: Sequence[str | None]) -> Fingerprint:
    """Of which questions were asked: their ids and texts."""
    asked = text_hashes(["" if question is None else question for question in questions])
    return Fingerprint.of(_mixed(text_hashes(ids) * _ODD ^ asked))


def gold_fingerprint(ids: Sequence[str], column: Callable[[str], Sequence[Any]]) -> Fingerprint:
    """Of all that a person wrote about each query, with the query's id; lists count as sets.

    The `expected_chunk_ids` of a query that has quotes or pages (`required_evidence_ids`) do not count here: they may
    follow from these and the chunks, and are others for every chunker then. `chunk_id_fingerprint` is of them.

    column  a key of `records.GOLD` -> its values, None where not given

    >>> quoted = {"expected_evidence": [["25 days"]], "expected_chunk_ids": [["c1"]]}
    >>> other = {**quoted, "expected_chunk_ids": [["c7", "c8"]]}
    >>> a, b = (gold_fingerprint(["q"], lambda name: of.get(name, [None])) for of in (quoted, other))
    >>> a == b
    True
    """
    hashed = text_hashes(ids)
    total = Fingerprint()
    for salt, name in zip(text_hashes(GOLD), GOLD, strict=True):
        values = _chunk_ids(column, beside=False) if name == _CHUNK_IDS else column(name)
        total = total.merge(_labels_fingerprint(hashed, salt, values))
    return total


def chunk_id_fingerprint(ids: Sequence[str], column: Callable[[str], Sequence[Any]]) -> Fingerprint:
    """Of the `expected_chunk_ids` that stand beside quotes or pages, with the query's id; 0 where none do.

    Between two runs with the same chunks and the same quotes they differ only where a person changed them.

    column  as for `gold_fingerprint`

    >>> quoted = {"expected_evidence": [["25 days"]], "expected_chunk_ids": [["c1"]]}
    >>> other = {**quoted, "expected_chunk_ids": [["c7", "c8"]]}
    >>> a, b = (chunk_id_fingerprint(["q"], lambda name: of.get(name, [None])) for of in (quoted, other))
    >>> a == b
    False
    """
    return _labels_fingerprint(text_hashes(ids), text_hashes([_CHUNK_IDS])[0], _chunk_ids(column, beside=True))


def _chunk_ids(column: Callable[[str], Sequence[Any]], *, beside: bool) -> Sequence[Any]:
    """The `expected_chunk_ids` of the queries that have quotes or pages, or of the others; None elsewhere."""
    values, sources = column(_CHUNK_IDS), [column(name) for name in _SOURCES]
    if all(source.count(None) == len(source) for source in sources):
        return [None] * len(values) if beside else values
    return [value if any(given) is beside else None for value, *given in zip(values, *sources, strict=True)]


def _labels_fingerprint(hashed: Hashes, salt: np.uint64, values: Sequence[Any]) -> Fingerprint:
    """Of one key of the queries whose ids are hashed; None is not given."""
    missing = values.count(None)
    if missing == len(values):
        return Fingerprint()
    owners = (hashed ^ salt) * _ODD
    if missing:
        owners = owners[[value is not None for value in values]]
        values = [value for value in values if value is not None]
    items, counts = _item_hashes(values)
    given = Fingerprint.of(_mixed(owners))  # that it was given, were it empty
    return given.merge(Fingerprint.of(_mixed(items ^ np.repeat(owners, counts))))


def _item_hashes(values: Sequence[Any]) -> tuple[Hashes, Ints]:
    """One hash for each item of each value, and (n,) how many items each value has."""
    kinds = set(map(type, values))
    if kinds == {dict}:
        grades = np.fromiter(chain.from_iterable(value.values() for value in values), np.float64)
        keys = text_hashes(list(chain.from_iterable(values)))
        return _mixed(keys ^ (grades + 0.0).view(np.uint64)), np.fromiter(map(len, values), np.int64, len(values))
    if kinds == {list}:
        sets = [_distinct(value) for value in values]
        counts = np.fromiter(map(len, sets), np.int64, len(values))
        return _hashes_of_items(list(chain.from_iterable(sets))), counts
    return _record_hashes(values), np.ones(len(values), dtype=np.int64)


def _distinct(items: list[Any]) -> Collection[Any]:
    """The different items of a list, in any order."""
    if len(items) < 2:
        return items
    return set(items) if set(map(type, items)) == {str} else {_ENCODER.encode(item): item for item in items}.values()


def _hashes_of_items(items: Sequence[Any]) -> Hashes:
    """(n,) one hash an item, that of its text or of its JSON, whatever stands beside it."""
    texts = np.fromiter((type(item) is str for item in items), np.bool_, len(items))
    if texts.all():
        return text_hashes(items)
    hashes = np.empty(len(items), dtype=np.uint64)
    hashes[texts] = text_hashes([item for item in items if type(item) is str])
    hashes[~texts] = _record_hashes(item for item in items if type(item) is not str)
    return hashes
