"""The files of an AutoRAG project: which trial, which nodes in which order, and the rows of the module that was chosen.

PROJECT/data/corpus.parquet, qa.parquet
PROJECT/0/                              a trial; summary.csv names its node lines
PROJECT/0/NODE LINE/NODE TYPE/          summary.csv, 0.parquet, 1.parquet, ... and best_0.parquet
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError, SettingsError, nearest
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.parquet import parquet_cells

RETRIEVAL = ("retrieval", "lexical_retrieval", "semantic_retrieval", "hybrid_retrieval")
RERANKER, PROMPT, GENERATOR = "passage_reranker", "prompt_maker", "generator"
NODES = (
    "query_expansion", *RETRIEVAL, "passage_augmenter", RERANKER, "passage_filter", "passage_compressor",
    PROMPT, GENERATOR,
)  # fmt: skip
"""The types of nodes in the order in which AutoRAG runs them."""

_BEST = "best_*.parquet"

Cells = dict[str, Any]


@dataclass(frozen=True)
class Node:
    """A node of a trial: its type, its folder, and the table that was chosen of it.

    best  the table is AutoRAG's choice, and so has the columns of all nodes before it
    """

    kind: str
    folder: Path
    table: Path
    best: bool

    @cached_property
    def rows(self) -> list[Cells]:
        """The rows of the chosen module, in the order of the questions."""
        return list(parquet_cells(File(self.table)))

    @property
    def name(self) -> str:
        """The table as errors and notices call it."""
        return f"{self.folder.name}/{self.table.name}"


def trial_of(folder: Path) -> Path | None:
    """The trial in a folder: itself, the latest of a project, or the only one inside; None if there is none.

    Raises DatasetError where there are several to choose from.
    """
    if _is_trial(folder):
        return folder
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and _is_trial(path))
    numbered = [path for path in inside if path.name.isdecimal()]
    if numbered:
        return max(numbered, key=lambda path: int(path.name))
    if len(inside) > 1:
        names = ", ".join(path.name for path in inside[:8])
        raise DatasetError(str(folder), f"must hold one AutoRAG trial, got several: {names}. Name one of them.")
    return inside[0] if inside else None


def _is_trial(folder: Path) -> bool:
    return next(_node_folders(folder), None) is not None


def _node_folders(trial: Path) -> Iterator[Path]:
    """The folders of nodes, LINE/TYPE."""
    for kind in NODES:
        yield from (path for path in sorted(trial.glob(f"*/{kind}")) if path.is_dir())


def nodes_of(trial: Path, node_line: Sequence[str], module: Sequence[str], notices: Notices) -> list[Node]:
    """The nodes of a trial in the order in which they ran, of each type one.

    node_line  the node lines to take; all of them where none is named
    module     what to take in place of AutoRAG's choice, as "passage_reranker=1" for its 1.parquet

    Raises SettingsError for a line or module that is not there. A node without a table is told.
    """
    lines = _lines(trial, node_line)
    chosen = _modules(module)
    nodes: dict[str, Node] = {}
    for kind in NODES:
        folders = [trial / line / kind for line in lines if (trial / line / kind).is_dir()]
        for folder in folders:
            node = _node(kind, folder, chosen.pop(kind, None), notices)
            if node is not None:
                nodes[kind] = node
        if len(folders) > 1:
            where = ", ".join(folder.parent.name for folder in folders)
            sentence = f"several node lines have a {kind}, and the last one counts (say which with node_line): {{ids}}."
            notices.add(sentence, [where])
    if chosen:
        kind = next(iter(chosen))
        raise SettingsError(f"module: {kind!r} is no node of the chosen lines{nearest(kind, nodes)}.")
    return list(nodes.values())


def _lines(trial: Path, wanted: Sequence[str]) -> list[str]:
    """The node lines in the order of the trial's summary; those it does not name come last."""
    there = sorted({folder.parent.name for folder in _node_folders(trial)})
    summary = trial / "summary.csv"
    named: list[str] = []
    if summary.is_file():
        with File(summary).open() as stream:
            text = stream.read().decode("utf-8-sig", "replace")
        named = [row.get("node_line_name") or "" for row in csv.DictReader(text.splitlines())]
    order = [line for line in dict.fromkeys([*named, *there]) if line in there]
    for line in wanted:
        if line not in order:
            raise SettingsError(f"node_line: {line!r} is no node line of {trial.name}{nearest(line, order)}.")
    return [line for line in order if not wanted or line in wanted]


def _modules(module: Sequence[str]) -> dict[str, str]:
    chosen = {}
    for text in module:
        kind, given, name = text.partition("=")
        if not given or not kind.strip() or not name.strip():
            raise SettingsError(f"module: must be NODE=FILE, as passage_reranker=1, got {text!r}.")
        chosen[kind.strip()] = name.strip().removesuffix(".parquet")
    return chosen


def _node(kind: str, folder: Path, module: str | None, notices: Notices) -> Node | None:
    if module is not None:
        table = folder / f"{module}.parquet"
        if not table.is_file():
            there = ", ".join(sorted(path.stem for path in folder.glob("*.parquet"))) or "none"
            raise SettingsError(f"module: {kind} has no {table.name}; there are {there}.")
        return Node(kind, folder, table, module.startswith("best_"))
    best = sorted(folder.glob(_BEST))
    if not best:
        notices.add("nodes without a best_*.parquet were left out (say which module with module): {ids}.", [kind])
        return None
    return Node(kind, folder, best[0], best=True)


def tables_beside(trial: Path) -> list[Path]:
    """The Parquet files in which the questions and the corpus may stand: the project's data, else those beside it."""
    places = [trial.parent / "data", trial.parent, trial.parent.parent / "data"]
    return list(dict.fromkeys(path for place in places if place.is_dir() for path in sorted(place.glob("*.parquet"))))
