"""Joining logs to golden questions, against a slow twin and cases worked by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import NothingMatchedError
from rag_titan.evaluation.data.normal import question_key
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.importers.logs import LogRecord
from rag_titan.evaluation.preparation.joining import Joined, join

GOLDEN = [{"id": "g1", "question": "How many days?"}, {"id": "g2", "question": "Who pays?"}]


def logs_of(*records: dict[str, Any]) -> list[LogRecord]:
    return [LogRecord(f"line {i}", record) for i, record in enumerate(records, 1)]


def joined(golden: list[dict[str, Any]], *records: dict[str, Any]) -> tuple[Joined, list[str]]:
    notices = Notices()
    return join(golden, logs_of(*records), notices), notices.texts()


@pytest.mark.parametrize(
    "spelling",
    [
        "How many days?",
        "  how   MANY\ndays",
        "How many days ?!",
        "Ｈow many days？",
        "How many\u00a0days…",
        "how many days。",
    ],
)
def test_words_match_whatever_the_spelling(spelling: str) -> None:
    assert joined(GOLDEN, {"question": spelling})[0].by == {"g1": "question"}


@pytest.mark.parametrize("other", ["How many day?", "? How many days", "How manydays", "Wie viele Tage?"])
def test_other_words_do_not_match(other: str) -> None:
    result = joined(GOLDEN, {"question": other}, {"id": "g2"})[0]
    assert (result.by, [log.where for log in result.strangers]) == ({"g2": "id"}, ["line 1"])


def test_an_id_comes_before_the_words_on_both_sides() -> None:
    result, notices = joined(
        GOLDEN,
        {"id": "g1", "question": "Who pays?"},  # has the words of g2, and belongs to g1
        {"id": "x", "question": "How many days?"},  # has the words of g1, which has a log of its id
    )
    assert ({name: log.where for name, log in result.logs.items()}, result.by) == ({"g1": "line 1"}, {"g1": "id"})
    assert ([log.where for log in result.superseded], result.strangers, result.absent) == (["line 2"], [], ["g2"])
    assert notices == [
        'joined by id although the logged question is another one: g1 ("Who pays?" for "How many days?").',
        "logged several times, of which the latest by timestamp, else the last, is used: g1.",
    ]


def test_the_same_words_in_another_spelling_are_no_other_question() -> None:
    assert joined(GOLDEN, {"id": "g1", "question": "how many  DAYS"})[1] == []


def test_of_several_the_latest_by_timestamp() -> None:
    first, second = {"id": "g1", "timestamp": "2026-11-05T10:00:00Z"}, {"id": "g1", "timestamp": 1_793_000_000}
    for records in ((first, second), (second, first)):
        assert joined(GOLDEN, *records)[0].logs["g1"].values is first


def test_golden_questions_with_the_same_words_share_a_log() -> None:
    golden = [*GOLDEN, {"id": "g3", "question": "who pays"}]
    result, notices = joined(golden, {"id": "7", "question": "Who pays"})
    assert result.by == {"g2": "question", "g3": "question"}
    assert notices == ["golden questions with the same words share a logged request: g2, g3."]


IDS = st.sampled_from(["g0", "g1", "g2", "x"])
WORDS = st.sampled_from(["a b", "A  b?", "c", "d!", "other"])
LOGS = st.lists(st.fixed_dictionaries({}, optional={"id": IDS, "question": WORDS}), min_size=1, max_size=6)


def twin(golden: list[dict[str, Any]], logs: list[dict[str, Any]]) -> dict[str, int]:
    """{golden id: number of its log}, the rule read aloud; the timestamp is the number."""
    ids = [gold["id"] for gold in golden]
    found = {}
    for gold in golden:
        own = [log for log in logs if log.get("id") == gold["id"]]
        if not own:
            own = [
                log for log in logs
                if log.get("id") not in ids and "question" in log
                and question_key(log["question"]) == question_key(gold["question"])
            ]  # fmt: skip
        if own:
            found[gold["id"]] = max(log["timestamp"] for log in own)
    return found


@given(LOGS, st.randoms())
def test_the_order_of_the_logs_does_not_matter(records: list[dict[str, Any]], random: Any) -> None:
    golden = [{"id": f"g{i}", "question": words} for i, words in enumerate(("a b", "c?", "d"))]
    records = [{**record, "timestamp": moment} for moment, record in enumerate(records)]
    mixed = list(records)
    random.shuffle(mixed)
    expected = twin(golden, records)
    if not expected:
        with pytest.raises(NothingMatchedError):
            joined(golden, *mixed)
        return
    result, notices = joined(golden, *mixed)
    assert {name: log.values["timestamp"] for name, log in result.logs.items()} == expected
    assert result.absent == [gold["id"] for gold in golden if gold["id"] not in expected]
    used = {id(log) for log in result.logs.values()}
    assert len(used) + len(result.superseded) + len(result.strangers) == len(records)
    assert notices == joined(golden, *records)[1]


@pytest.mark.parametrize(
    ("golden", "logs", "reason"),
    [
        (GOLDEN, [{"answer": "yes"}], "No log has an `id` or a `question`: say where they stand, in [columns]."),
        (
            [{"id": "q_007", "question": "a"}],
            [{"id": "Q7", "question": "b"}, {"id": "Q-007"}],
            'The ids seem to be written differently, as "Q-007" and "q_007": write them alike.',
        ),
        (GOLDEN, [{"id": "77"}], "No log has a `question`, and no id of a log is that of a golden question: map"),
        ([{"id": "g1"}], [{"id": "77", "question": "a"}], "No golden question has a `question`, and their ids are not"),
        (
            GOLDEN,
            [{"id": "77", "question": "zzz"}, {"id": "78", "question": "How many free days?"}],
            'The nearest are "How many free days?" and "How many days?": the wording differs, so join them by id.',
        ),
        (GOLDEN, [{"id": "77", "question": "zzz"}], "No two questions are alike: these seem to be the logs of another"),
    ],
)
def test_nothing_in_common_says_the_likely_reason(golden: list[Any], logs: list[Any], reason: str) -> None:
    with pytest.raises(NothingMatchedError) as caught:
        joined(golden, *logs)
    text = str(caught.value)
    assert text.startswith("logs and golden questions: must have ids or questions in common, got ")
    assert reason in text
    assert "as the first of" in text


@given(st.text(max_size=20))
def test_the_key_of_a_question_is_that_of_its_key(text: str) -> None:
    assert question_key(question_key(text)) == question_key(text)
