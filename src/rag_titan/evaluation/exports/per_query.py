"""The values of each question in a report as one table: rows, CSV, Arrow, pandas, Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_titan.errors import MissingExtraError, SettingsError
from rag_titan.evaluation.data.parquet import judged_columns
from rag_titan.evaluation.limits import checked_path
from rag_titan.evaluation.reports.form import check_mapping
from rag_titan.evaluation.writing import PathLike, write

Report = Mapping[str, Any]
Row = dict[str, Any]

VERDICT = ("lost_at", "correct", "correct_by", "scenario", "why", "tags")
JUDGED = tuple(judged_columns({}))
_AS_JSON = ("correct", "why", "tags", "judge_agrees_with_funnel")


def per_query_rows(report: Report) -> list[Row]:
    """One row a question: `id`, its verdict, what a judge finds, and every metric as `stage.key`; None is not measured.

    The questions stand in the order of the report, which is that of the data. Raises SettingsError for a report that
    was made without the values of the questions (`per_query=None`).

    >>> values = [{"id": "q1", "mrr_at_k": 1.0}]
    >>> report = {"queries": [{"id": "q1", "lost_at": None}], "retrieval": {"per_query": values}}
    >>> per_query_rows(report)[0]["retrieval.mrr_at_k"]
    1.0
    """
    check_mapping(report)
    parts = {stage: part["per_query"] for stage, part in report.items() if _has_rows(part)}
    verdicts = report.get("queries")
    if not parts and not verdicts:
        rule = "must hold the values of each question, got a report without them"
        raise SettingsError(f'report: {rule}. Evaluate again with per_query="report", which is the default.')
    rows: dict[str, Row] = {}
    for verdict in verdicts or ():
        labels = {key: verdict.get(key) for key in VERDICT}
        rows[verdict["id"]] = {"id": verdict["id"]} | labels | judged_columns(verdict)
    columns = {
        f"{stage}.{key}": None for stage, part in parts.items() for key in (part[0] if part else {}) if key != "id"
    }
    for row in rows.values():
        row |= columns
    for stage, part in parts.items():
        for values in part:
            row = rows.setdefault(values["id"], {"id": values["id"], **dict.fromkeys((*VERDICT, *JUDGED)), **columns})
            row |= {f"{stage}.{key}": value for key, value in values.items() if key != "id"}
    return list(rows.values())


def _has_rows(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("per_query"), list)


def per_query_table(report: Report) -> Any:
    """The same as a pyarrow.Table: metrics are doubles, `why` a list of texts, `tags` a JSON text.

    Raises MissingExtraError without pyarrow.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    rows = [{**row, "tags": _json(row["tags"])} for row in per_query_rows(report)]
    texts = [(name, pa.string()) for name in ("id", "lost_at", "correct_by", "scenario", "tags", "judge_diagnosis")]
    flags = [(name, pa.bool_()) for name in ("correct", "judge_agrees_with_funnel")]
    names = list(rows[0]) if rows else ["id", *VERDICT, *JUDGED]
    known = dict([*texts, *flags, ("why", pa.list_(pa.string()))])
    return pa.Table.from_pylist(rows, schema=pa.schema([(name, known.get(name, pa.float64())) for name in names]))


def per_query_frame(report: Report) -> Any:
    """The same as a pandas.DataFrame with the ids as its index: NaN is not measured. Needs pandas, which is no part of
    rag-titan."""
    try:
        import pandas as pd
    except ImportError:
        raise SettingsError("pandas: must be installed to make a DataFrame. Run: pip install pandas") from None
    rows = per_query_rows(report)
    frame = pd.DataFrame.from_records(rows, index="id") if rows else pd.DataFrame()
    numbers = [name for name in frame.columns if "." in name]
    return frame.astype(dict.fromkeys(numbers, "float64"))


def write_per_query(report: Report, path: PathLike) -> Path:
    """Write the table as .csv or .parquet, whole or not at all; returns its path.

    In CSV an empty cell is not measured, lists and tags are JSON texts. Raises SettingsError for another ending or
    where the file cannot be written, MissingExtraError for Parquet without pyarrow.
    """
    target = checked_path(path, "path")
    suffix = target.suffix.lower()
    if suffix == ".csv":
        write(target, _csv(per_query_rows(report)))
    elif suffix == ".parquet":
        write(target, _parquet(per_query_table(report)))
    else:
        raise SettingsError(f"{target}: must end in .csv or .parquet, got {suffix or 'no ending'!r}. Rename it.")
    return target


def _csv(rows: list[Row]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["id", *VERDICT, *JUDGED], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, **{key: _json(row[key]) for key in _AS_JSON}})
    return text.getvalue()


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _parquet(table: Any) -> bytes:
    import pyarrow.parquet as pq

    data = io.BytesIO()
    pq.write_table(table, data)
    return data.getvalue()
