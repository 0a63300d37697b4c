"""Which logged request answers which golden question: by id, else by the words of the question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

from rag_titan.errors import NothingMatchedError
from rag_titan.evaluation.data.normal import question_key
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import keys_of, quoted
from rag_titan.evaluation.importers.logs import LogRecord, latest

BY_ID, BY_QUESTION = "id", "question"
Record = Mapping[str, Any]

_SEVERAL = "logged several times, of which the latest by timestamp, else the last, is used: {ids}."
_OTHERS = "joined by id although the logged question is another one: {ids}."
_SHARED = "golden questions with the same words share a logged request: {ids}."
_LOOKED_THROUGH = 200  # questions of each side that are compared for the sake of an error
_ALIKE = 0.6  # share of characters in common from which a question is worth showing as the nearest


@dataclass(frozen=True)
class Joined:
    """The result.

    logs        {golden id: the logged request that is used}
    by          {golden id: "id" or "question"}
    absent      golden ids that no request answers
    superseded  requests that another one of the same question replaces
    strangers   requests that answer no golden question
    """

    logs: dict[str, LogRecord]
    by: dict[str, str]
    absent: list[str]
    superseded: list[LogRecord]
    strangers: list[LogRecord]


def join(golden: Sequence[Record], logs: Sequence[LogRecord], notices: Notices) -> Joined:
    """Give each golden question its logged request.

    golden   records with `id`, each once, and `question` as a rule
    logs     as `read_logs` gives them
    notices  what was decided between several

    An id that matches comes before words that match, on both sides: a request whose id is that of a golden question
    answers no other one, and where there is such a request those with the same words are not used. Words are compared
    by `question_key`.

    Raises NothingMatchedError where no request answers any golden question, with an example of each side.

    >>> golden = [{"id": "g1", "question": "How many days?"}, {"id": "g2", "question": "Who pays?"}]
    >>> logs = [LogRecord("line 1", {"id": "7f3a", "question": "how many  days"})]
    >>> joined = join(golden, logs, Notices())
    >>> joined.by, joined.absent
    ({'g1': 'question'}, ['g2'])
    """
    by_id, by_words, strangers = _candidates(golden, logs, notices)
    if golden and logs and len(strangers) == len(logs):
        raise NothingMatchedError("logs and golden questions", _nothing(golden, logs))
    used: dict[str, LogRecord] = {}
    by: dict[str, str] = {}
    for name in (str(record["id"]) for record in golden):
        found = by_id.get(name) or by_words.get(name)
        if found:
            used[name] = latest(found)
            by[name] = BY_ID if name in by_id else BY_QUESTION
    of_question = {name: [*by_id.get(name, ()), *by_words.get(name, ())] for name in used}
    notices.add(_SEVERAL, [name for name, found in of_question.items() if len(found) > 1])
    _tell_others(golden, used, by, notices)
    absent = [str(record["id"]) for record in golden if record["id"] not in used]
    kept = {id(record) for record in (*used.values(), *strangers)}
    return Joined(used, by, absent, [record for record in logs if id(record) not in kept], strangers)


Candidates = dict[str, list[LogRecord]]


def _candidates(
    golden: Sequence[Record], logs: Sequence[LogRecord], notices: Notices
) -> tuple[Candidates, Candidates, list[LogRecord]]:
    """{golden id: requests with that id}, {golden id: requests with those words}, and the requests without either."""
    ids = {str(record["id"]) for record in golden}
    with_words: dict[str, list[str]] = {}
    for record in golden:
        if isinstance(record.get("question"), str):
            with_words.setdefault(question_key(record["question"]), []).append(str(record["id"]))
    by_id: Candidates = {}
    by_words: Candidates = {}
    strangers = []
    for log in logs:
        words = log.values.get("question")
        same = with_words.get(question_key(words), []) if isinstance(words, str) else []
        if log.values.get("id") in ids:
            by_id.setdefault(log.values["id"], []).append(log)
            continue
        for name in same:
            by_words.setdefault(name, []).append(log)
        if len(same) > 1:
            notices.add(_SHARED, same)
        if not same:
            strangers.append(log)
    return by_id, by_words, strangers


def _tell_others(
    golden: Sequence[Record], used: Mapping[str, LogRecord], by: Mapping[str, str], notices: Notices
) -> None:
    for record in golden:
        name, words = str(record["id"]), record.get("question")
        logged = used[name].values.get("question") if by.get(name) == BY_ID else None
        if isinstance(words, str) and isinstance(logged, str) and question_key(words) != question_key(logged):
            notices.add(_OTHERS, [f"{name} ({quoted(logged)} for {quoted(words)})"])


# --- why nothing matches --------------------------------------------------------------------------


def _nothing(golden: Sequence[Record], logs: Sequence[LogRecord]) -> str:
    log, gold = logs[0], golden[0]
    sides = (
        f"got {_named(log.values)} as the first of {len(logs)} logs and {_named(gold)} as the first of {len(golden)}"
    )
    return f"must have ids or questions in common, {sides} golden questions. {_reason(golden, logs)}"


def _named(record: Record) -> str:
    parts = [f"{key} {quoted(str(record[key]))}" for key in ("id", "question") if record.get(key) is not None]
    return " with ".join(parts) or f"a record with {keys_of(record)}"


def _reason(golden: Sequence[Record], logs: Sequence[LogRecord]) -> str:
    """The most likely reason, in one sentence that says what to do."""
    asked, wanted = _questions(log.values for log in logs), _questions(golden)
    named = any(log.values.get("id") is not None for log in logs)
    if not asked and not named:
        return "No log has an `id` or a `question`: say where they stand, in [columns]."
    pair = _same_but_for_spelling(golden, logs)
    if pair is not None:
        return f"The ids seem to be written differently, as {quoted(pair[0])} and {quoted(pair[1])}: write them alike."
    if not asked:
        return "No log has a `question`, and no id of a log is that of a golden question: map `question` in [columns]."
    if not wanted:
        return "No golden question has a `question`, and their ids are not those of the logs: write the questions."
    nearest = _nearest(asked, wanted)
    if nearest is not None:
        return (
            f"The nearest are {quoted(nearest[0])} and {quoted(nearest[1])}: the wording differs, so join them by id."
        )
    return "No two questions are alike: these seem to be the logs of another test set."


def _questions(records: Iterable[Record]) -> list[str]:
    texts = (record.get("question") for record in records)
    return list(islice((text for text in texts if isinstance(text, str) and text.strip()), _LOOKED_THROUGH))


def _same_but_for_spelling(golden: Sequence[Record], logs: Sequence[LogRecord]) -> tuple[str, str] | None:
    """Two ids that are the same without case, blanks, what joins words, and zeros in front."""
    known = {_bare(str(record["id"])): str(record["id"]) for record in reversed(golden)}
    for log in logs:
        name = str(log.values.get("id") or "")
        if _bare(name) in known and _bare(name):
            return name, known[_bare(name)]
    return None


def _bare(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum()).lstrip("0")


def _nearest(asked: Sequence[str], wanted: Sequence[str]) -> tuple[str, str] | None:
    """The two questions with the most characters in common, if that are many."""
    best, share = None, _ALIKE
    for one in wanted:
        matcher = SequenceMatcher(None, b=question_key(one)[:200], autojunk=False)
        for other in asked:
            matcher.set_seq1(question_key(other)[:200])
            if matcher.real_quick_ratio() > share and matcher.quick_ratio() > share and matcher.ratio() > share:
                best, share = (other, one), matcher.ratio()
    return best
