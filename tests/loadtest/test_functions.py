"""Python functions as targets: plain ones, coroutines, streams, and those that misbehave."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from rag_titan.errors import SettingsError
from rag_titan.loadtest.driver import TIMED_OUT, asked
from rag_titan.loadtest.functions import NO_ANSWER, FunctionTarget
from rag_titan.loadtest.target import Outcome


def outcomes(function: Any, count: int = 1, timeout: float = 30.0) -> list[Outcome]:
    """What becomes of so many requests at once."""

    async def all_at_once() -> list[Outcome]:
        target = FunctionTarget(function)
        await target.aopen()
        try:
            return await asyncio.gather(*(asked(target, f"q{n}", timeout) for n in range(count)))
        finally:
            await target.aclose()

    return asyncio.run(all_at_once())


def test_a_plain_function_runs_many_times_at_once() -> None:
    together = threading.Barrier(5)

    def answer(question: str) -> dict[str, Any]:
        together.wait(30)  # passes only when five calls run at the same time
        return {"answer": question, "search_ms": 3}

    assert outcomes(answer, 5) == [Outcome(parts={"search": 3.0})] * 5


def test_streams_have_a_first_token() -> None:
    def plain(question: str) -> Iterator[str]:
        yield "a"
        yield "b"

    async def later(question: str) -> AsyncIterator[str]:
        yield "a"

    async def awaited(question: str) -> Any:
        return plain(question)

    for function in (plain, later, awaited):
        [found] = outcomes(function)
        assert (found.error, found.first is not None) == (None, True)


def test_what_a_function_raises_is_its_kind() -> None:
    def exits(question: str) -> None:
        raise SystemExit("secret")

    async def fails(question: str) -> None:
        raise ValueError("secret")

    assert outcomes(exits) == [Outcome("SystemExit")]
    assert outcomes(fails) == [Outcome("ValueError")]
    assert outcomes(lambda question: {"error": "down"}) == [Outcome("an error in the answer")]


def test_what_a_plain_function_leaves_to_be_awaited_is_awaited() -> None:
    """A wrapper around a coroutine function is none itself; its calls would otherwise all be answered at once."""

    async def fails(question: str) -> None:
        raise ValueError("secret")

    async def streams(question: str) -> AsyncIterator[str]:
        yield "a"

    assert outcomes(lambda question: fails(question)) == [Outcome("ValueError")]
    [found] = outcomes(lambda question: streams(question))
    assert (found.error, found.first is not None) == (None, True)


def test_what_is_no_answer() -> None:
    async def later(question: str) -> None:
        return None

    assert outcomes(lambda question: None) == outcomes(later) == [Outcome(NO_ANSWER)]
    assert outcomes(lambda question: " ") == outcomes(lambda question: iter([])) == [Outcome("an empty answer")]


def test_events_of_a_function_are_those_of_a_server() -> None:
    def stream(*items: Any) -> list[Outcome]:
        return outcomes(lambda question: iter(items))

    assert stream("a", {"error": "busy"})[0].error == "an error in the answer"
    assert stream({"text": "a", "search_ms": 3})[0].parts == {"search": 3.0}
    assert stream({"choices": [{"delta": {"content": "a"}}]})[0].error == "a stream without its end"
    assert stream({"choices": [{"delta": {"role": "assistant"}, "finish_reason": "stop"}]})[0].first is None


def test_whatever_a_function_raises_it_is_an_outcome() -> None:
    """Also what would end an event loop, or look as if this one had been told to stop: nothing vanishes."""

    class OddError(BaseException):
        pass

    for error in (asyncio.CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit, OddError):

        async def later(question: str, error: type[BaseException] = error) -> None:
            raise error

        def plain(question: str, error: type[BaseException] = error) -> None:
            raise error

        assert outcomes(plain) == outcomes(later) == [Outcome(error.__name__)]


def test_threads_that_the_system_refuses_are_no_fault_of_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def run() -> Outcome:
        target = FunctionTarget(lambda question: "x")
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refused)
            return await target.ask("q")

    found = asyncio.run(run())
    assert found.generator
    assert found.error is not None


def test_a_function_must_take_a_question() -> None:
    def two(question: str, k: int) -> None: ...

    class App:
        def answer(self) -> None: ...

    for function, text in ((two, r"two\(question, k\)"), (App().answer, r"answer\(\)")):
        with pytest.raises(SettingsError, match=f"must be a function of one question, got {text}"):
            FunctionTarget(function)  # type: ignore[arg-type]
    assert FunctionTarget(max).name == "builtins:max"  # of which nobody knows what it takes


def test_what_hangs_is_left_behind() -> None:
    released = threading.Event()

    async def never(question: str) -> None:
        await asyncio.sleep(1e6)

    try:
        assert outcomes(lambda question: released.wait(), 3, timeout=0.1) == [Outcome(TIMED_OUT)] * 3
        assert outcomes(never, 3, timeout=0.1) == [Outcome(TIMED_OUT)] * 3
    finally:
        released.set()


def test_a_coroutine_that_blocks_its_loop_does_not_hold_up_the_generator() -> None:
    released = threading.Event()

    async def blocks(question: str) -> str:
        released.wait(30)
        return "x"

    async def run() -> Outcome:
        target = FunctionTarget(blocks)
        await target.aopen()
        waiting = asyncio.ensure_future(asked(target, "q", 30))
        for _ in range(3):
            await asyncio.sleep(0)  # the loop of the generator goes on while the other one is blocked
        assert not waiting.done()
        released.set()
        found = await waiting
        await target.aclose()
        return found

    begin = time.monotonic()
    assert asyncio.run(run()) == Outcome()
    assert time.monotonic() - begin < 30


def test_its_name() -> None:
    assert FunctionTarget(outcomes).name == f"{__name__}:outcomes"
