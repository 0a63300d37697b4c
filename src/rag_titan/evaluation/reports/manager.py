"""Reports in files: written whole or not at all, read with a sentence for whatever is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from rag_titan.errors import DatasetError
from rag_titan.evaluation.catalogue import Rows, rows_of, stage_names
from rag_titan.evaluation.limits import checked_path
from rag_titan.evaluation.reports import compare
from rag_titan.evaluation.reports.compare import TOLERANCE, Entry
from rag_titan.evaluation.reports.diff import diff
from rag_titan.evaluation.reports.failures import failed_queries
from rag_titan.evaluation.reports.form import (
    check_comparison,
    check_explorer,
    check_failing,
    check_mapping,
    check_report,
    check_reports,
)
from rag_titan.evaluation.reports.html import html
from rag_titan.evaluation.reports.markdown import markdown
from rag_titan.evaluation.reports.pairing import Report, stored_at
from rag_titan.evaluation.writing import PathLike, write

_SURROGATE = re.compile("[\ud800-\udfff]")
_EXPANDED = 3  # levels of the JSON file that have a line for each entry


class ReportManager:
    """Saves, loads and compares reports.

    rows  the metrics there are; for metrics of your own: [*CATALOGUE.values(), mine]
    """

    def __init__(self, *, rows: Rows | None = None) -> None:
        self.rows = None if rows is None else rows_of(rows)

    def save_json(self, report: Report, path: PathLike) -> None:
        """Write the report as strict JSON (UTF-8, no NaN), atomically; parent folders are made.

        Raises DatasetError where the report holds NaN, Infinity or something that JSON has no form for, SettingsError
        where the file cannot be written.
        """
        check_mapping(report)
        write(path, to_json(report))

    def save_markdown(
        self,
        report: Report,
        path: PathLike,
        comparison: Mapping[str, Any] | None = None,
        *,
        verdict: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the report for people, atomically; parent folders are made. Raises SettingsError where it cannot.

        `comparison` is what `compare` found against a baseline; it gets a section of its own. `verdict` is
        {"passed", "text"}, how the run ended by the rules it was given; the report opens with it.
        """
        self.check(report)
        check_comparison(comparison)
        write(path, markdown(report, comparison, rows=self.rows, verdict=verdict))

    def save_html(
        self,
        report: Report,
        path: PathLike,
        comparison: Mapping[str, Any] | None = None,
        explorer: Mapping[str, Any] | None = None,
        *,
        verdict: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the report as one HTML page that needs no network, atomically; parent folders are made.

        `comparison` is what `compare` found against a baseline; `explorer` the rows of the query explorer where the
        report does not hold them (any more); `verdict` is that of `save_markdown`. Raises SettingsError where the file
        cannot be written.
        """
        self.check(report)
        check_comparison(comparison)
        check_explorer(explorer)
        write(path, html(report, comparison, explorer=explorer, rows=self.rows, verdict=verdict))

    def save_junit(
        self,
        report: Report,
        path: PathLike,
        comparison: Mapping[str, Any] | None = None,
        *,
        failures: Sequence[Mapping[str, Any]] = (),
        per_query: bool = False,
    ) -> None:
        """Write what failed as JUnit XML, atomically; parent folders are made. Raises SettingsError where it cannot.

        For `failures` and `per_query` see `reports.junit.junit`.
        """
        from rag_titan.evaluation.reports.junit import junit

        self.check(report)
        check_comparison(comparison)
        check_failing(failures)
        write(path, junit(report, comparison, failures=failures, per_query=per_query))

    def check(self, report: Report, where: str = "report") -> None:
        """Raises DatasetError with the place of the first value that a report cannot hold there.

        Whatever of this class takes a report asks it first. `where` is what the report is called in the error.
        """
        check_report(report, where, self.rows)

    def load_json(self, path: PathLike) -> dict[str, Any]:
        """The report in a file; raises DatasetError where there is none, with what is there instead.

        A Parquet file of the values of the questions is looked for beside the report as well; its place stands in
        `meta["per_query"]` then.
        """
        return load(path, self.rows)

    def compare(
        self, report: Report, baseline: Report, tolerance: float = TOLERANCE, *, primary: Iterable[str] | None = None
    ) -> Entry:
        """What got worse, better, vanished and appeared, and how sure that is; see `reports.compare.compare`.

        primary  the metrics that the comparison is about, "key" or "stage.key"; None: those of the default gates
        """
        self._check_both(report, baseline)
        return compare.compare(report, baseline, tolerance, rows=self.rows, primary=primary)

    def regressions(
        self, report: Report, baseline: Report, tolerance: float = TOLERANCE, *, primary: Iterable[str] | None = None
    ) -> list[Entry]:
        """What got worse than the baseline by more than the tolerance: [{"metric", "baseline", "current", ...}].

        Raises SettingsError where the two cannot be compared.
        """
        self._check_both(report, baseline)
        return compare.regressions(report, baseline, tolerance, rows=self.rows, primary=primary)

    def diff(
        self,
        reports: Sequence[Report],
        tolerance: float = TOLERANCE,
        *,
        names: Sequence[str] | None = None,
        primary: Iterable[str] | None = None,
    ) -> Entry:
        """The last of some reports against the first, with what the others measured; see `reports.diff.diff`."""
        reports = check_reports(reports, self.rows)
        return diff(reports, tolerance, names=names, rows=self.rows, primary=primary)

    def failed_queries(self, report: Report) -> list[Entry]:
        """One row for each question that failed: [{"query_id", "stage", "reason", ...}]."""
        self.check(report)
        return failed_queries(report)

    def trends(self, reports: Sequence[Report]) -> dict[str, float]:
        """{"stage.key": last minus first} over reports in order of time."""
        return compare.trends(check_reports(reports, self.rows), rows=self.rows)

    def _check_both(self, report: Report, baseline: Report) -> None:
        self.check(report, "current")
        self.check(baseline, "baseline")


def to_json(report: Report) -> str:
    """The report as strict JSON: an entry a line on the first levels, a query a line in the lists.

    >>> rows = [{"id": "q1"}, {"id": "q2"}]
    >>> print(to_json({"retrieval": {"summary": {"recall_at_k": 0.5}, "per_query": rows}}), end="")
    {
     "retrieval": {
      "summary": {
       "recall_at_k": 0.5
      },
      "per_query": [
       {"id": "q1"},
       {"id": "q2"}
      ]
     }
    }
    >>> to_json({"x": float("nan")})
    Traceback (most recent call last):
    rag_titan.errors.DatasetError: report.x: must be a finite number or None, got nan.
    """
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain).encode
    try:
        text = _laid_out(report, encode, 0)
    except (ValueError, TypeError, RecursionError) as error:
        raise _unwritable(report, error) from None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # lone surrogates, which have no form in UTF-8 but one in JSON
        text = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text + "\n"


def _laid_out(value: Any, encode: Callable[[Any], str], depth: int) -> str:
    pad, end = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, Mapping) and value and depth < _EXPANDED:
        entries = [f"{encode(str(key))}: {_laid_out(v, encode, depth + 1)}" for key, v in value.items()]
        return "{" + pad + ("," + pad).join(entries) + end + "}"
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return "[" + pad + ("," + pad).join(map(encode, value)) + end + "]"
    return encode(value)


def _plain(value: Any) -> Any:
    """What JSON has no form for, as plain Python: numpy numbers and arrays, mappings, tuples' kin."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"must be something that JSON can hold, got {type(value).__name__}.")


def _unwritable(report: Report, error: Exception) -> DatasetError:
    """The error with the place of the first number that is not finite, where that is the cause."""
    stack: list[tuple[str, Any]] = [("report", report)]
    seen: dict[int, Any] = {}  # a report that holds itself has no end
    while stack:
        where, value = stack.pop()
        if isinstance(value, float | np.floating) and not np.isfinite(value):
            return DatasetError(where, f"must be a finite number or None, got {float(value)!r}.")
        if not isinstance(value, Mapping | list | tuple | np.ndarray) or id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, Mapping):
            stack += [(f"{where}.{key}", v) for key, v in reversed(list(value.items()))]
        else:
            stack += [(f"{where}[{i}]", v) for i, v in reversed(list(enumerate(value)))]
    return DatasetError("report", str(error))


