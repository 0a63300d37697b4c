"""Files as bytes: blocks of whole lines, compression, standard input, and what they must not be."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data import files
from rag_titan.evaluation.data.decoding import QUERIES, Intake
from rag_titan.evaluation.data.files import File, LineRows, is_lines, read_json

TWO = b'{"id": "q1"}\n{"id": "q2"}\n'


def written(path: Path, data: bytes) -> File:
    path.write_bytes(data)
    return File(path)


def lines_of(file: File) -> list[tuple[int, str]]:
    found = []
    for numbers, queries in LineRows(QUERIES, file).read(Intake()):
        found += [(number, query.id) for number, query in zip(numbers, queries, strict=True)]
    return found


@given(st.lists(st.text("ab", min_size=1, max_size=40), min_size=1, max_size=8), st.booleans(), st.integers(1, 70))
def test_blocks_of_any_size_give_every_line_once(names: list[str], ends: bool, size: int) -> None:
    data = "\n".join(f'{{"id": "{name}"}}' for name in names).encode() + b"\n" * ends
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_BLOCK", size + len(names[0]) + 10)  # the first block shows the form of the file
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert lines_of(File("-")) == list(enumerate(names, 1))


@pytest.mark.parametrize(
    "data",
    [
        TWO,
        TWO.strip(),
        TWO.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + TWO,
        TWO + b"\n",
        TWO + b"\r\n \t\n\n",
        gzip.compress(TWO),
        gzip.compress(TWO[:13]) + gzip.compress(TWO[13:]),
    ],
)
def test_line_ends_byte_order_marks_and_compression(data: bytes, tmp_path: Path) -> None:
    assert lines_of(written(tmp_path / "log.jsonl", data)) == [(1, "q1"), (2, "q2")]


def test_empty_lines_between_records_keep_their_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_BLOCK", 20)
    for data, line in ((b"\n" + TWO, 1), (TWO[:13] + b"\n" + TWO[13:], 2), (TWO + b"\n\r\n  \n" + TWO, 3)):
        with pytest.raises(
            DatasetError, match=rf"^log\.jsonl line {line}: must hold a query, got an empty line\. Remove it\.$"
        ):
            lines_of(written(tmp_path / "log.jsonl", data))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "an empty file"),
        (b" \n\n", "an empty file"),
        (b"\xef\xbb\xbf", "an empty file"),
        ('{"id": 1}'.encode("utf-16"), "UTF-16 text. Save it as UTF-8"),
        ('{"id": 1}'.encode("utf-32"), "UTF-32 text. Save it as UTF-8"),
        (b"\0\0\xfe\xff" + '{"id": 1}'.encode("utf-32-be"), "UTF-32 text. Save it as UTF-8"),
        ('{"id": 1}'.encode("utf-16-be"), "zero bytes"),
        (b"\x93NUMPY\x01\x00v\x00", "zero bytes"),
        (b"PAR1\x15\x04", "a Parquet file. Give it a name that ends in .parquet"),
        (b"PK\x03\x04\x14", "a zip archive"),
        (b"BZh91AY&SY", "a bzip2 archive"),
        (b'[{"id": 1}]', "a single JSON value. Give it a name that ends in .json"),
        (b'{\n"queries": []}', "a single JSON value. Give it a name that ends in .json"),
        (b'{"queries": [{"id": 1}]}\n', "a single JSON value. Give it a name that ends in .json"),
    ],
)
def test_what_is_no_json_lines_file(data: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"^log\.jsonl: must ") as caught:
        lines_of(written(tmp_path / "log.jsonl", data))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [gzip.compress(TWO * 99)[:-20], gzip.compress(TWO)[:12], b"\x1f\x8bxx", gzip.compress(TWO)[:-8] + b"12345678"],
)
def test_broken_compression(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"^log\.jsonl\.gz: must be whole, got a broken gzip file"):
        lines_of(written(tmp_path / "log.jsonl.gz", data))


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError, match=r"no\.jsonl: must be a file or a folder, got nothing there\. Check the path\."
    ):
        lines_of(File(tmp_path / "no.jsonl"))
    with pytest.raises(DatasetError, match="must be readable, got: Is a directory"):
        lines_of(File(tmp_path))


def test_the_share_of_a_file_that_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_BLOCK", 13)
    rows = LineRows(QUERIES, written(tmp_path / "log.jsonl", TWO))
    assert rows.share is None
    assert [rows.share for _ in rows.read(Intake())] == [0.5, 1.0]


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_can_be_read_again(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(TWO) if packed else TWO
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    file = File("-")
    assert file.name == "standard input"
    for _ in range(2):
        assert lines_of(file) == [(1, "q1"), (2, "q2")]
    assert is_lines(file)


def test_so_can_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(TWO))
    writer.start()
    file = File(path)
    for _ in range(2):
        assert lines_of(file) == [(1, "q1"), (2, "q2")]
    writer.join()


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (TWO, True),
        (b'{"id": 1}', True),
        (b'{"query_id": 1}\n{"query_id": 2}', True),
        (b'{"queries": []}', False),
        (b'{"chunks": ["a"], "document_text": "a"}', False),
        (b'[{"id": 1}]', False),
        (b'{\n"id": 1}', False),
    ],
)
def test_a_file_without_a_telling_name(data: bytes, lines: bool, tmp_path: Path) -> None:
    assert is_lines(written(tmp_path / "log", data)) is lines


def test_a_first_line_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_BLOCK", 9)
    assert is_lines(written(tmp_path / "log", b"\n " + TWO))
    assert not is_lines(written(tmp_path / "log", b'{"queries": [1, 2, 3, 4, 5]}'))


def test_json_is_read_one_level_deep_where_it_is_strict(tmp_path: Path) -> None:
    value, encoded = read_json(written(tmp_path / "x.json", b'{"queries": [{"id": 1}], "k": 3}'))
    assert encoded
    assert {key: bytes(part) for key, part in value.items()} == {"queries": b'[{"id": 1}]', "k": b"3"}
    value, encoded = read_json(written(tmp_path / "x.json", b'{"queries": [{"id": 1, "latency_ms": Infinity}]}'))
    assert not encoded
    assert value == {"queries": [{"id": 1, "latency_ms": float("inf")}]}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (TWO, "x.json: must hold a single JSON value, got one object a line. Give it a name that ends in .jsonl."),
        (b'{"queries": [\n{"id": 1},\n]}', "x.json line 3: must be JSON, got a comma before ]. Remove the comma."),
        (
            b'{"queries": [\n{"id": 1}',
            "x.json line 2: must be JSON, but it ends in the middle: the file seems to be cut off.",
        ),
        (b'{"queries": ["\xe4", NaN]}', "x.json: must be UTF-8, got the byte 0xe4 as byte 15. Save the file as UTF-8."),
        (b"[" * 100_000, "x.json: must not be nested so deep that Python cannot follow."),
        (b"", "x.json: must hold at least one record, got an empty file."),
    ],
)
def test_what_is_no_json_file(data: bytes, text: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        read_json(written(tmp_path / "x.json", data))
    assert str(caught.value).startswith(text)


def test_memory_is_bounded_by_the_batch(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    ranked = ",".join(f'"document {i}"' for i in range(200))
    with path.open("w") as stream:
        for i in range(8_000):
            stream.write(
                f'{{"id": {i}, "note": "x", "retrieved_ids": [{ranked}]}}\n'.replace(f'"id": {i}', f'"id": "{i}"')
            )
    code = (
        "import resource, sys\n"
        "from rag_titan.evaluation.data.read import open_dataset\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak()\n"
        f"n = sum(len(batch) for batch in open_dataset({str(path)!r}).queries.batches(1000))\n"
        "print(n, peak() - before)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    n, kilobytes = map(int, run.stdout.split())
    assert n == 8_000
    assert kilobytes < 60_000, "the file has 29 MB of text, which is 120 MB of Python objects"


def test_nothing_of_the_directory_is_touched(tmp_path: Path) -> None:
    file = written(tmp_path / "log.jsonl", TWO)
    before: list[Any] = [(path.name, path.stat().st_mtime_ns) for path in tmp_path.iterdir()]
    lines_of(file)
    assert [(path.name, path.stat().st_mtime_ns) for path in tmp_path.iterdir()] == before


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (b'{"id": "a\0"}\n' + TWO, [2, 3]),
        (TWO + b"\0\n", [1, 2]),
        (b"[1]\n" + TWO, [2, 3]),
        (b'["a", {"b": 1}]\r\n' + TWO, [2, 3]),
    ],
)
@pytest.mark.parametrize("name", ["log.jsonl", "log"])
def test_a_bad_record_at_the_start_does_not_cost_the_others(
    data: bytes, kept: list[int], name: str, tmp_path: Path
) -> None:
    rows, intake = LineRows(QUERIES, written(tmp_path / name, data)), Intake(skip=True)
    assert [number for numbers, _ in rows.read(intake) for number in numbers] == kept
    assert intake.skipped.count == 1
    with pytest.raises(DatasetError):
        list(rows.read(Intake()))


@pytest.mark.parametrize(
    "data",
    [
        '{"id": 1}\n{"id": 2}\n'.encode("utf-16-be"), b'[{"id": 1}]', b'[{"id": 1},\n{"id": 2}\n]', b"[\n1\n]", b"{\n}",
    ],
)  # fmt: skip
def test_what_is_no_json_lines_file_is_none_when_skipping(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"^log\.jsonl: must "):
        list(LineRows(QUERIES, written(tmp_path / "log.jsonl", data)).read(Intake(skip=True)))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
def test_a_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").symlink_to("/dev/zero")
    for path in (Path("/dev/zero"), tmp_path / "log.jsonl"):
        with pytest.raises(DatasetError, match=rf"^{path}: must be a file, a folder, a pipe or - .* got a device"):
            lines_of(File(path))
