"""Parquet files -> records; the only file that imports pyarrow (extra `parquet`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec import Struct

from rag_titan.errors import DatasetError, MissingExtraError
from rag_titan.evaluation.data.decoding import RecordKind
from rag_titan.evaluation.data.files import File, read_bytes
from rag_titan.evaluation.data.frames import arrow_records, records_of
from rag_titan.evaluation.data.rows import Naming, ValueRows

T = TypeVar("T", bound=Struct)

_BATCH = 2048


def parquet_rows(kind: RecordKind[T], file: File) -> ValueRows[T]:
    """The rows of a Parquet file, a batch in memory at a time (the whole file when it is compressed with gzip).

    Raises MissingExtraError without pyarrow, DatasetError when the file is no Parquet.
    """
    with _opened(file) as parquet:
        total = parquet.metadata.num_rows

    def blocks() -> Iterator[Sequence[Any]]:
        with _opened(file) as parquet:
            batches = parquet.iter_batches(_BATCH)
            while True:
                with _explained(file):
                    batch = next(batches, None)
                    records = arrow_records(batch) if batch is not None else []
                if batch is None:
                    return
                yield records_of(kind.record, records)

    return ValueRows(kind, Naming(f"{file.name} row ", joint=": ", first=1), blocks, total)


def _opened(file: File) -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    source: Any = file.path if file.path.suffix == ".parquet" else read_bytes(file)
    with _explained(file):
        return pyarrow.parquet.ParquetFile(source, pre_buffer=False)


@contextmanager
def _explained(file: File) -> Iterator[None]:
    """What pyarrow refuses as a DatasetError."""
    try:
        yield
    except FileNotFoundError:
        raise DatasetError(str(file.path), "must be a file, got nothing there. Check the path.") from None
    except (ValueError, OSError, NotImplementedError) as error:  # ArrowInvalid, broken UTF-8, broken pages, no codec
        first = str(error).partition("\n")[0]
        raise DatasetError(file.name, f"must be a Parquet file ({first}). Write it again.") from None
