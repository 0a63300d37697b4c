"""The table of formats: every row has its file, its options are those of its reader, and errors name the nearest."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import pytest

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import IMPORT_FORMATS, import_run
from rag_titan.evaluation.importers.formats import Format


@pytest.mark.parametrize("row", IMPORT_FORMATS, ids=lambda row: row.name)
def test_a_row_describes_its_reader(row: Format) -> None:
    read = import_module(f"rag_titan.evaluation.importers.{row.module}").read
    _, *options = inspect.signature(read).parameters.values()
    assert [option.name for option in options] == [option.name for option in row.options]
    assert [option.name for option in options if option.default is inspect.Parameter.empty] == []
    assert row.reads
    assert row.example


def test_names_are_unique() -> None:
    assert len({row.name for row in IMPORT_FORMATS}) == len(IMPORT_FORMATS)


@pytest.mark.parametrize(
    ("format", "options", "rule"),
    [
        ("ragass", {}, "unknown format 'ragass'; the nearest is 'ragas'."),
        ("trec", {"tie": "trec"}, "tie: must be an option of the format trec; the nearest is 'ties'."),
        ("trec", {"ties": "first"}, "ties: must be trec or given, got 'first'."),
        ("deepeval", {"ties": "trec"}, "ties: must be an option of the format deepeval; there are context."),
        ("trec", {}, "trec: must have a source, got none. Write: trec qrels.txt run.txt"),
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence(format: str, options: dict[str, str], rule: str) -> None:
    with pytest.raises(SettingsError) as error:
        import_run(format, **options)
    assert str(error.value) == rule


def test_a_source_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="must be a file or a folder, got nothing there"):
        import_run("trec", tmp_path / "absent")
