"""Files and standard input, compressed or not: JSON Lines -> records, JSON -> its parts."""

from __future__ import annotations

import gzip
import io
import shutil
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Generic, TypeVar
from weakref import finalize

from msgspec import DecodeError, Raw, Struct
from msgspec.json import decode

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.decoding import Intake, RecordDecoder, RecordKind, from_json
from rag_titan.evaluation.data.malformed import utf8
from rag_titan.evaluation.data.plain import Place
from rag_titan.evaluation.data.records import Inputs
from rag_titan.evaluation.data.repeats import WRITTEN_BY_HAND, refuse_repeated
from rag_titan.evaluation.data.rows import Naming
from rag_titan.evaluation.limits import checked_path

T = TypeVar("T", bound=Struct)


@dataclass(frozen=True)
class Part:
    """A stretch of a file, whole lines each: the bytes from `start` up to `stop`; None is the end of the file."""

    start: int = 0
    stop: int | None = None


WHOLE = Part()
STDIN = "-"
_BLOCK = 1 << 17  # what is decoded of it, some hundred kilobytes, stays in the processor's cache until it is looked at
_LONGEST_LINE = 1 << 24  # bytes in which a line must end where a file is to be cut
_IN_MEMORY = 1 << 26  # of standard input; more of it goes into a temporary file
_GZIP, _BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
_FOREIGN = {
    b"PAR1": "a Parquet file. Give it a name that ends in .parquet.",
    b"PK\x03\x04": "a zip archive. Unpack it first.",
    b"\xff\xfe\0\0": "UTF-32 text. Save it as UTF-8.",  # before UTF-16, which begins alike
    b"\0\0\xfe\xff": "UTF-32 text. Save it as UTF-8.",
    b"\xff\xfe": "UTF-16 text. Save it as UTF-8.",
    b"\xfe\xff": "UTF-16 text. Save it as UTF-8.",
    b"BZh": "a bzip2 archive. Unpack it, or pack it with gzip.",
    b"\xfd7zXZ": "an xz archive. Unpack it, or pack it with gzip.",
    b"\x28\xb5\x2f\xfd": "a zstandard archive. Unpack it, or pack it with gzip.",
}


