"""Judge: asks a model for verdicts on the questions of a dataset."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from rag_titan.errors import SettingsError
from rag_titan.evaluation.limits import number
from rag_titan.judge.asking import Asking
from rag_titan.judge.budget import Budget, Limits
from rag_titan.judge.cache import AnswerCache
from rag_titan.judge.calls import Call
from rag_titan.judge.judged import Judged, Spent, values_of
from rag_titan.judge.material import Material
from rag_titan.judge.metrics import asks_of, metrics_of
from rag_titan.judge.prompts import digest
from rag_titan.judge.questioning import Embedder, Part, Questioning
from rag_titan.judge.reading import materials, opened
from rag_titan.judge.running import Job, Stop, run
from rag_titan.judge.server import ChatServer, Heard, Patience, Sampling, ScriptedServer, Server
from rag_titan.models.options import Retries, whole_number

Progress = Callable[[int, int, Spent], None]


class StoppedError(KeyboardInterrupt):
    """Somebody pressed Ctrl-C; `judged` holds what was there by then, and the cache the same."""

    def __init__(self, judged: Judged) -> None:
        super().__init__("stopped")
        self.judged = judged


class Judge:
    """A model that gives verdicts: `Judge("llama3.2", "http://127.0.0.1:11434/v1").judge("data.json")`.

    model, base_url  of an OpenAI-compatible server with its version; Ollama's ends in /v1, too
    metrics          keys of the stage `judge`, or the groups triad, whitepaper, ragchecker
    embedder         for answer relevance: anything with `name` and `embed(texts, query=...)`
    questions        how many an answer is turned into for it
    claims_at_once   in one call
    concurrency      calls at a time
    seconds          for a whole run; None is no limit
    cache            a file of answers: what stands there is not asked again
    retry_errors     what was answered with something else than a verdict is asked again
    repeat           how often everything is asked, each time with the next seed
    replace          verdicts of another judge give way; else they are an error
    redact           `failures` hold nothing that the judge or the server said
    api_key_env, allow_remote, sampling, patience, retries, limits   see ChatServer and Limits

    `identity` is what each record says of who judged: the model and a hash of prompts, schemas and settings. Nothing is
    sent while a judge is made; it is good for one run at a time.

    Raises SettingsError for an option that cannot be.

    >>> judge = Judge.scripted(lambda call: json.dumps(call.example()))
    >>> chunks = [{"id": "c1", "text": "Leave is 25 days."}]
    >>> queries = [{"id": "q1", "context_ids": ["c1"], "answer": "Leave is 31 days."}, {"id": "q2", "answer": " "}]
    >>> judged = judge.judge({"chunks": chunks, "queries": queries})
    >>> judged.verdicts["q1"]["answer_claims"]
    [{'text': 'Leave is 31 days.', 'context': 'not_supported', 'by': 'rule'}]
    >>> judged.verdicts["q2"]["unjudged"], judged.spent.calls
    ({'faithfulness': 'empty answer'}, 1)
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        api_key_env: str | None = None,
        allow_remote: bool = False,
        sampling: Sampling | None = None,
        patience: Patience | None = None,
        retries: Retries | None = None,
        **options: Any,
    ) -> None:
        own = sampling or Sampling()
        server = ChatServer(
            model, base_url, own,
            api_key_env=api_key_env, allow_remote=allow_remote, patience=patience, retries=retries,
        )  # fmt: skip
        self._set_up(server, vars(own), **options)

    @classmethod
    def scripted(cls, function: Callable[[Call], str], **options: Any) -> Self:
        """A function in the place of the model, for tests. Its verdicts say that they are `scripted`."""
        judge = cls.__new__(cls)
        judge._set_up(ScriptedServer(function), {}, **options)
        return judge

    def _set_up(
        self,
        server: Server,
        sampling: dict[str, Any],
        *,
        metrics: Sequence[str] = ("faithfulness",),
        embedder: Embedder | None = None,
        questions: int = 3,
        claims_at_once: int = 20,
        concurrency: int = 8,
        seconds: float | None = None,
        cache: str | Path | None = None,
        retry_errors: bool = False,
        repeat: int = 1,
        redact: bool = False,
        replace: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self.metrics = metrics_of(metrics)
        self._asks = asks_of(self.metrics)
        if "answer_relevance" in self.metrics and embedder is None:
            raise SettingsError("embedder: must be given for answer_relevance, got none. Pass one, or leave that out.")
        _check(seconds, questions=questions, claims_at_once=claims_at_once, repeat=repeat, concurrency=concurrency)
        self._concurrency = concurrency
        self._questioning = partial(
            Questioning,
            self._asks,
            embedder=embedder,
            questions=questions,
            claims_at_once=claims_at_once,
            every_number="contradicted_claim_rate" in self.metrics,
        )
        told = {"questions": questions, "claims_at_once": claims_at_once, "embedder": embedder and embedder.name}
        self.settings = sampling | told
        self.identity = f"{server.name}@{digest(self.settings)}"
        self._server, self._limits, self._cache_file = server, limits or Limits(), cache
        self._seconds, self._retry_errors, self._repeat, self._redact = seconds, retry_errors, repeat, redact
        self._replace = replace

    def judge(self, data: Any, progress: Progress | None = None) -> Judged:
        """Verdicts on all questions of a dataset: a path, {"queries": ..., "chunks": ...}, or a dataset that was read.

        progress  is called now and then with parts that are done, all parts, and what was spent

        Blocks, and needs no event loop; in one that runs, `ajudge` does not block it. Raises DatasetError for data,
        ServiceError where no call can be answered, StoppedError (a KeyboardInterrupt) on Ctrl-C.
        """
        return self._judged(data, self._server, self._limits, progress, Stop())

    async def ajudge(self, data: Any, progress: Progress | None = None) -> Judged:
        """The same for a running event loop; when it is cancelled, the run is stopped."""
        import asyncio

        stop = Stop()
        working = asyncio.to_thread(self._judged, data, self._server, self._limits, progress, stop)
        try:
            return await working
        except asyncio.CancelledError:
            stop.because("cancelled")
            raise

    def estimate(self, data: Any) -> Judged:
        """About what `judge` would use, without asking anybody: what `spent` says is a guess, but for the cache.

        Sentences stand for claims; a token is four characters. Verdicts of an estimate are worth nothing.
        """
        return self._judged(data, _Estimate(self._server), Limits(prices=self._limits.prices), None, Stop())

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def _judged(self, data: Any, server: Server, limits: Limits, progress: Progress | None, stop: Stop) -> Judged:
        found = materials(opened(data))
        self._check_judges(found)
        budget = Budget(limits)
        cache = AnswerCache(self._cache_file, only_read=isinstance(server, _Estimate))
        asking = Asking(server, cache, budget, stop, retry_errors=self._retry_errors)
        passes = [_Pass(self, found, asking, lambda: _spent(asking, budget)) for _ in range(self._repeat)]
        late = None if self._seconds is None else time.monotonic() + self._seconds
        try:
            for repeat, one in enumerate(passes):
                asking.repeat = repeat
                one.run(server, stop, progress, late)
        except KeyboardInterrupt:
            raise StoppedError(self._together([one.judged() for one in passes], found)) from None
        finally:
            cache.close()
        return self._together([one.judged() for one in passes], found)

    def _check_judges(self, found: Sequence[Material]) -> None:
        """A record names one judge, so verdicts of two cannot stand in it."""
        for material in found if not self._replace else ():
            if material.judged_by not in (None, self.identity):
                rule = f"must be none of another judge, got those of {material.judged_by} on {material.id}"
                raise SettingsError(f"verdicts: {rule}. Take an input without, or add --replace.")

    def _together(self, rounds: Sequence[Judged], found: Sequence[Material]) -> Judged:
        first = rounds[0]
        first.spent = rounds[-1].spent
        for other in rounds[1:]:
            first.failures += other.failures
            first.done += other.done
        if len(rounds) > 1:
            rankings = {m.id: None if m.chunks is None else [name for name, _ in m.chunks] for m in found}
            values = [values_of(judged, rankings) for judged in rounds]
            first.spread = {metric: [value[metric] for value in values] for metric in self.metrics}
        return first


def _check(seconds: Any, **counts: Any) -> None:
    for name, value in counts.items():
        whole_number(value, name, low=1)
    if seconds is not None:
        number(seconds, "seconds", low=0)


class _Pass:
    """One pass over all questions."""

    def __init__(self, judge: Judge, found: Sequence[Material], asking: Asking, spent: Callable[[], Spent]) -> None:
        self._judge, self._found, self._spent = judge, found, spent
        self._questioning: Questioning = judge._questioning(ask=asking, once=asking.once)
        self._each = len(list(self._questioning.parts(Material(""))))
        self._parts: list[list[Part | None]] = [[None] * self._each for _ in found]
        self._through = itertools.count()
        self._done = 0

    def run(self, server: Server, stop: Stop, progress: Progress | None, late: float | None) -> None:
        def look() -> None:
            if progress is not None:
                progress(self._done, self._each * len(self._found), self._spent())
            if late is not None and time.monotonic() >= late and not stop.is_set():
                stop.because(f"the time of {self._judge._seconds:g} s is over")

        run(self._jobs(), self._judge._concurrency, stop, server.interrupt, look)

    def judged(self) -> Judged:
        """What is there; what is not is `not asked`."""
        judged = Judged(self._judge.identity, self._judge.metrics, self._judge.settings)
        for material, some in zip(self._found, self._parts, strict=True):
            parts = [part for part in some if part is not None]
            known = {ask for part in parts for ask in part.known}
            missing = dict.fromkeys(sorted(self._judge._asks - known), "not asked: stopped")
            judged.take(material.id, [*parts, Part(reasons=missing)])
        if self._judge._redact:
            judged.failures = [type(one)(one.query_id, one.ask, one.reason, "") for one in judged.failures]
        judged.spent = self._spent()
        return judged

    def _jobs(self) -> Iterator[Job]:
        for place, material in enumerate(self._found):
            for turn, part in enumerate(self._questioning.parts(material)):
                yield partial(self._do, place, turn, part)

    def _do(self, place: int, turn: int, part: Callable[[], Part]) -> None:
        self._parts[place][turn] = part()
        self._done = next(self._through) + 1


def _spent(asking: Asking, budget: Budget) -> Spent:
    return Spent(
        calls=budget.calls,
        retried=budget.retried,
        cached=asking.cached,
        prompt_tokens=budget.prompt_tokens,
        output_tokens=budget.output_tokens,
        guessed=budget.guessed,
        cost_usd=budget.cost_usd,
    )


class _Estimate(ScriptedServer):
    """Answers with examples; what is in the cache of the real server is found there."""

    def __init__(self, real: Server) -> None:
        super().__init__(lambda call: json.dumps(call.example()))
        self.name, self._real = real.name, real

    def request(self, call: Call, repeat: int) -> bytes:
        """What the real server would be sent."""
        return self._real.request(call, repeat)


__all__ = ["Heard", "Judge", "Progress", "StoppedError"]
