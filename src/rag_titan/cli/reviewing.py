"""The dialogue of `rag-titan golden review`: one question after the other, on a plain terminal."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_titan.cli.source_documents import source_documents
from rag_titan.cli.terminal import escaped, say
from rag_titan.evaluation.preparation.golden_review import REJECTED, Extract, GoldenReview

OPEN, CLOSE = ">>>", "<<<"  # around a quote, as a terminal need not have colours
_CHOICES = {"y": "yes", "n": "no", "e": "edit", "s": "skip", "q": "quit"}
_PROMPT = "Is all of it right? [y]es [n]o [e]dit [s]kip [q]uit: "
_LOST = "A quote is not found exactly once, so nothing can be measured by it. Is it right all the same? [y/N] "
_NONE_NEAR = "No nearest text is shown for this quote: type the quote, or Enter to keep it."


class Review:
    """A person, a file of golden questions, and the documents."""

    def __init__(self, golden: Path, documents: Path | None, separator: str) -> None:
        texts, notes = source_documents(documents, golden)
        self.golden = GoldenReview(golden, texts, separator)
        self.file = self.golden.file
        self._separator = separator
        self._unsaved: str | None = None  # what is lost if the review ends now
        say(f"note: {escaped(notice)}" for notice in [*notes, *self.golden.notices.texts()])

    def run(self, again: bool) -> None:
        """Ask about every question that is left; stops at "quit" and where the answers end."""
        rows = self.golden.left(again)
        try:
            for turn, row in enumerate(rows, 1):
                if not self._judged(row, f"Question {turn} of {len(rows)}"):
                    break
        finally:
            say(["", f"{escaped(self.file.path.name)}: {self._counted()}. {self._kept()}"])

    def _counted(self) -> str:
        validated, rejected, left = self.file.counts()
        broken = sum(self.golden.validated(row) and self.golden.broken(row) for row in range(len(self.file.entries)))
        held = f" ({broken:,} with a quote that is not found)" if broken else ""
        return f"{validated:,} validated{held}, {rejected:,} rejected, {left:,} left"

    def _kept(self) -> str:
        if self._unsaved is None:
            return "All answers are saved."
        return f"{self._unsaved} is not saved; all answers before it are."

    def _judged(self, row: int, title: str) -> bool:
        """One question until it is judged or passed over; False to stop."""
        while True:
            say(self._shown(row, title))
            choice = self._choice()
            name = escaped(self.file.entries[row].name)
            if choice == "yes":
                if self.golden.broken(row) and not _agreed(_LOST):
                    continue
                self._change(row, {"validated": True, REJECTED: None}, f"The answer to {name}")
            elif choice == "no":
                self._unsaved = f"The answer to {name}"
                reason = _asked("Why? [Enter: no reason] ")
                changes = {"validated": False, REJECTED: reason or "no reason given"}
                self._change(row, changes, self._unsaved)
            elif choice == "edit":
                self._unsaved = f"The edit of {name}"
                self._change(row, self._edits(row), self._unsaved)
                continue
            return choice != "quit"

    def _change(self, row: int, changes: dict[str, Any], name: str) -> None:
        """Save changes, if there are any; `name` is what they are called where that fails."""
        self._unsaved = name
        if changes:
            self.golden.change(row, changes)
        self._unsaved = None

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
        if self.golden.validated(row):
            yield "Validated before, but a quote is not found exactly once."
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
            nearest = self.golden.nearest(item) if extract is None else None
            if nearest is not None:
                yield from _extract_lines("The nearest text", nearest)

    def _items(self, row: int) -> list[Any]:
        items = (self.file.entries[row].value or {}).get("expected_evidence")
        return items if isinstance(items, list) else []

    # --- what is changed --------------------------------------------------------------------------

    def _edits(self, row: int) -> dict[str, Any]:
        """What the person wants changed."""
        say(["Enter keeps what is there, - takes it out."])
        value = self.file.entries[row].value or {}
        answers = "expected_answers" if value.get("expected_answers") else "expected_answer"
        fields = (("question", "question"), (answers, answers.removeprefix("expected_")), ("required_facts", "facts"))
        changes: dict[str, Any] = {}
        for key, name in fields:
            changes |= self._edited_field(key, name, value.get(key))
        items = self._items(row)
        quotes = self._edited(items)
        if quotes != items:
            changes["expected_evidence"] = quotes
        return changes

    def _edited_field(self, key: str, name: str, present: Any) -> dict[str, Any]:
        """{key: new value}, None for one that is taken out; empty where it is kept."""
        several = key in ("expected_answers", "required_facts")
        divided = f" [divided by {self._separator}]" if several else ""
        if several and isinstance(present, list):
            present = self._separator.join(map(str, present))
        answer = _asked(f"New {name}{divided}: ", present)
        if not answer:
            return {}
        if answer == "-":
            return {key: None}
        pieces = [piece.strip() for piece in answer.split(self._separator) if piece.strip()]
        return {key: pieces if several else answer}

    def _edited(self, items: list[Any]) -> list[Any]:
        """The evidence as the person wants it."""
        kept = [quote for item in items if (quote := self._edited_quote(item)) is not None]
        while (answer := _asked("Another quote: ")) == "=":
            say([_NONE_NEAR])
        return [*kept, self._as_written(answer)] if answer and answer != "-" else kept

    def _edited_quote(self, item: Any) -> Any:
        """One quote as the person wants it; None to take it out."""
        near = self.golden.nearest(item) if self.golden.extract(item) is None else None
        quote = item if isinstance(item, str) else _plain(item)
        offer = "" if near is None else " [= takes the nearest text]"
        while (answer := _asked(f"New quote for {escaped(quote)}{offer}: ", quote)) == "=" and near is None:
            say([_NONE_NEAR])
        if answer == "=" and near is not None:
            return near.passage
        if answer == "-":
            return None
        return self._as_written(answer) if answer else item

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


def _agreed(prompt: str) -> bool:
    answer = (_asked(prompt) or "").lower()
    return answer != "" and "yes".startswith(answer)


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
