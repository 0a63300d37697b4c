"""What a server may say beside an answer: keys, wrong counts, answers to nothing, too much; and what it costs."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from tests.evaluation.preparation.http_app import Asked
from tests.judge.models import answering, completion, dataset, model_server, obedient, url_of
from tests.judge.test_server import QUICK, Answer, asked_of, refuses, says

from rag_titan.errors import ServiceError, SettingsError
from rag_titan.judge import Judge, Limits, Patience, Sampling
from rag_titan.judge.calls import MOST_CHARACTERS, BadVerdictError, claims_call, json_text
from rag_titan.judge.secrets import Secrets
from rag_titan.models.options import Retries

KEY = "sk-0123456789-abcdefghij"
ONCE = Retries(times=0)


def without_text(usage: Mapping[str, int], **message: Any) -> Answer:
    """An answer that costs as much as any other and says nothing."""

    def answer(asked: Asked) -> None:
        said = completion("", usage=usage)
        said["choices"][0]["message"] |= {"content": None, **message}
        asked.json(said)

    return answer


def test_an_answer_without_text_is_charged_and_not_asked_for_again(tmp_path: Any) -> None:
    answer = without_text({"prompt_tokens": 70, "completion_tokens": 9}, refusal="I had rather not")
    judged, requests = asked_of(answer, n=2, cache=tmp_path / "c.db")
    assert (judged.spent.prompt_tokens, judged.spent.output_tokens, requests) == (140, 18, 2)
    assert {(failure.reason, failure.said) for failure in judged.failures} == {
        ("failed: an answer without text", "I had rather not")
    }
    again, requests = asked_of(answer, n=2, cache=tmp_path / "c.db")
    assert (again.verdicts, requests) == (judged.verdicts, 0)
    mended, _ = asked_of(answering(), n=2, cache=tmp_path / "c.db", retry_errors=True)
    assert (mended.done, mended.failures) == (2, [])


def test_thinking_until_the_tokens_are_spent_is_said() -> None:
    def thinks(asked: Asked) -> None:
        said = completion("", finish="length")
        said["choices"][0]["message"]["reasoning_content"] = "let me see"
        asked.json(said)

    judged, _ = asked_of(thinks, n=1)
    assert "cut off at its most tokens" in judged.failures[0].reason


def test_answers_of_no_use_count_against_the_budget() -> None:
    answer = without_text({"prompt_tokens": 1000, "completion_tokens": 1000})
    judged, requests = asked_of(
        answer, n=50, limits=Limits(tokens=20_000), sampling=Sampling(max_tokens=1000), concurrency=8
    )
    assert judged.spent.prompt_tokens + judged.spent.output_tokens == 2000 * requests <= 20_000
    assert judged.unasked == {"not asked: the budget of 20000 tokens is spent": 50 - requests}


def test_what_was_sent_and_never_answered_is_charged_as_a_guess() -> None:
    def never(asked: Asked) -> None:
        asked.server.app.released.wait()  # type: ignore[attr-defined]

    judged, _ = asked_of(never, n=1, patience=Patience(attempt=0.3, call=1))
    assert judged.spent.guessed == 1
    assert judged.spent.prompt_tokens > 50


def test_a_budget_holds_where_every_byte_is_a_token() -> None:
    def dense(asked: Asked) -> None:
        usage = {"prompt_tokens": int(asked.headers["content-length"]), "completion_tokens": 100}
        asked.json(completion(obedient(asked.body), usage=usage))

    judged, requests = asked_of(
        dense, n=60, concurrency=64, limits=Limits(tokens=20_000), sampling=Sampling(max_tokens=100)
    )
    assert requests > 5
    assert judged.spent.prompt_tokens + judged.spent.output_tokens <= 20_000


@pytest.mark.parametrize("count", [-5, "12", 10**30, 5.5, [1], None])
def test_a_count_that_is_none_is_guessed(count: Any) -> None:
    def answer(asked: Asked) -> None:
        asked.json(completion(obedient(asked.body), usage={"prompt_tokens": count, "completion_tokens": count}))

    judged, _ = asked_of(answer, n=1)
    assert (judged.done, judged.spent.guessed) == (1, 2)
    assert 50 < judged.spent.prompt_tokens < 2000


@pytest.mark.parametrize("before", [0, 150, 170, 180, 185, 190])
def test_a_key_that_comes_back_is_never_shown_in_part_either(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)

    def answer(asked: Asked) -> None:
        refuses(500, f"{'x' * before} {asked.headers['authorization']}")(asked)

    judged, _ = asked_of(answer, n=1, api_key_env="JUDGE_KEY", retries=ONCE)
    assert "sk-" not in json.dumps(judged.summary())


def test_a_key_in_an_answer_is_neither_kept_nor_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    judged, _ = asked_of(lambda asked: says(str(asked.headers))(asked), n=1, api_key_env="JUDGE_KEY")
    assert "Bearer ***" in judged.failures[0].said

    def claims(asked: Asked) -> None:
        said = json.loads(obedient(asked.body))
        if "claims" in said:
            said["claims"].append(f"The key is {asked.headers['authorization']}.")
        asked.json(completion(json.dumps(said)))

    judged, _ = asked_of(claims, n=1, api_key_env="JUDGE_KEY")
    assert "The key is Bearer ***." in json.dumps(judged.verdicts)
    assert KEY not in json.dumps([judged.verdicts, judged.summary()])


def test_a_key_in_the_address_is_never_shown() -> None:
    def answer(asked: Asked) -> None:
        refuses(500, f"no route {asked.path}")(asked)

    with model_server(answer) as app, Judge("tiny", f"{url_of(app)}?api-key={KEY}%2F", retries=ONCE) as judge:
        said = judge.judge(dataset(1)).failures[0].said
    assert "no route /v1/chat/completions?api-key=***" in said
    assert KEY not in said


def test_a_short_key_takes_no_word_out_of_an_answer() -> None:
    assert Secrets(["ollama"]).out_of_text("ollama") == "ollama"
    assert Secrets(["a"]).out_of_error("a word") == "a word"


def test_an_answer_to_nothing_is_not_taken_for_the_next() -> None:
    def twice(asked: Asked) -> None:
        texts = (obedient(asked.body), '{"claims": ["stale"]}')
        bodies = [json.dumps(completion(text)).encode() for text in texts]
        asked.wfile.write(b"".join(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(b), b) for b in bodies))

    judged, _ = asked_of(twice, n=3, concurrency=1, retries=ONCE)
    assert (judged.done, judged.failures) == (3, [])


def test_half_a_json_is_tried_again() -> None:
    turns = iter(range(100))

    def halves(asked: Asked) -> None:
        data = json.dumps(completion(obedient(asked.body))).encode()
        asked.say(data[:100] if next(turns) == 0 else data)

    judged, requests = asked_of(halves, n=1, concurrency=1)
    assert (judged.done, judged.spent.retried, requests) == (1, 1, 3)


def test_compression_that_nobody_asked_for_is_named() -> None:
    def packed(asked: Asked) -> None:
        data = gzip.compress(json.dumps(completion(obedient(asked.body))).encode())
        asked.say(data, 200, {"content-encoding": "gzip"})

    judged, _ = asked_of(packed, n=1)
    assert "must answer without compression, as it is asked to, got gzip. Switch" in judged.failures[0].said


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_ends_the_run_and_is_not_followed(status: int) -> None:
    with pytest.raises(ServiceError, match=f"got HTTP {status}.*, a redirect. Write the address"):
        asked_of(refuses(status, location="http://192.0.2.1/"), n=50)


@pytest.mark.parametrize(
    "text",
    ["{" * 10**6, '{"' * 500_000, '{"a":' * 200_000, '{"a":[' * 150_000, "[" * 10**6, "x" * (MOST_CHARACTERS + 1)],
)
def test_an_answer_that_never_ends_is_an_error_at_once(text: str) -> None:
    """Seen once: a second for ten thousand braces, and four times that for twice as many."""
    found: list[str] = []

    def read() -> None:
        with pytest.raises(BadVerdictError) as caught:
            claims_call("A text.", None).read(text)
        found.append(str(caught.value))

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    reading.join(60)
    assert found


def test_an_object_behind_braces_of_prose_is_found() -> None:
    assert json_text(f"{'{ ' * 150}{{}} is empty") == "{}"


def test_a_claim_that_swallows_the_control_is_an_error_and_is_not_lost() -> None:
    judged, _ = asked_of(says_merged, n=1)
    assert judged.failures[0].reason == (
        "failed: a claim with the control sentence in it: the claims were not kept apart"
    )


def says_merged(asked: Asked) -> None:
    said = json.loads(obedient(asked.body))
    asked.json(completion(json.dumps({"claims": [" ".join(said["claims"])]} if "claims" in said else said)))


def test_another_wording_of_the_control_is_none() -> None:
    call = claims_call("Leave is 25 days. The text of the contract states it.", None)
    word = call.example()["claims"][-1].split()[-1].rstrip(".")
    said = json.dumps({"claims": ["Leave is 25 days.", f"The text states that the control word is {word}."]})
    assert call.read(said) == ["Leave is 25 days."]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:0/v1", "http://127.0.0.1\u3002example/v1", "http://\u2460.example/v1"]
)
def test_a_host_or_port_that_would_be_another_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="base_url: must have a host in ASCII letters and a port from 1"):
        Judge("tiny", url, allow_remote=True)


def test_a_host_that_is_no_name_is_a_sentence() -> None:
    with (
        Judge("tiny", f"http://{'a' * 300}.example/v1", allow_remote=True, retries=QUICK) as judge,
        pytest.raises(ServiceError, match="must be reachable, got no connection"),
    ):
        judge.judge(dataset(1))


def test_a_path_is_sent_in_ascii() -> None:
    with model_server() as app, Judge("tiny", f"{url_of(app)}/\u65e5\u672c%20?q=\u00e9") as judge:
        assert judge.judge(dataset(1)).done == 1
        assert app.requests[0].path == "/v1/%E6%97%A5%E6%9C%AC%20/chat/completions?q=%C3%A9"


@pytest.mark.parametrize("seconds", [float("nan"), -1, "5", float("inf")])
def test_a_time_that_is_none(seconds: Any) -> None:
    with pytest.raises(SettingsError, match="seconds: must be a finite number from 0"):
        Judge.scripted(lambda call: "", seconds=seconds)


def test_a_second_run_of_a_judge_counts_its_own_tries() -> None:
    turns, good = iter(range(100)), answering()
    with (
        model_server(lambda asked: (refuses(500) if next(turns) == 0 else good)(asked)) as app,
        Judge("tiny", url_of(app), retries=QUICK, concurrency=1) as judge,
    ):
        assert [judge.judge(dataset(1)).spent.retried for _ in range(2)] == [1, 0]
