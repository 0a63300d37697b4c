"""rag-titan init: the starter kit, run as a new user runs it, and what it never replaces."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.docs.blocks import ROOT, Step, page, steps
from tests.docs.running import run_page

from rag_titan.cli.init import STARTER

TEMPLATES = ROOT / "src" / "rag_titan" / "integrations"


def test_every_command_of_its_readme_prints_what_the_readme_shows(run: Run, tmp_path: Path) -> None:
    assert run("init", "kit").code == 0
    readme = tmp_path / "kit" / "README.md"
    wrong = run_page(readme, tmp_path / "kit")
    rewrite = "python -m tests.docs.running src/rag_titan/integrations/starter/README.md.template"
    assert wrong == [], "\n\n".join(wrong) + f"\n\nThe real output: {rewrite}"
    commands = [step.source for step in steps(page(readme)) if isinstance(step, Step)]
    assert len(commands) == len([line for line in readme.read_text().splitlines() if line.startswith("$ ")])


@pytest.mark.parametrize(
    ("top", "code", "said"),
    [
        ("0", 0, ""),
        ("-1", 1, "TOP: must be a whole number, got '-1'. Write it as TOP=3.\n"),
        ("many", 1, "TOP: must be a whole number, got 'many'. Write it as TOP=3.\n"),
    ],
)
def test_the_app_takes_no_chunks_at_all_and_refuses_what_is_no_number(
    run: Run, tmp_path: Path, top: str, code: int, said: str
) -> None:
    run("init", "kit")
    done = subprocess.run(
        [sys.executable, "app.py"], cwd=tmp_path / "kit", env={**os.environ, "TOP": top}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (code, said)
    if not code:
        log = [json.loads(line) for line in (tmp_path / "kit" / "log.jsonl").read_text().splitlines()]
        assert all(record["abstained"] and record["context_ids"] == [] for record in log)


def test_the_three_next_steps_run_in_an_empty_folder(run: Run, tmp_path: Path) -> None:
    _, *next_steps = run("init", "a kit").lines
    assert len(next_steps) == 3
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    script = "set -e\n" + "\n".join(step.partition(". ")[2] for step in next_steps)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "a kit" / "reports" / "today.md").is_file()


@pytest.mark.slow
def test_its_test_passes(run: Run, tmp_path: Path) -> None:
    run("init", ".")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "test_rag.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_its_workflow_is_that_of_the_project_with_the_commands_of_the_kit(run: Run, tmp_path: Path) -> None:
    run("init", ".")
    workflow = (tmp_path / ".github" / "workflows" / "rag-titan.yml").read_text()
    readme = (tmp_path / "README.md").read_text()
    commands = re.findall(r"- run: ((?:python|rag-titan) [^\n>]+)$", workflow, flags=re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["app.py", "build", "baseline"]
    assert all(f"$ {command}\n" in readme for command in commands[:2])
    evaluate = re.sub(r">-\n +", "", workflow).partition("- run: rag-titan evaluate")[2].partition("\n\n")[0]
    for command in commands[:2]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        subprocess.run(["bash", "-c", command], env={**os.environ, "PATH": path}, check=True, capture_output=True)
    assert run("evaluate", *evaluate.split()).code == 0


def test_it_holds_enough_questions_and_one_that_cannot_be_answered(run: Run) -> None:
    run("init", "kit")
    golden = json.loads(Path("kit/golden.json").read_text())
    assert len(golden) >= 10
    assert [question["answerable"] for question in golden].count(False) >= 1
    assert all(question["validated"] for question in golden)


def test_every_template_is_written_and_none_is_a_module() -> None:
    found = {path.relative_to(TEMPLATES).as_posix() for path in (TEMPLATES / "starter").rglob("*") if path.is_file()}
    assert found == {template for template in STARTER.values() if template.startswith("starter/")}
    assert not [name for name in found if name.endswith(".py")]


def test_a_file_that_exists_is_named_and_nothing_is_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "app.py").write_text("mine")
    (tmp_path / "kit" / "golden.json").symlink_to("nowhere")
    done = run("init", "kit")
    assert done.code == 2
    assert "app.py, golden.json. Choose another folder, or add --force." in done.err
    assert {path.name for path in (tmp_path / "kit").iterdir()} == {"app.py", "golden.json"}
    assert (tmp_path / "kit" / "app.py").read_text() == "mine"


def test_force_replaces_files_of_these_names_and_leaves_others(run: Run, tmp_path: Path) -> None:
    run("init", "kit")
    (tmp_path / "kit" / "app.py").write_text("old")
    (tmp_path / "kit" / "mine.txt").write_text("mine")
    assert run("init", "kit", "--force").code == 0
    assert (tmp_path / "kit" / "app.py").read_text().startswith('"""A tiny RAG system')
    assert (tmp_path / "kit" / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["file", "file/kit"])
def test_a_file_in_the_place_of_a_folder_is_one_sentence(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    done = run("init", name)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ("app.py/", "must have a file or nothing at app.py, got a folder."),
        ("test_rag.py/", "must have a file or nothing at test_rag.py, got a folder."),
        ("docs", "must have a folder or nothing at docs, got a file."),
        (".github/workflows", f"must have a folder or nothing at {Path('.github/workflows')}, got a file."),
    ],
)
def test_all_places_are_checked_before_the_first_file_is_written(
    run: Run, tmp_path: Path, there: str, said: str
) -> None:
    place = tmp_path / "kit" / there
    place.mkdir(parents=True) if there.endswith("/") else place.parent.mkdir(parents=True)
    place.is_dir() or place.write_text("mine")
    before = sorted(path for path in tmp_path.rglob("*"))
    done = run("init", "kit", "--force")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"rag-titan: kit: {said} Take it away.\n"
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_a_name_that_could_steer_the_terminal_is_escaped(run: Run) -> None:
    done = run("init", "a\x1b[2Jb")
    assert done.code == 0
    assert "\x1b" not in done.out


@pytest.mark.parametrize("name", ["golden.json", "docs", ".github/workflows"])
def test_no_link_leads_what_is_written_out_of_the_folder(run: Run, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "golden.json").write_text("mine", encoding="utf-8")
    link = tmp_path / "kit" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(outside / "golden.json" if name == "golden.json" else outside)
    done = run("init", "kit", "--force")
    assert (done.code, done.out) == (2, "")
    assert "must hold no link where a file is written" in done.err
    assert [file.read_text(encoding="utf-8") for file in outside.iterdir()] == ["mine"]
    assert not (tmp_path / "kit" / "README.md").exists()


def test_the_folder_itself_may_be_a_link(run: Run, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "kit").symlink_to("real")
    assert run("init", "kit").code == 0
    assert (tmp_path / "real" / "golden.json").is_file()
