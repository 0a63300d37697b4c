"""Every metric of every stage by (stage, key), how a name leads to one, and where a report keeps its value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rag_titan.errors import SettingsError, UnknownMetricError
from rag_titan.evaluation.limits import finite, listed, said
from rag_titan.evaluation.metric import Metric, Stage
from rag_titan.evaluation.stages import (
    augmentation,
    chunking,
    embedding,
    end_to_end,
    generation,
    judged,
    reranking,
    retrieval,
)

Rows = Sequence[Metric]

ROWS: tuple[Metric, ...] = (
    *chunking.METRICS,
    *embedding.METRICS,
    *retrieval.METRICS,
    *reranking.METRICS,
    *augmentation.METRICS,
    *generation.METRICS,
    *end_to_end.METRICS,
    *judged.METRICS,
)


def by_place(rows: Iterable[Metric]) -> dict[tuple[str, str], Metric]:
    """{(stage, key): row}, in the order of the rows; two rows of one name are a SettingsError."""
    places: dict[tuple[str, str], Metric] = {}
    for row in rows:
        place = (str(row.stage), row.key)
        if place in places:
            raise SettingsError(f"metrics: each needs a name of its own, got {row.name} twice. Rename one.")
        places[place] = row
    return places


CATALOGUE: Mapping[tuple[str, str], Metric] = by_place(ROWS)


def rows_of(rows: Rows | None) -> Rows:
    """The metrics that somebody names, else all there are; SettingsError for what is no list of metrics.

    >>> rows_of([5])
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: rows: must be a list of Metric, got 5 in it.
    """
    if rows is None:
        return ROWS
    found = listed(rows, "rows", "Metric")
    for row in found:
        if not isinstance(row, Metric):
            raise SettingsError(f"rows: must be a list of Metric, got {said(row)} in it.")
    return found


FLAT = {str(stage): stage.flat for stage in Stage}
OPTIONAL = {str(stage) for stage in Stage if stage.optional}
LABELS = {str(stage): stage.label for stage in Stage}


def stage_names(rows: Rows = ROWS) -> list[str]:
    """The stages in pipeline order, then any other stage that the rows name."""
    return list(dict.fromkeys([*map(str, Stage), *(str(row.stage) for row in rows)]))


def label_of(stage: str) -> str:
    """The name of a stage that a report shows.

    >>> label_of("retrieval"), label_of("red_team")
    ('Information search', 'Red team')
    """
    return LABELS.get(stage, stage.replace("_", " ").capitalize())


def known_stage(name: str, rows: Rows = ROWS) -> str:
    """The stage of that name.

    >>> known_stage("retreival")
    Traceback (most recent call last):
    rag_titan.errors.UnknownMetricError: unknown stage 'retreival'; the nearest is 'retrieval'.
    """
    names = stage_names(rows)
    if name not in names:
        raise UnknownMetricError(str(name), names, what="stage")
    return str(name)


def known_metric(stage: str, key: str, rows: Rows = ROWS) -> Metric:
    """The row of that stage and key.

    >>> known_metric("retrieval", "recal_at_k")
    Traceback (most recent call last):
    rag_titan.errors.UnknownMetricError: unknown metric 'recal_at_k'; the nearest is 'recall_at_k'.
    """
    stage = known_stage(stage, rows)
    keys = {row.key: row for row in rows if row.stage == stage}
    if key not in keys:
        raise UnknownMetricError(str(key), keys)
    return keys[key]


def find(name: str, rows: Rows = ROWS) -> Metric:
    """The row named "key" or "stage.key"; a bare key that several of the seven stages have is an error that lists them.

    >>> find("recall_at_k").name, find("reranking.mrr_at_k").name
    ('retrieval.recall_at_k', 'reranking.mrr_at_k')
    >>> find("context_precision").name, find("judge.context_precision").name
    ('augmentation.context_precision', 'judge.context_precision')
    >>> find("mrr_at_k")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: metric 'mrr_at_k': must name one metric, got retrieval.mrr_at_k, ...
    """
    stage, dot, key = str(name).partition(".")
    if dot:
        return known_metric(stage, key, rows)
    found = [row for row in rows if row.key == name]
    found = [row for row in found if row.stage not in OPTIONAL] or found  # a judge's score has its stage before it
    if not found:
        raise UnknownMetricError(str(name), dict.fromkeys(row.key for row in rows))
    if len(found) > 1:
        names = ", ".join(row.name for row in found)
        raise SettingsError(f"metric {name!r}: must name one metric, got {names}. Write one of these.")
    return found[0]


def limit_is_maximum(row: Metric, where: str) -> bool:
    """True where a limit on the metric is the greatest value allowed, False where it is the least.

    Raises SettingsError for a metric of which neither more nor less is better; `where` is the limit's place.

    >>> limit_is_maximum(find("empty_rate"), "thresholds.empty_rate")
    True
    """
    if row.kind.better is None:
        raise SettingsError(f"{where}: must name a metric of which more or less is better, got {row.name}.")
    return row.kind.better == "down"


def stage_values(report: Mapping[str, Any], stage: str) -> Mapping[str, Any]:
    """{key: value} of a stage, wherever the report keeps it; empty for a stage that is absent or None.

    >>> stage_values({"retrieval": {"summary": {"recall_at_k": 1.0}}}, "retrieval")
    {'recall_at_k': 1.0}
    """
    node = report.get(stage)
    if not isinstance(node, Mapping):
        return {}
    if not FLAT.get(stage, "summary" not in node):
        node = node.get("summary")
    return node if isinstance(node, Mapping) else {}


def value_of(report: Mapping[str, Any], stage: str, key: str) -> float | None:
    """The value of a metric in a report, None where it is not measured or the report does not have it.

    >>> value_of({"end_to_end": {"answer_f1": 0.5}}, "end_to_end", "answer_f1")
    0.5
    >>> value_of({"retrieval": None}, "retrieval", "recall_at_k") is None
    True
    """
    return finite(stage_values(report, stage).get(key))


def values_of(report: Mapping[str, Any], rows: Rows = ROWS) -> dict[str, float]:
    """{"stage.key": value} of everything that the report measured, own metrics included, in pipeline order."""
    found: dict[str, float] = {}
    for stage in stage_names(rows):
        for key, value in stage_values(report, stage).items():
            if (number := finite(value)) is not None:
                found[f"{stage}.{key}"] = number
    return found
