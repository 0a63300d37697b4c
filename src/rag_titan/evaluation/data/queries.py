"""The queries of a dataset, batch by batch: each id once, gold labels that agree, memory bounded by the batch."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.decoding import Intake
from rag_titan.evaluation.data.files import WHOLE, LineRows, Part
from rag_titan.evaluation.data.fingerprint import (
    Hashes,
    HashLog,
    SeenHashes,
    text_hashes,
)
from rag_titan.evaluation.data.notices import Notices, Skipped
from rag_titan.evaluation.data.plain import Place, quoted
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.data.rows import BLOCK, Naming, Rows

_HASHED_AT_ONCE = 4096
_UNIQUE = "Query ids must be unique."


@dataclass
class Passed:
    """What a pass over queries leaves behind.

    notices  warnings
    skipped  the bad records that were left out
    count    how many queries were read
    ids      their ids, to find those that come twice
    """

    notices: Notices = field(default_factory=Notices)
    skipped: Skipped = field(default_factory=Skipped)
    count: int = 0
    ids: HashLog = field(default_factory=HashLog)

    def add(self, other: Passed) -> None:
        """Take in what a pass over further queries left behind."""
        self.notices = self.notices.merge(other.notices)
        self.skipped = self.skipped.merge(other.skipped)
        self.count += other.count
        self.ids.extend(other.ids)


class QuerySource:
    """Queries that can be read again and again, from memory or from a file.

    given   False where no queries were passed at all
    passed  what the latest pass left behind; complete when it is through

    >>> from rag_titan.evaluation.data.decoding import QUERIES
    >>> from rag_titan.evaluation.data.rows import ValueRows
    >>> source = QuerySource(ValueRows.of_list(QUERIES, [{"id": 1}, {"id": 2}, {"id": "1"}], "queries"))
    >>> for batch in source.batches(2):
    ...     print([query.id for query in batch])
    Traceback (most recent call last):
    rag_titan.errors.DatasetError: queries[2].id: duplicate id "1", as in queries[0]. Query ids must be unique.
    """

    def __init__(
        self, rows: Rows[Query], *, given: bool = True, skip_bad_records: bool = False, whole: bool = True
    ) -> None:
        self.given = given
        self.passed = Passed()
        self._rows = rows
        self._skip = skip_bad_records
        self._whole = whole
        self._unique = False  # known from an earlier pass

    @property
    def share(self) -> float | None:
        """How much of the current pass is done, 0..1; None where nobody can say."""
        return self._rows.share

    def parts(self, most: int, least: int) -> list[Part]:
        """At most `most` parts of the file, each of about `least` bytes or more, that can be read apart.

        One part, the whole, where they are no file of lines, and where bad records are left out: which of two records
        with the same id comes first is then asked of all of them, in order.
        """
        return self._rows.file.parts(most, least) if isinstance(self._rows, LineRows) and not self._skip else [WHOLE]

    def within(self, part: Part) -> QuerySource:
        """The queries in a part of the file. Ids that stand in two parts are found when all were read: `check_ids`."""
        if not isinstance(self._rows, LineRows):
            raise TypeError("only files of lines have parts")
        return QuerySource(self._rows.within(part), given=self.given, whole=False)

    def batches(self, size: int, heads: int | None = None) -> Iterator[list[Query]]:
        """All queries, `size` at a time, the last batch with what is left.

        heads  how many of the retrieved ids are asked for; the others may be missing then. None: all

        Raises DatasetError at a bad record, or leaves it out. Two queries with the same id are found at once within a
        batch, and at the end of the pass over all batches (8 bytes are kept for each id).
        """
        intake = Intake(skip=self._skip)
        self.passed = Passed(intake.notices, intake.skipped)
        log = _Ids(self._rows.naming, intake, None if self._unique else self.passed.ids)
        for numbers, queries in self._blocks(self._headed(heads), size, intake):
            kept = log.unique(*_agreeing(numbers, queries, self._rows.naming, intake))
            if kept:
                self.passed.count += len(kept)
                yield kept
            del queries, kept
        log.close()
        if self._whole:
            self.check_ids()

    def check_ids(self) -> None:
        """Raises DatasetError where two of the queries that were read have the same id."""
        if not self._unique and not self._skip:
            self._name_repeated(self.passed.ids.repeated())
            self._unique = True

    def _headed(self, heads: int | None) -> Rows[Query]:
        return self._rows.headed(heads) if heads is not None and isinstance(self._rows, LineRows) else self._rows

    def _blocks(self, rows: Rows[Query], size: int, intake: Intake) -> Iterator[tuple[list[int], list[Query]]]:
        """The rows in blocks of `size`.

        No garbage is collected while a batch is decoded: that makes many lists and no circle, and looking through them
        all again and again takes a fifth of the time.
        """
        numbers: list[int] = []
        queries: list[Query] = []
        collecting = gc.isenabled()
        try:
            gc.disable()
            for block_numbers, block in rows.read(intake):
                numbers.extend(block_numbers)
                queries.extend(block)
                while len(queries) >= size:
                    batch = numbers[:size], queries[:size]
                    del numbers[:size], queries[:size], block
                    if collecting:
                        gc.enable()
                    yield batch
                    del batch
                    gc.disable()
                    block = ()
        finally:
            if collecting:
                gc.enable()
        if queries:
            yield numbers, queries

    def _name_repeated(self, repeated: Hashes) -> None:
        """Read everything once more to name two queries with the same id, if the hashes did not just collide."""
        if not len(repeated):
            return
        first: dict[str, int] = {}
        naming = self._rows.naming
        for numbers, queries in self._rows.read(Intake(skip=self._skip)):
            ids = [query.id for query in queries]
            for i in np.flatnonzero(np.isin(text_hashes(ids), repeated)).tolist():
                if ids[i] in first:
                    raise _duplicate(naming, ids[i], numbers[i], first[ids[i]])
                first[ids[i]] = numbers[i]


class ReadyRows:
    """Queries that are clean already."""

    def __init__(self, queries: Sequence[Query]) -> None:
        self.naming = Naming("queries[", "]")
        self._queries = queries

    @property
    def share(self) -> float | None:
        """Unknown."""
        return None

    def read(self, intake: Intake) -> Iterator[tuple[Sequence[int], Sequence[Query]]]:
        """Blocks of queries, each with its number."""
        for start in range(0, len(self._queries), BLOCK):
            block = self._queries[start : start + BLOCK]
            yield range(start, start + len(block)), block


class _Ids:
    """The ids of one pass: none may come twice."""

    def __init__(self, naming: Naming, intake: Intake, log: HashLog | None) -> None:
        self._naming = naming
        self._intake = intake
        self._log = log
        self._unhashed: list[str] = []
        self._seen = SeenHashes()

    def unique(self, numbers: Sequence[int], queries: list[Query]) -> list[Query]:
        """The queries whose ids did not come before: all of them, or DatasetError, unless bad records are left out."""
        if self._log is None and not self._intake.skip:
            return queries
        ids = [query.id for query in queries]
        if self._intake.skip:
            again = self._seen.add(text_hashes(ids))
            for i in np.flatnonzero(again).tolist():
                error = _duplicate(self._naming, ids[i], numbers[i])
                self._intake.skipped.add(str(error), self._naming.where(numbers[i]))
            return [query for query, repeats in zip(queries, again.tolist(), strict=True) if not repeats]
        if len(set(ids)) < len(ids):
            first: dict[str, int] = {}
            for number, name in zip(numbers, ids, strict=True):
                if first.setdefault(name, number) != number:
                    raise _duplicate(self._naming, name, number, first[name])
        self._unhashed += ids
        if len(self._unhashed) >= _HASHED_AT_ONCE:
            self.close()
        return queries

    def close(self) -> None:
        """Put what was seen into the log."""
        if self._log is not None:
            self._log.add(text_hashes(self._unhashed))
        self._unhashed = []


def _duplicate(naming: Naming, name: str, number: int, first: int | None = None) -> DatasetError:
    also = f", as in {naming.where(first)}" if first is not None else ", which came before"
    return naming.place(number, Notices()).field("id").error("duplicate id", f" {quoted(name)}{also}. {_UNIQUE}")


def _agreeing(
    numbers: list[int], queries: list[Query], naming: Naming, intake: Intake
) -> tuple[list[int], list[Query]]:
    """The queries whose `relevance` and `expected_chunk_ids` do not contradict each other."""
    both = [i for i, query in enumerate(queries) if query.relevance and query.expected_chunk_ids]
    wrong = set()
    for i in both:
        error = _conflict(queries[i], naming.place(numbers[i], intake.notices))
        if error is not None:
            if not intake.skip:
                raise error
            intake.skipped.add(str(error), naming.where(numbers[i]))
            wrong.add(i)
    if not wrong:
        return numbers, queries
    kept = [i for i in range(len(queries)) if i not in wrong]
    return [numbers[i] for i in kept], [queries[i] for i in kept]


def _conflict(query: Query, place: Place) -> DatasetError | None:
    grades = query.relevance or {}
    for name in query.expected_chunk_ids or ():
        if not grades.get(name, 1) > 0:
            came = f", got {grades[name]:g} although expected_chunk_ids has the id. Remove one of them."
            return place.field("relevance").key(name).error("must be above 0", came)
    return None
