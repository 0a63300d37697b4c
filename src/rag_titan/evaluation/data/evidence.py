"""Gold evidence: quotes and offsets of the dataset -> places in the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.documents import ANY, UNKNOWN, Documents, line_ends_alike
from rag_titan.evaluation.data.notices import Notices, Private
from rag_titan.evaluation.data.plain import Place
from rag_titan.evaluation.data.records import Evidence
from rag_titan.evaluation.measures.intervals import Intervals
from rag_titan.evaluation.measures.ragged import Ints, Ragged, offsets_of

Mask = NDArray[np.bool_]
Items = Sequence[str | Evidence]
FEWER = -1


@dataclass(frozen=True)
class EvidenceTable:
    """The evidence of n owners (queries, as a rule): an owner has items, an item has options of which one is enough.

    A quote or a span is an item of one option, {"any_of": [...]} an item of several.

    documents     what the places count in
    given         (n,) True where evidence was given, were it an empty list
    items         (n + 1,) items[i]:items[i + 1] are the items of owner i
    options       (m + 1,) options[j]:options[j + 1] are the options of item j
    texts         (o,) the words of each option; None for a span while there are no documents
    starts, ends  (o,) its characters in the laid out documents, -1 where it has no sure place
    """

    documents: Documents
    given: Mask
    items: Ints
    options: Ints
    texts: tuple[str | None, ...]
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.items) - 1

    @cached_property
    def owner(self) -> Ints:
        """(m,) the owner of each item."""
        return Ragged(self.items, self.items).rows

    @cached_property
    def item(self) -> Ints:
        """(o,) the item of each option."""
        return Ragged(self.options, self.options).rows

    @cached_property
    def labelled(self) -> Mask:
        """(n,) True where there is at least one item."""
        return np.diff(self.items) > 0

    @cached_property
    def placed(self) -> Mask:
        """(m,) True where every option of the item has a place."""
        return ~_marked(self.item[self.starts < 0], len(self.options) - 1)

    @cached_property
    def owner_placed(self) -> Mask:
        """(n,) True where there is an item and every one of them has its place."""
        return self.labelled & ~_marked(self.owner[~self.placed], len(self))

    @cached_property
    def owner_worded(self) -> Mask:
        """(n,) True where there is an item and the words of every one of them are known."""
        wordless = np.array([text is None for text in self.texts], dtype=bool)
        return self.labelled & ~_marked(self.owner[self.item[wordless]], len(self))

    @cached_property
    def tokens(self) -> Intervals:
        """The tokens that lie wholly inside each option, in the group of its owner; none where it has no place."""
        first, last = self.documents.tokens_inside(self.starts, self.ends)
        return Intervals(self.owner[self.item], np.where(self.starts < 0, 0, first), np.where(self.starts < 0, 0, last))

    @cached_property
    def characters(self) -> Intervals:
        """The characters of each option, in group 0; empty where it has no place."""
        return Intervals(np.zeros(len(self.starts), dtype=np.int64), self.starts, self.ends)


@dataclass(frozen=True)
class Option:
    """One quote or span as it was written: the number of its item, what to look for, and where.

    text        its words; None for a span while there are no documents
    start, end  its characters in the laid out documents, -1 for a quote
    within      the only document to look in, or ANY
    occurrence  which occurrence of the quote is meant, from 1; 0 for the only one
    """

    item: int
    text: str | None
    start: int
    end: int
    within: int
    occurrence: int


def evidence_of(
    lists: Sequence[Items | None],
    documents: Documents,
    names: Sequence[str],
    notices: Notices | None = None,
    where: Callable[[int, int], str] = lambda i, j: f"queries[{i}].expected_evidence[{j}]",
    subject: str = "expected_evidence: a quote of query {ids}",
    private: Private | None = None,
) -> EvidenceTable:
    """The evidence of n owners, each quote searched in all documents in one pass.

    A quote must occur exactly once unless it says which `occurrence` is meant; otherwise a notice names its owner
    (`names`, (n,); `subject` is the start of its sentence; `private` where the names are texts of the data).
    `where(i, j)` is the place of item j of owner i in the dataset, for the errors.

    Raises DatasetError for what is no evidence, and for a span that no document holds.

    >>> documents = Documents.of(document_text="Leave is 25 days. Sick pay is full.")
    >>> table = evidence_of([["25 days"], [Evidence(start=18, end=26), "is"], None], documents, ["q1", "q2", "q3"])
    >>> table.starts.tolist(), table.owner.tolist(), table.owner_placed.tolist()
    ([9, 18, -1], [0, 1, 1], [True, False, False])
    """
    options, sizes = _read(lists, documents, where)
    starts, ends, counts = places_of(options, documents)
    table = EvidenceTable(
        documents,
        np.array([items is not None for items in lists], dtype=bool),
        offsets_of([len(items or ()) for items in lists]),
        offsets_of(sizes),
        tuple(option.text for option in options),
        starts,
        ends,
    )
    if notices is not None and documents.given:
        _tell(notices, table, counts, names, subject, private)
    return table


def _read(
    lists: Sequence[Items | None], documents: Documents, where: Callable[[int, int], str]
) -> tuple[list[Option], list[int]]:
    """The options of all items, and how many each item has."""
    options: list[Option] = []
    sizes: list[int] = []
    for i, items in enumerate(lists):
        for j, item in enumerate(items or ()):
            before = len(options)
            options.extend(options_of(item, len(sizes), where(i, j), documents))
            sizes.append(len(options) - before)
    return options, sizes


def options_of(item: str | Evidence, number: int, where: str, documents: Documents) -> Iterator[Option]:
    """What one item of evidence holds: itself, or each of its alternatives.

    `number` is the item's, `where` its place for the errors. Raises DatasetError for what is no evidence, and for a
    span that no document holds.
    """
    if isinstance(item, str):
        item = Evidence(quote=item)
    if item.any_of is not None:
        if not item.any_of or item.quote is not None or item.start is not None:
            raise DatasetError.without_data(
                where, "must hold at least one quote or span in `any_of`, and nothing beside it."
            )
        for option in item.any_of:
            yield from options_of(option, number, where, documents)
        return
    if item.start is not None or item.end is not None:
        yield _span(item, number, where, documents)
    else:
        yield _quote(item, number, where, documents)


def _quote(item: Evidence, number: int, where: str, documents: Documents) -> Option:
    if item.quote is None or not item.quote.strip():
        raise DatasetError.without_data(
            where, "must be a quote with words, or a span with `start` and `end`, got neither."
        )
    return Option(number, item.quote, -1, -1, _document(item, where, documents), item.occurrence or 0)


def _span(item: Evidence, number: int, where: str, documents: Documents) -> Option:
    start, end = item.start, item.end
    if start is None or end is None or not 0 <= start < end:
        rule = f"needs `start` and `end` with 0 <= start < end, got {start} and {end}."
        raise DatasetError.without_data(where, rule)
    if not documents.given:
        return Option(number, item.quote, -1, -1, ANY, 0)
    within = _document(item, where, documents)
    if within == ANY:
        raise DatasetError.without_data(
            f"{where}.doc_id", "must say which document `start` and `end` count in, got none."
        )
    text = documents.texts[within][start:end]
    if end > len(documents.texts[within]):
        length = len(documents.texts[within])
        rule = f"must lie in a document of {length} characters, got {end}. Count characters, not bytes."
        raise DatasetError.without_data(f"{where}.end", rule)
    if item.quote is not None and line_ends_alike(item.quote).strip() != line_ends_alike(text).strip():
        must, came = "`start` and `end` must hold the quote", f", got {text[:60]!r}. Leave one of the two out."
        raise Place(where).error(must, came)
    shift = int(documents.offsets[within])
    return Option(number, text, start + shift, end + shift, within, 0)


def _document(item: Evidence, where: str, documents: Documents) -> int:
    within = documents.code(item.doc_id) if documents.given else ANY
    if within == UNKNOWN:
        place = Place(where).field("doc_id")
        raise place.error("must be the id of a document that was passed", f", got {item.doc_id!r}.")
    return within


def places_of(options: Sequence[Option], documents: Documents) -> tuple[Ints, Ints, Ints]:
    """(o,) starts, ends, and how often each quote was found: 1 for a span, FEWER than its `occurrence` says."""
    starts, ends, within, which = (
        np.array([getattr(option, name) for option in options], dtype=np.int64)
        for name in ("start", "end", "within", "occurrence")
    )
    counts = np.ones(len(options), dtype=np.int64)
    quotes = np.flatnonzero(starts < 0)
    if len(quotes) and documents.given:
        found = documents.place([options[i].text or "" for i in quotes.tolist()], within[quotes], which[quotes])
        fewer = (found.starts < 0) & (which[quotes] > 0) & (found.counts > 0)
        starts[quotes], ends[quotes], counts[quotes] = found.starts, found.ends, np.where(fewer, FEWER, found.counts)
    return starts, ends, counts


def _marked(places: Ints, n: int) -> Mask:
    """(n,) True at the places."""
    marks = np.zeros(n, dtype=bool)
    marks[places] = True
    return marks


def _tell(
    notices: Notices, table: EvidenceTable, counts: Ints, names: Sequence[str], subject: str, private: Private | None
) -> None:
    owners, open_ones = table.owner[table.item], table.starts < 0
    for mask, what in (
        (counts == 0, "is in no document"),
        (counts == FEWER, "occurs less often than its `occurrence` says"),
        (counts > 0, "occurs more than once in the documents; say which `occurrence` is meant, or give a span"),
    ):
        named = [names[i] for i in np.unique(owners[open_ones & mask]).tolist()]
        notices.add(f"{subject} {what}. Span metrics are not measured there.", named, private)
