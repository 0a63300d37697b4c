"""A file of golden questions while a person goes through it: what is left to judge, and a safe place for judgements.

Every change is written at once, whole or not at all, in the form that the file has; keys and columns that the format
does not know, their order, and records that cannot be read stay as they are.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.evidence import options_of, places_of
from rag_titan.evaluation.data.malformed import utf8
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.sheets import TextTable
from rag_titan.evaluation.preparation.golden import check_golden, documents_of
from rag_titan.evaluation.preparation.golden_files import (
    SEPARATOR,
    Entry,
    entries_of,
    flag_keys,
    flag_words,
    key_of,
    of_row,
)
from rag_titan.evaluation.writing import write

REJECTED = "rejected"
"""The key that a question gets which a person found wrong, with the reason; it is not asked about again."""

_CSV = (".csv", ".tsv", ".tab")
_LINES = (".jsonl", ".ndjson")
_AROUND = 240  # characters of a line that are shown on each side of a quote


class GoldenFile(ABC):
    """The questions of a file; `entries` are as they stand there now.

    Raises DatasetError where the file is none of golden questions, SettingsError where it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Entry] = []
        self._state = _state_of(path)

    @abstractmethod
    def _changed(self, row: int, changes: Mapping[str, Any]) -> str | bytes:
        """Take in the changes of a question; what the file then holds."""

    def change(self, row: int, changes: Mapping[str, Any]) -> None:
        """Give keys of a question new values (None takes a key out), and write the file.

        Raises SettingsError where the system refuses, and where somebody else has changed the file meanwhile.
        """
        if _state_of(self.path) != self._state:
            rule = "must not be changed by others during the review, got another content. Start again: all is saved."
            raise SettingsError(f"{self.path}: {rule}")
        content = self._changed(row, changes)
        write(self.path, content)
        self._state = _state_of(self.path)
        entry = self.entries[row]
        value = {key: item for key, item in {**(entry.value or {}), **changes}.items() if item is not None}
        self.entries[row] = Entry(entry.where, value, joint=entry.joint)

    def left(self, again: bool = False) -> list[int]:
        """The questions that nobody has judged; `again`: also those that were rejected."""
        return [row for row, entry in enumerate(self.entries) if entry.value and _open(entry.value, again)]

    def counts(self) -> tuple[int, int, int]:
        """How many are validated, rejected, and left."""
        validated = sum((entry.value or {}).get("validated") is True for entry in self.entries)
        return validated, len(self.left(again=True)) - len(self.left()), len(self.left())


def open_golden(path: str | Path, separator: str = SEPARATOR) -> GoldenFile:
    """The file of golden questions to go through: JSON, JSON Lines, CSV or tab-separated text, by its name."""
    file = Path(path)
    suffix = file.suffix.lower()
    if not file.is_file():
        raise DatasetError(str(path), "must be a file of golden questions, got none there. Check the path.")
    if suffix in _CSV:
        return _Sheet(file, separator)
    if suffix in _LINES:
        return _Lines(file)
    if suffix == ".json":
        return _Json(file)
    rule = f"must be .json, .jsonl or .csv, so that answers can be saved in it, got {suffix or 'no ending'!r}."
    raise DatasetError(str(path), f"{rule} Save it as CSV.")


def _open(value: Mapping[str, Any], again: bool) -> bool:
    return value.get("validated") is not True and (again or value.get(REJECTED) is None)


