"""The qa and corpus tables of an AutoRAG project: which file is which, and the corpus as a chunk table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.parquet import parquet_cells
from rag_titan.evaluation.data.records import Id, Offset
from rag_titan.evaluation.importers.autorag_project import Cells
from rag_titan.evaluation.importers.imported import Record
from rag_titan.evaluation.importers.parsing import TWICE, readable

_QUESTIONS, _PASSAGES = frozenset(("qid", "query")), frozenset(("doc_id", "contents"))
_USED = "the corpus was found beside the trial: {ids}."
_NO_CORPUS = "no corpus was found, so the chunk table has only the passages that were returned. Name its file."
_UNREADABLE = "files beside the trial that could not be read were left out: {ids}"
_STRANGE = "passages that are not in the corpus are in the chunk table as they were returned: {ids}."


class Passage(Struct, kw_only=True):
    """A row of the corpus."""

    doc_id: Id
    contents: str | None = None
    path: Id | None = None
    start_end_idx: list[Offset] | None = None
    metadata: dict[str, Any] | None = None


class Tables:
    """The tables that were named, and those that were found; each is read when it is asked for."""

    def __init__(self, files: Sequence[Path], notices: Notices) -> None:
        self._notices = notices
        self._named = {path: _columns(path) for path in files}
        self._beside: dict[Path, frozenset[str]] = {}
        for path, columns in self._named.items():
            if not columns >= _QUESTIONS and not columns >= _PASSAGES:
                got = ", ".join(sorted(columns)[:8]) or "no rows"
                rule = f"must be a qa table (qid, query, ...) or a corpus (doc_id, contents, ...), got {got}."
                raise DatasetError(path.name, rule)

    @property
    def complete(self) -> bool:
        """True where a qa table and a corpus were named."""
        return bool(_having(_QUESTIONS, self._named) and _having(_PASSAGES, self._named))

    def search(self, files: Sequence[Path]) -> None:
        """Take these into account as well; what is unreadable among them is told and left out."""
        for path in files:
            try:
                self._beside[path] = _columns(path)
            except DatasetError as error:
                self._notices.add(_UNREADABLE, [str(error)])

    def questions(self, given_only: bool) -> Iterator[tuple[Path, list[Cells]]]:
        """The qa tables that were named, else the first one that was found."""
        found = [] if given_only else _having(_QUESTIONS, self._beside)[:1]
        for path in _having(_QUESTIONS, self._named) or found:
            yield path, list(parquet_cells(File(path)))

    def corpus(self, ids: Collection[str], given_only: bool) -> Corpus:
        """The corpora that were named, else the one beside the trial that knows most of the ids."""
        corpus = Corpus(self._notices)
        named = _having(_PASSAGES, self._named)
        for path in named:
            corpus.add(path)
        if named or given_only:
            return corpus
        known = [(_known(path, ids), path) for path in _having(_PASSAGES, self._beside)]
        most = max((count for count, _ in known), default=0)
        best = next((path for count, path in known if count == most), None) if most else None
        if best is None:
            self._notices.add(_NO_CORPUS)
            return corpus
        corpus.add(best)
        self._notices.add(_USED, [best.name])
        return corpus


def _columns(path: Path) -> frozenset[str]:
    """The names of the columns; none of an empty table."""
    return frozenset(next(parquet_cells(File(path)), {}))


def _having(names: frozenset[str], files: Mapping[Path, frozenset[str]]) -> list[Path]:
    return [path for path, columns in files.items() if columns >= names]


def _known(path: Path, ids: Collection[str]) -> int:
    """How many of the ids have a row there."""
    return sum(str(row.get("doc_id")) in ids for row in parquet_cells(File(path)))


class Corpus:
    """The passages of the corpus, and behind them those that were returned and are not in it."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._chunks: dict[str, Record] = {}
        self._strange: dict[str, Record] = {}

    def add(self, path: Path) -> None:
        """The rows of a corpus table. `start_end_idx` becomes metadata: the text in which it counts is not there."""
        values = ((f"{path.name} row {i}", row) for i, row in enumerate(parquet_cells(File(path)), 1))
        for _, row in readable(Passage, values, self._notices):
            if row.doc_id in self._chunks:
                self._notices.add(TWICE, [row.doc_id])
                continue
            metadata = dict(row.metadata or {})
            if row.start_end_idx is not None:
                metadata["start_end_idx"] = row.start_end_idx
            given = {"text": row.contents, "doc_id": row.path, "metadata": metadata or None}
            self._chunks[row.doc_id] = {"id": row.doc_id} | {k: v for k, v in given.items() if v is not None}

    def learn(self, ids: Sequence[str] | None, texts: Sequence[str] | None) -> None:
        """The texts of returned passages, for those that the corpus has not."""
        if ids is None or texts is None or len(ids) != len(texts):
            return
        for name, text in zip(ids, texts, strict=True):
            if name not in self._chunks:
                self._strange.setdefault(name, {"id": name, "text": text})

    def text_of(self, name: str) -> str | None:
        """The text of a passage, None where it is not known."""
        chunk = self._chunks.get(name) or self._strange.get(name)
        text: str | None = chunk.get("text") if chunk else None
        return text

    def chunks(self) -> list[Record]:
        """The chunk table."""
        return [*self._chunks.values(), *self._strange.values()]

    def tell(self, notices: Notices) -> None:
        """Say which passages were not in the corpus."""
        if self._chunks:
            notices.add(_STRANGE, self._strange)
