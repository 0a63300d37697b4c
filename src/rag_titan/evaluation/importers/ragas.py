"""Ragas: an evaluation dataset or result (samples as JSON, JSON Lines, CSV or Parquet), and annotated metric runs."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.cleaning import clean_anything, clean_id
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place, plain, shown
from rag_titan.evaluation.data.source import Source, form_of
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.parsing import json_value, records_before
from rag_titan.evaluation.importers.passages import Passage, Passages
from rag_titan.evaluation.importers.span_texts import answer_in, question_in

# What each key of a query is called, in Ragas from 0.2 on, before, and in files made for it.
_TEXTS = {
    "question": ("user_input", "question", "query"),
    "answer": ("response", "answer"),
    "expected_answer": ("reference", "ground_truth", "expected_answer"),
}
_LISTS = {
    "retrieved": ("retrieved_contexts", "contexts"),
    "retrieved_ids": ("retrieved_context_ids",),
    "expected_evidence": ("reference_contexts",),
    "expected_chunk_ids": ("reference_context_ids",),
    "expected_answers": ("ground_truths",),
}
_IDS = ("id", "sample_id", "question_id")
_KNOWN = {name for names in (*_TEXTS.values(), *_LISTS.values(), _IDS) for name in names}
_LITERAL = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*(,?)""", re.DOTALL)
_STRANGE_ESCAPE = re.compile(r"\\[^'\"abfnrtvxuUN0-7\n]")
_RULE = "must be Ragas samples, with user_input, response, reference or retrieved_contexts"


def read(sources: Sequence[Path], context: str | None = None) -> Imported:
    """One query a sample; its metric values and whatever else it holds stand under the key `ragas`.

    sources  files with samples: JSON (a list, the table of pandas, or {metric: [{"metric_input": sample, ...}]} as
             Ragas keeps annotations), JSON Lines, CSV with lists in its cells, Parquet
    context  "retrieved": the retrieved contexts are what went into the prompt

    A sample without an id is called by its number. Of a conversation the last question and the answer behind it are
    kept as such, the whole under `ragas`. `reference_contexts` become expected evidence: quotes that must come back
    whole. Raises DatasetError where no source holds a sample.
    """
    notices = Notices()
    reader = _Reader(notices, context == "retrieved")
    for path in sources:
        for where, sample in _samples(File(path), notices):
            reader.add(where, sample)
    if not reader.records:
        raise DatasetError(str(sources[0]), f"{_RULE}, got none. Check the file.")
    return reader.imported()


# --- samples in files -------------------------------------------------------------------------------------------------


