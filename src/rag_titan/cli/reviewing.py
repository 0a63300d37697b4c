"""The dialogue of `rag-titan golden review`: one question after the other, on a plain terminal."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_titan.cli.terminal import escaped, say
from rag_titan.evaluation.preparation.golden_review import REJECTED, Extract, GoldenReview

OPEN, CLOSE = ">>>", "<<<"  # around a quote, as a terminal need not have colours
_CHOICES = {"y": "yes", "n": "no", "e": "edit", "s": "skip", "q": "quit"}
_PROMPT = "Is all of it right? [y]es [n]o [e]dit [s]kip [q]uit: "
_FIELDS = (("question", "question"), ("expected_answer", "answer"))


class Review:
    """A person, a file of golden questions, and the documents."""

    def __init__(self, golden: Path, documents: Path | None, separator: str) -> None:
        self.golden = GoldenReview(golden, documents, separator)
        self.file = self.golden.file
        say(f"note: {escaped(notice)}" for notice in self.golden.notices.texts())

    def run(self, again: bool) -> None:
        """Ask about every question that is left; stops at "quit" and where the answers end."""
        rows = self.file.left(again)
        try:
            for turn, row in enumerate(rows, 1):
                if not self._judged(row, f"Question {turn} of {len(rows)}"):
                    break
        finally:
            validated, rejected, left = self.file.counts()
            counted = f"{validated:,} validated, {rejected:,} rejected, {left:,} left"
            say(["", f"{escaped(self.file.path.name)}: {counted}. All answers are saved."])

    def _judged(self, row: int, title: str) -> bool:
        """One question until it is judged or passed over; False to stop."""
        while True:
            say(self._shown(row, title))
            choice = self._choice()
            if choice == "yes":
                self.golden.change(row, {"validated": True, REJECTED: None})
            elif choice == "no":
                reason = _asked("Why? [Enter: no reason] ")
                self.golden.change(row, {"validated": False, REJECTED: reason or "no reason given"})
            elif choice == "edit":
                self._edit(row)
                continue
            return choice != "quit"

    @staticmethod
    def _choice() -> str:
        while True:
            answer = _asked(_PROMPT)
            if answer is None:
                return "quit"
            choice = _CHOICES.get(answer.lower()[:1])
            if choice is not None and choice.startswith(answer.lower()):
                return choice
            say(["Please answer y, n, e, s or q."])

    # --- what is shown ----------------------------------------------------------------------------

    def _shown(self, row: int, title: str) -> Iterator[str]:
        value = self.file.entries[row].value or {}
        yield ""
        yield f"--- {title}: {escaped(self.file.entries[row].name)}"
        yield from _wrapped("Question: ", value.get("question", "(none)"))
        for key, name in (("expected_answer", "Answer"), ("expected_answers", "Answers"), ("required_facts", "Facts")):
            if value.get(key):
                item = value[key]
                yield from _wrapped(f"{name}: ", " | ".join(map(str, item)) if isinstance(item, list) else item)
        if value.get("answerable") is False:
            yield "Answerable: no"
        for key in ("expected_chunk_ids", "relevance", "required_evidence_ids"):
            if value.get(key):
                yield from _wrapped(f"{key}: ", value[key])
        if value.get(REJECTED):
            yield from _wrapped("Rejected: ", value[REJECTED])
        yield from self._evidence(row)
        for problem in self.golden.problems(row):
            yield from _wrapped("! ", problem["problem"])
            if "detail" in problem:
                yield from _wrapped("  ", problem["detail"])
        yield ""

    def _evidence(self, row: int) -> Iterator[str]:
        for item in self._items(row):
            extract = self.golden.extract(item)
            if extract is None:
                yield from _wrapped("Evidence: ", item if isinstance(item, str) else _plain(item))
            else:
                yield from _extract_lines("Evidence", extract)
        for problem in self.golden.problems(row):
            nearest = self.golden.nearest(problem)
            if nearest is not None:
                yield from _extract_lines("The nearest text", nearest)

    def _items(self, row: int) -> list[Any]:
        items = (self.file.entries[row].value or {}).get("expected_evidence")
        return items if isinstance(items, list) else []

    # --- what is changed --------------------------------------------------------------------------

    def _edit(self, row: int) -> None:
        say(["Enter keeps what is there, - takes it out."])
        value = self.file.entries[row].value or {}
        changes: dict[str, Any] = {}
        for key, name in _FIELDS:
            answer = _asked(f"New {name}: ", value.get(key))
            if answer:
                changes[key] = None if answer == "-" else answer
        items = self._items(row)
        quotes = self._edited(items, [p["nearest"]["text"] for p in self.golden.problems(row) if "nearest" in p])
        if quotes != items:
            changes["expected_evidence"] = quotes
        if changes:
            self.golden.change(row, changes)

    def _edited(self, items: list[Any], nearest: list[str]) -> list[Any]:
        """The evidence as the person wants it; `nearest`: the texts near to the quotes that are not found, in order."""
        kept: list[Any] = []
        for item in items:
            lost = self.golden.extract(item) is None
            near = nearest.pop(0) if lost and nearest else None
            quote = item if isinstance(item, str) else _plain(item)
            answer = _asked(f"New quote for {escaped(quote)}{' [= takes the nearest text]' if near else ''}: ", quote)
            if answer != "-":
                kept.append(near if answer == "=" and near else self._as_written(answer) if answer else item)
        answer = _asked("Another quote: ")
        return [*kept, self._as_written(answer)] if answer and answer != "-" else kept

    def _as_written(self, quote: str) -> str:
        """A quote as it was typed; where that is in no document, with line breaks for \\n if that is."""
        broken = quote.replace("\\n", "\n")
        return broken if broken != quote and self.golden.extract(broken) is not None else quote


def _plain(item: Any) -> str:
    return json.dumps(item, ensure_ascii=False, default=str)


def _extract_lines(title: str, extract: Extract) -> Iterator[str]:
    """A passage between its marks, with the lines around it and their numbers."""
    first = extract.first + extract.before.count("\n")
    last = first + extract.passage.count("\n")
    where = "" if extract.doc_id is None else f" in {escaped(extract.doc_id)}"
    yield f"{title}{where}, line {first}:"
    text = f"{extract.before}{OPEN}{extract.passage}{CLOSE}{extract.after}"
    for number, line in enumerate(text.split("\n"), extract.first):
        margin = f"{'>' if first <= number <= last else ' '}{number:>6} | "
        yield from _wrapped(margin, line.rstrip("\r"), hang=" " * 7 + " | ")


def _wrapped(start: str, text: Any, hang: str | None = None) -> Iterator[str]:
    """The text, escaped, in lines as wide as the terminal."""
    width = max(shutil.get_terminal_size().columns, 40)
    shown = escaped(text)
    hang = " " * len(start) if hang is None else hang
    lines = textwrap.wrap(shown, width - 1, initial_indent=start, subsequent_indent=hang, drop_whitespace=False) or [
        start
    ]
    return iter(lines)


def _asked(prompt: str, present: Any = None) -> str | None:
    """A line from the person, stripped; None where the answers end. Arrow up brings back what is there."""
    if sys.stdin.isatty() and isinstance(present, str) and present.isprintable():
        try:
            import readline

            readline.add_history(present)
        except ImportError:
            pass
    sys.stdout.flush()
    try:
        return input(prompt).strip()
    except EOFError:
        return None
