"""The code blocks of a page: what is run, what it must print, and which files it begins with.

```console            lines that begin with "$ " are commands; what follows each is what it prints
```python             a program; what it prints stands in the ```text block behind it
```LANGUAGE title="x" the file x, which the commands behind it read
```sh, ```bash        commands that no test runs; each has a line in NOT_RUN below, as has a program that is not run

<!-- needs pipeline --> directly above a block: it is run only where that extra is installed.
"..." alone on a line stands for any lines, and within a line for any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = (README, *(path for path in sorted(DOCS.rglob("*.md")) if "samples" not in path.parts))

NOT_RUN = {  # (page, what the block begins with): why no test runs it
    ("README.md", "pip install uv"): "the set-up, which .ci/run does; it needs the network",
    ("README.md", "python -m venv"): "the same without uv",
    ("preparing.md", "rag-titan collect"): "asks an app that listens; tests/cli/test_collect.py asks one",
    ("preparing.md", "from rag_titan.evaluation import HttpApp"): "the same from Python",
    ("preparing.md", "psql"): "asks a database",
    ("judge.md", "rag-titan judge --model"): "asks a model server; tests/cli/test_judge.py plays one",
    ("load.md", "rag-titan load http"): "puts an app that listens under load; tests/cli/test_load.py has one",
    ("load.md", "rag-titan load --merge"): "reads what several machines wrote; the same tests",
    ("pipeline.md", "from rag_titan.models.chat"): "asks a model server; tests/models plays one",
    ("pipeline.md", "from rag_titan.evaluation import RAGEvaluator, collect_dataset"): "an app of LangChain; "
    "tests/pipeline/adapters has one",
    ("pipeline.md", "from rag_titan.pipeline.adapters import Haystack"): "apps of two frameworks; the same tests",
}

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)(?: +title=\"(?P<title>[^\"]+)\")?[^\n`]*$")
_NEEDS = re.compile(r"^ *<!-- needs (\w+) -->$")


@dataclass
class Block:
    """A code block; `first` is the number of its first line in the page, from 0, `lines` what stands in it."""

    language: str
    title: str | None
    first: int
    lines: list[str]
    needs: str | None = None

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


@dataclass
class Step:
    """Something that is run, and the lines that it must print: `lines[begin:end]` of its page.

    A program without a block for its output has begin == end == None: it must print nothing.
    """

    kind: str  # "command" or "python"
    source: str
    begin: int | None
    end: int | None
    needs: str | None = None


@cache
def page(path: Path) -> tuple[str, ...]:
    """The lines of a page."""
    return tuple(path.read_text(encoding="utf-8").splitlines())


def blocks(lines: tuple[str, ...]) -> list[Block]:
    """The fenced code blocks, in order; a fence of a block may be indented."""
    found: list[Block] = []
    inside: Block | None = None
    indent = 0
    for number, line in enumerate(lines):
        if inside is None:
            if fence := _FENCE.match(line):
                needs = _NEEDS.match(lines[number - 1]) if number else None
                inside = Block(fence["language"], fence["title"], number + 1, [], needs and needs[1])
                indent = len(fence["indent"])
        elif line.strip() == "```":
            found.append(inside)
            inside = None
        else:
            inside.lines.append(line[indent:])
    if inside is not None:
        raise ValueError(f"line {inside.first}: the code block is not closed")
    return found


def steps(lines: tuple[str, ...]) -> Iterator[Step | Block]:
    """What is run, in order; a block with a title is a file to write."""
    every = blocks(lines)
    for place, block in enumerate(every):
        if block.title is not None:
            yield block
        elif block.language == "console":
            yield from _commands(block)
        elif block.language == "python":
            after = every[place + 1] if place + 1 < len(every) else None
            output = after is not None and after.language == "text" and after.title is None
            near = (
                after is not None and not "".join(lines[block.first + len(block.lines) + 1 : after.first - 1]).strip()
            )
            if after is not None and output and near:
                yield Step("python", block.text, after.first, after.first + len(after.lines), block.needs)
            else:
                yield Step("python", block.text, None, None, block.needs)


def _adjacent(lines: tuple[str, ...], block: Block, after: Block) -> bool:
    return not "".join(lines[block.first + len(block.lines) + 1 : after.first - 1]).strip()


def _commands(block: Block) -> Iterator[Step]:
    starts = [place for place, line in enumerate(block.lines) if line.startswith("$ ")]
    if starts[:1] != [0]:
        raise ValueError(f"line {block.first + 1}: a console block begins with a command")
    for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        first = start
        while block.lines[first].endswith("\\"):
            first += 1
        source = "\n".join(block.lines[start : first + 1]).removeprefix("$ ")
        yield Step("command", source, block.first + first + 1, block.first + end, block.needs)


def matches(expected: list[str], printed: list[str]) -> bool:
    """True where the output is what the page shows.

    >>> matches(["a", "...", "took ... ms"], ["a", "b", "c", "took 3 ms"])
    True
    """
    lines = [
        r"(?:.*\n)*" if line.strip() == "..." else re.escape(line.rstrip()).replace(r"\.\.\.", ".*") + r"\n"
        for line in expected
    ]
    return re.fullmatch("".join(lines), "".join(f"{line.rstrip()}\n" for line in printed)) is not None


def name(path: Path) -> str:
    """As it is called from the root of the repository, or inside docs/."""
    return path.relative_to(DOCS).as_posix() if path.is_relative_to(DOCS) else path.name


def is_run(path: Path, step: Step) -> bool:
    """False for what NOT_RUN lists."""
    return not any(of == name(path) and step.source.startswith(start) for of, start in NOT_RUN)
