"""What the query explorer shows of a question: its texts, its rankings, its gold, and the marks in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

import numpy as np

from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.redaction import Redaction
from rag_titan.evaluation.diagnosis import explorer_claims
from rag_titan.evaluation.diagnosis.explorer_rows import BatchRows, Explored, Row
from rag_titan.evaluation.diagnosis.verdicts import Verdicts
from rag_titan.evaluation.metric import Metric, Stage
from rag_titan.evaluation.stages.stage import Values

LONGEST = 4_000  # characters of a chunk that are shown
MARGIN = 200  # of them at least on each side of a mark, where the chunk is longer
GAP = " … "

Key = tuple[bool, str]  # failed ones come first, then by id
Window = tuple[int, int]


class ExplorerRows:
    """Rows of the explorer; two merge into the rows of both, whatever the order.

    A row is made when its batch is merged with others and it is still among those that are kept.

    most  how many are kept
    seen  questions, kept or not
    """

    def __init__(self, most: int = 0, seen: int = 0, kept: Sequence[tuple[Key, Explored]] = ()) -> None:
        self.most = most
        self.seen = seen
        self._kept = list(kept)
        self._waiting: list[tuple[Key, int]] = []  # questions of the batch, by their place in it
        self._batch: BatchRows | None = None

    @classmethod
    def of(
        cls,
        verdicts: Verdicts,
        measured: Mapping[Stage, Values],
        rows: Mapping[Stage, Sequence[Metric]],
        most: int,
    ) -> ExplorerRows:
        """From one batch; of more than `most` questions the failed ones come first, then the smallest ids."""
        found = cls(most, len(verdicts.failed))
        ids, failed = verdicts.funnel.table.ids, np.flatnonzero(verdicts.failed)
        asked = failed if len(failed) >= most else np.arange(len(ids))
        keys = (((not verdicts.failed[i], ids[i]), i) for i in asked.tolist())
        found._waiting = nsmallest(most, keys)
        found._batch = BatchRows(verdicts, measured, rows)
        return found

    def merge(self, other: ExplorerRows) -> ExplorerRows:
        """Both together."""
        most = max(self.most, other.most)
        keys = sorted([*self._keys(), *other._keys()])[:most]
        last = keys[-1] if keys else (False, "")
        kept = sorted([*self._up_to(last), *other._up_to(last)], key=lambda one: one[0])[:most]
        return ExplorerRows(most, self.seen + other.seen, kept)

    def _keys(self) -> Iterator[Key]:
        yield from (key for key, _ in self._kept)
        yield from (key for key, _ in self._waiting)

    def _up_to(self, last: Key) -> Iterator[tuple[Key, Explored]]:
        """The questions that come no later than the last, those that were waiting made."""
        yield from self._kept[: bisect_right(self._kept, last, key=lambda one: one[0])]
        if self._batch is not None:
            yield from ((key, self._batch.explored(i)) for key, i in self._waiting if key <= last)

    def __reduce__(self) -> tuple[type[ExplorerRows], tuple[int, int, list[tuple[Key, Explored]]]]:
        made = self.merge(ExplorerRows())
        return ExplorerRows, (made.most, made.seen, made._kept)

    def report(self, corpus: Corpus, redaction: Redaction | None = None) -> Row:
        """The report's `explorer`; texts of chunks come from the corpus."""
        made = self.merge(ExplorerRows())
        kept = [explored for _, explored in made._kept]
        table = _ChunkTable(corpus, kept, redaction)
        return {
            "queries": [table.fitted(explored.row) for explored in kept],
            "chunks": table.chunks(),
            "left_out": made.seen - len(kept),
            "redacted": redaction is not None,
        }


