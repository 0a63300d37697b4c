"""What a run may not write over, found before the work begins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import Run, Write, dataset

from rag_titan.cli.outputs import READ_IN_FOLDERS, Outputs
from rag_titan.errors import SettingsError
from rag_titan.evaluation.data import read


@pytest.mark.parametrize("option", ["--output", "--per-query"])
def test_a_pipe_is_refused_and_left_alone(run: Run, write: Write, tmp_path: Path, option: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = run("evaluate", "--input", write(dataset()), option, "pipe")
    assert (done.code, done.out) == (2, "")
    assert f"{option}: must be an ordinary file" in done.err
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.json", "pipe"]


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_stream_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(SettingsError, match="must be an ordinary file"):
        Outputs(Path(name)).check([])


@pytest.mark.parametrize("name", ["queries.json", "chunks.json", "dataset.json"])
def test_a_file_of_the_input_folder_stays(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "queries.json").write_text('[{"id": "q", "retrieved_ids": []}]')
    done = run("evaluate", "--input", "logs", "--output", f"logs/{name}")
    assert (done.code, done.out) == (2, "")
    assert "--output: must not be an input of logs" in done.err
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["queries.json"]


def test_what_a_link_in_the_input_folder_leads_to_stays(run: Run, write: Write, tmp_path: Path) -> None:
    real = write('[{"id": "q", "retrieved_ids": []}]', "real.json")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "queries.json").symlink_to(real)
    assert run("evaluate", "--input", "logs", "--output", real).code == 2
    assert run("evaluate", "--input", "logs", "--output", "logs/report.json").code == 0


@pytest.mark.parametrize("more", [["--output", "docs/r.json"], ["--html", "docs/in/r.html"]])
def test_no_report_becomes_a_document_of_the_next_run(run: Run, write: Write, tmp_path: Path, more: list[str]) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text("Leave is 25 days.")
    done = run("evaluate", "--input", write(dataset()), "--documents", "docs", *more)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"rag-titan: {more[0]}: must not be an input of docs, got docs/")
    assert [path.name for path in (tmp_path / "docs").iterdir()] == ["leave.md"]


@pytest.mark.parametrize("name", READ_IN_FOLDERS)
def test_the_names_are_those_that_the_reader_knows(name: str) -> None:
    assert name in Path(read.__file__).read_text() + " ".join(read._KINDS)


@pytest.mark.parametrize("name", ["rag-titan.toml", "pyproject.toml"])
def test_a_config_that_nobody_named_stays(run: Run, write: Write, name: str) -> None:
    config = write("[tool.rag-titan]\nk = 3\n" if name == "pyproject.toml" else "k = 3\n", name)
    before = config.read_text()
    done = run("evaluate", "--input", write(dataset()), "--per-query", name)
    assert (done.code, config.read_text()) == (2, before)
    assert "--per-query: must not be an input" in done.err


@pytest.mark.parquet
@pytest.mark.parametrize("option", ["--per-query", "--html", "--junit"])
def test_the_values_of_the_baseline_stay(run: Run, write: Write, tmp_path: Path, option: str) -> None:
    pytest.importorskip("pyarrow")
    data, values = write(dataset()), tmp_path / "values.parquet"
    run("evaluate", "--input", data, "--output", "before.json", "--per-query", str(values))
    before = values.read_bytes()
    done = run("evaluate", "--input", data, "--baseline", "before.json", option, str(values))
    assert (done.code, values.read_bytes()) == (2, before)
    assert f"{option}: must not be an input" in done.err


def test_a_text_that_is_no_report_stays(run: Run, write: Write, tmp_path: Path) -> None:
    readme = write("# My project\n", "README.md")
    done = run("evaluate", "--input", write(dataset()), "--output", "README.json")
    assert (done.code, readme.read_text()) == (2, "# My project\n")
    assert "must leave README.md alone" in done.err
    assert not (tmp_path / "README.json").exists()


def test_an_earlier_report_is_replaced(run: Run, write: Write) -> None:
    path = write(dataset())
    assert [run("evaluate", "--input", path).code for _ in range(2)] == [0, 0]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system has no permissions of this kind")
def test_a_folder_that_cannot_be_written_is_found_before_the_work(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    done = run("evaluate", "--input", write("no dataset"), "--output", "new/folder/r.json")
    assert done.code == 2
    assert "--output: new/folder/r.json: must be a file that can be written (no permission to write in " in done.err
