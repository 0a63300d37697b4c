"""Golden questions put to a running app: what came back, as records of the dataset format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.json import Encoder

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.data.cleaning import clean_anything
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place
from rag_titan.evaluation.limits import callback
from rag_titan.evaluation.preparation.asking import Ask, Pace, Reply, replies
from rag_titan.evaluation.preparation.golden_files import read_golden
from rag_titan.evaluation.preparation.journal import Entry, Journal, set_aside
from rag_titan.evaluation.preparation.responses import (
    OUTPUTS,
    Record,
    Responses,
    is_answered,
    is_unmapped,
    take_unmeasured,
)
from rag_titan.evaluation.writing import PathLike, write

Progress = Callable[[int], None]
Put = Callable[[list[str]], Iterator[Reply]]
"""Questions -> a reply for each, in any order, each as soon as it is there."""

FILE = "queries.jsonl"
_ASIDE = "the earlier run had more questions than this one and is kept beside it: {ids}."
_NO_AMOUNT = "the app gave a {key} that is not finite or is below 0, which was left out: {{ids}}."
_LINES = (".jsonl", ".ndjson")


@dataclass
class Collected:
    """What a run over the golden questions brought.

    queries  one record a question, in the order of the golden questions: its gold, and what came back or its `error`
    asked    how many questions were asked in this run
    kept     how many have what an earlier run brought
    notices  what was dropped, and which questions failed for which reason
    file     where the records were written
    """

    queries: list[Record]
    asked: int = 0
    kept: int = 0
    notices: Notices = field(default_factory=Notices)
    file: Path | None = None

    @property
    def answered(self) -> int:
        """Questions for which something came back that can be scored."""
        return sum(map(is_answered, self.queries))

    @property
    def unmapped(self) -> int:
        """Questions whose `error` is that the response is not as the mapping has it; the app itself answered."""
        return sum(is_unmapped(str(record["error"])) for record in self.queries if "error" in record)

    @property
    def errors(self) -> int:
        """Questions with an `error`; some may have come back in part."""
        return sum("error" in record for record in self.queries)


def output_file(output: PathLike) -> Path:
    """The file that the records of a run are written to.

    >>> str(output_file("run.jsonl")), output_file("run").as_posix()
    ('run.jsonl', 'run/queries.jsonl')
    """
    path = Path(output)
    return path if path.suffix.lower() in _LINES and not path.is_dir() else path / FILE


def journal_file(file: Path) -> Path:
    """The journal of a run: beside its records, under a name that no dataset is read from."""
    return file.with_name(f"{file.name}.journal")


def check_output(file: Path, golden: Any) -> None:
    """Raises SettingsError where the records of a run cannot go to that file."""
    if isinstance(golden, str | Path) and file.resolve() == Path(golden).resolve():
        raise SettingsError(f"output: must not be the golden file, got {file} as both. Choose another name.")
    if file.is_dir():
        raise SettingsError(f"output: must be a file, got the folder {file}. Choose another name.")
    if file.parent.exists() and not file.parent.is_dir():
        rule = f"must be a folder, or a file that ends with {' or '.join(_LINES)}"
        raise SettingsError(f"output: {rule}, got the file {file.parent}. Choose another name.")
    if file.exists() and not journal_file(file).exists():
        rule = "must not take the place of records that another command wrote"
        raise SettingsError(f"output: {rule}, got {file}. Choose another name, or remove it.")


def collect_answers(
    golden: Any,
    ask: Ask,
    *,
    map: Mapping[str, str] | None = None,
    output: PathLike | None = None,
    fresh: bool = False,
    retry_errors: bool = False,
    limit: int | None = None,
    pace: Pace | None = None,
    progress: Progress | None = None,
) -> Collected:
    """Put every golden question to an app and record what comes back; what goes wrong with one is its `error`.

    golden        a golden file, or its records
    ask           question -> text (the answer) or a dict: a function, which runs in threads; a coroutine function; an
                  `HttpApp`
    map           {key of a query: path in what `ask` returns}; without it a dict has keys of the dataset format
    output        a folder, for queries.jsonl in it, or a .jsonl file. A file .journal beside it keeps every reply as it
                  comes, and a later run asks only what is missing there
    fresh         ask everything anew; an earlier run of more questions is kept beside, as queries.jsonl.before
    retry_errors  ask again what failed in an earlier run
    limit         only the first questions
    progress      is called with the number of questions that are through, also before the first is asked

    `latency_ms` is measured from call to return unless the app gives one; questions asked side by side may slow each
    other down. Raises DatasetError for golden questions that cannot be asked, SettingsError for options, and for an
    output of a run with other ones, unless all its questions failed: then they are asked again.

    >>> golden = [{"id": "g1", "question": "How many days of leave?", "required_facts": ["25"]}]
    >>> [record] = collect_answers(golden, lambda question: {"text": "25 days"}, map={"answer": "text"}).queries
    >>> record["answer"], record["required_facts"], record["latency_ms"] >= 0
    ('25 days', ['25'], True)
    """
    responses = Responses.of(map)
    run = Collection(responses.outputs, retry_errors, progress)
    run.read(golden, limit)
    settings = {**identity_of(ask, "function"), "map": responses.spelled}
    return run.done(lambda questions: replies(questions, ask, pace or Pace()), golden, output, settings, fresh)


class Collection:
    """A run over the golden questions.

    outputs_of  what came back for a question -> keys of its record
    """

    def __init__(self, outputs_of: Callable[[Any], Record], retry_errors: bool, progress: Progress | None) -> None:
        self.outputs_of = outputs_of
        self.retry_errors = retry_errors
        self.progress = callback(progress, "progress")
        self.questions: list[Record] = []
        self.outputs: dict[str, Record] = {}
        self.asked = 0
        self.notices = Notices()

    def read(self, golden: Any, limit: int | None = None) -> None:
        """Read the golden questions."""
        self.questions = _questions(golden, limit, self.notices)

    def done(
        self, put: Put, golden: Any, output: PathLike | None, settings: Mapping[str, str], fresh: bool
    ) -> Collected:
        """Put the questions; with an output, continue or begin its run, that of these settings, and write records."""
        if output is None:
            return self._through(put, None)
        file = output_file(output)
        check_output(file, golden)
        if fresh:
            copies = set_aside(journal_file(file), [file], len(self.questions))
            self.notices.add(_ASIDE, [copy.name for copy in copies])
        with Journal(journal_file(file), settings, fresh=fresh) as journal:
            collected = self._through(put, journal)
            write(file, Encoder().encode_lines(collected.queries))
        return replace(collected, file=file)

    def _through(self, put: Put, journal: Journal | None) -> Collected:
        """Ask what is missing."""
        if journal is not None:
            self._continue(journal)
        kept = len(self.outputs)
        if self.progress is not None:
            self.progress(kept)
        missing = [record for record in self.questions if record["id"] not in self.outputs]
        for reply in put([record["question"] for record in missing]):
            self._take(missing[reply.place], reply, journal)
            if self.progress is not None:
                self.progress(len(self.outputs))
        queries = [{**record, **self.outputs[record["id"]]} for record in self.questions]
        for record in queries:
            if "error" in record:
                self.notices.add(f"failed, {record['error']}: {{ids}}.", [record["id"]])
        return Collected(queries, self.asked, kept, self.notices)

    def _continue(self, journal: Journal) -> None:
        """Take over what an earlier run brought."""
        self.notices = self.notices.merge(journal.notices)
        changed = []
        for record in self.questions:
            entry = journal.entries.get(record["id"])
            if entry is not None and entry.question != record["question"]:
                changed.append(record["id"])
            elif entry is not None and not (self.retry_errors and "error" in entry.outputs):
                self.outputs[entry.id] = entry.outputs
        self.notices.add("these questions read otherwise than in the earlier run and were asked again: {ids}.", changed)

    def _take(self, record: Record, reply: Reply, journal: Journal | None) -> None:
        outputs = self._outputs(reply, record["id"])
        self.outputs[record["id"]] = outputs
        self.asked += reply.asked
        if journal is not None and reply.asked:
            journal.add(Entry(record["id"], record["question"], outputs))

    def _outputs(self, reply: Reply, name: str) -> Record:
        if reply.error is not None:
            return {"error": clean_anything(reply.error, Place("error"))}
        outputs = self.outputs_of(reply.value)
        for key in take_unmeasured(outputs):
            self.notices.add(_NO_AMOUNT.format(key=key), [name])
        return {"latency_ms": reply.latency_ms, **outputs} if is_answered(outputs) else outputs


def _questions(golden: Any, limit: int | None, notices: Notices) -> list[Record]:
    """The golden questions without what an earlier run brought."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise SettingsError(f"limit: must be a whole number from 1, got {limit!r}.")
    records: list[Record] = to_builtins(read_golden(golden, notices=notices))
    if not records:
        raise DatasetError("golden", "must hold at least one question, got none.")
    stale = [record["id"] for record in records if any(key in OUTPUTS for key in record)]
    notices.add("what the golden file holds of an earlier run was left out, as it is asked anew: {ids}.", stale)
    for record in records:
        if not record.get("question", "").strip():
            rule = "must be given, so that it can be asked, got none. Write it, or take the record out."
            raise DatasetError(f"golden question {record['id']}: question", rule)
    return [{key: value for key, value in record.items() if key not in OUTPUTS} for record in records[:limit]]


def identity_of(asked: Any, kind: str) -> Mapping[str, str]:
    """What is asked, which must stay the same when a run is continued: its `identity`, else its name."""
    own = getattr(asked, "identity", None)
    if isinstance(own, Mapping):
        return own
    name = getattr(asked, "__qualname__", type(asked).__qualname__)
    return {kind: f"{getattr(asked, '__module__', '')}:{name}"}
