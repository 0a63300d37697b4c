"""Records of another system -> queries, by a column mapping; otherwise they are `Rows` as any others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import DecodeError, Raw
from msgspec.json import decode, encode

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.columns import Columns
from rag_titan.evaluation.data.decoding import QUERIES, Intake, RecordDecoder, from_json
from rag_titan.evaluation.data.frames import records_of
from rag_titan.evaluation.data.malformed import utf8
from rag_titan.evaluation.data.notices import Notices, Private
from rag_titan.evaluation.data.plain import Place, keys_of, plain
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.data.sheet_cells import typed_cells
from rag_titan.evaluation.data.source import Pairs, Source

_REFUSED = (DecodeError, RecursionError)


class ColumnRows:
    """The queries of a source whose records are not named as the format has it.

    >>> source = Source.of_list([{"docs": [{"id": 3}, {"id": 1}], "qid": "q1"}], "logs")
    >>> rows = ColumnRows(source, Columns.of({"id": "qid", "retrieved_ids": "docs[].id"}))
    >>> [[(query.id, query.retrieved_ids) for query in block] for _, block in rows.read(Intake())]
    [[('q1', ['3', '1'])]]
    """

    def __init__(self, source: Source, columns: Columns) -> None:
        self.naming = source.naming
        self._source = source
        self._columns = columns

    @property
    def share(self) -> float | None:
        """Unknown."""
        return None

    def read(self, intake: Intake) -> Iterator[tuple[Sequence[int], Sequence[Query]]]:
        """Blocks of queries, each with its number; a path that leads nowhere in all of them is noticed at the end."""
        columns, said = self._columns.fitted(_objects(self._source))
        if said is not None:
            intake.notices.add(said)
        decoder = _MappedDecoder(self._source, columns, intake)
        for pairs in self._source.read(intake.notices):
            yield decoder.pairs(pairs)
        for sentence, private in decoder.tally.sentences():
            intake.notices.add(sentence, private=private)


def _objects(source: Source) -> Iterator[dict[str, Any]]:
    """The records of a source that can be read, to look at their keys."""
    for pairs in source.read(Notices()):
        for _, raw in pairs:
            try:
                value = decode(raw) if isinstance(raw, bytes | Raw) else plain(raw)
            except _REFUSED:  # said when it is read
                continue
            if isinstance(value, dict):
                yield value


class PathTally:
    """Which paths of a mapping lead anywhere, over the records of one pass."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._found: set[str] = set()
        self._missed: dict[str, dict[str, Any]] = {}

    def mapped(self, source: dict[str, Any]) -> dict[str, Any]:
        """The record under the names of the format."""
        record = self._columns.record(source)
        for key in self._columns.paths:
            if key not in record:
                self._missed.setdefault(key, source)
            elif record[key] != []:
                self._found.add(key)
        return record

    def sentences(self) -> Iterator[tuple[str, Private]]:
        """What is to be said when all records were seen, and how where no key of a record may come out."""
        return self._columns.absent(self._found, self._missed)


class _MappedDecoder(RecordDecoder[Query]):
    """Maps every record, then cleans it."""

    def __init__(self, source: Source, columns: Columns, intake: Intake) -> None:
        super().__init__(QUERIES, lambda number: source.naming.place(number, intake.notices), intake)
        self.tally = PathTally(columns)
        self._columns = columns
        self._sheet = source.sheet

    def pairs(self, pairs: Pairs) -> tuple[list[int], list[Query]]:
        """The queries of numbered records."""
        numbers, records = [], []
        for number, value in pairs:
            clean = self._from_json if isinstance(value, bytes | Raw) else self._clean
            record = self._explained(clean, value, number)
            if record is not None:
                numbers.append(number)
                records.append(record)
        return numbers, self._finished(records)

    def _from_json(self, raw: bytes | Raw, place: Place) -> Any:
        try:
            value = decode(raw)
        except _REFUSED:
            return self._clean(from_json(utf8(bytes(raw), place.where, place.bare), place), place)
        if not isinstance(value, dict):
            return super()._clean(value, place)
        mapped = self.tally.mapped(value)
        typed = self._typed(mapped)
        return self._explaining(mapped, place, value) if typed is None else typed

    def _typed(self, mapped: dict[str, Any]) -> Any:
        """The query, by way of the typed decoder; None where that refuses the record."""
        data = encode(mapped)
        for again in (True, False):
            try:
                return self._decoder.decode(data)
            except _REFUSED:
                if not (again and self._learn(mapped)):
                    break
        return None

    def _clean(self, value: Any, place: Place) -> Any:
        value = plain(value)
        if not isinstance(value, dict):
            return super()._clean(value, place)
        return self._explaining(self.tally.mapped(value), place, value)

    def _explaining(self, mapped: dict[str, Any], place: Place, source: dict[str, Any]) -> Any:
        """The query, by way of the cleaner, which says what is wrong; of an absent id what the record has instead."""
        if self._columns.paths and mapped.get("id") is None:
            path = self._columns.paths.get("id")
            where = self._columns.renamed(f"{place.where}: id", place.where)
            advice = "Correct its path in the column mapping." if path else 'Map "id" to one of them.'
            said = f"must be given; the record has {keys_of(source)}. {advice}"
            raise DatasetError(where, said, place.field("id").error("must be given", ".").redacted)
        cells = typed_cells(Query, mapped) if self._sheet else records_of(Query, [mapped])[0]
        try:
            return super()._clean(cells, place)
        except DatasetError as error:
            raise DatasetError(self._columns.renamed(error.where, place.where), error.rule, error.redacted) from None
