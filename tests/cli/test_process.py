"""rag-titan evaluate as a process: closed and full streams, signals, names that steer a terminal, what is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, Write, dataset, query

FULL = (
    'standard output: must have room for what is written, got "No space left on device". Free some space, or choose '
    "another path."
)


def evaluated(tmp_path: Path, code: str) -> subprocess.CompletedProcess[str]:
    """A Python process that runs `code` after the command line was imported, with the arguments of an evaluation."""
    data = tmp_path / "data.json"
    data.write_text(json.dumps(dataset()))
    start = (
        "import sys\nfrom rag_titan.cli.main import main\n"
        f"sys.argv = ['rag-titan', 'evaluate', '--input', {str(data)!r}, '--output', {str(tmp_path / 'r.json')!r}]\n"
    )
    return subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, check=False)


def test_a_reader_who_stops_reading_changes_nothing(tmp_path: Path) -> None:
    done = evaluated(
        tmp_path,
        "import os\nread, write = os.pipe()\nos.close(read)\nos.dup2(write, 1)\nmain()",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "r.md").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    done = evaluated(tmp_path, "import os\nos.dup2(os.open('/dev/full', os.O_WRONLY), 1)\nmain()")
    assert (done.returncode, done.stderr) == (2, f"rag-titan: {FULL}\n")


def test_a_closed_standard_output_changes_nothing(tmp_path: Path) -> None:
    done = evaluated(tmp_path, "sys.stdout = None\nmain()")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "r.md").exists()


@pytest.mark.parquet
def test_a_run_that_is_terminated_leaves_no_draft(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    kill = "import os, signal\nfrom rag_titan.evaluation.data.parquet import QueryWriter\n"
    kill += "QueryWriter.write = lambda *_: (os.kill(os.getpid(), signal.SIGTERM), [0] * 1000)\n"
    done = evaluated(tmp_path, f"{kill}sys.argv += ['--per-query', {str(tmp_path / 'q.parquet')!r}]\nmain()")
    assert (done.returncode, done.stderr) == (143, "rag-titan: stopped.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["data.json"]


def test_a_path_with_a_line_break_is_escaped(run: Run) -> None:
    done = run("evaluate", "--input", "no\n\x1b[31m\u202efile.json")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "no\\n\\x1b[31m\\u202efile.json" in done.err


@pytest.mark.parametrize("option", ["--baseline", "--config", "--chunks", "--documents"])
def test_what_this_user_may_not_read_is_one_sentence_of_ours(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    path, secret, read, opened = write(dataset()), write("{}", "secret.json"), os.access, Path.open
    monkeypatch.setattr(os, "access", lambda path, mode, **more: "secret" not in str(path) and read(path, mode, **more))

    def refuse(self: Path, *arguments: Any, **more: Any) -> Any:  # root may read everything
        if self.name == secret.name:
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *arguments, **more)

    monkeypatch.setattr(Path, "open", refuse)
    done = run("evaluate", "--input", path, option, secret)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "secret.json: must be " in done.err


def test_the_name_of_a_report_cannot_steer_the_terminal(run: Run, write: Write) -> None:
    done = run("evaluate", "--input", write(dataset()), "--output", "two\nlines\x1b[31m.json", "--baseline", "a\nb")
    assert done.lines[0] == "Reports saved: two\\nlines\\x1b[31m.json and two\\nlines\\x1b[31m.md"
    assert "Baseline: a\\nb does not exist yet, so nothing was compared" in done.lines


def test_an_output_of_ascii_only_is_no_reason_to_stop(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text(json.dumps(dataset({**query(), "id": "frÃ¡ga"}, {"id": "q–2", "error": "e"})))
    arguments = ["evaluate", "--input", str(data), "--output", str(tmp_path / "r.json")]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "rag_titan", *arguments], capture_output=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_evaluation_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    done = evaluated(
        tmp_path,
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write(' '.join(m for m in ('rich', 'jinja2', 'rensa', 'pyarrow', 'pandas') if m in sys.modules))",
    )
    assert done.stderr == ""
