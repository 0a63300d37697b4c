"""An AutoRAG project: its questions with several references, its corpus, and what the nodes of a trial returned.

AutoRAG's `retrieval_gt` is a list of groups: each group must be found, and any id of a group will do. Here every id is
gold, so that recall is the same where each group has one. https://github.com/Marker-Inc-Korea/AutoRAG
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from msgspec import Struct

from rag_titan.errors import DatasetError, SettingsError, nearest
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Id, Ids
from rag_titan.evaluation.importers.autorag_project import (
    GENERATOR,
    PROMPT,
    RERANKER,
    RETRIEVAL,
    Cells,
    Node,
    nodes_of,
    tables_beside,
    trial_of,
)
from rag_titan.evaluation.importers.autorag_tables import Corpus, Tables
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.parsing import TWICE, readable
from rag_titan.evaluation.reports.figures import count_text

_GROUPS = "a group of `retrieval_gt` has several ids, each of which is gold here, so recall may be lower: query {ids}."
_NO_ROWS = "nodes whose rows are not those of the questions were left out: {ids}."
_BROKEN = "nodes that could not be read were left out: {ids}."
_DROPPED = "columns that are in no record: {ids}."
_ABSENT = "the trial has no row of this question"
_KEPT = frozenset(
    ("qid", "query", "queries", "generation_gt", "retrieval_gt", "retrieved_ids", "retrieve_scores",
     "retrieved_contents", "prompts", "generated_texts", "generated_tokens")
)  # fmt: skip


class Question(Struct, kw_only=True):
    """A question of the qa table, which every best_*.parquet repeats."""

    qid: Id
    query: str | None = None
    generation_gt: list[str] | None = None
    retrieval_gt: list[Ids] | None = None
    queries: list[str] | None = None


class Returned(Struct, kw_only=True):
    """What a node returned for a question."""

    retrieved_ids: Ids | None = None
    retrieved_contents: list[str] | None = None
    retrieve_scores: list[float | None] | None = None
    prompts: str | None = None
    generated_texts: str | None = None
    generated_tokens: list[Any] | None = None


def read(
    sources: Sequence[Path],
    *,
    node_line: str | Sequence[str] = (),
    module: str | Sequence[str] = (),
    retrieval: str | None = None,
) -> Imported:
    """The questions of a project and what a trial of it returned; or of a qa and a corpus table alone.

    sources    a project, a trial, or the folder of one; and the qa and corpus tables where they are not found there
    node_line  the node lines to take; all of them where none is named
    module     what to take in place of AutoRAG's choice of a node, as "passage_reranker=1" for its 1.parquet
    retrieval  which retrieval node is the retriever; the last one that ran where none is named

    The prompt becomes `context_ids` where the texts of the last passages stand in it word for word, `context`
    otherwise. AutoRAG's own figures of each question stay in its record, as `autorag`.

    Raises DatasetError for a source that is none of these, SettingsError for an option that names what is not there.
    """
    notices = Notices()
    trial, files = _found(sources)
    tables = Tables(files, notices)
    nodes = _readable(nodes_of(trial, _listed(node_line), _listed(module), notices) if trial else [], notices)
    if trial and not tables.complete:
        tables.search(tables_beside(trial))
    queries = _questions(nodes, tables, notices)
    returned = {node.kind: _returned(node, list(queries), notices) for node in nodes}
    retriever = _retriever(nodes, retrieval, notices)
    _tell_dropped(nodes, notices)
    _keep_figures(nodes, queries)
    corpus = tables.corpus(_ids(queries, returned), given_only=trial is None)
    _fill_all(queries, returned, retriever, corpus)
    if trial:
        seen = {name for rows in returned.values() for name in rows}
        for name in queries.keys() - seen:
            queries[name]["error"] = _ABSENT
    corpus.tell(notices)
    return Imported(list(queries.values()), corpus.chunks() or None, notices=notices)


def _listed(names: str | Sequence[str]) -> Sequence[str]:
    """One name alone is a list of one."""
    return [names] if isinstance(names, str) else names


def _found(sources: Sequence[Path]) -> tuple[Path | None, list[Path]]:
    """The trial, and the tables that were named or stand in a folder without one."""
    trials: list[Path] = []
    files: list[Path] = []
    for path in sources:
        trial = trial_of(path) if path.is_dir() else None
        if trial is not None:
            trials.append(trial)
        elif path.is_dir():
            inside = sorted([*path.glob("*.parquet"), *path.glob("data/*.parquet")])
            if not inside:
                raise DatasetError(str(path), "must be an AutoRAG project or trial, got a folder without its tables.")
            files += inside
        else:
            files.append(path)
    if len(trials) > 1:
        raise DatasetError(str(trials[1]), "must be the only trial, got two. Import them one by one.")
    return trials[0] if trials else None, files


def _readable(nodes: Sequence[Node], notices: Notices) -> list[Node]:
    """The nodes whose tables can be read."""
    kept = []
    for node in nodes:
        try:
            node.rows  # noqa: B018  # read here, and kept
        except DatasetError as error:  # its own name says little: the tables of all nodes are called alike
            notices.add(_BROKEN, [f"{node.name}: {error.rule}".removesuffix(".")])
            continue
        kept.append(node)
    return kept


# --- questions ------------------------------------------------------------------------------------


def _questions(nodes: Sequence[Node], tables: Tables, notices: Notices) -> dict[str, Record]:
    """{qid: its record so far}, of the trial and of the qa table that was named; else of one that was found."""
    queries: dict[str, Record] = {}
    trial = next((node for node in reversed(nodes) if node.best), None)
    if trial is not None:
        _collect(trial.rows, trial.name, queries, notices, again=False)
    for path, rows in tables.questions(given_only=trial is not None):
        _collect(rows, path.name, queries, notices, again=trial is not None)
    if not queries:
        raise DatasetError("qa.parquet", "must say what was asked, got no table with qid and query. Name its file.")
    return queries


def _collect(rows: Sequence[Cells], name: str, queries: dict[str, Record], notices: Notices, again: bool) -> None:
    """`again`: that a question is there already is no news."""
    values = ((f"{name} row {i}", _plain_gold(row)) for i, row in enumerate(rows, 1))
    for _, row in readable(Question, values, notices):
        if row.qid not in queries:
            queries[row.qid] = _query(row, notices)
        elif not again:
            notices.add(TWICE, [row.qid])


def _plain_gold(row: Cells) -> Cells:
    """Gold labels as lists of lists; older tables have one text, or one list of ids. Empty ids are none."""
    row = dict(row)
    if isinstance(row.get("generation_gt"), str):
        row["generation_gt"] = [row["generation_gt"]]
    groups = row.get("retrieval_gt")
    if isinstance(groups, list):
        if groups and not any(isinstance(group, list) for group in groups):
            groups = [[name] for name in groups]
        row["retrieval_gt"] = [
            [name for name in group if name not in ("", None)] if isinstance(group, list) else group for group in groups
        ]
    return row


def _query(row: Question, notices: Notices) -> Record:
    query: Record = {"id": row.qid}
    if row.query is not None:
        query["question"] = row.query
    if row.retrieval_gt is not None:
        query["expected_chunk_ids"] = list(dict.fromkeys(name for group in row.retrieval_gt for name in group))
        if any(len(set(group)) > 1 for group in row.retrieval_gt):
            query["retrieval_gt"] = row.retrieval_gt
            notices.add(_GROUPS, [row.qid])
    if row.generation_gt is not None:
        query["expected_answers"] = row.generation_gt
    if row.queries is not None:
        query["expanded_queries"] = row.queries
    return query


# --- what the nodes returned ----------------------------------------------------------------------


def _returned(node: Node, qids: Sequence[str], notices: Notices) -> dict[str, Returned]:
    """{qid: row} of a node: by its qid column, else row by row."""
    rows = node.rows
    named = bool(rows) and "qid" in rows[0]
    if not named and len(rows) != len(qids):
        notices.add(_NO_ROWS, [f"{node.name} ({count_text(len(rows), 'row')}, {count_text(len(qids), 'question')})"])
        return {}
    places = [str(row["qid"]) for row in rows] if named else qids
    values = [(f"{node.name} row {i}", _own(node, row)) for i, row in enumerate(rows, 1)]
    of_place = dict(zip((where for where, _ in values), places, strict=True))
    try:
        return {of_place[where]: row for where, row in readable(Returned, values, notices)}
    except DatasetError as error:  # not one of its rows can be read
        notices.add(_BROKEN, [str(error).removesuffix(".")])
        return {}


def _own(node: Node, row: Cells) -> Cells:
    """The row with the lists of this node under their plain names; those of lexical search may end in _lexical."""
    end = "_" + node.kind.removesuffix("_retrieval")
    return row | {key.removesuffix(end): value for key, value in row.items() if key.endswith(end)}


def _keep_figures(nodes: Sequence[Node], queries: dict[str, Record]) -> None:
    """AutoRAG's own figures of each question; those of a module that is not its choice are told apart by the node."""
    for node in nodes:
        if len(node.rows) != len(queries) and not any("qid" in row for row in node.rows):
            continue
        for qid, row in zip(queries, node.rows, strict=False):
            figures = {key: value for key, value in row.items() if isinstance(value, float) and isfinite(value)}
            named = figures if node.best else {f"{node.kind}.{key}": value for key, value in figures.items()}
            if named:
                queries.get(str(row.get("qid", qid)), {}).setdefault("autorag", {}).update(named)


