"""Rows of the caller's own, checked when they are passed, and each array that their `compute` returns.

The rows of the catalogue are held to the same rules by its tests, so that they pay for no check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rag_titan.errors import RagTitanError, SettingsError, nearest
from rag_titan.evaluation.metric import Floats, Kind, Metric, Reduce, Stage

SLACK = 1e-9  # of a sum of floats at the end of its range
TAKEN = ("id", "detail", "per_query", "warnings")  # keys of a report that stand beside those of the metrics


@dataclass(frozen=True, eq=False)
class Checked:
    """A `compute` of the caller's, and the rows that share it.

    Raises SettingsError, naming the metric, where it raises, or returns anything but one number an item, NaN where
    there is none, each in the range of the row's kind. What rag-titan raises on purpose passes as it is.
    """

    compute: Callable[[Any], Any]
    rows: tuple[Metric, ...]

    def __call__(self, inputs: Any) -> Floats:
        row = self.rows[0]
        try:
            returned = self.compute(inputs)
        except RagTitanError:
            raise
        except Exception as error:
            raise _refused(row, f"a {type(error).__name__} ({error})") from error
        values = _numbers(row, returned)
        n = _queries(inputs) if row.per == "query" else None
        if values.ndim != 1 or (n is not None and len(values) != n):
            raise _refused(row, f"the shape {values.shape}" + ("" if n is None else f" for {n} queries"))
        for each in self.rows:
            _check_range(each, values)
        return values


def own_rows(rows: Any) -> list[Metric]:
    """The same rows, each with a `compute` that is checked; rows that share one still do.

    Raises SettingsError for what is no row, and for a row of which the key, the stage or another part cannot be.

    >>> own_rows(["recall_at_k"])
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: metrics[0]: must be a Metric, got 'recall_at_k'.
    """
    if not isinstance(rows, Iterable):
        raise SettingsError(f"metrics: must be a list of Metric, got {_short(rows)}. Write [...] around one.")
    sharing: dict[int, list[Metric]] = {}
    listed = list(rows)
    for i, row in enumerate(listed):
        _check_row(row, f"metrics[{i}]")
        sharing.setdefault(id(row.compute), []).append(row)
    checked = {key: Checked(shared[0].compute, tuple(shared)) for key, shared in sharing.items()}
    return [replace(row, compute=checked[id(row.compute)]) for row in listed]


def _check_row(row: Any, where: str) -> None:
    if not isinstance(row, Metric):
        raise SettingsError(f"{where}: must be a Metric, got {_short(row)}.")
    stages = [str(stage) for stage in Stage]
    if row.stage not in stages:
        raise SettingsError(f"{where}.stage: unknown stage {str(row.stage)!r}{nearest(str(row.stage), stages)}.")
    for part, key in (("key", row.key), ("item", row.item_key)):
        if not isinstance(key, str) or not key or key in TAKEN:
            raise SettingsError(f"{where}.{part}: must be a name other than {', '.join(TAKEN)}, got {_short(key)}.")
    for part, kind in (("kind", Kind), ("reduce", Reduce)):
        if not isinstance(getattr(row, part), kind):
            rule = f"must be a {kind.__name__}, got {_short(getattr(row, part))}."
            raise SettingsError(f"metric {row.name}: {part} {rule}")
    if not callable(row.compute):
        raise SettingsError(f"metric {row.name}: compute must be callable, got {_short(row.compute)}.")


def _numbers(row: Metric, returned: Any) -> Floats:
    try:
        given = np.asarray(returned)
        if given.dtype.kind not in "fiubO" or any(isinstance(value, str | bytes) for value in given.ravel().tolist()):
            raise TypeError
        values: Floats = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _refused(row, _short(returned)) from None
    if values.ndim == 0:
        raise _refused(row, _short(returned))
    return values


def _check_range(row: Metric, values: Floats) -> None:
    low, high = row.kind.low - SLACK, row.kind.high + SLACK
    wrong = np.flatnonzero(np.isinf(values) | (values < low) | (values > high))
    if len(wrong):
        rule = f"compute must return numbers from {row.kind.low:g} to {row.kind.high:g} ({row.kind.name}), or NaN"
        at = int(wrong[0])
        raise SettingsError(f"metric {row.name}: {rule}, got {values[at]:g} as element {at}.")


def _queries(inputs: Any) -> int | None:
    """How many queries the inputs of a stage have; None where it is not computed query by query."""
    table = getattr(inputs, "table", None)
    if table is None:
        return None
    return len(getattr(table, "query_ids", table))


def _refused(row: Metric, got: str) -> SettingsError:
    many = "one number a query (n,)" if row.per == "query" else f"a one-dimensional array, one number a {row.per}"
    return SettingsError(f"metric {row.name}: compute must return {many}, got {got}.")


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"
