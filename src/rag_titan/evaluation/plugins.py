"""Metrics of other packages: the entry-point group `rag_titan.metrics`, each entry a Metric or a sequence of them."""

from __future__ import annotations

from collections.abc import Iterable

from rag_titan.errors import SettingsError
from rag_titan.evaluation.metric import Metric

GROUP = "rag_titan.metrics"


def installed_metrics(taken: Iterable[Metric] = ()) -> tuple[Metric, ...]:
    """The rows that installed packages add, in the order of their packages' names.

    taken  rows of rag-titan's own, whose names are not free

    Raises SettingsError, naming both packages, for a name that two of them claim, and for an entry that is no Metric.
    """
    from importlib.metadata import entry_points

    owners = {row.name: "rag-titan" for row in taken}
    rows: list[Metric] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (e.dist.name if e.dist else "", e.name)):
        package = entry.dist.name if entry.dist else entry.module
        for row in _rows(entry.load(), f"{package}: {entry.name}"):
            if row.name in owners:
                raise SettingsError(f"metric {row.name}: {package} and {owners[row.name]} both define it; remove one.")
            owners[row.name] = package
            rows.append(row)
    return tuple(rows)


def _rows(loaded: object, where: str) -> tuple[Metric, ...]:
    rows = (loaded,) if isinstance(loaded, Metric) else tuple(loaded) if isinstance(loaded, list | tuple) else (None,)
    checked = tuple(row for row in rows if isinstance(row, Metric))
    if len(checked) != len(rows):
        raise SettingsError(f"{where}: must be a Metric or a list of them, got {type(loaded).__name__}.")
    return checked
