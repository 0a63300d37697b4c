"""The README and the pages: what they show runs, and says what they say it says."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from rag_titan.cli.config import read_config
from rag_titan.cli.main import COMMANDS, Subcommands

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONFIG = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def printed(code: str) -> list[str]:
    """The lines that a piece of Python prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})  # the README's own code
    return out.getvalue().splitlines()


def test_the_quick_start_prints_what_its_comments_say() -> None:
    code, _ = blocks(README, "python")
    first, second, third, *failed = printed(code)
    assert (first, second, third) == ("0.5", "0.5", "Provisional")
    assert re.findall(r"# (\S+?),", code)[-3:] == ["0.5", "0.5", "Provisional"]
    assert len(failed) == 1
    assert failed[0].startswith("q1 generation ")
    assert "500" in failed[0]


def test_the_single_stage_and_the_comparison_print_what_their_comments_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, code = blocks(README, "python")
    assert printed(code) == re.findall(r"# ([\w.]+), ", code) == ["1.0", "True"]
    assert "worse" in Path("report.md").read_text()


@pytest.fixture
def logs() -> None:
    """The files that the commands of the README read, in the current folder."""
    (lines,) = blocks(README, "json")
    (settings,) = blocks(README, "toml")
    Path("data.jsonl").write_text(lines)
    Path("rag-titan.toml").write_text(settings)


def commands(text: str) -> list[list[str]]:
    """The calls of rag-titan in the shell blocks, without its name."""
    lines = "\n".join(blocks(text, "sh")).replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("rag-titan ")]


def test_the_commands_run_on_the_logs_and_settings_that_it_shows(run: Run, logs: None) -> None:
    found = [command for command in commands(README) if command[0] == "evaluate"]
    assert len(found) == 2
    for command in [*found, found[-1]]:
        done = run(*command)
        assert (done.code, done.err) == (0, ""), done.out
    assert "first run" not in done.out
    assert Path("reports/today.md").is_file()


@pytest.mark.pipeline
def test_the_commands_of_the_pipeline_run_on_the_sample_documents(run: Run) -> None:
    pytest.importorskip("wordllama")
    shutil.copytree(ROOT / "examples" / "sample_docs", "examples/sample_docs")
    found = [command for command in commands(README) if command[0] != "evaluate"]
    assert [command[0] for command in found] == ["index", "ask", "compare"]
    said = [run(*command) for command in found]
    assert [done.code for done in said] == [0, 0, 0], [done.err for done in said]
    assert "27 days" in said[1].out


def test_the_config_page_shows_a_file_that_is_read_and_every_key(run: Run, tmp_path: Path) -> None:
    settings, columns = blocks(CONFIG, "toml")
    (tmp_path / "columns.toml").write_text(columns)
    assert read_config(tmp_path / "columns.toml", tmp_path).columns
    (tmp_path / "rag-titan.toml").write_text(settings)
    assert read_config(None, tmp_path).metric_weights == {"generation": {"exact_match": 0}}
    (tmp_path / "data.json").write_text('{"queries": [{"id": "q", "answer": "a", "retrieved_ids": []}]}')
    assert run("evaluate", "--input", "data.json", "--format", "json").err == ""


@pytest.mark.parametrize("text", [README, CONTRIBUTING, CONFIG, (ROOT / "docs" / "report.md").read_text()])
def test_links_to_files_lead_somewhere(text: str) -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists() and not (ROOT / "docs" / link).exists()] == []


@pytest.mark.parametrize("text", [README, *map(Path.read_text, sorted((ROOT / "docs").glob("*.md")))])
def test_every_command_and_option_that_a_page_names_is_one(text: str) -> None:
    known = options()
    for call in [*re.findall(r"`rag-titan ([^`]+)`", text), *map(shlex.join, commands(text))]:
        name, *rest = call.split()
        assert name in known or name.startswith("-"), call
        named = {word.split("=")[0] for word in rest if re.match("--[a-z]", word)}
        assert named - known.get(name, set()) == set(), call


def options() -> dict[str, set[str]]:
    """The options of every command; those of a group's commands stand together."""
    found: dict[str, set[str]] = {}
    for name in COMMANDS:
        group = Subcommands().get_command(None, name)
        each = getattr(group, "commands", {}).values() or [group]
        found[name] = {option for command in each for param in command.params for option in param.opts} | {"--help"}
    return found
