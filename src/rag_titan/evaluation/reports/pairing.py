"""What is put side by side: the values of two reports, and of the questions that are in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import RagTitanError
from rag_titan.evaluation.catalogue import Rows, stage_names, value_of, values_of
from rag_titan.evaluation.limits import finite
from rag_titan.evaluation.measures.latency import Sample
from rag_titan.evaluation.measures.sums import Moments
from rag_titan.evaluation.metric import MEAN, Metric
from rag_titan.evaluation.reports.figures import count_text
from rag_titan.evaluation.reports.parquet import stored_columns

Report = Mapping[str, Any]
Places = dict[str, float]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SAME = 1e-6  # a mean of the values of a file, as a share, against that of the report the file belongs to


@dataclass(frozen=True)
class Items:
    """The values of each question of a report.

    ids      the questions, in the order of the report
    columns  {"stage.item key": (n,) float64, NaN where not measured}
    missing  why there are none, where there are none
    """

    ids: Sequence[str] = ()
    columns: Mapping[str, Floats] = field(default_factory=dict)
    missing: str | None = None

    @property
    def stages(self) -> set[str]:
        """The stages that have values of questions."""
        return {name.partition(".")[0] for name in self.columns}


@dataclass
class Pair:
    """The values of two reports that can be held against each other, by "stage.key".

    current, baseline    the values of their questions
    places               the places of the shared questions in the one and in the other, in the same order
    questions            how many each has, and how many both have; empty where a report does not say
    """

    now: Places = field(default_factory=dict)
    before: Places = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    questions: dict[str, int] = field(default_factory=dict)
    current: Items = field(default_factory=Items)
    baseline: Items = field(default_factory=Items)
    places: tuple[Ints, Ints] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def columns(self, row: Metric) -> tuple[Floats, Floats] | None:
        """The values of the shared questions, now and before; None where a report does not hold them."""
        name = item_name(row)
        if name not in self.current.columns or name not in self.baseline.columns:
            return None
        now, before = self.places
        return self.current.columns[name][now], self.baseline.columns[name][before]

    @property
    def missing(self) -> str | None:
        """Why there are no values of questions in both."""
        sides = (("the current report", self.current), ("the baseline", self.baseline))
        return next((f"{side} {items.missing}" for side, items in sides if items.missing), None)


def pair_of(current: Report, baseline: Report, rows: Rows) -> Pair:
    """Two reports side by side; where only some questions are in both, values of questions are taken over these.

    >>> now, before = (
    ...     {"retrieval": {"summary": {}, "per_query": [{"id": name, "mrr_at_k": 1.0} for name in names]}}
    ...     for names in ("ab", "bc")
    ... )
    >>> pair_of(now, before, ()).questions
    {'current': 2, 'baseline': 2, 'shared': 1}
    """
    pair = Pair(values_of(current, rows), values_of(baseline, rows))
    pair.current, pair.baseline = items_of(current, rows), items_of(baseline, rows)
    if not len(pair.current.ids) or not len(pair.baseline.ids):
        return pair
    place = {query: i for i, query in enumerate(pair.baseline.ids)}
    shared = [(i, place[query]) for i, query in enumerate(pair.current.ids) if query in place]
    now, before = np.array(shared, dtype=np.int64).reshape(-1, 2).T
    pair.places = now, before
    pair.questions = {"current": len(pair.current.ids), "baseline": len(pair.baseline.ids), "shared": len(shared)}
    if len(shared) < max(pair.questions["current"], pair.questions["baseline"]):
        number = f"{count_text(len(shared), 'question')} {'is' if len(shared) == 1 else 'are'}"
        pair.notes.append(
            f"Only {number} in both reports ({pair.questions['current']} now, "
            f"{pair.questions['baseline']} in the baseline): metrics of questions are compared over these."
        )
        _over_the_shared(pair, rows)
    return pair


def _over_the_shared(pair: Pair, rows: Rows) -> None:
    """Sets the values of questions to what they are over the shared ones; what an older report lacks stays."""
    both = pair.current.stages & pair.baseline.stages
    for values, items, places in (
        (pair.now, pair.current, pair.places[0]),
        (pair.before, pair.baseline, pair.places[1]),
    ):
        for row in rows:
            name = item_name(row)
            if row.per != "query" or str(row.stage) not in both or name not in items.columns:
                continue
            values.pop(row.name, None)
            column = items.columns[name][places]
            value = finite(row.reduce.value(Moments.of(column), Sample.of(column)))
            if value is not None:
                values[row.name] = value


def item_name(row: Metric) -> str:
    """Where the values of questions have those that the metric reduces."""
    return f"{row.stage}.{row.item_key}"


# --- the values of questions ---------------------------------------------------------------------


def items_of(report: Report, rows: Rows) -> Items:
    """From the lists of the report, else from the Parquet file that its `meta` names.

    A file that is gone, cannot be read here or holds the values of another run says so in `missing`.
    """
    sides = {stage: rows_by_id(report, stage) for stage in stage_names(rows)}
    ids = list(dict.fromkeys(query for by_id in sides.values() for query in by_id))
    if not ids:
        path = stored_at(report)
        return (
            Items(missing="was made without values of the questions") if path is None else _stored(path, report, rows)
        )
    columns = {}
    for stage, by_id in sides.items():
        known = {key for item in by_id.values() for key in item}
        for key in dict.fromkeys(row.item_key for row in rows if row.stage == stage and row.per == "query"):
            if key in known:
                columns[f"{stage}.{key}"] = _column(
                    [by_id[query].get(key) if query in by_id else None for query in ids]
                )
    return Items(ids, columns)


def rows_by_id(report: Report, stage: str) -> dict[str, Mapping[str, Any]]:
    """{query id: its row} of a stage's list per query; empty where the report has none."""
    rows = mapping(report.get(stage)).get("per_query")
    if not isinstance(rows, list):
        return {}
    return {str(row["id"]): row for row in rows if isinstance(row, Mapping) and "id" in row}


