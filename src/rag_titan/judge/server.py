"""Who answers the calls of a judge: a chat model behind an OpenAI-compatible server, or a function."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec.json import encode

from rag_titan.errors import RagTitanError, ServiceError
from rag_titan.evaluation.limits import MOST_COUNTED, number
from rag_titan.judge.budget import Budget, Settle
from rag_titan.judge.calls import Call, expected_tokens
from rag_titan.judge.connection import REACHABLE, Address, Connections
from rag_titan.judge.secrets import Secrets
from rag_titan.models.answers import Said, read_openai
from rag_titan.models.options import Retries, Timeouts, model_name
from rag_titan.models.refusals import Unusable, excerpt, refusal
from rag_titan.models.streams import well_formed
from rag_titan.models.transport import Reply, api_key

_FATAL = frozenset((401, 403, 404))
_SCHEMA_WORDS = ("response_format", "json_schema", "json schema", "grammar")
_NO_SCHEMA = "Add --no-json-schema (json_schema=False): the schema then stands in the prompt."


@dataclass(frozen=True)
class Heard:
    """What came back: the text, the tokens that the server counted (None where it does not), why it ended, and the
    words of a model that would not answer."""

    text: str
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    ended: str | None = None
    refused: str | None = None


class NotAskedError(RagTitanError):
    """A call was not made: the run was stopped, or its budget or its time is spent."""


class Server(Protocol):
    """Whatever answers calls."""

    name: str

    def request(self, call: Call, repeat: int) -> bytes:
        """All that is sent; equal requests have equal answers."""

    def ask(self, call: Call, request: bytes, budget: Budget, stop: threading.Event) -> Heard:
        """The answer. Raises ServiceError where there is none, NotAskedError where it was not asked for."""

    def interrupt(self) -> None:
        """Whoever waits for an answer waits no longer."""

    def close(self) -> None:
        """Ask nothing any more."""


@dataclass(frozen=True)
class Sampling:
    """What a model is told beside the messages.

    max_tokens   of one answer
    json_schema  False: the schema stands in the prompt, for servers that refuse `response_format`
    """

    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 2048
    json_schema: bool = True

    def __post_init__(self) -> None:
        number(self.temperature, "temperature", low=0)
        for name, low in (("seed", 0), ("max_tokens", 1)):
            number(getattr(self, name), name, low=low)


@dataclass(frozen=True)
class Patience:
    """How long, in seconds, a server may take: to connect, for one try, and for a call with all its tries."""

    connect: float = 10.0
    attempt: float = 120.0
    call: float = 600.0

    def __post_init__(self) -> None:
        for name in ("connect", "attempt", "call"):
            number(getattr(self, name), f"patience.{name}", low=0.001)


class ChatServer:
    """A chat model behind /chat/completions. Threads share it.

    Raises SettingsError for an address or a key that cannot be.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        sampling: Sampling,
        *,
        api_key_env: str | None = None,
        allow_remote: bool = False,
        patience: Patience | None = None,
        retries: Retries | None = None,
    ) -> None:
        self.name = model_name(model)
        self._sampling = sampling
        self._address = Address.of(base_url, "/chat/completions", allow_remote=allow_remote)
        key = None if api_key_env is None else api_key(api_key_env)
        self._secrets = Secrets([*([key] if key else []), *self._address.secrets])
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "rag-titan"}
        self._headers |= {} if key is None else {"Authorization": f"Bearer {key}"}
        self._patience = patience or Patience()
        self._retries = retries or Retries()
        self._connections = Connections(self._address, self._patience.connect)
        self._random = random.Random(self._retries.seed)
        self._answered = False

    def request(self, call: Call, repeat: int) -> bytes:
        """The JSON that is sent."""
        own = self._sampling
        body: dict[str, Any] = {
            "model": self.name,
            "messages": call.messages(in_words=not own.json_schema),
            "temperature": own.temperature,
            "seed": own.seed + repeat,
            "max_tokens": own.max_tokens,
            "stream": False,
        }
        if own.json_schema:
            named = {"name": call.kind, "strict": True, "schema": call.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return _encoded(body)

    def ask(self, call: Call, request: bytes, budget: Budget, stop: threading.Event) -> Heard:
        """The answer, after as many tries as are allowed."""
        started, attempt = time.monotonic(), 0
        while True:
            attempt += 1
            if stop.is_set():
                raise NotAskedError("stopped")
            left = started + self._patience.call - time.monotonic()
            try:
                with budget.reserved(*self._most_tokens(request), stop, again=attempt > 1) as spent:
                    return self._tried(call, request, spent, min(self._patience.attempt, left))
            except Unusable as problem:
                if stop.is_set():
                    raise NotAskedError("stopped") from None
                wait = self._retries.wait(attempt, self._random.random(), problem.wait)
                late = time.monotonic() - started + wait >= self._patience.call
                if late or attempt > self._retries.times or not problem.again:
                    raise self._given_up(problem, attempt) from None
            stop.wait(wait)

    def interrupt(self) -> None:
        """Cut the calls that run."""
        self._connections.interrupt()

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _tried(self, call: Call, request: bytes, spent: Settle, seconds: float) -> Heard:
        try:
            status, headers, body = self._connections.post(request, self._headers, seconds)
        except Unusable as problem:
            if problem.must != REACHABLE:  # it was sent, and may be charged
                spent(*expected_tokens(call), known=False)
            raise
        body = self._secrets.out_of_bytes(body)
        if not 200 <= status < 300:
            raise self._refused(status, headers, body)
        return self._heard(call, headers, body, spent)

    def _heard(self, call: Call, headers: Mapping[str, str], body: bytes, spent: Settle) -> Heard:
        said = Said(_Received(body, headers.get("content-type", "")), None)
        try:
            _check_whole(headers, body)
            read_openai(said.reply, said)
        finally:  # what is of no use is charged, too
            prompt, output = (_counted(tokens) for tokens in said.tokens[:2])
            guess = expected_tokens(call) if prompt is None or output is None else (0, 0)
            known = prompt is not None and output is not None
            spent(guess[0] if prompt is None else prompt, guess[1] if output is None else output, known=known)
        self._answered = True
        text = self._secrets.out_of_text(well_formed("".join(said.pieces)))
        refused = self._secrets.out_of_text(well_formed(said.refused)) or None
        return Heard(text, prompt, output, said.finish_reason, None if text.strip() else refused)

    def _most_tokens(self, request: bytes) -> tuple[int, int]:
        """The most that a call may cost before it is known: no token is less than a byte."""
        return len(request), self._sampling.max_tokens

    def _refused(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        problem = refusal(status, headers, body)
        told = body[:4096].decode("utf-8", "replace").lower()
        if status in (400, 422, 501) and self._sampling.json_schema and any(word in told for word in _SCHEMA_WORDS):
            return FatalError(self._sentence(Unusable("take a JSON schema", problem.got, _NO_SCHEMA), 1))
        fatal = status in _FATAL or 300 <= status < 400
        return FatalError(self._sentence(problem, 1)) if fatal else problem

    def _given_up(self, problem: Unusable, attempts: int) -> ServiceError:
        """A server that was never there will not be there for the next question either."""
        kind = FatalError if problem.must == REACHABLE and not self._answered else ServiceError
        return kind(self._sentence(problem, attempts))

    def _sentence(self, problem: Unusable, attempts: int) -> str:
        return f"{self._address.shown}: {self._secrets.out_of_error(problem.sentence(attempts))}"


class FatalError(ServiceError):
    """No call of this run can be answered."""


class ScriptedServer:
    """A function in the place of a model: for tests and estimates. What it says is no judge's verdict.

    function  call -> what a model would say
    """

    name = "scripted"

    def __init__(self, function: Callable[[Call], str]) -> None:
        self._function = function

    def request(self, call: Call, repeat: int) -> bytes:
        """What the function is given."""
        return json.dumps([self.name, call.messages(), repeat]).encode("ascii")

    def ask(self, call: Call, request: bytes, budget: Budget, stop: threading.Event) -> Heard:
        """What the function says."""
        tokens = expected_tokens(call)
        with budget.reserved(*tokens) as spent:
            text = self._function(call)
            spent(*tokens, known=False)
        return Heard(text, None, None, "stop")

    def interrupt(self) -> None:
        """Nothing is waited for."""

    def close(self) -> None:
        """Nothing is open."""


class _Received(Reply):
    """An answer that came as a whole."""

    def __init__(self, body: bytes, content_type: str) -> None:
        super().__init__(_NO_TIMEOUTS, time.monotonic, 0.0, 1)
        self._body, self.content_type = body, content_type

    def parts(self) -> Any:
        """The body in one piece."""
        self.ended = True
        return iter((self._body,))


_NO_TIMEOUTS = Timeouts()


def _encoded(body: Any) -> bytes:
    try:
        return encode(body)
    except UnicodeEncodeError:  # half a character, which JSON can hold and UTF-8 cannot
        return json.dumps(body).encode("ascii")


def _check_whole(headers: Mapping[str, str], body: bytes) -> None:
    encoding = headers.get("content-encoding", "").lower()
    if encoding not in ("", "identity"):
        do = "Switch compression off in the server, or in what stands before it."
        raise Unusable("answer without compression, as it is asked to", excerpt(encoding), do)
    if body.lstrip().startswith(b"{") and not body.rstrip().endswith(b"}"):
        raise Unusable("answer to the end", "half a JSON", "Look into the server's log.", again=True)


def _counted(tokens: int | None) -> int | None:
    """A count of tokens that can be; a server that writes another one did not count."""
    return None if tokens is None or tokens > MOST_COUNTED else tokens
