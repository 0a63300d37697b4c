"""Are the golden questions fit to measure by? Everything that a person has to set right, question by question.

A problem is {"id", "problem"} and, where there is more to say, "detail": what to do about it, in words; "places"
[{"doc_id", "start"}] of a quote that occurs several times; "nearest" {"doc_id", "start", "end", "text"} for one that is
not found. A question without an id is called by its place. Problems stand in the order of the questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.answers import Answers, references_of
from rag_titan.evaluation.data.cleaning import cleaners_of, near_name
from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.dataset import assembled
from rag_titan.evaluation.data.documents import ANY, Documents
from rag_titan.evaluation.data.evidence import FEWER, Option, options_of, places_of
from rag_titan.evaluation.data.normal import normal_text
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.numerals import facts
from rag_titan.evaluation.data.plain import quoted
from rag_titan.evaluation.data.records import GOLD, Chunk, Query
from rag_titan.evaluation.measures.ragged import Ints
from rag_titan.evaluation.preparation.chunk_files import read_chunks
from rag_titan.evaluation.preparation.document_files import read_documents
from rag_titan.evaluation.preparation.gold_chunks import file_and_page, files_of, tell_cut
from rag_titan.evaluation.preparation.golden_files import SEPARATOR, Entry, entries_of
from rag_titan.evaluation.preparation.near_misses import MOST, Passage, near_misses

Problem = dict[str, Any]

_SHOWN = 80  # characters of a quote or fact that a problem names
_PLACES = 5  # places of a quote that are listed
_EVIDENCE = ("expected_evidence", "expected_chunk_ids", "relevance", "required_evidence_ids")
_EMPTY: tuple[Any, ...] = (None, "", [], {})
_ANSWERS = ("expected_answer", "expected_answers")
_NOT_SEARCHED = "the documents were not passed, so that no quote was looked for."


def check_golden(
    golden: Any, documents: Any = None, chunks: Any = None, *, separator: str = SEPARATOR
) -> dict[str, Any]:
    """What is wrong with a set of golden questions, and whether it can be used.

    golden     a list of dicts or records, or the path of a file; see `read_golden` for what it may be
    documents  {id: text}, a list of {"id" or "source", "text"}, or the path of a folder or file of documents
    chunks     the chunks of the index, or the path of their file: gold chunk ids are then looked up, and
               quotes that the chunker cut are a warning
    separator  what divides several quotes in a cell of a sheet

    Returns {"question_count", "validated_share" (0..1, None without questions), "ready", "problems", "warnings"}.
    `ready`: there are questions and no problems, every question is validated, and no quote was left unsearched for want
    of documents. Raises DatasetError where golden questions or documents cannot be read at all; a single question that
    cannot be read is a problem.

    >>> result = check_golden(
    ...     [{"id": "g_007", "expected_evidence": ["up to 5 days"], "validated": True},
    ...      {"id": "g_012", "expected_evidence": ["25 days"], "expected_answer": "25", "required_facts": ["HR"]}],
    ...     {"leave.md": "Leave is 25 days."})
    >>> print(result["validated_share"], result["ready"])
    0.5 False
    >>> for item in result["problems"]:
    ...     print(item["id"], item["problem"])
    g_007 quote 'up to 5 days' is not found exactly once
    g_012 required fact 'HR' is not in the expected_answer
    """
    notices = Notices()
    check = _Check(list(entries_of(golden, notices, separator)), notices)
    check.run(documents_of(documents, notices), chunks_of(chunks, notices))
    return check.result()


def documents_of(documents: Any, notices: Notices) -> Documents:
    """The documents from whatever they come as; not given for None."""
    if documents is None or isinstance(documents, Documents):
        return documents if documents is not None else Documents()
    if isinstance(documents, str | Path):
        return Documents.of(read_documents(documents, notices))
    dataset = assembled({"documents": documents})
    return Documents.of(dataset.documents)


def chunks_of(chunks: Any, notices: Notices) -> tuple[Chunk, ...] | None:
    """The chunks from whatever they come as; None for None."""
    if isinstance(chunks, str | Path):
        return read_chunks(chunks, notices)
    return None if chunks is None else assembled({"chunks": chunks}).chunks


@dataclass(frozen=True)
class _Quote:
    """An option of the evidence of one question."""

    row: int
    option: Option


@dataclass
class _Check:
    """The questions, and the problems of each, in the order in which they are found."""

    entries: Sequence[Entry]
    notices: Notices
    problems: list[list[Problem]] = field(init=False)
    names: list[str] = field(init=False)
    searched: bool = field(default=True, init=False)
    queries: list[Query | None] = field(init=False)

    def __post_init__(self) -> None:
        self.problems = [[] for _ in self.entries]
        self.names = [entry.name for entry in self.entries]
        self.queries = [None] * len(self.entries)

    def add(self, row: int, problem: str, detail: str | None = None, **more: Any) -> None:
        """A problem of one question."""
        said = {"id": self.names[row], "problem": problem, "detail": detail, **more}
        self.problems[row].append({key: value for key, value in said.items() if value is not None})

    def given(self) -> Iterable[tuple[int, Query]]:
        """The questions that could be read, each with its row."""
        return ((row, query) for row, query in enumerate(self.queries) if query is not None)

    def run(self, documents: Documents, chunks: Sequence[Chunk] | None) -> None:
        """Everything there is to look at."""
        self.read()
        self.repeated()
        self.quotes(documents)
        self.facts()
        self.evidence()
        self.labels(documents, chunks)
        if chunks is not None:
            self.cut(Corpus(tuple(chunks), documents, given=True))

    def result(self) -> dict[str, Any]:
        """What `check_golden` returns."""
        problems = [problem for of_entry in self.problems for problem in of_entry]
        count = len(self.entries)
        validated = sum((entry.value or {}).get("validated") is True for entry in self.entries)
        return {
            "question_count": count,
            "validated_share": validated / count if count else None,
            "ready": bool(count) and not problems and validated == count and self.searched,
            "problems": problems,
            "warnings": self.notices.texts(),
        }

    # --- each question by itself ------------------------------------------------------------------

    def read(self) -> None:
        """Make records of the entries; what cannot be read, and keys that are nearly known ones, are problems."""
        known = cleaners_of(Query)
        near: dict[str, str | None] = {}
        for row, entry in enumerate(self.entries):
            aside = Notices()
            try:
                self.queries[row] = entry.query(aside)
            except DatasetError as error:
                place = error.where.removeprefix(entry.where).lstrip(".: ")
                self.add(row, f"{place}: {error.rule}" if place else error.rule)
            for sentence in aside.texts():
                self.add(row, sentence)
            for key in (key for key in entry.value or () if key not in known):
                meant = near[key] if key in near else near.setdefault(key, near_name(key, known))
                if meant:
                    self.add(row, f"unknown key {key!r}; did you mean {meant!r}?")
        bare = [query.id for _, query in self.given() if all(getattr(query, key) in _EMPTY for key in GOLD)]
        self.notices.add("nothing is measured of questions without any gold label: {ids}.", bare)
        silent = [query.id for _, query in self.given() if query.question is None]
        self.notices.add("questions without a `question` cannot be asked: {ids}.", silent)

    def facts(self) -> None:
        """A required fact that none of the references has."""
        texts: list[str] = []
        phrases: list[str] = []
        places: list[int] = []
        owners: list[tuple[int, str]] = []
        for row, asked in self.given():
            references = references_of(asked.expected_answer, asked.expected_answers)
            for fact in asked.required_facts or ():
                phrases += [fact] * len(references)
                places += range(len(texts), len(texts) + len(references))
                owners += [(row, fact)] * len(references)
            texts += references
        if not phrases:
            return
        there = Answers(texts, [()] * len(texts)).found(phrases, np.array(places, dtype=np.int64), facts())
        found = {owner for owner, has in zip(owners, there.tolist(), strict=True) if has}
        for row, fact in dict.fromkeys(owners):
            if (row, fact) not in found:
                query = self.queries[row]
                key = "expected_answers" if query is not None and query.expected_answers else "expected_answer"
                self.add(row, f"required fact {_short(fact)} is not in the {key}")

    def evidence(self) -> None:
        """An answer that stands on nothing, and evidence for what cannot be answered."""
        for row, query in self.given():
            evidence = [key for key in _EVIDENCE if getattr(query, key)]
            if query.answerable is False and evidence:
                listed = " and ".join(evidence)
                self.add(
                    row, f"answerable is false, but there is {listed}", "Set it to true, or take the evidence out."
                )
            elif query.answerable is not False and not evidence and any(getattr(query, key) for key in _ANSWERS):
                rule = "Add the quote that holds the answer, or say that answerable is false."
                self.add(row, "there is an expected answer, but no evidence for it", rule)

    # --- questions among each other ---------------------------------------------------------------

    def repeated(self) -> None:
        """An id, or a question in other white space or case, that stands further up already."""
        ids: dict[str, int] = {}
        questions: dict[str, int] = {}
        for row, query in self.given():
            first = ids.setdefault(query.id, row)
            if first != row:
                self.add(row, f"duplicate id {query.id!r}", f"{self.entries[first].where} has it already.")
            asked = normal_text(query.question or "").casefold()
            first = questions.setdefault(asked, row) if asked else row
            if first != row:
                here = f"{self.entries[row].where} and {self.entries[first].where}"
                self.add(row, f"duplicate question, asked by {self.names[first]!r} already", f"They are {here}.")

    # --- quotes in the documents ------------------------------------------------------------------

    def quotes(self, documents: Documents) -> None:
        """A quote must stand where the evaluation will find it: once, or as often as its `occurrence` says."""
        quotes = list(self._options(documents))
        if not quotes:
            return
        if not documents.given:
            self.searched = False
            self.notices.add(_NOT_SEARCHED)
            return
        starts, _, counts = places_of([quote.option for quote in quotes], documents)
        lost = np.flatnonzero(starts < 0).tolist()
        several = [i for i in lost if counts[i] != 0]
        absent = [i for i in lost if counts[i] == 0]
        details: dict[int, dict[str, Any]] = {}
        places = _occurrences([quotes[i].option for i in several], documents)
        for i, where in zip(several, places, strict=True):
            details[i] = _several(where, quotes[i].option, documents)
        passages = near_misses([quotes[i].option.text or "" for i in absent], documents)
        details |= {i: _absent(passage, documents) for i, passage in zip(absent, passages, strict=True)}
        if len(absent) > MOST:
            self.notices.add(
                f"a passage in other words was looked for only for {MOST} of the quotes that are not found."
            )
        for i in lost:
            text = _short(quotes[i].option.text or "")
            which = quotes[i].option.occurrence
            rule = f"has no occurrence {which}" if counts[i] == FEWER else "is not found exactly once"
            self.add(quotes[i].row, f"quote {text} {rule}", **details[i])

    def _options(self, documents: Documents) -> Iterable[_Quote]:
        """The quotes and spans of all questions; what is none is a problem."""
        for row, query in self.given():
            for number, item in enumerate(query.expected_evidence or ()):
                try:
                    options = list(options_of(item, 0, f"expected_evidence[{number}]", documents))
                except DatasetError as error:
                    self.add(row, str(error))
                    continue
                yield from (_Quote(row, option) for option in options)

    def cut(self, corpus: Corpus) -> None:
        """Quotes that the chunker cut: nothing is wrong with them, but they have no gold chunk."""
        sound = []
        for row, query in self.given():
            if query.expected_chunk_ids or query.relevance:
                continue  # which are the gold chunks
            with suppress(DatasetError):  # which is a problem already
                for item in query.expected_evidence or ():
                    list(options_of(item, 0, "", corpus.documents))
                sound.append((query.expected_evidence or [], self.names[row]))
        if sound:
            evidence, names = zip(*sound, strict=True)
            tell_cut(evidence, names, corpus, self.notices)

    # --- names of documents and chunks ------------------------------------------------------------

    def labels(self, documents: Documents, chunks: Sequence[Chunk] | None) -> None:
        """File labels that name no document, and gold chunk ids that name no chunk."""
        files = {name for name in documents.ids if name is not None}
        files |= {file for chunk in chunks or () for file, _ in files_of(chunk)}
        files |= {name.replace("\\", "/").rpartition("/")[2] for name in files}  # as labels are matched for gold chunks
        ids = {chunk.id or "" for chunk in chunks or ()}
        for row, query in self.given():
            if files and documents.ids != (None,):
                for label in query.required_evidence_ids or ():
                    if label not in files and file_and_page(label)[0] not in files:
                        self.add(row, f"required_evidence_ids: {label!r} names no document", _near(label, files))
            if chunks is not None:
                for name in dict.fromkeys([*(query.expected_chunk_ids or ()), *(query.relevance or ())]):
                    if name not in ids:
                        self.add(row, f"gold chunk id {name!r} is not in the chunks", _near(name, ids))


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…")


def _near(name: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    names = list(known)
    close = get_close_matches(name, names, n=1, cutoff=0.7) if len(names) <= 5000 else []
    return f"The nearest is {close[0]!r}." if close else None


# --- what there is to say about a quote -------------------------------------------------------------


def _occurrences(options: Sequence[Option], documents: Documents) -> list[list[int]]:
    """The first places of each quote, one more than are listed where there are more."""
    if not options:
        return []
    texts = [option.text or "" for option in options]
    within: Ints = np.array([option.within for option in options], dtype=np.int64)
    turns = range(1, _PLACES + 2)
    found = documents.place(texts * len(turns), np.tile(within, len(turns)), np.repeat(turns, len(texts)))
    starts = found.starts.reshape(len(turns), len(texts)).T
    return [[start for start in row if start >= 0] for row in starts.tolist()]


def _several(starts: Sequence[int], option: Option, documents: Documents) -> dict[str, Any]:
    places = [_place(documents, start) for start in starts[:_PLACES]]
    listed = ", ".join(f"{place['doc_id']}:{place['start']}" for place in places)
    more = " and more" if len(starts) > _PLACES else ""
    name = {"quote": option.text, "occurrence": 1}
    if option.within != ANY and len(documents) > 1:
        name["doc_id"] = documents.ids[option.within]
    many = f"It stands at {listed}{more}."
    if option.occurrence:
        return {"detail": f"{many} Its occurrences are counted from 1, in this order.", "places": places}
    import json

    written = (
        json.dumps(name, ensure_ascii=False) if len(option.text or "") <= _SHOWN else '{"quote": …, "occurrence": 1}'
    )
    return {"detail": f"{many} Quote more of it, or say which is meant: {written} is the first.", "places": places}


def _place(documents: Documents, start: int) -> dict[str, Any]:
    document = int(documents.document_at(np.array([start]))[0])
    return {"doc_id": documents.ids[document], "start": start - int(documents.offsets[document])}


def _absent(passage: Passage | None, documents: Documents) -> dict[str, Any]:
    if passage is None:
        return {"detail": "It is in no document, and no passage near it was found."}
    name = documents.ids[passage.document]
    where = f"{name}:{passage.start}"
    nearest = {"doc_id": name, "start": passage.start, "end": passage.end, "text": passage.text}
    text = quoted(passage.text) if len(passage.text) <= _SHOWN else _short(passage.text)
    if passage.differs_in:
        differs = " and ".join(passage.differs_in)
        return {"detail": f"It differs only in {differs} from {where}, which says {text}.", "nearest": nearest}
    return {"detail": f"It is in no document; the nearest passage is {where}, which says {text}.", "nearest": nearest}
