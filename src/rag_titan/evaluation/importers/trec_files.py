"""The files of TREC: qrels, and a run.

The rules are those of trec_eval (NIST; get_trec_results.c and get_qrels.c): columns are divided by white space, and a
line that begins with `#` is a comment.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.cleaning import clean_id
from rag_titan.evaluation.data.files import File, decoded, read_json
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place, quoted, shown

Qrels = dict[str, dict[str, float]]

QRELS, RUN = "qrels", "run"
_COLUMNS = {QRELS: "topic, iteration, document, grade", RUN: "topic, Q0, document, rank, score, tag"}
_PEEK = 200  # lines from which the kind of a file is told
_RULE = f"must have 4 columns (qrels: {_COLUMNS[QRELS]}) or 6 (a run: {_COLUMNS[RUN]})"


@dataclass
class Run:
    """What a system returned: {topic: [(score, document)]} in the order of the file, NaN where a score is no number."""

    results: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def add(self, topic: str, document: str, score: float, tag: str = "") -> None:
        """One line of it."""
        self.results.setdefault(topic, []).append((score, document))
        if tag:
            self.tags[topic] = tag


def _rows(file: File, notices: Notices) -> Iterator[tuple[int, list[bytes]]]:
    """The columns of every line that has any, with its number."""
    with file.open() as stream:
        for number, line in enumerate(stream, 1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
                if b"\0" in line:
                    raise DatasetError(file.name, "must be UTF-8 text, got zero bytes. Save it as UTF-8.")
            columns = line.split()
            if columns and not columns[0].startswith(b"#"):
                yield number, columns


def kind_of_lines(file: File) -> str:
    """Qrels or a run, by how many columns most of the first lines have."""
    widths = [len(columns) for _, (_, columns) in zip(range(_PEEK), _rows(file, Notices()), strict=False)]
    qrels, runs = sum(width == 4 for width in widths), sum(width >= 6 for width in widths)
    if not widths:
        raise DatasetError(file.name, "must hold qrels or a run, got an empty file.")
    if max(qrels, runs) * 2 <= len(widths):
        raise DatasetError(file.name, f"{_RULE}, got {max(set(widths), key=widths.count)}.")
    return QRELS if qrels >= runs else RUN


class _Lines:
    """The readable lines of one file; the others are remembered."""

    def __init__(self, file: File, kind: str, notices: Notices) -> None:
        self.file, self.kind, self.notices = file, kind, notices
        self._broken: list[str] = []
        self._foreign: list[str] = []
        self._read = 0

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        for number, columns in _rows(self.file, self.notices):
            if len(columns) == 4 if self.kind == QRELS else len(columns) >= 6:
                self._read += 1
                yield number, self._texts(number, columns)
            else:
                self.refuse(number, f"{len(columns)} columns", read=False)
        self._tell()

    def _texts(self, number: int, columns: list[bytes]) -> list[str]:
        try:
            return b" ".join(columns).decode().split(" ")  # one text to decode, not six
        except UnicodeDecodeError:
            self._foreign.append(f"{self.file.name} line {number}")
            return [column.decode("latin-1") for column in columns]

    def refuse(self, number: int, why: str, read: bool = True) -> None:
        """Leave a line out."""
        self._read -= read
        self._broken.append(f"{self.file.name} line {number} ({why})")

    def _tell(self) -> None:
        rule = f"must be {self.kind} lines ({_COLUMNS[self.kind]})"
        if not self._read or len(self._broken) > self._read:
            first = f"; the first: {self._broken[0]}" if self._broken else ""
            raise DatasetError(self.file.name, f"{rule}, got {self._read} such and {len(self._broken)} others{first}.")
        sentence = f"lines that are no {self.kind} lines ({_COLUMNS[self.kind]}) were left out: {{ids}}."
        self.notices.add(sentence, self._broken)
        self.notices.add("lines that are no UTF-8 were read as Latin-1: {ids}.", self._foreign)


Grade = tuple[str, str, str, float]  # place, topic, document, grade


def grades_of(file: File, notices: Notices) -> Iterator[Grade]:
    """The readable lines of qrels."""
    lines = _Lines(file, QRELS, notices)
    for number, (topic, _, document, text) in lines:
        grade = _number(text)
        if math.isfinite(grade) and grade.is_integer():
            yield f"{file.name} line {number}", topic, document, grade
        else:
            lines.refuse(number, f"the grade {quoted(text)}")


def add_qrels(grades: Iterable[Grade], qrels: Qrels, notices: Notices) -> None:
    """Add grades to what is known; the same one twice counts once, another one is a DatasetError."""
    twice: list[str] = []
    for where, topic, document, grade in grades:
        known = qrels.setdefault(topic, {})
        if document not in known:
            known[document] = grade
        elif known[document] == grade:
            twice.append(where)
        else:
            what = f"topic {quoted(topic)}, document {quoted(document)}"
            got = f"got the grade {grade:g} after {known[document]:g} for {what}"
            raise DatasetError(where, f"must agree with the qrels before it, {got}. Remove one of them.")
    notices.add("qrels that stand there twice count once: {ids}.", twice)


def run_of(file: File, notices: Notices) -> Run:
    """The readable lines of a run."""
    run = Run()
    lines = _Lines(file, RUN, notices)
    for number, (topic, _, document, _, text, tag, *_) in lines:
        score = _number(text)
        if math.isnan(score) and text.lower().strip("+-") != "nan":
            lines.refuse(number, f"the score {quoted(text)}")
        else:
            run.add(topic, document, score, tag)
    tags = sorted(set(run.tags.values()))
    if len(tags) > 1:
        notices.add(f"{file.name}: the run has several tags, as several runs would: {{ids}}.", tags)
    return run


def _number(text: str) -> float:
    """The number that a column holds; NaN for none."""
    try:
        return float(text) if "_" not in text else math.nan
    except ValueError:
        return math.nan


# --- JSON -------------------------------------------------------------------------------------------------------------

Values = Mapping[str, Mapping[str, float]]


def is_json(file: File) -> bool:
    """True where a file begins as a JSON object."""
    with file.open() as stream:
        return stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def json_scores(file: File) -> Values:
    """{topic: {document: number}} of a JSON file; raises DatasetError where it is something else."""
    value, encoded = read_json(file)
    rule = "must be {topic: {document: number}}"
    if not isinstance(value, dict):
        raise DatasetError(file.name, f"{rule}, got {shown(value)}.")
    scores: dict[str, dict[str, float]] = {}
    for topic, part in value.items():
        documents: Any = decoded(part, f"{file.name}: {topic}") if encoded else part
        place = Place(file.name, ": ").key(topic)
        if not isinstance(documents, dict):
            raise place.error(rule, f", got {shown(documents)}.")
        scores[clean_id(topic, place)] = {
            clean_id(document, place): _finite(number, place.key(document)) for document, number in documents.items()
        }
    return scores


def _finite(number: Any, place: Place) -> float:
    if type(number) not in (int, float) or abs(number) > sys.float_info.max:
        raise place.error("must be a number", f", got {shown(number)}.")
    return float(number)


def kind_of_values(values: Values, has_qrels: bool) -> str:
    """Whole numbers are grades, unless the qrels are there already."""
    whole = all(number.is_integer() for part in values.values() for number in part.values())
    return QRELS if whole and not has_qrels else RUN


def grades_of_values(file: File, values: Values) -> Iterator[Grade]:
    """The grades of {topic: {document: grade}}."""
    for topic, part in values.items():
        for document, grade in part.items():
            yield file.name, topic, document, grade


def run_of_values(values: Values) -> Run:
    """A run of {topic: {document: score}}; a topic without documents is one for which nothing came back."""
    run = Run()
    for topic, part in values.items():
        run.results[topic] = [(score, document) for document, score in part.items()]
    return run
