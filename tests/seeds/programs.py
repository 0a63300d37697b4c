"""The Python programs that stand in a text without fences: the longest runs of lines that compile."""

from __future__ import annotations

import re
from dataclasses import dataclass

START = re.compile(r"(from|import) \w|[a-z_]+(\[.+\])? = |for \w+ in ")
LONGEST = 40


@dataclass(frozen=True)
class Program:
    """The lines of a program, and what it says that it prints: {its n-th print: text}."""

    source: str

    @property
    def promises(self) -> list[str | None]:
        """For each `print` the numbers in the comment behind it, None where there are none or a range is meant."""
        lines = [line for line in self.source.splitlines() if line.startswith("print(")]
        return [_numbers(line.partition("  # ")[2]) if "  # " in line else None for line in lines]


def _numbers(comment: str) -> str | None:
    found = re.match(r"-?\d[\d.]*( -?\d[\d.]*)*(?=$|:|\.\.\.)", comment.replace("...", ""))
    return found[0] if found else None


def programs(text: str) -> list[Program]:
    """Every program of a text, in order."""
    lines = text.splitlines()
    found, at = [], 0
    while at < len(lines):
        size = _longest(lines[at : at + LONGEST]) if START.match(lines[at]) else 0
        if size:
            found.append(Program("\n".join(lines[at : at + size])))
        at += max(size, 1)
    return found


def _longest(lines: list[str]) -> int:
    for size in range(len(lines), 0, -1):
        if lines[size - 1].strip() and _compiles("\n".join(lines[:size])):
            return size
    return 0


def _compiles(source: str) -> bool:
    try:
        compile(source, "seed", "exec")
    except SyntaxError:
        return False
    return True
