"""Reading records out of JSON files: every way of writing them gives the same records, and damage loses only itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.importers import json_values
from rag_titan.evaluation.importers.json_values import json_records

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LEAVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS
VALUES = st.recursive(LEAVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(TEXTS, v, max_size=3), max_leaves=6)
RECORDS = st.lists(st.builds(lambda a, b: {"a": a, "b": b}, VALUES, VALUES), min_size=1, max_size=5)


def read(content: str | bytes, folder: Path, name: str = "spans.json") -> tuple[list[Any], list[str]]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    notices = Notices()
    return [record for _, record in json_records(File(path), notices)], notices.texts()


@settings(max_examples=60)
@given(RECORDS, st.sampled_from([1, 7, 64, 1 << 18]), st.booleans())
def test_every_way_of_writing_gives_the_same_records(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any], block: int, ascii_only: bool
) -> None:
    folder = tmp_path_factory.mktemp("json")
    dumps = [json.dumps(record, ensure_ascii=ascii_only) for record in records]
    pretty = [json.dumps(record, ensure_ascii=ascii_only, indent=4) for record in records]
    ways = [
        "\n".join(dumps),
        "\n".join(pretty) + "\n",
        "".join(pretty),
        "[\n" + ",\n".join(dumps) + "\n]\n",
        json.dumps(records, indent=2),
        json.dumps({"data": records, "next_cursor": None}),
        json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": records}]}]}, indent=1),
        "\ufeff" + "\n".join(dumps),
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_values, "_BLOCK", block)
        for way in ways:
            assert read(way, folder) == (records, []), way


def test_a_last_line_that_is_cut_off_loses_itself_alone(tmp_path: Path) -> None:
    records, said = read('{"a": 1}\n{"a": 2}\n{"a": "thr', tmp_path, "spans.jsonl")
    assert records == [{"a": 1}, {"a": 2}]
    assert said == ["spans.jsonl: the last line is cut off and was left out, line 3; the lines before it were read."]


def test_a_broken_line_loses_itself_alone(tmp_path: Path) -> None:
    records, said = read('{"a": 1}\n{"a": \n{"a": 3}\n{"a: 4}\n', tmp_path)
    assert records == [{"a": 1}, {"a": 3}]
    assert said == ["spans.json: lines that are no JSON were left out: line 2, line 4."]


def test_a_first_line_that_is_broken_is_no_reason_to_stop(tmp_path: Path) -> None:
    records, said = read('": 0}\n{"a": 1}\n', tmp_path)
    assert records == [{"a": 1}]
    assert said == ["spans.json: lines that are no JSON were left out: line 1."]


def test_what_a_program_prints_between_objects_is_passed_over(tmp_path: Path) -> None:
    pretty = json.dumps({"a": 1}, indent=4)
    records, said = read(f"{pretty}\nhello\nworld\n{pretty}\n", tmp_path)
    assert records == [{"a": 1}, {"a": 1}]
    assert said == ["spans.json: text that is no JSON was left out; the JSON around it was read: before value 3."]


def test_a_pretty_list_that_is_cut_off_keeps_what_stands_before(tmp_path: Path) -> None:
    text = json.dumps({"spans": [{"a": 1}, {"a": 2}, {"a": 3}]}, indent=2)
    records, said = read(text[: text.index("3")], tmp_path)
    assert records == [{"a": 1}, {"a": 2}]
    assert said == ["spans.json: is cut off, or is no JSON, in the middle of value 1; what stands before was read."]


def test_bytes_that_are_no_utf8_are_replaced_and_named(tmp_path: Path) -> None:
    records, said = read(b'{"a": "caf\xe9"}\n{"a": "caf\xc3\xa9"}\n', tmp_path)
    assert records == [{"a": "caf\ufffd"}, {"a": "café"}]
    assert said == ["spans.json: bytes that are no UTF-8 became U+FFFD: line 1. Save it as UTF-8."]


def test_what_only_python_writes_is_read(tmp_path: Path) -> None:
    records, said = read('{"a": Infinity}\n{"a": "\\ud800"}\n', tmp_path)
    assert records == [{"a": float("inf")}, {"a": "\ud800"}]
    assert said == []


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    assert read(gzip.compress(b'{"a": 1}\n'), tmp_path, "spans.jsonl.gz") == ([{"a": 1}], [])


@pytest.mark.parametrize("content", [b"", b"  \n", b"\xff\xfe{\0}\0", b"PAR1", b"PK\x03\x04"])
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DatasetError):
        read(content, tmp_path)


@pytest.mark.parametrize("content", ["[" * 100_000, '{"spans": ' * 100_000, '{"a":' * 100_000, "nonsense", "{{{", "]"])
def test_hostile_text_ends_in_a_notice(tmp_path: Path, content: str) -> None:
    records, said = read(content, tmp_path)
    assert records == []
    assert len(said) == 1
