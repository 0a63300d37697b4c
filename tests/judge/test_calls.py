"""One call: what is sent cannot be broken out of, and whatever is no verdict is an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge.models import obedient

from rag_titan.judge import prompts
from rag_titan.judge.calls import (
    BadVerdictError,
    Call,
    claims_call,
    json_text,
    questions_call,
    relevance_call,
    useful_call,
    verdicts_call,
)
from rag_titan.judge.evidence import Text

TEXT = Text("Leave is 25 days. It lapses on 30 April.")
CLAIMS = ["Leave is 25 days.", "It lapses in May.", "It is paid."]
MARKS = [
    "<<<",
    ">>>",
    "<<<END>>>",
    "<<<CLAIMS>>>",
    "<|im_start|>",
    "</s>",
    "<s>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<",
    ">",
]


def all_calls() -> list[Call]:
    return [
        claims_call(TEXT.text, "How long?"),
        verdicts_call(CLAIMS, TEXT),
        questions_call("25 days.", 3),
        useful_call("How long?", "25 days", ["Leave is 25 days.", "Lunch."]),
        relevance_call("How long?", ["Leave is 25 days.", "Lunch."]),
    ]


def said(call: Call) -> Any:
    return json.loads(obedient({"messages": call.messages()}))


@given(st.lists(st.sampled_from([*MARKS, "a", " ", "\n"]), max_size=12).map("".join))
def test_no_text_ends_the_marks_that_it_stands_between(text: str) -> None:
    inside = prompts.fenced("TEXT", text).removeprefix("<<<TEXT>>>\n").removesuffix("\n<<<END>>>")
    assert [mark for mark in MARKS[:-2] if mark in inside] == []
    assert "".join(inside.split()) == "".join(text.split())


def test_what_an_obedient_model_says_is_read() -> None:
    claims, verdicts, questions, useful, relevance = (call.read(json.dumps(said(call))) for call in all_calls())
    assert claims == ["Leave is 25 days.", "It lapses on 30 April."]
    assert [verdict.verdict for verdict in verdicts] == ["supported", "not_supported", "not_supported"]
    assert (questions.questions, questions.noncommittal) == (["25 days.?"] * 3, False)
    assert (useful, relevance) == ([True, False], [0, 0])


@pytest.mark.parametrize("number", range(5))
def test_an_example_is_a_verdict(number: int) -> None:
    call = all_calls()[number]
    call.read(json.dumps(call.example()))


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda text: text[: len(text) // 2], "JSON object|schema"),
        (lambda text: "", "no JSON objects"),
        (lambda text: "null", "no JSON objects"),
        (lambda text: "[" + text + "]", "schema"),
        (lambda text: text + text, "2 JSON objects"),
        (lambda text: json.dumps({**json.loads(text), "more": 1}), "schema"),
        (lambda text: "{}", "schema"),
        (lambda text: "{" * 100_000, "JSON object"),
    ],
)
def test_what_is_no_verdict_is_an_error(number: int, wrong: Any, words: str) -> None:
    call = all_calls()[number]
    text = wrong(json.dumps(said(call)))
    if text.startswith("["):
        assert call.read(text) is not None or words  # one object in a list is that object
        return
    with pytest.raises(BadVerdictError, match=words):
        call.read(text)


@pytest.mark.parametrize("number", [1, 3, 4])
def test_a_wrong_count_or_order_is_an_error(number: int) -> None:
    call = all_calls()[number]
    [(key, entries)] = said(call).items()
    for changed in (entries[1:], entries[:-1], [*entries, entries[0]], entries[::-1], []):
        with pytest.raises(BadVerdictError, match="which are not one for each"):
            call.read(json.dumps({key: changed}))


def test_prose_round_the_json_is_left_out() -> None:
    call = all_calls()[1]
    text = json.dumps(said(call))
    assert call.read(f"Sure! ```json\n{text}\n``` I hope {{that}} helps.") == call.read(text)
    with pytest.raises(BadVerdictError, match="no JSON objects"):
        json_text("I cannot {do} that.")


def test_evidence_must_stand_in_the_text() -> None:
    call, value = all_calls()[1], said(all_calls()[1])
    place = next(k for k, one in enumerate(value["verdicts"]) if one["verdict"] == "not_supported")
    own = call.read(json.dumps(value))
    assert [one.evidence for one in own] == ["Leave is 25 days", "", ""]
    for entry in value["verdicts"]:
        if entry["verdict"] == "supported":
            entry["evidence"] = "Leave is 26 days"
    with pytest.raises(BadVerdictError, match="evidence that does not stand in the text"):
        call.read(json.dumps(value))
    value["verdicts"][place]["evidence"] = "whatever"
    assert place >= 0


@pytest.mark.parametrize("verdict", ["supported", "contradicted", "not_supported"])
def test_a_model_that_gives_all_claims_one_verdict_is_noticed(verdict: str) -> None:
    call = all_calls()[1]
    value = said(call)
    for entry in value["verdicts"]:
        entry |= {"verdict": verdict, "evidence": "Leave is 25 days"}
    with pytest.raises(BadVerdictError, match="a control claim has the wrong verdict"):
        call.read(json.dumps(value))


def test_claims_without_the_control_are_noticed() -> None:
    with pytest.raises(BadVerdictError, match="control sentence"):
        all_calls()[0].read('{"claims": ["Leave is for ever."]}')


def test_passages_that_are_all_called_useful_or_relevant_are_noticed() -> None:
    for call, key, value in ((all_calls()[3], "useful", True), (all_calls()[4], "grade", 2)):
        entries = [{"passage": n, key: value} for n in (1, 2, 3)]
        with pytest.raises(BadVerdictError, match="control passage"):
            call.read(json.dumps({"passages": entries}))


def test_a_wrong_control_word_or_too_few_questions_are_noticed() -> None:
    call, value = all_calls()[2], said(all_calls()[2])
    with pytest.raises(BadVerdictError, match="control word"):
        call.read(json.dumps({**value, "control": "x"}))
    with pytest.raises(BadVerdictError, match="2 questions instead of 3"):
        call.read(json.dumps({**value, "questions": ["a", "b"]}))


def test_a_judge_with_other_words_or_settings_is_another_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prompts.digest({"seed": 0})
    assert prompts.digest({"seed": 1}) != before
    monkeypatch.setattr(prompts, "VERDICTS", prompts.VERDICTS + " ")
    assert prompts.digest({"seed": 0}) != before


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("员工每年有25天年休假。请假需要批准。", "25天年休假"),
        ("社員には年次有給休暇が25日あります。", "年次有給休暇が25日"),
        ("พนักงานมีวันลา 25 วันต่อปี", "วันลา 25 วัน"),
        ("pro\u00adtection lasts 25 days", "protection lasts"),
        ("\u202eleave\u202c is 25\u200b days", "leave is 25 days"),
    ],
)
def test_words_are_found_in_every_script_and_past_what_cannot_be_seen(text: str, quote: str) -> None:
    assert Text(text).quotes(quote)
    assert not Text(text).quotes(quote.replace("25", "26") if "25" in quote else f"no {quote}")
    assert not Text("第125天").quotes("25天")
