"""Where records come from: passes over a list, a table or a file, in numbered blocks of clean records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from rag_titan.evaluation.data.decoding import Intake, RecordDecoder, RecordKind
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place

T = TypeVar("T", bound=Struct)
T_co = TypeVar("T_co", bound=Struct, covariant=True)

BLOCK = 512  # records cleaned at a time


@dataclass(frozen=True)
class Naming:
    """How an error names the record of a number; `first` is the number of the first record.

    >>> Naming("queries[", "]").where(3), Naming("line ", joint=": ", first=1).where(12)
    ('queries[3]', 'line 12')
    """

    before: str
    after: str = ""
    joint: str = "."
    first: int = 0

    def where(self, number: int) -> str:
        """The record's name."""
        return f"{self.before}{number}{self.after}"

    def place(self, number: int, notices: Notices) -> Place:
        """The record's place."""
        return Place(self.where(number), self.joint, notices)


@runtime_checkable
class Rows(Protocol[T_co]):
    """Records that can be read again and again."""

    @property
    def naming(self) -> Naming:
        """How the records are named."""

    @property
    def share(self) -> float | None:
        """How much of the current pass is done, 0..1; None where nobody can say."""

    def read(self, intake: Intake) -> Iterator[tuple[Sequence[int], Sequence[T_co]]]:
        """Blocks of records, each with its number; raises DatasetError at a bad one, or leaves it out."""


class ValueRows(Generic[T]):
    """Records of Python values, or of JSON texts (`encoded`), which come in blocks.

    >>> from rag_titan.evaluation.data.decoding import QUERIES
    >>> rows = ValueRows.of_list(QUERIES, [{"id": 7}, {"id": "8"}], "queries")
    >>> [[query.id for query in block] for _, block in rows.read(Intake())]
    [['7', '8']]
    """

    def __init__(
        self,
        kind: RecordKind[T],
        naming: Naming,
        blocks: Callable[[], Iterator[Sequence[Any]]],
        total: int | None = None,
        encoded: bool = False,
    ) -> None:
        self.kind = kind
        self.naming = naming
        self._blocks = blocks
        self._total = total
        self._encoded = encoded
        self._done = 0

    @classmethod
    def of_list(cls, kind: RecordKind[T], values: Sequence[Any], name: str, encoded: bool = False) -> ValueRows[T]:
        """The records of a list, named name[0], name[1], ..."""

        def blocks() -> Iterator[Sequence[Any]]:
            return (values[start : start + BLOCK] for start in range(0, len(values), BLOCK))

        return cls(kind, Naming(f"{name}[", "]"), blocks, len(values), encoded)

    @property
    def share(self) -> float | None:
        """How much of the current pass is done, 0..1."""
        return self._done / self._total if self._total else None

    def read(self, intake: Intake) -> Iterator[tuple[Sequence[int], Sequence[T]]]:
        """Blocks of records, each with its number."""
        decoder = RecordDecoder(self.kind, lambda number: self.naming.place(number, intake.notices), intake)
        self._done = 0
        for block in self._blocks():
            decode = decoder.each if self._encoded else decoder.values
            yield decode(block, self.naming.first + self._done)
            self._done += len(block)
