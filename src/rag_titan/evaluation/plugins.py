"""Metrics of other packages: the entry-point group `rag_titan.metrics`, each entry a Metric or a sequence of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

from rag_titan.errors import SettingsError
from rag_titan.evaluation.metric import Metric

GROUP = "rag_titan.metrics"


def installed_metrics(taken: Iterable[Metric] = ()) -> tuple[Metric, ...]:
    """The rows that installed packages add, in the order of their packages' names.

    taken  rows of rag-titan's own, whose names are not free

    Raises SettingsError, naming both packages, for a name that two of them claim, and for an entry that is no Metric.
    """
    if not any(map(_may_add, sys.path)):
        return ()
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


def _may_add(place: str) -> bool:
    """True where something on this part of the path has entry points of our group, or where that cannot be seen.

    `importlib.metadata` parses those of every package, and takes a tenth of a second to be loaded and to do so.
    """
    try:
        names = os.listdir(place or ".")
    except NotADirectoryError:  # a zip file, into which only `importlib.metadata` looks
        return True
    except OSError:
        return False
    return any(GROUP.encode() in text for text in _entry_points(place, names))


def _entry_points(place: str, names: Iterable[str]) -> Iterator[bytes]:
    for name in names:
        if name.endswith((".dist-info", ".egg-info", "EGG-INFO")):
            try:
                with open(os.path.join(place, name, "entry_points.txt"), "rb") as file:
                    yield file.read()
            except OSError:
                continue  # it has none


def _rows(loaded: object, where: str) -> tuple[Metric, ...]:
    rows = (loaded,) if isinstance(loaded, Metric) else tuple(loaded) if isinstance(loaded, list | tuple) else (None,)
    checked = tuple(row for row in rows if isinstance(row, Metric))
    if len(checked) != len(rows):
        raise SettingsError(f"{where}: must be a Metric or a list of them, got {type(loaded).__name__}.")
    return checked