def load(path: PathLike, rows: Rows | None = None) -> dict[str, Any]:
    """The report in a JSON file; NaN in a file that something else wrote reads as "not measured"."""
    where = str(path)
    try:
        text = checked_path(path, "report").read_bytes().decode("utf-8-sig")
        report = json.loads(text, parse_constant=lambda _: None)
    except FileNotFoundError:
        raise DatasetError.without_data(where, "must be a report, but there is no such file.") from None
    except OSError as error:
        raise DatasetError.without_data(
            where, f"must be a file that can be read ({error.strerror or error}). Check it and its permissions."
        ) from error
    except UnicodeDecodeError:
        raise DatasetError.without_data(where, "must be a report in JSON, got bytes that are no UTF-8 text.") from None
    except json.JSONDecodeError as error:
        raise DatasetError.without_data(where, _not_json(error)) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, a thousand nested lists
        raise DatasetError.without_data(
            where, "must be a report in JSON, got something that no report holds."
        ) from None
    if isinstance(report, dict) and any(key in report for key in (*stage_names(), "scorecard", "meta")):
        check_report(report, where, rows)
        return _with_its_file(report, Path(path).parent)
    if isinstance(report, dict) and ("queries" in report or "chunks" in report):
        raise DatasetError.without_data(where, "must be a report, got a dataset. Evaluate it first.")
    raise DatasetError.without_data(where, "must be a report of rag-titan, got other JSON.")


def _with_its_file(report: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The report with the place at which the file of its questions is found: from its own folder, from the current one,
    or beside the report under its bare name, as when both were moved together."""
    named = stored_at(report)
    if named is not None:
        places = (folder / named, Path(named), folder / Path(named).name)
        with suppress(OSError):  # a name too long for a file
            found = next((place for place in places if place.is_file()), None)
            report["meta"]["per_query"] = named if found is None else str(found)
    return report


def _not_json(error: json.JSONDecodeError) -> str:
    place = f"line {error.lineno}, column {error.colno}"
    if not error.doc.strip():
        return "must be a report in JSON, got an empty file."
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return f"must be a whole report, got one that breaks off at {place}. Write it again."
    return f"must be a report in JSON, got something else at {place} ({error.msg})."