class File:
    """A file that can be read several times, or standard input ("-"), which is kept for that.

    What is compressed with gzip is decompressed, whatever its name. `name` is how errors call it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = checked_path(path, "file")
        self.is_stdin = str(path) == STDIN
        self.name = "standard input" if self.is_stdin else self.path.name or str(path)
        self._where = self.name if self.is_stdin else str(path)
        self._kept: IO[bytes] | None = None
        self._stream: IO[bytes] | None = None
        self._size = 0

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The content from its start; what the system refuses, and a broken archive, is a DatasetError."""
        try:
            with self._raw() as raw:
                self._stream, packed = raw, raw.read(2) == _GZIP
                raw.seek(0)
                yield gzip.GzipFile(fileobj=raw, mode="rb") if packed else raw  # type: ignore[misc]  # a GzipFile reads bytes
        except FileNotFoundError:
            raise DatasetError.without_data(
                str(self.path), "must be a file or a folder, got nothing there. Check the path."
            ) from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DatasetError.without_data(
                self.name, f"must be whole, got a broken gzip file ({error}). Write it again."
            ) from None
        except OSError as error:
            raise DatasetError.without_data(
                self._where, f"must be readable, got: {error.strerror or error}. Check the path and its permissions."
            ) from None
        finally:
            self._stream = None

    def share_of(self, part: Part) -> float | None:
        """How much of a part of it has been read, 0..1."""
        length = (self._size if part.stop is None else part.stop) - part.start
        if self._stream is None or self._stream.closed or not length:
            return None
        return min(1.0, (self._stream.tell() - part.start) / length)

    def parts(self, most: int, least: int) -> list[Part]:
        """The file in at most `most` parts, none of much less than `least` bytes.

        The first is longer by half of `least`: who reads it need not be started. The others are about equal. The file
        stays whole where it cannot be read from the middle (standard input, a pipe, a compressed file).
        """
        if self.is_stdin or not self.path.is_file():
            return [WHOLE]
        with self.path.open("rb") as stream:
            size = self.path.stat().st_size
            count = max(1, min(most, size // least))
            packed = stream.read(2) == _GZIP
            head = min(least // 2, size // 2)
            places = [head + (size - head) * i // count for i in range(1, count)]
            cuts = [] if packed else [_cut_after(stream, place) for place in places]
        starts = sorted({0, *(cut for cut in cuts if cut is not None)})
        return [Part(start, stop) for start, stop in zip(starts, [*starts[1:], None], strict=True)]

    @contextmanager
    def _raw(self) -> Iterator[IO[bytes]]:
        if not self.is_stdin and self.path.is_file():
            with self.path.open("rb") as stream:
                self._size = self.path.stat().st_size
                yield stream
        else:
            if self._kept is None:
                self._kept = self._spooled()
            self._kept.seek(0)
            yield self._kept

    def _spooled(self) -> IO[bytes]:
        """What can be read only once (standard input, a pipe), kept in memory or a temporary file."""
        kept: IO[bytes] = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # type: ignore[assignment]  # closed by finalize
        finalize(self, kept.close)
        if self.is_stdin:
            shutil.copyfileobj(sys.stdin.buffer, kept)
        else:
            self._refuse_device()
            with self.path.open("rb") as stream:
                shutil.copyfileobj(stream, kept)
        self._size = kept.tell()
        return kept

    def _refuse_device(self) -> None:
        """A device, such as /dev/zero, need not end, and a socket cannot be opened."""
        if self.path.exists() and not (self.path.is_fifo() or self.path.is_dir()):
            rule = "must be a file, a folder, a pipe or - (standard input), got a device or socket. Check the path."
            raise DatasetError.without_data(str(self.path), rule)


def first_line_of(file: File) -> bytes:
    """The first line that is not empty, without a byte order mark; DatasetError when the file is empty or no text."""
    with file.open() as stream:
        start = checked_start(stream.read(_BLOCK), file.name, zeros=True).lstrip()
        return start.partition(b"\n")[0] if b"\n" in start else start + stream.readline()


def checked_start(data: bytes, name: str, *, zeros: bool = False) -> bytes:
    """The same bytes without a byte order mark; DatasetError when they are no UTF-8 text by the look of them.

    zeros  a zero byte may stand there: the record that has it is refused later, by itself
    """
    for magic, what in _FOREIGN.items():
        if data.startswith(magic):
            raise DatasetError.without_data(name, f"must be JSON as UTF-8 text, got {what}")
    if not zeros and b"\0" in data[:1024]:
        raise DatasetError.without_data(
            name, "must be JSON as UTF-8 text, got zero bytes: binary data, UTF-16 or UTF-32. Save it as UTF-8."
        )
    data = data.removeprefix(_BOM)
    if not data.strip():
        raise DatasetError.without_data(name, "must hold at least one record, got an empty file.")
    return data


class LineRows(Generic[T]):
    """The records of a JSON Lines file, or of a part of it; a record's number is its line in the file, from 1."""

    def __init__(self, kind: RecordKind[T], file: File, part: Part = WHOLE) -> None:
        self.kind = kind
        self.file = file
        self.part = part
        self.naming = Naming(f"{file.name} line ", joint=": ", first=1)

    @property
    def share(self) -> float | None:
        """How much has been read in the current pass, 0..1."""
        return self.file.share_of(self.part)

    def within(self, part: Part) -> LineRows[T]:
        """The records in a part of the file."""
        return LineRows(self.kind, self.file, part)

    def headed(self, depth: int) -> LineRows[T]:
        """The same records, with no more of their rankings than the first `depth` ids."""
        return LineRows(replace(self.kind, heads=depth), self.file, self.part)

    def read(self, intake: Intake) -> Iterator[tuple[Sequence[int], Sequence[T]]]:
        """Blocks of records, each with its line."""
        decoder = RecordDecoder(self.kind, lambda number: self.naming.place(number, intake.notices), intake)
        decoder.next_line += self._lines_before()
        for block in self._blocks(intake.skip):
            yield decoder.lines(block, decoder.next_line)

    def _lines_before(self) -> int:
        """How many lines stand before this part."""
        lines, left = 0, self.part.start
        if left:
            with self.file.open() as stream:
                while left and (data := stream.read(min(_LONGEST_LINE, left))):
                    lines, left = lines + data.count(b"\n"), left - len(data)
        return lines

    def _blocks(self, skip: bool) -> Iterator[bytes]:
        """Blocks of whole lines. Empty lines at the very end of the file are none."""
        with self.file.open() as stream:
            stream.seek(self.part.start)
            pieces = self._pieces(stream)
            data = next(pieces, b"")
            if not self.part.start:
                data = checked_start(data, self.file.name, zeros=skip and _has_clean_line(data))
                self._check_form(data, skip)
            parts: list[bytes] = []
            while data:
                cut = _end_of_lines(data)
                if cut:
                    yield b"".join((*parts, data[:cut]))
                    parts.clear()
                parts.append(data[cut:])
                data = next(pieces, b"")
            rest = b"".join(parts)
            if rest.strip() or (rest and self.part.stop is not None):
                yield rest

    def _pieces(self, stream: IO[bytes]) -> Iterator[bytes]:
        """The bytes of this part, as they are read."""
        at, stop = self.part.start, self.part.stop
        while data := stream.read(_BLOCK if stop is None else min(_BLOCK, stop - at)):
            at += len(data)
            yield data

    def _check_form(self, start: bytes, skip: bool) -> None:
        """Refuse a file that is one JSON value over many lines, or a whole dataset in one line.

        A list that is whole in the first of several lines is a bad record, which may be left out (`skip`).
        """
        line, _, rest = start.lstrip().partition(b"\n")
        line = line.strip()
        many = line in (b"{", b"[") or (line.startswith(b"[") and not (skip and rest.strip() and _is_whole(line)))
        if many or _is_dataset(line):
            rule = "must hold one object a line, got a single JSON value. Give it a name that ends in .json."
            raise DatasetError.without_data(self.file.name, rule)


def _has_clean_line(start: bytes) -> bool:
    """True where some line has no zero byte, as in a text with a few of them, and not in UTF-16 or a binary file."""
    return any(line.strip() and b"\0" not in line for line in start.split(b"\n"))


def _is_whole(line: bytes) -> bool:
    """True for a line that is a JSON value."""
    try:
        decode(line, type=Raw)
    except (DecodeError, RecursionError):
        return False
    return True


def _cut_after(stream: IO[bytes], place: int) -> int | None:
    """Where the first record begins that has a line before it behind `place`; None where none does for long."""
    stream.seek(place)
    data = stream.read(_LONGEST_LINE)
    found = data.find(b"\n{")
    return None if found < 0 else place + found + 1


def _end_of_lines(data: bytes) -> int:
    """Where the last line that is not empty ends; 0 where none ends."""
    cut = data.rfind(b"\n") + 1
    if cut < 2 or data[cut - 2] not in b"\n\r \t":
        return cut
    end = len(data[:cut].rstrip())
    return data.find(b"\n", end) + 1 if end else 0


def _is_dataset(line: bytes) -> bool:
    try:
        keys = decode(line, type=dict[str, Raw])
    except (DecodeError, RecursionError):
        return False
    return "id" not in keys and "queries" in keys


def is_lines(file: File) -> bool:
    """True where a file without a telling name holds JSON Lines: its first line alone is a record."""
    try:
        keys = decode(first_line_of(file), type=dict[str, Raw])
    except (DecodeError, RecursionError):
        return False
    return "id" in keys or not keys.keys() & set(Inputs.__struct_fields__)


def read_json(file: File, *, unique: bool = False) -> tuple[Any, bool]:
    """The value of a JSON file one level deep, and whether its parts are still JSON texts (msgspec.Raw).

    unique  refuse a key that stands twice in one object, in a file that a person may have written

    They are not when the file holds what only Python writes (NaN, Infinity, lone surrogates).
    """
    with file.open() as stream:
        data = checked_start(stream.read(), file.name)
    if unique and len(data) <= WRITTEN_BY_HAND:
        refuse_repeated(data, Place(file.name, ": "))
    try:
        return decode(data, type=dict[str, Raw] | list[Raw]), True
    except (DecodeError, RecursionError):
        pass
    try:
        return _decoded_slowly(data, file.name), False
    except DatasetError:
        if is_lines(file) and b"\n" in data.strip():
            rule = "must hold a single JSON value, got one object a line. Give it a name that ends in .jsonl."
            raise DatasetError.without_data(file.name, rule) from None
        raise


def decoded(raw: Raw, name: str) -> Any:
    """The value of a part that is still JSON text; `name` is how an error calls it."""
    try:
        return decode(raw)
    except (DecodeError, RecursionError):
        pass
    try:
        return _decoded_slowly(bytes(raw), name)
    except DatasetError as error:  # the name may be a key that the data chose
        known = name in Inputs.__struct_fields__
        raise DatasetError(error.where, error.rule, error.redacted if known else None) from None


def _decoded_slowly(data: bytes, name: str) -> Any:
    try:
        return from_json(utf8(data, name, name), Place(name))
    except RecursionError:
        raise DatasetError.without_data(name, "must not be nested so deep that Python cannot follow.") from None


def read_bytes(file: File) -> io.BytesIO:
    """The whole content, decompressed."""
    with file.open() as stream:
        return io.BytesIO(stream.read())