def _samples(file: File, notices: Notices) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The samples of a file, each with its place."""
    if form_of(file) != "json":
        yield from Source.of_file(file).records(notices)
        return
    try:
        value = json_value(file.path, notices)
    except DatasetError as error:
        yield from records_before(error, file, notices)
    else:
        yield from _of_json(file, value, notices)


def _of_json(file: File, value: Any, notices: Notices) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(value, list):
        yield from Source.of_list(value, file.name).records(notices)
        return
    columns = {key: part for key, part in value.items() if key in _KNOWN}
    annotated = {key: part for key, part in value.items() if _is_annotation(part)}
    if annotated:
        yield from _of_annotations(annotated)
    elif columns and all(isinstance(part, dict | list) for part in columns.values()):
        yield from _of_columns(file, value)
    elif columns:
        yield file.name, value
    else:
        yield from Source.of_file(file).records(notices)


def _is_annotation(part: Any) -> bool:
    return isinstance(part, list) and any(isinstance(item, dict) and "metric_input" in item for item in part)


def _of_annotations(metrics: Mapping[str, list[Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """{metric: [{"metric_input": sample, "metric_output": value}]}: a sample may stand under several metrics."""
    samples: dict[str, dict[str, Any]] = {}
    for metric, items in metrics.items():
        for number, item in enumerate(items):
            if isinstance(item, dict) and isinstance(item.get("metric_input"), dict):
                known = json.dumps(item["metric_input"], sort_keys=True, default=str)
                sample = samples.setdefault(known, {**item["metric_input"], "": f"{metric}[{number}]"})
                sample[metric] = item.get("metric_output")
    for sample in samples.values():
        yield sample.pop(""), sample


def _of_columns(file: File, value: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """{column: {row: cell}} as pandas writes it, or {column: [cell, ...]}."""
    columns = {key: part if isinstance(part, dict) else dict(enumerate(part)) for key, part in value.items()
               if isinstance(part, dict | list)}  # fmt: skip
    rows = dict.fromkeys(row for key, part in columns.items() if key in _KNOWN for row in part)
    for row in rows:
        yield f"{file.name}[{row}]", {key: part[row] for key, part in columns.items() if row in part}


# --- samples as records -----------------------------------------------------------------------------------------------


class _Reader:
    """Samples -> records; the ids of contexts are known when all were added."""

    def __init__(self, notices: Notices, in_prompt: bool) -> None:
        self.records: list[Record] = []
        self._notices = notices
        self._in_prompt = in_prompt
        self._passages = Passages()
        self._gold: dict[str, list[str]] = {}
        self._ids: set[str] = set()

    def add(self, where: str, sample: Mapping[str, Any]) -> None:
        """One sample; what is none is noticed."""
        given = {key: _cell(value) for key, value in sample.items()}
        given = {key: value for key, value in given.items() if value is not None}
        fields = {key: _first(given, names) for key, names in (*_TEXTS.items(), *_LISTS.items())}
        if all(value is None for value in fields.values()):
            self._notices.add("records that are no sample were left out: {ids}.", [where])
            return
        record: Record = {"id": self._id(given, where)}
        more = {key: value for key, value in given.items() if key not in _KNOWN}
        self._texts(record, fields, more)
        self._lists(record, fields)
        if more:
            record["ragas"] = clean_anything(more, Place(where, notices=self._notices))
        self.records.append(record)

    def _id(self, given: Mapping[str, Any], where: str) -> str:
        """The sample's own id if it has one that no other had, else its number."""
        own = _first(given, _IDS)
        try:
            name = clean_id(own, Place(where)) if own is not None else str(len(self.records) + 1)
        except DatasetError:
            name = str(len(self.records) + 1)
        if name in self._ids:
            turn = 2
            while f"{name}#{turn}" in self._ids:
                turn += 1
            self._notices.add("ids that came before got a number behind them: {ids}.", [f"{name}#{turn}"])
            name = f"{name}#{turn}"
        self._ids.add(name)
        return name

    def _texts(self, record: Record, fields: Mapping[str, Any], more: dict[str, Any]) -> None:
        asked, answer, reference = fields["question"], fields["answer"], fields["expected_answer"]
        if isinstance(asked, list):
            self._notices.add("of conversations the last question and its answer were kept: {ids}.", [record["id"]])
            more["messages"] = asked
            turn = _last_turn(asked)
            asked, answer = question_in(turn), answer if answer is not None else answer_in(turn)
        for key, value in (("question", asked), ("answer", answer)):
            if isinstance(value, str):
                record[key] = _text(value)
        texts = list(dict.fromkeys(_text(t) for t in (*_several(reference), *_several(fields["expected_answers"]))))
        if len(texts) == 1:
            record["expected_answer"] = texts[0]
        elif texts:
            record["expected_answers"] = texts

    def _lists(self, record: Record, fields: Mapping[str, Any]) -> None:
        name = record["id"]
        texts = self._listed(fields["retrieved"], "retrieved contexts", name)
        ids = self._names(fields["retrieved_ids"], name)
        if texts is not None and self._in_prompt:
            record["context"] = "\n\n".join(texts)
        if ids is not None and (texts is None or len(ids) == len(texts)):
            known: Sequence[str | None] = texts if texts is not None else [None] * len(ids)
            self._passages.add(name, [Passage(i, t) for i, t in zip(ids, known, strict=True)])
            record["retrieved_ids"] = ids
        elif texts is not None:
            record["retrieved_texts"] = texts
            lacking = [name] if ids is not None else []
            self._notices.add(
                "there are not as many ids of contexts as contexts; the ids were left out: {ids}.", lacking
            )
        gold = self._names(fields["expected_chunk_ids"], name)
        if gold:
            record["expected_chunk_ids"] = gold
        quotes = self._listed(fields["expected_evidence"], "reference contexts", name)
        if quotes:
            record["expected_evidence"] = [quote for quote in quotes if quote.strip()]

    def _listed(self, value: Any, what: str, name: str) -> list[str] | None:
        if value is None:
            return None
        if isinstance(value, str):
            self._notices.add(f"{what} that are a text were read as a list of one: {{ids}}.", [name])
            value = [value]
        value = value if isinstance(value, list) else [value]
        texts = [_text(text) for text in value if isinstance(text, str)]
        others = [shown(item) for item in value if not isinstance(item, str)]
        self._notices.add(f"{what} that are no text were left out: {{ids}}.", [f"{name} ({item})" for item in others])
        return texts if texts or not value else None

    def _names(self, value: Any, name: str) -> list[str] | None:
        if value is None:
            return None
        try:
            return [clean_id(item, Place(name)) for item in (value if isinstance(value, list) else [value])]
        except DatasetError:
            self._notices.add("ids of contexts that are neither text nor whole numbers were left out: {ids}.", [name])
            return None

    def imported(self) -> Imported:
        """All of them; ids of contexts that stand for several texts are local to their query."""
        for record in self.records:
            if "retrieved_ids" in record:
                record["retrieved_ids"] = self._passages.ids(record["id"])
            if self._passages.local and "expected_chunk_ids" in record:
                record["expected_chunk_ids"] = [f"{record['id']}/{name}" for name in record["expected_chunk_ids"]]
        self._passages.tell(self._notices)
        chunks = [chunk for chunk in self._passages.chunks() if "text" in chunk]
        return Imported(self.records, chunks or None, notices=self._notices)


