"""open-rag-eval's CSV: one row a passage, the answer in the first row of a query, passages called [1], [2], ...

https://github.com/vectara/open-rag-eval
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.sheets import read_sheet
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.markers import ASTRAY, read_citations
from rag_titan.evaluation.importers.passages import Passage, Passages

COLUMNS = ("query_id", "query", "query_run", "passage_id", "passage", "generated_answer")

_NO_QUERY = "{name}: rows with neither query_id nor query were left out: row {{ids}}."
_ANSWERS = "a query has several answers, and the first one counts: {ids}."
_RUNS = "a query that was asked several times became one query a run, with the run behind its id: {ids}."
_OTHER_QUERIES = "one query_id has several query texts, and the first one counts: {ids}."


@dataclass
class _Asked:
    """One run of one query: its passages in order, its answer, and the cells of its first row that have no key."""

    query: str
    run: str
    question: str | None = None
    answer: str | None = None
    passages: list[Passage] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)


def read(sources: Sequence[Path]) -> Imported:
    """The queries of CSV files.

    The passages of a query, in the order of their rows, are `retrieved_ids` and `context_ids`: open-rag-eval's answers
    cite the passages that were given to the model. The ids of passages get that of their query before them. Citations
    such as [2] and [1, 3] are read into `citations`, by the passage's id and not by its place; what is cited and not
    there counts as cited. A query with several values of query_run becomes as many queries.

    Raises DatasetError for a table without queries.
    """
    notices = Notices()
    asked: dict[tuple[str, str], _Asked] = {}
    for path in sources:
        _collect(path, asked, notices)
    runs: dict[str, list[str]] = {}
    for one in asked.values():
        runs.setdefault(one.query, []).append(one.run)
    notices.add(_RUNS, [query for query, some in runs.items() if len(some) > 1])
    passages = Passages(local=True)
    named = {one.query if len(runs[one.query]) == 1 else f"{one.query}/{one.run}": one for one in asked.values()}
    for name, one in named.items():
        passages.add(name, one.passages)
    queries = [_record(name, one, passages.ids(name), notices) for name, one in named.items()]
    passages.tell(notices)
    return Imported(queries, passages.chunks() or None, notices=notices)


def _collect(path: Path, asked: dict[tuple[str, str], _Asked], notices: Notices) -> None:
    names: set[str] = set()
    for number, row in read_sheet(path, notices):
        names |= row.keys()
        query = row.get("query_id") or row.get("query")
        if query is None:
            notices.add(_NO_QUERY.format(name=path.name), [str(number)])
            continue
        run = row.get("query_run", "")
        one = asked.setdefault((query, run), _Asked(query, run))
        if "passage" in row or "passage_id" in row:
            one.passages.append(Passage(_bare(row.get("passage_id")), row.get("passage")))
        _keep_first(one, row, notices)
    if not names & {"query", "query_id"}:
        got = ", ".join(sorted(names)[:8]) or "no rows below its names"
        raise DatasetError(path.name, f"must have the columns {', '.join(COLUMNS)}, got {got}.")


def _bare(name: str | None) -> str | None:
    """The id without its brackets: "[1]" -> "1"."""
    return name.strip().removeprefix("[").removesuffix("]").strip() or None if name is not None else None


def _keep_first(one: _Asked, row: dict[str, str], notices: Notices) -> None:
    question, answer = row.get("query"), row.get("generated_answer")
    if question is not None and one.question not in (None, question):
        notices.add(_OTHER_QUERIES, [one.query])
    if answer is not None and one.answer not in (None, answer):
        notices.add(_ANSWERS, [one.query])
    one.question = one.question or question
    one.answer = one.answer or answer
    for key, cell in row.items():
        if key not in COLUMNS:
            one.others.setdefault(key, cell)


def _record(name: str, one: _Asked, ids: list[str], notices: Notices) -> Record:
    query: Record = {"id": name}
    if one.question is not None:
        query["question"] = one.question
    if one.run:
        query["tags"] = {"query_run": one.run}
    if one.passages:
        query["retrieved_ids"] = ids
        query["context_ids"] = ids
    if one.answer is not None:
        cited = read_citations(one.answer, _numbered(one.passages, ids), name)
        query["answer"] = cited.answer
        if cited.ids:
            query["citations"] = cited.ids
        notices.add(ASTRAY, [f"{name} {marker}" for marker in cited.astray])
    return one.others | query


def _numbered(passages: Sequence[Passage], ids: Sequence[str]) -> dict[str, str]:
    """{number: id of the chunk}: what the markers count is the passage's own number, where it has one."""
    names = [passage.name or "" for passage in passages]
    own = all(name.isdecimal() for name in names)
    return {name if own else str(i): chunk for i, (name, chunk) in enumerate(zip(names, ids, strict=True), 1)}