def _retriever(nodes: Sequence[Node], wanted: str | None, notices: Notices) -> str | None:
    there = [node.kind for node in nodes if node.kind in RETRIEVAL]
    if wanted is not None and wanted not in there:
        raise SettingsError(f"retrieval: {wanted!r} is no retrieval node of the chosen lines{nearest(wanted, there)}.")
    if wanted is None and len(there) > 1:
        notices.add(f"of several retrieval nodes the retriever is {there[-1]} (say which with retrieval).")
    return wanted or (there[-1] if there else None)


def _tell_dropped(nodes: Sequence[Node], notices: Notices) -> None:
    """The lists of a node that no key is for."""
    rows = [next(iter(node.rows), {}) for node in nodes]
    unused = {key for row in rows for key, value in row.items() if key not in _KEPT and not isinstance(value, float)}
    notices.add(_DROPPED, unused)


# --- one record -----------------------------------------------------------------------------------


def _fill_all(
    queries: dict[str, Record], returned: dict[str, dict[str, Returned]], retriever: str | None, corpus: Corpus
) -> None:
    for rows in returned.values():
        for row in rows.values():
            corpus.learn(row.retrieved_ids, row.retrieved_contents)
    for name, query in queries.items():
        got = {kind: rows[name] for kind, rows in returned.items() if name in rows}
        _fill(query, got, retriever, corpus)


