"""The ready workflow: the page shows the file, and its commands do what a job needs."""

from __future__ import annotations

import json
import re
import shlex
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import query
from tests.cli.conftest import run as run  # the fixture

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
WORKFLOW = files("rag_titan.integrations").joinpath("templates/github_workflow.yml").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    """The calls of rag-titan in the workflow, without its name."""
    folded = re.sub(r">-\n +", "", WORKFLOW)
    folded = re.sub(r"\n {10}(?=\S)(?!name:|path:|key:|python-version:|restore-keys:)", " ", folded)
    return [shlex.split(line)[1:] for line in re.findall(r"run: (rag-titan .*)", folded)]


def logged(missed: int) -> str:
    asked = [query(f"q{i}", **({"retrieved_ids": ["c2"]} if i < missed else {})) for i in range(100)]
    return "".join(json.dumps(one) + "\n" for one in asked)


def test_the_page_shows_the_file() -> None:
    assert f"```yaml\n{WORKFLOW}```" in PAGE


def test_its_commands_keep_a_baseline_and_fail_on_a_real_drop(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    evaluate, accept = commands()
    Path("data.jsonl").write_text(logged(10))
    first, kept, again = run(*evaluate), run(*accept), run(*evaluate)
    assert [first.code, kept.code, again.code] == [0, 0, 0]
    assert "Baseline: baseline/baseline.json does not exist yet, so nothing was compared" in first.lines
    Path("data.jsonl").write_text(logged(45))
    worse = run(*evaluate)
    assert worse.code == 1
    assert "::error title=Regression::retrieval.recall_at_k" in worse.err
    assert sorted(path.name for path in Path("reports").iterdir()) == [
        "junit.xml", "report.html", "report.json", "report.md",
    ]  # fmt: skip
    assert Path("summary.md").read_text().count("## RAG evaluation: ") == 3


@pytest.mark.site
def test_every_recipe_is_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    recipes = [
        yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    ]
    github, gitlab = recipes
    steps = github["jobs"]["evaluate"]["steps"]
    assert [step["uses"].partition("@")[0] for step in steps if "uses" in step] == [
        "actions/checkout", "actions/setup-python", "actions/cache/restore", "actions/upload-artifact",
        "actions/cache/save",
    ]  # fmt: skip
    assert all(isinstance(line, str) for line in gitlab["rag-evaluation"]["script"])
