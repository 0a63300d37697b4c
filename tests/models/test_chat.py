"""Chat models: what is asked, what is made of the answer, on both interfaces."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.scripted import (
    USAGE,
    Naps,
    Ticks,
    base_url,
    chat_model,
    good,
    ollama_lines,
    openai_events,
    scripted,
    streamed,
    whole,
)

from rag_titan.errors import ServiceError, SettingsError
from rag_titan.models.answers import READERS, ChatAnswer, Said
from rag_titan.models.chat import ChatModel
from rag_titan.models.options import Timeouts
from rag_titan.models.transport import Reply

APIS = pytest.mark.parametrize("api", ["openai", "ollama"])
SCHEMA = {"type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}, "required": ["verdict"]}
PRICES = {"tiny": {"input": 2.0, "output": 10.0}, "other": {"input": 1, "output": 1}}


def answer_of(answer: Any, api: str = "openai", **more: Any) -> ChatAnswer:
    asked = {key: more.pop(key) for key in ("schema", "on_text") if key in more}
    with scripted(answer) as app, chat_model(app, api, **more) as model:
        return model.chat("q?", **asked)


def error_of(answer: Any, api: str = "openai", **more: Any) -> str:
    with pytest.raises(ServiceError) as caught:
        answer_of(answer, api, **more)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith("http://127.0.0.1:")
    return text.partition(": ")[2]


@APIS
def test_a_streamed_answer_with_its_times_tokens_and_cost(api: str) -> None:
    """The clock goes on by a second at each look: the parts of the call are put to it in a known order."""
    seen: list[tuple[str, float]] = []
    ticks = Ticks()
    answer = answer_of(
        good(api),
        api,
        clock=ticks,
        prices=PRICES,
        on_text=lambda text: seen.append((text, ticks.now)),
        timeouts=Timeouts(),
    )
    assert [text for text, _ in seen] == ["Grüße", ", ", "世界 👋"]
    assert answer.time_to_first_token_ms == (seen[0][1] - 1) * 1000  # the first look was at the begin of the call
    assert answer.latency_ms == (ticks.now - 1) * 1000
    assert answer.text == "Grüße, 世界 👋"
    assert (answer.finish_reason, answer.attempts, answer.value) == ("stop", 1, None)
    assert answer.model == ("tiny-1" if api == "openai" else "tiny")
    assert (answer.prompt_tokens, answer.output_tokens, answer.total_tokens) == (7, 3, 10)
    assert answer.cost_usd == pytest.approx((7 * 2 + 3 * 10) / 1_000_000, abs=0)


@APIS
def test_what_the_server_does_not_say_is_none(api: str) -> None:
    answer = answer_of(good(api, counts=False), api, prices=PRICES)
    assert (answer.prompt_tokens, answer.output_tokens, answer.total_tokens, answer.cost_usd) == (None,) * 4
    assert answer.text == "Grüße, 世界 👋"


@pytest.mark.parametrize("bad", [-1, 1.5, True, "7", None])
def test_a_count_that_cannot_be_is_none(bad: Any) -> None:
    answer = answer_of(streamed(openai_events(["a"], usage={"prompt_tokens": bad, "completion_tokens": 3})))
    assert (answer.prompt_tokens, answer.output_tokens, answer.total_tokens) == (None, 3, None)


def test_a_total_is_the_sum_of_both_where_it_is_not_said() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    assert answer_of(streamed(openai_events(["a"], usage=usage))).total_tokens == 10
    assert answer_of(streamed(openai_events(["a"], usage=usage | {"total_tokens": 12}))).total_tokens == 12


def test_a_model_without_a_price_has_no_cost() -> None:
    assert answer_of(good("openai"), prices={"other": PRICES["other"]}).cost_usd is None
    assert answer_of(good("openai"), prices={"tiny": {"input": 0, "output": 0}}).cost_usd == 0


def test_what_openai_is_asked() -> None:
    with scripted(good("openai")) as app, chat_model(app, seed=5, max_tokens=64, extra={"user": "u"}) as model:
        model.chat([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "q?"}])
        [asked] = app.requests
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["content-type"] == "application/json"
    assert "authorization" not in asked.headers
    assert asked.body == {
        "model": "tiny",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "q?"}],
        "temperature": 0,
        "seed": 5,
        "max_tokens": 64,
        "stream": True,
        "stream_options": {"include_usage": True},
        "user": "u",
    }


def test_what_ollama_is_asked() -> None:
    extra = {"options": {"num_ctx": 8192}, "keep_alive": "5m"}
    with scripted(good("ollama")) as app, chat_model(app, "ollama", seed=5, max_tokens=64, extra=extra) as model:
        model.chat("q?")
        [asked] = app.requests
    assert asked.path == "/api/chat"
    assert asked.body == {
        "model": "tiny",
        "messages": [{"role": "user", "content": "q?"}],
        "stream": True,
        "options": {"temperature": 0, "seed": 5, "num_predict": 64, "num_ctx": 8192},
        "keep_alive": "5m",
    }


@pytest.mark.parametrize(("api", "left"), [("openai", {"stream": False}), ("ollama", {"stream": False})])
def test_options_that_are_none_are_not_sent(api: str, left: dict[str, Any]) -> None:
    with scripted(good(api)) as app, chat_model(app, api, temperature=None, streaming=False) as model:
        model.chat("q?")
        assert app.requests[0].body == {"model": "tiny", "messages": [{"role": "user", "content": "q?"}]} | left


@APIS
def test_an_answer_that_comes_as_a_whole_has_no_time_to_first_token(api: str) -> None:
    message = {"role": "assistant", "content": "all of it"}
    value: dict[str, Any] = {"model": "tiny", "message": message, "done": True, "done_reason": "stop", "eval_count": 3}
    if api == "openai":
        value = {"model": "tiny", "choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE}
    for streaming in (True, False):  # some servers do not stream even if they are asked to
        answer = answer_of(whole(value), api, streaming=streaming)
        assert (answer.text, answer.time_to_first_token_ms, answer.output_tokens) == ("all of it", None, 3)


def test_json_by_a_schema_is_asked_for_and_read() -> None:
    with scripted(good("openai", ['{"verdict":', ' "yes"}'])) as app, chat_model(app) as model:
        assert model.chat("q?", schema=SCHEMA).value == {"verdict": "yes"}
        form = app.requests[0].body["response_format"]
    assert form == {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
    with scripted(good("ollama", ['{"verdict":', ' "yes"}'])) as app, chat_model(app, "ollama") as model:
        assert model.chat("q?", schema=SCHEMA).value == {"verdict": "yes"}
        assert app.requests[0].body["format"] == SCHEMA


@APIS
def test_json_that_is_none_says_why(api: str) -> None:
    error = error_of(good(api, ["Yes, it is."]), api, schema=SCHEMA)
    assert error.startswith("must answer in JSON by the schema, got 'Yes, it is.'. Look whether the server supports")
    cut = streamed(openai_events(['{"verdict": "y'], finish="length"))
    assert error_of(cut, schema=SCHEMA).endswith("Raise max_tokens.")


@APIS
@pytest.mark.parametrize(
    ("body", "got"),
    [
        (b"<!doctype html><title>Login</title>", "must answer in JSON, got an HTML page (<!doctype html><title>Login"),
        (b"{'role': 'assistant'}\n", "must answer in JSON, got \"{'role': 'assistant'}\""),
        (b"[1, 2]\n", "must answer with a JSON object, got '[1, 2]'"),
        (b"hello\n", "must answer in JSON, got 'hello'"),
        (b'{"foo": 1}\n', 'got {"foo": 1}'),
        (b'{"error": {"message": "out of\\nmemory"}}\n', "must answer, got an error (out of memory)"),
        (b'{"error": "out of memory"}\n', "must answer, got an error (out of memory)"),
        (b'{"choices": [7], "message": 7}\n', 'got {"choices": [7], "message": 7}'),
        (
            b'{"choices": [{"message": {"content": 7}}], "message": {"content": 7}}\n',
            "must answer with text, got 7.",
        ),
    ],
)
def test_what_is_no_answer_is_named(api: str, body: bytes, got: str) -> None:
    assert got in error_of(whole(body), api)


def test_an_empty_body_is_no_answer() -> None:
    assert "must answer in JSON, got nothing." in error_of(whole(b""))
    assert "must answer to the end, got a stream that breaks off" in error_of(whole(b""), "ollama")


@pytest.mark.parametrize(
    ("event", "got"),
    [
        (b"data: {oops}\n\n", "must answer in JSON, got '{oops}'"),
        (b"data: 7\n\n", "must answer with a JSON object, got '7'"),
        (b'data: {"error": {"message": "overloaded"}}\n\n', "must answer, got an error (overloaded)"),
        (b'data: {"choices": {}, "x": 1}\n\ndata: {"choices": {"a": 1}}\n\n', "must answer with choices"),
        (b'data: {"choices": [{"delta": 7}]}\n\n', "must answer with choices"),
    ],
)
def test_a_stream_that_goes_wrong_is_named_and_not_asked_for_again(event: bytes, got: str) -> None:
    with scripted(streamed([*openai_events(["a"])[:2], event])) as app, chat_model(app) as model:
        with pytest.raises(ServiceError) as caught:
            model.chat("q?")
        assert len(app.requests) == 1
    assert got in str(caught.value)


def test_text_that_only_begins_like_an_event_is_no_stream() -> None:
    assert error_of(whole(b"error: upstream")).startswith("must answer with a stream of events, got 'error: upstream'.")


def test_an_error_in_the_middle_of_an_ollama_stream_is_named() -> None:
    broken = streamed([*ollama_lines(["a"], done=False), b'{"error":"an error was encountered"}\n'])
    assert "got an error (an error was encountered)" in error_of(broken, "ollama")


@APIS
@pytest.mark.parametrize("texts", [[], [""], [" \n", " "]])
def test_an_empty_answer_is_none(api: str, texts: list[str]) -> None:
    assert error_of(good(api, texts), api) == "must answer with text, got an empty answer, finish reason 'stop'."


def test_thoughts_are_no_text_and_refusals_are_said() -> None:
    def delta(**members: str) -> bytes:
        return f"data: {json.dumps({'choices': [{'delta': members}]})}\n\n".encode()

    thought = delta(reasoning_content="Let me see.")
    assert answer_of(streamed([thought, *openai_events(["a"])])).text == "a"
    error = error_of(streamed([thought, *openai_events([], finish="length")]))
    assert error.endswith("finish reason 'length'. Raise max_tokens: thinking used them up.")
    error = error_of(streamed([delta(refusal="I can"), delta(refusal="not."), *openai_events([])]))
    assert "got a refusal (I cannot.)" in error
    line = b'{"message": {"role": "assistant", "content": "", "thinking": "Hm."}, "done": false}\n'
    assert answer_of(streamed([line, *ollama_lines(["a"])]), "ollama").text == "a"
    assert "thinking used them up" in error_of(streamed([line, *ollama_lines([])]), "ollama")


def test_a_stream_may_end_without_its_last_word() -> None:
    assert answer_of(streamed(openai_events(["a"], done=False))).text == "a"
    assert answer_of(streamed([b"".join(openai_events(["a"]))[:-2]])).text == "a"
    assert answer_of(streamed([b"".join(ollama_lines(["a"]))[:-1]]), "ollama").text == "a"


def test_nobody_waits_for_what_comes_after_the_end() -> None:
    def never(api: str) -> Any:
        def answer(asked: Any) -> None:
            streamed(openai_events(["a"]) if api == "openai" else ollama_lines(["a"]), cut=True)(asked)
            asked.server.app.released.wait()

        return answer

    assert answer_of(never("openai"), timeouts=Timeouts(between_chunks=10)).text == "a"
    assert answer_of(never("ollama"), "ollama", timeouts=Timeouts(between_chunks=10)).text == "a"


@pytest.mark.parametrize(
    ("api", "value", "words"),
    [
        ("openai", {"error": {"message": "The model `tiny` does not exist", "code": "x"}}, "The model `tiny`"),
        ("ollama", {"error": "model 'tiny' not found"}, "model 'tiny' not found"),
    ],
)  # fmt: skip
def test_an_unknown_model_is_named(api: str, value: Any, words: str) -> None:
    error = error_of(whole(value, 404), api)
    assert error.startswith(f"must know the model, got HTTP 404: {words}")
    assert error.endswith("Correct its name or load it on the server first.")


def test_surrogates_are_joined_or_replaced() -> None:
    halves = [json.dumps("👋")[1:7], json.dumps("👋")[7:13], json.dumps("👋")[1:7]]
    lines = [b'{"message": {"content": "%s"}, "done": false}\n' % half.encode() for half in halves]
    assert answer_of(streamed([*lines, *ollama_lines(["!"])]), "ollama").text == "👋�!"


class Fed(Reply):
    """An answer whose pieces are given."""

    def __init__(self, pieces: list[bytes]) -> None:
        super().__init__(Timeouts(), Ticks(), 0.0, 1)
        for piece in pieces:
            self._events.put(piece)
        self._events.put(None)


@APIS
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=4),
    cuts=st.lists(st.floats(0, 1), max_size=12),
)
def test_the_answer_does_not_depend_on_the_pieces_it_comes_in(api: str, texts: list[str], cuts: list[float]) -> None:
    """In the middle of a character, of an escape, of a line end."""
    data = b"".join(openai_events(texts, usage=USAGE) if api == "openai" else ollama_lines(texts))
    places = sorted({0, len(data), *(int(cut * len(data)) for cut in cuts)})
    seen: list[str] = []
    said = Said(Fed([data[a:b] for a, b in pairwise(places)]), seen.append)
    READERS[api](said.reply, said)
    assert seen == texts
    assert (said.ended, said.tokens[:2]) == (True, (7, 3))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"api": "olama"}, "api: must be one of openai, ollama, got 'olama'; the nearest is 'ollama'."),
        ({"model": " "}, "model: must be the name of a model, got ' '."),
        ({"temperature": -1}, "temperature: must be a finite number from 0, got -1."),
        ({"seed": 1.5}, "seed: must be a whole number from 0, got 1.5."),
        ({"max_tokens": 0}, "max_tokens: must be a whole number from 1, got 0."),
        ({"prices": {"m": {"input": 1}}}, 'prices.m: must be {"input": USD, "output": USD} for a million tokens, got '),
        ({"prices": {"m": {"input": 1, "output": -1}}}, "prices.m.output: must be a finite number from 0, got -1."),
    ],
)
def test_an_option_that_cannot_be_is_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(SettingsError) as caught:
        ChatModel(**({"base_url": "http://127.0.0.1:1", "model": "tiny"} | options))
    assert str(caught.value).startswith(error)


def test_it_says_what_it_is() -> None:
    with scripted(good("openai")) as app, chat_model(app, sleep=Naps()) as model:
        assert repr(model) == f"ChatModel('tiny' at {base_url(app)}/chat/completions)"