def _state_of(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


class _Json(GoldenFile):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        text = utf8(path.read_bytes(), path.name).removeprefix("\ufeff")
        self.entries = list(entries_of(path, Notices()))  # which says what is wrong with it
        self._whole = json.loads(text)
        listed = self._whole if isinstance(self._whole, list) else self._questions(self._whole)
        self._list: list[Any] = listed
        indent = re.search(r"\n([ \t]+)\S", text)
        self._indent = indent[1] if indent else None
        self._end = "\n" if text.endswith("\n") else ""

    @staticmethod
    def _questions(whole: dict[str, Any]) -> list[Any]:
        lists = [key for key, part in whole.items() if isinstance(part, list)]
        chosen: list[Any] = whole["queries" if "queries" in lists else lists[0]]
        return chosen

    def _changed(self, row: int, changes: Mapping[str, Any]) -> str:
        _change(self._list[row], changes)
        return _written(self._whole, self._indent) + self._end


class _Lines(GoldenFile):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._all = path.read_bytes().split(b"\n")
        self._numbers = [n for n, line in enumerate(self._all) if line.removeprefix(BOM_UTF8).strip()]
        self.entries = list(entries_of(path, Notices()))

    def _changed(self, row: int, changes: Mapping[str, Any]) -> bytes:
        number = self._numbers[row]
        before = self._all[number]
        value = json.loads(utf8(before, self.path.name).removeprefix("\ufeff"))
        _change(value, changes)
        self._all[number] = _written(value, None).encode() + (b"\r" if before.endswith(b"\r") else b"")
        return b"\n".join(self._all)


class _Sheet(GoldenFile):
    def __init__(self, path: Path, separator: str) -> None:
        super().__init__(path)
        self._table = TextTable.read(path)
        self._separator = separator
        self._numbers = [n for n in range(1, len(self._table.rows)) if self._table.named(n)]
        rows = [of_row(self._table.named(number), separator) for number in self._numbers]
        self.entries = [
            Entry(f"{path.name} row {number + 1}", row, joint=": ")
            for number, row in zip(self._numbers, rows, strict=True)
        ]

    def _changed(self, row: int, changes: Mapping[str, Any]) -> str:
        columns = {key_of(name): name for name in reversed(self._table.names) if name}
        for key, value in changes.items():
            name = columns.get(key, key)
            self._table.put(self._numbers[row], name, self._flag(name, value) or self._cell(value))
        return self._table.text()

    def _flag(self, name: str, value: Any) -> str:
        """A truth value in the words that the column has, else another column of such words; "" for another value."""
        if not isinstance(value, bool):
            return ""
        flags = [column for column in self._table.names if key_of(column) in flag_keys()]
        for column in (name, *flags):
            for number in self._numbers:
                pair = flag_words(self._table.named(number).get(column, ""))
                if pair is not None:
                    return pair[not value]
        return "true" if value else "false"

    def _cell(self, value: Any) -> str:
        if isinstance(value, list):
            pieces = [piece if isinstance(piece, str) else _written(piece, None) for piece in value]
            alone = len(value) == 1 and pieces[0].startswith("[")
            divided = any(
                isinstance(piece, str) and (self._separator in piece or piece != piece.strip()) for piece in value
            )
            return _written(value, None) if divided or alone else self._separator.join(pieces)
        return "" if value is None else value if isinstance(value, str) else _written(value, None)


def _change(value: dict[str, Any], changes: Mapping[str, Any]) -> None:
    for key, item in changes.items():
        if item is None:
            value.pop(key, None)
        else:
            value[key] = item


def _written(value: Any, indent: str | None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates, which stay what they were as escapes
        return json.dumps(value, indent=indent)
    return text


# --- what a person looks at -------------------------------------------------------------------------


@dataclass(frozen=True)
class Extract:
    """Some lines of a document around a passage.

    doc_id  the document, None for a single text without an id
    first   the number of the first line shown, from 1
    before, passage, after   the text in its three parts; long lines are cut, "…" stands for what was left out
    """

    doc_id: str | None
    first: int
    before: str
    passage: str
    after: str


class GoldenReview:
    """A file of golden questions beside the documents that they are about.

    golden     the path of the file
    documents  as `check_golden` takes them

    Raises what `open_golden` and `check_golden` raise.
    """

    def __init__(self, golden: str | Path, documents: Any = None, separator: str = SEPARATOR) -> None:
        self.notices = Notices()
        self.file = open_golden(golden, separator)
        self.documents = documents_of(documents, self.notices)
        self._problems = self._checked(range(len(self.file.entries)))

    def problems(self, row: int) -> list[Mapping[str, Any]]:
        """What `check_golden` has to say of a question, as it now is."""
        return self._problems.get(row, [])

    def change(self, row: int, changes: Mapping[str, Any]) -> None:
        """Change a question in the file, and check it anew."""
        self.file.change(row, changes)
        self._problems[row] = self._checked([row]).get(row, [])

    def _checked(self, rows: Sequence[int]) -> dict[int, list[Mapping[str, Any]]]:
        values = [self.file.entries[row].value for row in rows]
        numbered = {self.file.entries[row].name: row for row in reversed(rows)}
        problems: dict[int, list[Mapping[str, Any]]] = {}
        for problem in check_golden(values, self.documents if self.documents.given else None)["problems"]:
            row = numbered.get(problem["id"])
            if row is not None:
                problems.setdefault(row, []).append(problem)
        return problems

    def extract(self, item: Any) -> Extract | None:
        """Where an item of evidence stands (of alternatives the first that does); None where it has no sure place."""
        try:
            evidence = Entry("", {"id": "any", "expected_evidence": [item]}).query().expected_evidence or [""]
            options = list(options_of(evidence[0], 0, "", self.documents))
        except DatasetError:
            return None
        starts, ends, _ = places_of(options, self.documents)
        sure = np.flatnonzero(starts >= 0).tolist()
        if not sure:
            return None
        start, end = int(starts[sure[0]]), int(ends[sure[0]])
        document = int(self.documents.document_at(np.array([start]))[0])
        shift = int(self.documents.offsets[document])
        return extract_of(self.documents, document, start - shift, end - shift)

    def nearest(self, item: Any) -> Extract | None:
        """The passage nearest to a quote that is not found; None for a quote that is, and where none is near."""
        if not isinstance(item, str) and not (isinstance(item, dict) and "quote" in item):
            return None  # of alternatives nobody knows which is meant
        asked = [{"id": "any", "expected_evidence": [item]}]
        found = check_golden(asked, self.documents if self.documents.given else None)["problems"]
        near = next((problem["nearest"] for problem in found if "nearest" in problem), None)
        if near is None:
            return None
        return extract_of(self.documents, self.documents.code(near["doc_id"]), near["start"], near["end"])

    def broken(self, row: int) -> bool:
        """True for a question with a quote that the documents do not hold exactly once."""
        return any(problem["problem"].startswith("quote ") for problem in self.problems(row))

    def left(self, again: bool = False) -> list[int]:
        """The questions to ask about: those of `GoldenFile.left`, and the validated ones with a broken quote."""
        left = set(self.file.left(again))
        return [
            row for row in range(len(self.file.entries)) if row in left or (self.validated(row) and self.broken(row))
        ]

    def validated(self, row: int) -> bool:
        """True for a question that a person has found right."""
        return (self.file.entries[row].value or {}).get("validated") is True


def extract_of(documents: Documents, document: int, start: int, end: int, around: int = 2) -> Extract:
    """The lines around characters [start, end) of one document."""
    text = documents.texts[document]
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end) if "\n" in text[end:] else len(text)
    for _ in range(around):
        first = text.rfind("\n", 0, max(first - 1, 0)) + 1
        stop = text.find("\n", last + 1)
        last = stop if stop >= 0 else len(text)
    last -= last > end and last == len(text) and text.endswith("\n")  # what ends the last line begins none
    before, after = text[first:start].split("\n"), text[end:last].split("\n")
    before = [line if len(line) <= _AROUND else f"…{line[-_AROUND:]}" for line in before]
    after = [line if len(line) <= _AROUND else f"{line[:_AROUND]}…" for line in after]
    number = text.count("\n", 0, first) + 1
    return Extract(documents.ids[document], number, "\n".join(before), text[start:end], "\n".join(after))
