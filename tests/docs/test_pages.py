"""Every command, program and output of the README and the pages: run, and compared with what the page shows."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.docs.blocks import (
    DOCS,
    NOT_RUN,
    PAGES,
    README,
    ROOT,
    Block,
    Step,
    blocks,
    is_run,
    matches,
    name,
    page,
    steps,
)
from tests.docs.running import run_page

from rag_titan.cli.init import STARTER
from rag_titan.cli.main import COMMANDS, Subcommands

EXTRAS = {"pipeline": "wordllama", "lab": "kneed"}  # and a library of each
SHOWS_NOTHING = {"metrics.md", "data.md", "index.md"}  # printed from the code, or a list of links


def prepare(path: Path, folder: Path) -> None:
    """Put the data of a page into a folder: those of docs/failures/data for a failure, else docs/samples/PAGE; for the
    README of the starter kit the kit."""
    if path.suffix == ".template":
        for to, template in STARTER.items():
            (folder / to).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path.parents[1] / template, folder / to)
        return
    data = path.parent / "data" if path.parent != DOCS else DOCS / "samples" / path.stem
    if path != README and data.is_dir():
        shutil.copytree(data, folder, dirs_exist_ok=True)
    if path == README:
        shutil.copytree(ROOT / "examples" / "sample_docs", folder / "examples" / "sample_docs")


def run_steps(path: Path) -> list[Step]:
    """What is run of a page."""
    return [step for step in steps(page(path)) if isinstance(step, Step)]


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_page_shows_what_is_printed(path: Path, tmp_path: Path) -> None:
    prepare(path, tmp_path)
    wrong = run_page(path, tmp_path)
    assert wrong == [], "\n\n".join(wrong) + f"\n\nThe real output: python -m tests.docs.running {path}"


@pytest.mark.pipeline
@pytest.mark.parametrize("path", [p for p in PAGES if any(step.needs in EXTRAS for step in run_steps(p))], ids=name)
def test_a_page_with_extras_shows_what_is_printed(path: Path, tmp_path: Path) -> None:
    for extra in {step.needs for step in run_steps(path)} & EXTRAS.keys():
        pytest.importorskip(EXTRAS[extra])
    prepare(path, tmp_path)
    wrong = run_page(path, tmp_path, EXTRAS)
    assert wrong == [], "\n\n".join(wrong)


@pytest.mark.parametrize("path", [p for p in PAGES if name(p) not in SHOWS_NOTHING], ids=name)
def test_a_page_has_something_that_is_run(path: Path) -> None:
    assert [step for step in run_steps(path) if is_run(path, step)]


def test_what_no_test_runs_has_a_reason() -> None:
    shell = [
        (name(path), block.text)
        for path in PAGES
        for block in blocks(page(path))
        if block.language in ("sh", "bash", "") and block.title is None
    ]
    programs = [(name(path), step.source) for path in PAGES for step in run_steps(path) if not is_run(path, step)]
    found = {
        (of, next((start for at, start in NOT_RUN if at == of and text.startswith(start)), text))
        for of, text in [*shell, *programs]
    }
    assert found == set(NOT_RUN)


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name)
def test_links_to_files_lead_somewhere(path: Path) -> None:
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert wrong == []


def anchors(path: Path) -> set[str]:
    """The anchors that a page has on GitHub and on the site, where the two agree."""
    heads = [line.lstrip("#").strip().lower() for line in page(path) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", head).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_every_command_and_option_that_a_page_names_is_one(path: Path) -> None:
    known = options()
    text = path.read_text(encoding="utf-8")
    shell = "\n".join(block.text for block in blocks(page(path)) if block.language in ("sh", "bash", ""))
    calls = re.findall(r"^(?:\s*-? *run: )?rag-titan (.+)$", shell.replace("\\\n", " "), flags=re.MULTILINE)
    calls += [step.source.replace("\\\n", " ").partition("rag-titan ")[2] for step in run_steps(path)
              if step.source.startswith("rag-titan ")]  # fmt: skip
    for call in [*re.findall(r"`rag-titan ([^`]+)`", text), *calls]:
        command, *rest = shlex.split(call, comments=True)
        assert command in known or command.startswith("-"), call
        named = {word.split("=")[0] for word in rest if re.match("--[a-z]", word)}
        assert named - known.get(command, set()) == set(), call


def options() -> dict[str, set[str]]:
    """The options of every command; those of a group's commands stand together."""
    found: dict[str, set[str]] = {}
    for command in COMMANDS:
        group = Subcommands().get_command(None, command)
        each = [group, *getattr(group, "commands", {}).values()]
        found[command] = {option for one in each for param in one.params for option in param.opts} | {"--help"}
    return found


def test_three_dots_stand_for_any_lines_and_any_text() -> None:
    assert matches(["a", "...", "z"], ["a", "z"])
    assert matches(["a ... z"], ["a (b) z"])
    assert not matches(["a ... z"], ["a", "z"])
    assert not matches(["a"], ["a", "b"])
    assert not matches([], ["a"])


PAGE = """\
```json title="folder/a.json"
{}
```
<!-- needs pipeline -->
```console
$ cat \\
  folder/a.json
{}
$ echo $?
0
```
```python
print(1)
```

```text
2
```
"""


def test_a_page_is_read_in_order(tmp_path: Path) -> None:
    found = list(steps(tuple(PAGE.splitlines())))
    assert [step.title for step in found if isinstance(step, Block)] == ["folder/a.json"]
    assert [(step.source, step.needs) for step in found if isinstance(step, Step)] == [
        ("cat \\\n  folder/a.json", "pipeline"), ("echo $?", "pipeline"), ("print(1)\n", None),
    ]  # fmt: skip
    file = tmp_path / "page.md"
    file.write_text(PAGE)
    for extras, count in (((), 1), (("pipeline",), 1)):
        wrong = run_page(file, tmp_path, extras)
        assert len(wrong) == count
        assert "-2" in wrong[0]
    run_page(file, tmp_path, EXTRAS, rewrite=True)
    assert file.read_text() == PAGE.replace("\n2\n", "\n1\n")


@pytest.mark.parametrize("page_text", ["```console\n$ false\n```\n", "```console\n$ false\n$ true\n```\n"])
def test_a_command_that_fails_must_show_its_exit_code(page_text: str, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(page_text)
    assert "exit code 1" in run_page(file, tmp_path)[0]
