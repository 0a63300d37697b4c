"""The config file: `rag-titan.toml`, or `[tool.rag-titan]` in pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_titan.errors import SettingsError, nearest

OWN_FILE = "rag-titan.toml"
PROJECT_FILE = "pyproject.toml"
TOOL = "rag-titan"

_NO_CONFIG = "must be TOML as a config file has it, got something that none holds."
LARGEST = 10**9  # of K; far above any list, far below what an array's index can hold

Table = Mapping[str, Any]
Limits = Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True)
class Config:
    """What a config file sets; None, or empty, for what it leaves out.

    file            the file as errors name it; None where there is none
    stage_weights   [weights.stage]
    metric_weights  [weights.retrieval] and so on
    gates           [gates.retrieval] and so on; they fail on what is not measured, and `false` takes a gate away
    thresholds      [thresholds]; "stage.key" may also be written as a table; `false` takes one away
    columns         [columns]: where the keys of a query stand in the records that are read
    by              the tags that the results are sliced by
    primary         the metrics that a change is judged by, "key" or "stage.key"; None: those of the usual gates
    tolerance       from which change on a metric counts as worse
    require_baseline  a baseline that is named and is not there makes the run fail
    require_significant  only a change that is more than noise fails the run, and with a baseline it does
    """

    file: str | None = None
    k: int | None = None
    also_at: tuple[int, ...] = ()
    conventions: str | Table | None = None
    stages: tuple[str, ...] | None = None
    stage_weights: Mapping[str, float] = field(default_factory=dict)
    metric_weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    targets: Mapping[str, Table] = field(default_factory=dict)
    gates: Limits = field(default_factory=dict)
    thresholds: Mapping[str, float | None] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    max_error_rate: float | None = None
    columns: Table = field(default_factory=dict)
    by: tuple[str, ...] = ()
    primary: tuple[str, ...] | None = None
    tolerance: float | None = None
    require_significant: bool | None = None
    require_baseline: bool | None = None


def read_config(path: Path | None, folder: Path) -> Config:
    """The config of the file that was named, else of the folder's rag-titan.toml or pyproject.toml, else an empty one.

    Raises SettingsError for a file that is not there or is not TOML, and for a key or a value that has no meaning.
    """
    found = config_file(path, folder)
    if found is None:
        return Config()
    name = found.name if path is None else str(path)
    try:
        return _config(name, _own_part(found, _toml(found), optional=path is None))
    except RecursionError:  # tables in tables, thousands deep
        raise SettingsError(f"{found}: {_NO_CONFIG}") from None


def config_file(path: Path | None, folder: Path) -> Path | None:
    """The file that `read_config` reads; None where there is none."""
    if path is not None:
        return path
    if (folder / OWN_FILE).is_file():
        return folder / OWN_FILE
    project = folder / PROJECT_FILE
    return project if project.is_file() and TOOL.encode() in _bytes(project) else None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"{path}: must be a config file that can be read ({error.strerror}). Check its path and its permissions."
        ) from None


def _toml(path: Path) -> Table:
    data = _bytes(path)
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: must be TOML as UTF-8 text, got bytes that are none.") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: must be TOML, got something else: {error}.") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, thousands of nested lists
        raise SettingsError(f"{path}: {_NO_CONFIG}") from None


def _own_part(path: Path, whole: Table, optional: bool = False) -> Table:
    """The table of a pyproject.toml; any other file is a config file as a whole."""
    if path.name != PROJECT_FILE:
        return whole
    tools = _table(f"{path}: tool", whole.get("tool", {}))
    if TOOL not in tools and not optional:
        raise SettingsError(f"{path}: must have a table [tool.{TOOL}], got none.")
    return _table(f"{path}: tool.{TOOL}", tools.get(TOOL, {}))


def _config(file: str, table: Table) -> Config:
    known = [*_READERS, *_SECTIONS, _OF_THE_PIPELINE]
    for key in table:
        if key not in known:
            raise SettingsError(f"{file}: unknown key {key!r}{nearest(key, known)}.")
    _table(f"{file}: {_OF_THE_PIPELINE}", table.get(_OF_THE_PIPELINE, {}))
    values = {key: read(f"{file}: {key}", table[key]) for key, read in _READERS.items() if key in table}
    weights = _nested(f"{file}: weights", table.get("weights", {}))
    return Config(
        file=file,
        **values,
        stage_weights=weights.pop("stage", {}),
        metric_weights=weights,
        targets=_nested(f"{file}: targets", table.get("targets", {})),
        gates=_nested(f"{file}: gates", table.get("gates", {}), off=True),
        thresholds=dict(_flat(_table(f"{file}: thresholds", table.get("thresholds", {})))),
        columns=_table(f"{file}: columns", table.get("columns", {})),
    )


def _table(where: str, value: Any) -> Table:
    if not isinstance(value, Mapping):
        raise SettingsError(f"{where}: must be a table, got {short(value)}.")
    return value


def _nested(where: str, value: Any, off: bool = False) -> dict[str, dict[str, Any]]:
    """{stage: {metric: value}}; `false` becomes None where a value can be switched off."""
    return {
        stage: {key: None if off and item is False else item for key, item in _table(f"{where}.{stage}", table).items()}
        for stage, table in _table(where, value).items()
    }


def _flat(table: Table, before: str = "") -> Iterator[tuple[str, float | None]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", None if value is False else value


def _whole_number(where: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
        raise SettingsError(f"{where}: must be a whole number from 1 to {LARGEST}, got {short(value)}.")
    return value


def short(value: Any) -> str:
    """A value as an error shows it, however long it is."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python prints no number of more than 4,300 digits
        return f"a {type(value).__name__} that is too long to show"
    return text if len(text) <= 80 else f"{text[:60]}..."


def share(where: str, value: Any) -> float:
    """A share; raises SettingsError for anything but a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise SettingsError(f"{where}: must be a number from 0 to 1, got {short(value)}.")
    return float(value)


def tolerance(where: str, value: Any) -> float:
    """A change that counts as none; raises SettingsError for anything but a finite number from 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        raise SettingsError(f"{where}: must be a number from 0, such as 0.02, got {short(value)}.")
    return float(value)


def _switch(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise SettingsError(f"{where}: must be true or false, got {short(value)}.")
    return value


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SettingsError(f"{where}: must be text, got {short(value)}.")
    return value


def _text_or_table(where: str, value: Any) -> str | Table:
    return value if isinstance(value, Mapping) else _text(where, value)


def _listed(read: Callable[[str, Any], Any]) -> Callable[[str, Any], tuple[Any, ...]]:
    def read_list(where: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise SettingsError(f"{where}: must be a list, got {short(value)}. Write [{short(value)}].")
        return tuple(read(f"{where}[{i}]", item) for i, item in enumerate(value))

    return read_list


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "k": _whole_number,
    "also_at": _listed(_whole_number),
    "conventions": _text_or_table,
    "stages": _listed(_text),
    "required": _listed(_text),
    "max_error_rate": share,
    "by": _listed(_text),
    "primary": _listed(_text),
    "tolerance": tolerance,
    "require_significant": _switch,
    "require_baseline": _switch,
}
_SECTIONS = ("weights", "targets", "gates", "thresholds", "columns")
_OF_THE_PIPELINE = "pipeline"  # its settings, which index, ask and compare read in the same file
