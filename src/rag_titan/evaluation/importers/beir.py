"""A BEIR folder (Thakur et al. 2021): corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv; and a run over it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.data.cleaning import clean_anything, clean_id
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place, quoted, shown
from rag_titan.evaluation.data.source import Source
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.trec import records_of
from rag_titan.evaluation.importers.trec_files import (
    RUN,
    Grade,
    Qrels,
    Run,
    add_qrels,
    is_json,
    json_scores,
    kind_of_lines,
    run_of,
    run_of_values,
)

USUAL_SPLIT = "test"
_LEFT_OUT = "{name}: records without an id and a text were left out: {{ids}}."


def read(sources: Sequence[Path], split: str | None = None, ties: str = "trec") -> Imported:
    """The questions of one split with their grades, and the corpus as the chunk table.

    sources  the folder, and a run if there is one: TREC's six columns, or JSON {query: {document: score}} as BEIR's
             retrievers return it
    split    which qrels/SPLIT.tsv; without it the only one, or test
    ties     how equal scores of the run are put in order, as for `trec`

    As in BEIR's own evaluation, the result for a query that is the query's own document (it has the query's id) is no
    result. Questions of other splits are left out, and counted. A title stands in the metadata of its chunk.

    Raises DatasetError where the folder lacks a part or contradicts itself, SettingsError where the split is not there.
    """
    notices = Notices()
    folder, run_file = _sorted(sources)
    questions = _questions(folder, notices)
    qrels = _qrels(folder, split, notices)
    run = None if run_file is None else _run(run_file, notices)
    if not questions and qrels is None and run is None:
        raise DatasetError(str(folder), "must hold queries.jsonl or qrels/*.tsv, got neither. Check the path.")
    bare: Qrels = {name: {} for name in questions}
    records = records_of(bare if qrels is None else qrels, run, ties, notices)
    for record in records:
        name = record["id"]
        if name in questions:
            record["question"] = questions[name]["text"]
            record |= {"metadata": questions[name]["metadata"]} if questions[name].get("metadata") else {}
        if qrels is None:
            record.pop("relevance", None)
    known = {record["id"] for record in records}
    notices.add("questions without qrels in this split were left out: {ids}.", [q for q in questions if q not in known])
    nameless = [name for name in known if name not in questions] if questions else []
    notices.add("topics whose question is not in queries.jsonl were kept: {ids}.", nameless)
    return Imported(records, _chunks(folder, notices), notices=notices)


def _sorted(sources: Sequence[Path]) -> tuple[Path, File | None]:
    folders = [path for path in sources if path.is_dir()]
    files = [path for path in sources if not path.is_dir()]
    if len(folders) != 1:
        rule = "must be one folder with corpus.jsonl, queries.jsonl and qrels/, got"
        raise DatasetError(str(sources[0]), f"{rule} {len(folders) or 'a file'}{' folders' if folders else ''}.")
    if len(files) > 1:
        raise DatasetError(str(files[1]), f"must be the only run, got {files[0].name} too. Import one run at a time.")
    return folders[0], File(files[0]) if files else None


# --- the folder -------------------------------------------------------------------------------------------------------


def _records(folder: Path, name: str, notices: Notices) -> Iterator[tuple[str, Record]]:
    """{"id", "text", "title", "metadata"} of every record that has an id and a text, with its place."""
    path = next(
        (folder / f"{name}{end}" for end in (".jsonl", ".jsonl.gz") if (folder / f"{name}{end}").exists()), None
    )
    if path is None:
        return
    bare = []
    for where, record in Source.of_file(File(path)).records(notices):
        given, text = record.get("_id", record.get("id")), record.get("text")
        try:
            known = clean_id(given, Place(where))
        except DatasetError:
            known = ""
        if not known or not isinstance(text, str):
            bare.append(where)
            continue
        kept = {"id": known, "text": text, "title": record.get("title"), "metadata": record.get("metadata")}
        yield where, clean_anything(kept, Place(where, notices=notices))
    notices.add(_LEFT_OUT.format(name=path.name), bare)


def _unique(folder: Path, name: str, notices: Notices) -> dict[str, Record]:
    """The same by id; a record that is there twice counts once, another one of the same id is a DatasetError."""
    found: dict[str, Record] = {}
    twice = []
    for where, record in _records(folder, name, notices):
        if found.setdefault(record["id"], record) != record:
            rule = f"must have an id of its own, got {quoted(record['id'])} with another text before. Remove one."
            raise DatasetError(where, rule)
        if found[record["id"]] is not record:
            twice.append(record["id"])
    notices.add(f"{name}: records that are there twice count once: {{ids}}.", twice)
    return found


def _questions(folder: Path, notices: Notices) -> dict[str, Record]:
    questions = _unique(folder, "queries", notices)
    if not questions:
        notices.add("the folder has no queries.jsonl, so that the questions have no text.")
    return questions


def _chunks(folder: Path, notices: Notices) -> list[Record] | None:
    corpus = _unique(folder, "corpus", notices)
    if not corpus:
        notices.add("the folder has no corpus.jsonl, so that the documents have no text.")
        return None
    chunks = []
    for document in corpus.values():
        metadata: dict[str, Any] = dict(document["metadata"]) if isinstance(document["metadata"], dict) else {}
        metadata |= {"title": document["title"]} if document["title"] else {}
        chunks.append({"id": document["id"], "text": document["text"]} | ({"metadata": metadata} if metadata else {}))
    return chunks


# --- grades and run ---------------------------------------------------------------------------------------------------


def _qrels(folder: Path, split: str | None, notices: Notices) -> Qrels | None:
    place = folder / "qrels"
    files = {path.name.partition(".")[0]: path for path in sorted(place.glob("*.tsv*"))} if place.is_dir() else {}
    if not files and split is None:
        notices.add("the folder has no qrels/*.tsv, so that the questions have no gold labels.")
        return None
    chosen = split or (next(iter(files)) if len(files) == 1 else USUAL_SPLIT)
    if chosen not in files:
        there = ", ".join(files) or "none"
        raise SettingsError(f"split: must be one of {folder}/qrels ({there}), got {chosen!r}.")
    if len(files) > 1:
        others = [name for name in files if name != chosen]
        notices.add(f"of the splits {chosen} was read; there are also {{ids}}.", others)
    qrels: Qrels = {}
    add_qrels(_grades(File(files[chosen]), notices), qrels, notices)
    return qrels


def _grades(file: File, notices: Notices) -> Iterator[Grade]:
    """The rows of query-id, corpus-id, score; a first row without a number is their names."""
    broken, read = [], 0
    with file.open() as stream:
        for number, raw in enumerate(stream, 1):
            where = f"{file.name} line {number}"
            cells = raw.decode("utf-8-sig" if number == 1 else "utf-8", "replace").strip("\r\n").split("\t")
            if not any(cell.strip() for cell in cells):
                continue
            grade = _whole(cells[2]) if len(cells) == 3 else math.nan
            if math.isfinite(grade) and all(cells[:2]):
                read += 1
                yield where, cells[0], cells[1], grade
            elif number > 1 or len(cells) != 3:
                broken.append(f"{where} ({len(cells)} columns)" if len(cells) != 3 else f"{where} ({shown(cells[2])})")
    if broken and not read:
        rule = "must have the columns query-id, corpus-id and score, divided by tabs"
        raise DatasetError(file.name, f"{rule}; the first that has not: {broken[0]}.")
    notices.add("lines of qrels without a query, a document and a whole number were left out: {ids}.", broken)


def _whole(text: str) -> float:
    try:
        grade = float(text)
    except ValueError:
        return math.nan
    return grade if math.isfinite(grade) and grade.is_integer() else math.nan


def _run(file: File, notices: Notices) -> Run:
    if is_json(file):
        run = run_of_values(json_scores(file))
    elif kind_of_lines(file) == RUN:
        run = run_of(file, notices)
    else:
        raise DatasetError(file.name, "must be a run beside the folder, got qrels. Put them into qrels/, as test.tsv.")
    own = [topic for topic, results in run.results.items() if any(document == topic for _, document in results)]
    for topic in own:
        run.results[topic] = [(score, document) for score, document in run.results[topic] if document != topic]
    notices.add("a query's own document is no result in BEIR, and was taken out of the ranking: {ids}.", own)
    return run
