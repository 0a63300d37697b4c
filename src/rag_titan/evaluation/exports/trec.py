"""A dataset -> qrels.txt and run.txt, which trec_eval and everything that reads its files understand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag_titan.errors import SettingsError
from rag_titan.evaluation.data.dataset import Dataset
from rag_titan.evaluation.data.decoding import extras
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.importers.trec import Rankings
from rag_titan.evaluation.limits import checked_path, said
from rag_titan.evaluation.writing import PathLike, write

TAG = "rag-titan"
_BATCH = 4096
# What would end a column, begin a comment or be taken for something else; also a byte order mark.
_UNWRITABLE = re.compile("^#|[\x00-\x20\x7f\ufeff]")


@dataclass
class Exported:
    """What was written, and what the files cannot hold.

    files    their paths; a file that would be empty is not written
    topics   how many topics the qrels and the run have
    notices  what was left out or written in another way
    """

    files: list[Path] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)
    notices: Notices = field(default_factory=Notices)


def export_trec(dataset: Dataset, folder: PathLike) -> Exported:
    """Write the gold labels of a dataset as qrels.txt and its rankings as run.txt; each whole or not at all.

    Reading both again with `import_run("trec", ...)` gives the same grades and rankings. White space in an id becomes
    %20 and so on. A ranking whose scores do not lead to its order (trec_eval knows nothing else) gets scores that do:
    the number of places from its end.

    Raises DatasetError at a query that breaks a rule, SettingsError where a file cannot be written.

    >>> from tempfile import TemporaryDirectory
    >>> from rag_titan.evaluation.data.dataset import dataset_from
    >>> dataset = dataset_from(queries=[{"id": "q1", "relevance": {"a": 2}, "retrieved_ids": ["b", "a"]}])
    >>> with TemporaryDirectory() as folder:
    ...     for file in export_trec(dataset, folder).files:
    ...         print(file.read_text(), end="")
    q1 0 a 2
    q1 Q0 b 1 2.0 rag-titan
    q1 Q0 a 2 1.0 rag-titan
    """
    place = checked_path(folder, "folder")
    if not isinstance(dataset, Dataset):
        raise SettingsError(f"dataset: must be a Dataset, as read_dataset returns, got {said(dataset)}.")
    lines = _Lines()
    for batch in dataset.queries.batches(_BATCH):
        for query in batch:
            lines.add(query)
    exported = Exported(notices=lines.tell())
    for name, rows, topics in (("qrels", lines.qrels, lines.judged), ("run", lines.run, lines.ranked)):
        exported.topics[name] = topics
        if rows:
            path = place / f"{name}.txt"
            write(path, "".join(rows))
            exported.files.append(path)
    return exported


class _Lines:
    """The lines of both files, and what had to be said of them."""

    def __init__(self) -> None:
        self.qrels: list[str] = []
        self.run: list[str] = []
        self.judged = self.ranked = 0
        self._renamed: set[str] = set()
        self._fractions: list[str] = []
        self._empty: list[str] = []
        self._twice: list[str] = []
        self._by_place: list[str] = []
        self._bare: list[str] = []

    def add(self, query: Query) -> None:
        """The lines of one topic."""
        self._add_grades(query)
        if query.retrieved_ids:
            self._add_ranking(query, list(dict.fromkeys(query.retrieved_ids)))
        elif query.retrieved_ids is not None:
            self._empty.append(query.id)
        elif query.retrieved_texts is not None:
            self._bare.append(query.id)

    def _add_grades(self, query: Query) -> None:
        grades = dict.fromkeys(query.expected_chunk_ids or (), 1.0) | (query.relevance or {})
        whole = {document: grade for document, grade in grades.items() if grade.is_integer()}
        if len(whole) < len(grades):
            self._fractions.append(query.id)
        topic = self._name(query.id)
        self.qrels += [f"{topic} 0 {self._name(document)} {grade:.0f}\n" for document, grade in whole.items()]
        self.judged += bool(whole)

    def _add_ranking(self, query: Query, documents: list[str]) -> None:
        scores = _scores(query, documents)
        if len(documents) < len(query.retrieved_ids or ()):
            self._twice.append(query.id)
        names = [self._name(document) for document in documents]
        if scores is None or not _leads_to(names, scores):
            if query.retrieved_scores is not None:
                self._by_place.append(query.id)
            scores = [float(len(documents) - place) for place in range(len(documents))]
        topic, tag = self._name(query.id), self._name(str(extras(query).get("run_tag") or TAG))
        self.run += [
            f"{topic} Q0 {name} {rank} {score!r} {tag}\n"
            for rank, (name, score) in enumerate(zip(names, scores, strict=True), 1)
        ]
        self.ranked += 1

    def _name(self, name: str) -> str:
        """The id as one column."""
        if _UNWRITABLE.search(name) is None:
            return name
        self._renamed.add(name)
        return _UNWRITABLE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name)

    def tell(self) -> Notices:
        """What the files do not hold as the dataset has it."""
        notices = Notices()
        for sentence, ids in self._said():
            notices.add(sentence, ids)
        return notices

    def _said(self) -> Iterator[tuple[str, Iterable[str]]]:
        yield "ids with white space or a leading # are written with % and hexadecimal digits: {ids}.", self._renamed
        yield "grades that are no whole number cannot stand in qrels and were left out: {ids}.", self._fractions
        yield "an empty ranking cannot stand in a run; trec_eval -c counts these topics as 0: {ids}.", self._empty
        yield "documents that stand in a ranking again were left out, as trec_eval refuses them: {ids}.", self._twice
        yield (
            "scores that do not lead to the order of the ranking were replaced by ranks from its end: {ids}.",
            self._by_place,
        )
        yield "rankings of texts without ids were left out: {ids}.", self._bare


def _scores(query: Query, documents: Sequence[str]) -> list[float] | None:
    """A score for each document; None where one is missing."""
    given = query.retrieved_scores or []
    if len(given) != len(query.retrieved_ids or ()):
        return None
    first: dict[str, float | None] = {}
    for document, score in zip(query.retrieved_ids or (), given, strict=True):
        first.setdefault(document, score)
    scores = [score for score in map(first.__getitem__, documents) if score is not None]
    return scores if len(scores) == len(documents) else None


def _leads_to(names: Sequence[str], scores: Sequence[float]) -> bool:
    """True where trec_eval puts the documents with these scores into this order."""
    ordered: list[str] = Rankings("trec").of("", list(zip(scores, names, strict=True)))["retrieved_ids"]
    return ordered == list(names)