def stored_at(report: Report) -> str | None:
    """The file with the values of the questions that a report names."""
    path = mapping(report.get("meta")).get("per_query")
    return path if isinstance(path, str) and path and "\0" not in path else None


def _stored(path: str, report: Report, rows: Rows) -> Items:
    names = {item_name(row) for row in rows if row.per == "query"}
    try:
        found = stored_columns(Path(path), {"id", *names})
    except (RagTitanError, OSError) as error:
        return Items(missing=f"has them in a file of its own: {error}")
    ids = found.pop("id", None)
    if not isinstance(ids, list):
        return Items(missing=f"names {path}, which has no column of ids")
    columns = {name: _finite(column) for name, column in found.items() if isinstance(column, np.ndarray)}
    if not all(_agrees(row, columns, report) for row in rows):
        return Items(missing=f"names {path}, which holds the values of another run by now")
    return Items([str(query) for query in ids], columns)


def _agrees(row: Metric, columns: Mapping[str, Floats], report: Report) -> bool:
    """False where a mean of the file is not that of the report: another run wrote over it."""
    column, said = columns.get(item_name(row)), value_of(report, row.stage, row.key)
    if row.reduce is not MEAN or row.per != "query" or column is None or said is None:
        return True
    measured = column[~np.isnan(column)]
    return bool(len(measured)) and abs(float(measured.mean()) - said) <= _SAME * max(1.0, abs(said))


def _column(values: list[Any]) -> Floats:
    """(n,) the finite numbers, NaN for everything else."""
    if not {*map(type, values)} <= {float, int, NoneType}:
        values = [finite(value) for value in values]
    try:
        column = np.array(values, dtype=np.float64)  # None becomes NaN
    except OverflowError:  # a whole number of hundreds of digits
        column = np.array([finite(value) for value in values], dtype=np.float64)
    return _finite(column)


def _finite(column: Floats) -> Floats:
    return np.where(np.isfinite(column), column, np.nan)


def mapping(value: Any) -> Mapping[str, Any]:
    """A part of a report that something else may have written: itself where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}