@dataclass(frozen=True)
class _Cut:
    """A text of which only some windows are shown, one after another with a gap between them.

    >>> cut = _Cut.around("a" * 9_000, [(5_000, 5_010)])
    >>> len(cut.text("a" * 9_000)), cut.place(5_000, 5_010)
    (4004, (1997, 2007))
    """

    windows: tuple[Window, ...]

    @classmethod
    def around(cls, text: str, marks: Sequence[Window]) -> _Cut:
        """About LONGEST characters around the marks; the start of the text without any."""
        if not marks:
            return cls(((0, LONGEST),))
        joined = list(_joined(sorted(marks)))
        marked = sum(end - start for start, end in joined)
        margin = max(MARGIN, (LONGEST - marked) // (2 * len(joined)))
        wide = _joined([(max(start - margin, 0), min(end + margin, len(text))) for start, end in joined])
        windows, left = [], LONGEST
        for start, end in wide:
            if left > 0:
                windows.append((start, min(end, start + left)))
                left -= end - start
        return cls(tuple(windows))

    def text(self, text: str) -> str:
        """What is shown of the text."""
        shown = GAP.join(text[start:end] for start, end in self.windows)
        before, after = self.windows[0][0] > 0, self.windows[-1][1] < len(text)
        return (GAP.lstrip() if before else "") + shown + (GAP.rstrip() if after else "")

    def place(self, start: int, end: int) -> Window | None:
        """A mark in what is shown; None where it is not shown, cut off where it is shown in part."""
        at = len(GAP.lstrip()) if self.windows[0][0] > 0 else 0
        for first, last in self.windows:
            if first <= start < last:
                return at + start - first, at + min(end, last) - first
            at += last - first + len(GAP)
        return None


def _joined(windows: Sequence[Window]) -> Iterator[Window]:
    """Sorted windows, those that meet as one."""
    start, end = windows[0]
    for first, last in windows[1:]:
        if first > end:
            yield start, end
            start = first
        end = max(end, last)
    yield start, end


class _ChunkTable:
    """The chunks that some questions show; long ones are cut around the marks in them."""

    def __init__(self, corpus: Corpus, kept: Sequence[Explored], redaction: Redaction | None) -> None:
        self._corpus = corpus
        self._redaction = redaction
        self._logged = {name: text for explored in kept for name, text in explored.logged.items()}
        self._names = sorted({name for explored in kept for name in _names(explored.row)})
        self._cuts = self._long_ones([explored.row for explored in kept])

    def _text(self, name: str) -> str | None:
        return self._logged.get(name) or self._corpus.text_of(name)

    def _long_ones(self, rows: Sequence[Row]) -> dict[str, _Cut]:
        marks: dict[str, set[Window]] = {}
        for row in rows:
            for place in _places(row):
                marks.setdefault(place["chunk"], set()).add((place["start"], place["end"]))
        texts = ((name, self._text(name)) for name in self._names)
        return {
            name: _Cut.around(text, sorted(marks.get(name, ()))) for name, text in texts if text and len(text) > LONGEST
        }

    def chunks(self) -> dict[str, Row]:
        """{id: chunk} of those of which a text or a document is known."""
        return {name: chunk for name in self._names if (chunk := self._chunk(name)) is not None}

    def _chunk(self, name: str) -> Row | None:
        text, document, cut = self._text(name), self._document(name), self._cuts.get(name)
        if text is None:
            return None if document is None else {"text": None, "document": document, "cut": False}
        if self._redaction is not None:
            return {"text": self._redaction(text), "document": document, "cut": False}
        return {"text": text if cut is None else cut.text(text), "document": document, "cut": cut is not None}

    def _document(self, name: str) -> str | None:
        code = self._corpus.codes.get(name)
        if code is None:
            return None
        layout = self._corpus.layout
        place = int(layout.document_codes[code]) if layout.documents.given else -1
        return layout.documents.ids[place] if place >= 0 else self._corpus.chunks[code].doc_id

    def fitted(self, row: Row) -> Row:
        """The row with its places in the texts as they are shown."""
        if not any(place["chunk"] in self._cuts for place in _places(row)):
            return row
        evidence = [{**item, "places": list(self._moved(item["places"]))} for item in row["evidence"]]
        claims = explorer_claims.moved(row, self._moved)
        return {**row, "evidence": evidence, **({} if claims is None else {"claims": claims})}

    def _moved(self, places: Iterable[Row]) -> Iterator[Row]:
        for place in places:
            cut = self._cuts.get(place["chunk"])
            span = (place["start"], place["end"]) if cut is None else cut.place(place["start"], place["end"])
            if span is not None:
                yield {"chunk": place["chunk"], "start": span[0], "end": span[1]}


def _places(row: Row) -> Iterator[Row]:
    for item in row["evidence"]:
        yield from item["places"]
    yield from explorer_claims.places_of(row)


def _names(row: Row) -> Iterator[str]:
    """The chunks that a question shows."""
    for key in ("retrieved", "reranked", "context", "gold"):
        yield from (item["id"] for item in row[key] or ())
    for item in row["evidence"]:
        yield from item["whole_in"]
