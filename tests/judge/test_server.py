"""A model server that misbehaves: no hang, nothing lost, the right error; and a server that is not to be asked."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.preparation.http_app import Asked
from tests.judge.models import answering, completion, dataset, model_server, obedient, url_of

from rag_titan.errors import ServiceError, SettingsError
from rag_titan.judge import Judge, Judged, Patience, Sampling
from rag_titan.models.options import Retries

Answer = Callable[[Asked], None]
QUICK = Retries(times=2, first_wait=0.0, seed=0)


def asked_of(answer: Answer, n: int = 4, patience: Patience | None = None, **options: Any) -> tuple[Judged, int]:
    """What comes of a run against the server, and how many requests it got."""
    with model_server(answer) as app:
        with Judge("tiny", url_of(app), patience=patience, **{"retries": QUICK, **options}) as judge:
            judged = judge.judge(dataset(n))
        return judged, len(app.requests)


def on(office: int, wrong: Answer) -> Answer:
    """Well for all questions but one."""
    good = answering()
    return lambda asked: (wrong if f"office {office}" in asked.body["messages"][1]["content"] else good)(asked)


def first(n: int, wrong: Answer) -> Answer:
    """Wrong for the first n requests."""
    turns, lock, good = iter(range(10**6)), threading.Lock(), answering()

    def answer(asked: Asked) -> None:
        with lock:
            turn = next(turns)
        (wrong if turn < n else good)(asked)

    return answer


def says(text: str) -> Answer:
    return lambda asked: asked.json(completion(text))


def never(asked: Asked) -> None:
    asked.server.app.released.wait()  # type: ignore[attr-defined]


def drips(asked: Asked) -> None:
    """A byte now and then, so that no single read is late."""
    asked.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    while not asked.server.app.released.wait(0.05):  # type: ignore[attr-defined]
        asked.wfile.write(b" ")
        asked.wfile.flush()


def cuts(asked: Asked) -> None:
    asked.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{")
    asked.close_connection = True


def refuses(status: int, words: str = "no", **headers: str) -> Answer:
    return lambda asked: asked.say(json.dumps({"error": {"message": words}}).encode(), status, headers)


def test_without_trouble() -> None:
    judged, requests = asked_of(answering())
    assert (judged.done, judged.failures, judged.spent.calls, requests) == (4, [], 8, 8)
    assert (judged.spent.prompt_tokens, judged.spent.output_tokens, judged.spent.guessed) == (800, 160, 0)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (refuses(500), "no answer from the server"),
        (refuses(400, "context length exceeded"), "no answer from the server"),
        (cuts, "no answer from the server"),
        (says('{"verdicts": [{"claim": 1'), "no JSON objects instead of one"),
        (says('{"verdicts": []}'), "0 entries, which are not one for each claim from 1 to 4"),
        (says('{"verdicts": [{"claim": 1, "evidence": "", "verdict": "maybe"}]}'), "does not fit the schema"),
        (says("I think they are all fine."), "no JSON objects instead of one"),
        (lambda asked: asked.json(completion("")), "an answer without text"),
        (lambda asked: asked.json({"choices": []}), "no answer from the server"),
        (lambda asked: asked.say(b"<html>gateway</html>"), "no answer from the server"),
        (lambda asked: asked.json(completion('{"verdicts": [', finish="length")), "cut off at its most tokens"),
    ],
)
def test_what_goes_wrong_with_one_question_is_its_error_alone(wrong: Answer, reason: str) -> None:
    def on_verdicts(asked: Asked) -> None:
        of_verdicts = asked.body["messages"][0]["content"].startswith("You check")
        (wrong if of_verdicts else answering())(asked)

    judged, _ = asked_of(on(2, on_verdicts))
    assert (judged.done, [failure.query_id for failure in judged.failures]) == (3, ["q2"])
    assert reason in judged.verdicts["q2"]["unjudged"]["faithfulness"]
    assert "NaN" not in json.dumps([judged.verdicts, judged.summary()])


def test_prose_round_the_json_is_no_trouble() -> None:
    judged, _ = asked_of(lambda asked: asked.json(completion(f"Sure:\n```json\n{obedient(asked.body)}\n```")))
    assert (judged.done, judged.failures) == (4, [])


@pytest.mark.parametrize("wrong", [never, drips])
def test_a_server_that_does_not_answer_in_time_is_not_waited_for(wrong: Answer) -> None:
    judged, _ = asked_of(on(1, wrong), patience=Patience(attempt=0.5, call=5))
    assert (judged.done, [failure.query_id for failure in judged.failures]) == (3, ["q1"])
    assert "must answer wholly within 0.5 s" in judged.failures[0].said


def test_the_time_of_a_run_ends_it() -> None:
    judged, _ = asked_of(on(1, never), seconds=1.0)
    assert judged.done == 3
    assert judged.unasked == {"not asked: the time of 1 s is over": 1}


@pytest.mark.parametrize("wrong", [refuses(429, **{"retry-after": "0"}), refuses(500), refuses(503), cuts])
def test_what_passes_is_tried_again(wrong: Answer) -> None:
    judged, requests = asked_of(first(2, wrong), concurrency=1)
    assert (judged.done, judged.failures) == (4, [])
    assert (judged.spent.calls, judged.spent.retried, requests) == (10, 2, 10)


def test_retry_after_is_obeyed() -> None:
    began = time.monotonic()
    judged, _ = asked_of(first(1, refuses(429, **{"retry-after": "1"})), n=1)
    assert judged.done == 1
    assert time.monotonic() - began >= 1.0


def test_a_connection_that_the_server_closed_is_made_anew_without_a_failure() -> None:
    def closing(asked: Asked) -> None:
        answering()(asked)
        asked.close_connection = True  # without a word of it in the headers

    judged, requests = asked_of(closing, concurrency=1, retries=Retries(times=0))
    assert (judged.done, judged.failures, requests) == (4, [], 8)


def test_chunked_answers_are_read() -> None:
    def chunked(asked: Asked) -> None:
        data = json.dumps(completion(obedient(asked.body))).encode()
        asked.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        for start in range(0, len(data), 50):
            piece = data[start : start + 50]
            asked.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        asked.wfile.write(b"0\r\n\r\n")

    judged, _ = asked_of(chunked)
    assert (judged.done, judged.failures) == (4, [])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (refuses(401, "bad key"), "HTTP 401: bad key. Name the environment variable"),
        (refuses(404, "model `tiny` not found"), "must know the model"),
        (refuses(400, "'response_format' of type json_schema is not supported"), "--no-json-schema"),
    ],
)
def test_what_no_call_can_pass_ends_the_run(wrong: Answer, said: str) -> None:
    with pytest.raises(ServiceError) as caught:
        asked_of(wrong, n=50)
    assert said in str(caught.value)


def test_without_json_schema_the_schema_stands_in_the_prompt() -> None:
    bodies: list[Any] = []

    def answer(asked: Asked) -> None:
        bodies.append(asked.body)
        answering()(asked)

    judged, _ = asked_of(answer, n=1, sampling=Sampling(json_schema=False, seed=7))
    assert judged.done == 1
    assert all("response_format" not in body and "JSON Schema" in body["messages"][0]["content"] for body in bodies)
    asked_of(answer, n=1)
    schema = bodies[-1]["response_format"]["json_schema"]["schema"]["properties"]["verdicts"]
    assert (schema["minItems"], schema["maxItems"]) == (4, 4)  # two claims, two controls
    assert [body["seed"] for body in bodies] == [7, 7, 0, 0]
    assert {(body["temperature"], body["stream"], body["model"]) for body in bodies} == {(0.0, False, "tiny")}


def test_a_server_that_is_not_there_ends_the_run() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Judge("tiny", f"http://127.0.0.1:{port}/v1", retries=QUICK) as judge, pytest.raises(ServiceError) as caught:
        judge.judge(dataset(1000))
    assert "must be reachable, got no connection" in str(caught.value)


@pytest.mark.parametrize("url", ["http://example.org/v1", "http://10.0.0.1/v1", "http://127.0.0.1.example.org/v1"])
def test_another_machine_is_not_asked_unless_told_so(url: str) -> None:
    with pytest.raises(SettingsError, match=r"must be on this machine, got .*Add --allow-remote"):
        Judge("tiny", url)
    Judge("tiny", url, allow_remote=True).close()


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:80", "ftp://127.0.0.1", "http://", "http://a:b@127.0.0.1/v1", "http://[", None]
)
def test_an_address_that_is_none(url: Any) -> None:
    with pytest.raises(SettingsError, match="base_url: must"):
        Judge("tiny", url)


def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "very-secret")

    def answer(asked: Asked) -> None:
        refuses(500, f"you sent {asked.headers['authorization']}")(asked)

    judged, _ = asked_of(answer, n=1, api_key_env="JUDGE_KEY", retries=Retries(times=0))
    assert "you sent Bearer ***" in judged.failures[0].said
    with pytest.raises(SettingsError, match="api_key_env"):
        Judge("tiny", "http://127.0.0.1/v1", api_key_env="NO_SUCH_KEY")


def test_no_call_is_made_twice(tmp_path: Path) -> None:
    cache, bodies = tmp_path / "cache.db", Counter[str]()

    def answer(asked: Asked) -> None:
        bodies[json.dumps(asked.body)] += 1
        on(2, says("no verdict"))(asked)

    first_run, _ = asked_of(answer, cache=cache)
    again, requests = asked_of(answer, cache=cache)
    assert (requests, again.spent.calls, again.spent.cached) == (0, 0, first_run.spent.calls)
    assert again.verdicts == first_run.verdicts
    assert set(bodies.values()) == {1}
    mended, requests = asked_of(answering(), cache=cache, retry_errors=True)
    assert (mended.done, mended.failures, requests) == (4, [], 1)  # its claims were fine
    repeated, requests = asked_of(answering(), cache=cache, repeat=2)
    assert (repeated.failures, requests) == ([], 8)  # those of the second seed


def test_the_cache_holds_no_text_and_no_other_file_is_taken_for_one(tmp_path: Path) -> None:
    cache = tmp_path / "cache.db"
    asked_of(answering(), cache=cache)
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Leave" not in data
    assert b"verdict" not in data
    other = tmp_path / "other.db"
    other.write_bytes(b"no database at all, and longer than a header of one would be" * 10)
    with pytest.raises(SettingsError, match="cache: must be a cache of answers"):
        asked_of(answering(), cache=other)
