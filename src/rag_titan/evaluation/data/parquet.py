"""Parquet files -> records, and lists per query -> Parquet; the only file that imports pyarrow (extra `parquet`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from rag_titan.errors import DatasetError, MissingExtraError, SettingsError
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
        return (records_of(kind.record, records) for records in _blocks(file))

    return ValueRows(kind, Naming(f"{file.name} row ", joint=": ", first=1), blocks, total)


def parquet_cells(file: File) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file whatever its columns are, each as {column: value as Python has it}.

    Raises MissingExtraError without pyarrow, DatasetError when the file is no Parquet.
    """
    for records in _blocks(file):
        yield from records


def _blocks(file: File) -> Iterator[list[dict[str, Any]]]:
    with _opened(file) as parquet:
        batches = parquet.iter_batches(_BATCH)
        while True:
            with _explained(file):
                batch = next(batches, None)
                records = arrow_records(batch) if batch is not None else []
            if batch is None:
                return
            yield records


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
        raise DatasetError.without_data(str(file.path), "must be a file, got nothing there. Check the path.") from None
    except (ValueError, OSError, NotImplementedError) as error:  # ArrowInvalid, broken UTF-8, broken pages, no codec
        first = str(error).partition("\n")[0]
        redacted = f"{file.name}: must be a Parquet file that can be read. Write it again."
        raise DatasetError(file.name, f"must be a Parquet file ({first}). Write it again.", redacted) from None


def judged_columns(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """What a judge finds in a question, as columns of a table; None without verdicts of one.

    >>> judged_columns({"id": "q1", "judge": {"diagnosis": "hallucination", "agrees_with_funnel": True}})
    {'judge_diagnosis': 'hallucination', 'judge_agrees_with_funnel': True}
    """
    said = verdict.get("judge") or {}
    return {"judge_diagnosis": said.get("diagnosis"), "judge_agrees_with_funnel": said.get("agrees_with_funnel")}


class QueryWriter:
    """Lists per query -> one Parquet file, a batch at a time: a row a query, a column `stage.key` for each metric.

    The file appears at its place when it is complete, so that nobody reads half of it.

    path     where it goes; missing folders are made
    numbers  the columns of metric values, in order

    Raises MissingExtraError without pyarrow, and SettingsError where the file cannot be written.
    """

    def __init__(self, path: Path, numbers: Sequence[str]) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise MissingExtraError("pyarrow", "parquet") from None
        texts = [(name, pa.string()) for name in ("lost_at", "correct_by", "scenario", "tags", "judge_diagnosis")]
        flags = [(name, pa.bool_()) for name in ("correct", "judge_agrees_with_funnel")]
        lists = [*flags, ("why", pa.list_(pa.string()))]
        self.path = path
        self._numbers = list(numbers)
        self._schema = pa.schema([("id", pa.string()), *texts, *lists, *((name, pa.float64()) for name in numbers)])
        self._batch: Any = pa.RecordBatch.from_pylist
        self._place = Path(os.path.realpath(path))  # a link stays a link
        _refuse_irregular(path)
        try:
            self._place.parent.mkdir(parents=True, exist_ok=True)
            self._unfinished = _draft(self._place)
        except OSError as error:
            raise _not_written(path, error) from None
        try:
            self._writer = pq.ParquetWriter(str(self._unfinished), self._schema)
        except BaseException:
            self._unfinished.unlink(missing_ok=True)
            raise

    def write(self, rows: Mapping[Any, Sequence[Mapping[str, Any]]], verdicts: Sequence[Mapping[str, Any]]) -> None:
        """One batch: {stage: [{"id", key: value}]} and the verdicts of the same queries, in the same order."""
        records = []
        for i, verdict in enumerate(verdicts):
            tags = json.dumps(verdict["tags"]) if verdict["tags"] else None
            record = {**verdict, "tags": tags, **judged_columns(verdict)}
            for stage, of_stage in rows.items():
                record |= {f"{stage}.{key}": value for key, value in of_stage[i].items() if key != "id"}
            records.append(record)
        try:
            self._writer.write_batch(self._batch(records, schema=self._schema))
        except OSError as error:
            raise _not_written(self.path, error) from None

    def close(self) -> None:
        """Put the file in its place; raises SettingsError where something else has come to stand there."""
        try:
            self._writer.close()
            _refuse_irregular(self.path)
            if self._place.is_file():
                self._unfinished.chmod(self._place.stat().st_mode & 0o7777)
            self._unfinished.replace(self._place)
        except OSError as error:
            raise _not_written(self.path, error) from None

    def discard(self) -> None:
        """Leave nothing behind, whatever state it is in."""
        with suppress(OSError, ValueError):
            self._writer.close()
        self._unfinished.unlink(missing_ok=True)


def _draft(place: Path) -> Path:
    """An empty file of a name that no other run has, in the same folder, with the permissions of any new file."""
    draft = place.with_name(f".rag-titan-{os.urandom(16).hex()}.tmp")
    draft.touch(exist_ok=False)
    return draft


def _refuse_irregular(path: Path) -> None:
    """A device, a folder, a pipe or a socket is never replaced."""
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a device, a pipe or a socket"
        raise SettingsError(f"{path}: must be an ordinary file, got {what}. Choose another path.")


def _not_written(path: Path, error: OSError) -> SettingsError:
    reason = error.strerror or str(error).partition("\n")[0]
    return SettingsError(f"{path}: must be a file that can be written ({reason}). Choose another path.")
