"""Chat models behind an OpenAI-compatible server or Ollama."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rag_titan.evaluation.limits import number
from rag_titan.models.answers import READERS, ChatAnswer, OnText, Said
from rag_titan.models.options import Api, Retries, Timeouts, merged, model_name, path_of, price_of, whole_number
from rag_titan.models.transport import Client, Clock, ModelServer, Reply, Sleep

Message = Mapping[str, Any]
PATHS = {"openai": "/chat/completions", "ollama": "/api/chat"}


class ChatModel(Client):
    """A chat model that a server runs: `ChatModel("http://127.0.0.1:11434", "llama3.2", api="ollama").chat("Why?")`.

    base_url     of an OpenAI-compatible server with its version (http://127.0.0.1:8080/v1), of Ollama without a path
    api          "openai" (/chat/completions) or "ollama" (/api/chat)
    api_key_env  the name of the environment variable that holds the key
    temperature  None: the server's own
    seed         None: the server's own
    max_tokens   of an answer; None: the server's own
    streaming    False asks for the answer as a whole: no time to first token then
    prices       {model: {"input": USD, "output": USD}}, each for a million tokens
    extra        further members of every request, such as {"options": {"num_ctx": 8192}} for Ollama
    clock, sleep what time it is, in seconds, and waiting; for tests

    Nothing is sent while it is made, and nothing to any place but base_url. Threads may share it.

    Raises SettingsError for an option that cannot be, and MissingExtraError without httpx.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api: Api = "openai",
        *,
        api_key_env: str | None = None,
        temperature: float | None = 0.0,
        seed: int | None = None,
        max_tokens: int | None = None,
        streaming: bool = True,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        prices: Mapping[str, Mapping[str, float]] | None = None,
        extra: Mapping[str, Any] | None = None,
        clock: Clock = time.perf_counter,
        sleep: Sleep = time.sleep,
    ) -> None:
        path = path_of(api, PATHS)
        self.model, self.api = model_name(model), api
        sampling = _sampling(temperature, seed, max_tokens)
        self._price = price_of(prices or {}, model)
        self._request = _settings(api, sampling, streaming) | {"model": model}
        self._extra = dict(extra or {})
        self._server = ModelServer(
            base_url, path, api_key_env=api_key_env, timeouts=timeouts, retries=retries, clock=clock, sleep=sleep
        )

    def chat(
        self,
        messages: str | Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        on_text: OnText | None = None,
    ) -> ChatAnswer:
        """The answer to one message of a user, or to [{"role": ..., "content": ...}, ...].

        With a `schema` the server is asked for JSON that obeys it, and `value` is that JSON; whether it obeys is not
        checked here, since some servers do not look at schemas. `on_text` gets each piece of the text as it comes.

        Raises ServiceError for everything that a server can do wrong. HTTP 408, 429, 5xx and broken connections are
        tried again, but never after a piece of the text was handed to `on_text`.
        """
        asked = [{"role": "user", "content": messages}] if isinstance(messages, str) else [dict(m) for m in messages]
        form = {} if schema is None else _form(self.api, schema)
        body = merged(self._request | form | {"messages": asked}, self._extra)

        def read(reply: Reply) -> ChatAnswer:
            said = Said(reply, on_text)
            READERS[self.api](reply, said)
            return said.answer(self._price, in_json=schema is not None)

        return self._server.ask(body, read)

    def __repr__(self) -> str:
        """Model and address."""
        return f"ChatModel({self.model!r} at {self._server.where})"


def _settings(api: Api, sampling: dict[str, Any], streaming: bool) -> dict[str, Any]:
    if api == "ollama":
        options = {("num_predict" if name == "max_tokens" else name): value for name, value in sampling.items()}
        return {"stream": streaming} | ({"options": options} if options else {})
    return sampling | ({"stream": True, "stream_options": {"include_usage": True}} if streaming else {"stream": False})


def _sampling(temperature: float | None, seed: int | None, max_tokens: int | None) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if temperature is not None:
        given["temperature"] = number(temperature, "temperature", low=0)
    if seed is not None:
        given["seed"] = whole_number(seed, "seed", low=0)
    if max_tokens is not None:
        given["max_tokens"] = whole_number(max_tokens, "max_tokens", low=1)
    return given


def _form(api: Api, schema: Mapping[str, Any]) -> dict[str, Any]:
    if api == "ollama":
        return {"format": dict(schema)}
    named = {"name": "answer", "strict": True, "schema": dict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": named}}
