"""The values of each question that a run wrote into a Parquet file; the only file of the reports that imports pyarrow
(extra `parquet`)."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError, MissingExtraError


def stored_columns(path: Path, names: Collection[str]) -> dict[str, Any]:
    """The columns of these names: numbers as float64 arrays with NaN for null, others as lists; what the file does not
    have is left out.

    Raises MissingExtraError without pyarrow, DatasetError where there is no such file, or it is no Parquet.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    try:
        parquet = pyarrow.parquet.ParquetFile(path, pre_buffer=False)
        found = parquet.read(columns=[name for name in parquet.schema_arrow.names if name in names])
        return {name: _plain(pyarrow, found.column(name)) for name in dict.fromkeys(found.column_names)}
    except FileNotFoundError:
        raise DatasetError(str(path), "must be there, but there is no such file.") from None
    except (ValueError, OSError, NotImplementedError, KeyError) as error:  # no Parquet, broken pages, a name twice
        first = str(error).partition("\n")[0]
        raise DatasetError(str(path), f"must be a Parquet file ({first}).") from None


def _plain(pyarrow: Any, column: Any) -> Any:
    if pyarrow.types.is_floating(column.type) or pyarrow.types.is_integer(column.type):
        return column.cast(pyarrow.float64(), safe=False).to_numpy()
    return column.to_pylist()