def _several(value: Any) -> list[str]:
    """The texts of a list, or the one that it is."""
    return [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]


def _text(text: str) -> str:
    cleaned: str = clean_anything(text, Place("text"))
    return cleaned


def _first(given: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((given[name] for name in names if name in given), None)


def _last_turn(messages: Sequence[Any]) -> list[Any]:
    """From the last message of a person on."""
    people = [i for i, m in enumerate(messages) if isinstance(m, dict) and _role(m) in ("human", "user")]
    return list(messages[people[-1] :]) if people else []


def _role(message: Mapping[str, Any]) -> str:
    return str(message.get("type") or message.get("role") or "").lower()


# --- cells ------------------------------------------------------------------------------------------------------------


def _cell(value: Any) -> Any:
    """A cell as a value: lists that CSV holds as text, JSON or as Python or numpy write them; NaN is nothing."""
    value = plain(value)
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, str) or value.lstrip()[:1] != "[" or value.rstrip()[-1:] != "]":
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        parsed = _python_list(value.strip())
    return parsed if isinstance(parsed, list) else value


def _python_list(text: str) -> list[Any] | None:
    """The texts of "['a', 'b']", or of numpy's "['a' 'b']", which Python itself would read as one.

    >>> _python_list("['a', \\"b'c\\"]"), _python_list("['a'\\n 'b']"), _python_list("[a remark] and [another]")
    (['a', "b'c"], ['a', 'b'], None)
    """
    at, found, commas = 1, [], 0
    while literal := _LITERAL.match(text, at):
        found.append(literal[1])
        commas += bool(literal[2])
        at = literal.end()
    if at != len(text) - 1 or not found or commas not in (0, len(found) - 1, len(found)):
        return None
    if _STRANGE_ESCAPE.search(text.replace("\\\\", "")):
        return [item[1:-1] for item in found]  # Python never writes it, and warns when it reads it
    try:
        return [literal_eval(item) for item in found]
    except (ValueError, SyntaxError):
        return None