def _fill(query: Record, got: dict[str, Returned], retriever: str | None, corpus: Corpus) -> None:
    """Put what the nodes returned for a question into its record."""
    found = got.get(retriever) if retriever else None
    if found is not None and found.retrieved_ids is not None:
        query["retrieved_ids"] = found.retrieved_ids
        if found.retrieve_scores is not None:
            query["retrieved_scores"] = found.retrieve_scores
    reranked = got.get(RERANKER)
    if reranked is not None and reranked.retrieved_ids is not None:
        query["reranked_ids"] = reranked.retrieved_ids
        if reranked.retrieve_scores is not None:
            query["reranked_scores"] = reranked.retrieve_scores
    prompt = got[PROMPT].prompts if PROMPT in got else None
    if prompt is not None:
        last = [row.retrieved_ids for kind, row in got.items() if kind not in (PROMPT, GENERATOR) and row.retrieved_ids]
        query |= _context(prompt, last[-1] if last else [], corpus)
    answer = got.get(GENERATOR)
    if answer is not None and answer.generated_texts is not None:
        query["answer"] = answer.generated_texts
    if answer is not None and answer.generated_tokens is not None:
        query["output_tokens"] = len(answer.generated_tokens)


def _context(prompt: str, ids: Sequence[str], corpus: Corpus) -> Record:
    """The passages in the order of the prompt where it holds each of them whole; else the prompt itself."""
    places = {name: prompt.find(text) if (text := corpus.text_of(name)) else -1 for name in ids}
    if ids and min(places.values()) >= 0:
        return {"context_ids": sorted(places, key=lambda name: places[name]), "prompt": prompt}
    return {"context": prompt}


def _ids(queries: dict[str, Record], returned: dict[str, dict[str, Returned]]) -> set[str]:
    """All ids of passages that stand somewhere."""
    gold = {name for query in queries.values() for name in query.get("expected_chunk_ids", ())}
    return gold.union(*(row.retrieved_ids or () for rows in returned.values() for row in rows.values()))
