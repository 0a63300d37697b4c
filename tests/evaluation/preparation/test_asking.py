"""Many questions at a time: each once, never more at a time than said, and nothing that hangs stops the run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from rag_titan.errors import SettingsError
from rag_titan.evaluation.preparation import asking
from rag_titan.evaluation.preparation.asking import AppError, Pace, replies

LONG = 20.0  # seconds; nothing below waits so long unless it is broken
SHORT = 0.5  # seconds until a call that hangs is given up


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    """What hangs waits for this; set at the end, so that no thread is left."""
    event = threading.Event()
    yield event
    event.set()


def asked(questions: list[str], ask: Any, **pace: Any) -> dict[str, Any]:
    """{question: what came back, or its error}"""
    got = list(replies(questions, ask, Pace(**{"pause": 0.0, "timeout": LONG, **pace})))
    assert sorted(reply.place for reply in got) == list(range(len(questions)))
    assert all((reply.latency_ms is None) == (reply.error is not None) for reply in got)
    return {questions[reply.place]: reply.value if reply.error is None else reply.error for reply in got}


async def louder(question: str) -> str:
    await asyncio.sleep(0)
    return question.upper()


class Louder:
    """An app as an object; it must be closed."""

    closed = False

    async def __call__(self, question: str) -> str:
        return await louder(question)

    async def aclose(self) -> None:
        self.closed = True


def test_functions_coroutine_functions_objects_and_what_returns_an_awaitable_are_asked() -> None:
    for ask in (str.upper, louder, Louder(), lambda question: louder(question)):
        assert asked(["a", "b", "c"], ask, concurrency=2) == {"a": "A", "b": "B", "c": "C"}


def test_what_has_to_be_closed_is_closed() -> None:
    app = Louder()
    asked(["a"], app)
    assert app.closed


def test_what_has_to_be_opened_is_in_no_time_that_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    class Opened(Louder):
        async def aopen(self) -> None:
            events.append("open")

        async def __call__(self, question: str) -> str:
            events.append("call")
            return question

    def clock() -> float:
        events.append("clock")
        return 0.0

    monkeypatch.setattr(asking.time, "perf_counter", clock)
    asked(["a", "b"], Opened(), concurrency=1)
    assert [event for event in events if event != "clock"] == ["open", "call", "call"]
    assert events[:4] == ["open", "clock", "call", "clock"]


def test_without_questions_nothing_is_asked() -> None:
    assert asked([], lambda question: 1 / 0) == {}


def test_one_client_may_serve_all_coroutines_as_they_run_in_one_loop() -> None:
    loops = set()

    async def ask(question: str) -> None:
        loops.add(asyncio.get_running_loop())

    asked(["a", "b", "c"], ask, concurrency=1)
    assert len(loops) == 1


@pytest.mark.parametrize("is_coroutine", [False, True])
def test_as_many_at_a_time_as_said_and_never_more(is_coroutine: bool) -> None:
    barrier, lock, running, most = threading.Barrier(3, timeout=LONG), threading.Lock(), [0], [0]

    def meet(question: str) -> str:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        barrier.wait()  # lets three pass together: it breaks when fewer are asked at a time
        with lock:
            running[0] -= 1
        return question

    async def meet_elsewhere(question: str) -> str:
        return await asyncio.get_running_loop().run_in_executor(None, meet, question)

    questions = [str(i) for i in range(9)]
    ask = meet_elsewhere if is_coroutine else meet
    assert asked(questions, ask, concurrency=3) == dict(zip(questions, questions, strict=True))
    assert most == [3]


def test_a_function_that_hangs_is_given_up_and_the_others_are_answered(stop: threading.Event) -> None:
    def ask(question: str) -> str:
        if question == "b":
            stop.wait()
        return question

    assert asked(["a", "b", "c", "d"], ask, timeout=SHORT, concurrency=2) == {
        "a": "a", "b": "time-out after 0.5 s", "c": "c", "d": "d",
    }  # fmt: skip


@pytest.mark.parametrize("is_function", [False, True])
def test_a_coroutine_that_hangs_is_cancelled_at_once(is_function: bool) -> None:
    ended = asyncio.Event()

    async def ask(question: str) -> str:
        if question == "b":
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
        if question == "c":
            await ended.wait()
        return question

    got = asked(["a", "b", "c"], (lambda question: ask(question)) if is_function else ask, timeout=1.0, concurrency=1)
    assert got == {"a": "a", "b": "time-out after 1 s", "c": "c"}


def test_a_function_that_hangs_does_not_keep_the_process() -> None:
    code = (
        "import threading\nfrom rag_titan.evaluation.preparation.asking import Pace, replies\n"
        "ask = lambda question: threading.Event().wait()\n"
        "assert [r.error for r in replies(['a'], ask, Pace(timeout=0.1))] == ['time-out after 0.1 s']"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_coroutine_that_blocks_its_loop_stops_nothing_but_itself(
    stop: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_FAREWELL", 0.0)

    async def ask(question: str) -> str:
        stop.wait()  # as a forgotten `await` would
        return question

    assert set(asked(["a", "b"], ask, timeout=SHORT).values()) == {"time-out after 0.5 s"}


def test_a_late_answer_is_not_taken_for_another_question(stop: threading.Event) -> None:
    late = threading.Event()

    def ask(question: str) -> str:
        if question == "a":
            stop.wait()
            late.set()
        if question == "c":
            stop.set()
            assert late.wait(LONG)
        return question

    assert asked(["a", "b", "c"], ask, timeout=1.0, concurrency=1) == {"a": "time-out after 1 s", "b": "b", "c": "c"}


def test_where_too_many_calls_hang_the_rest_is_not_asked(
    stop: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MOST_LEFT_BEHIND", 2)
    questions = [str(i) for i in range(6)]
    got = list(replies(questions, lambda question: stop.wait(), Pace(concurrency=1, timeout=SHORT)))
    assert [(reply.place, reply.asked, reply.error) for reply in got] == [
        *((place, True, "time-out after 0.5 s") for place in (0, 1)),
        *((place, False, "not asked: 2 calls hang") for place in (2, 3, 4, 5)),
    ]


def failing(times: int, error: BaseException) -> Any:
    """Asks that fail so often before they are answered."""
    tries: dict[str, int] = {}

    def ask(question: str) -> str:
        tries[question] = tries.get(question, 0) + 1
        if tries[question] <= times:
            raise error
        return f"try {tries[question]}"

    return ask


@pytest.mark.parametrize(
    ("times", "retries", "got"),
    [(0, 0, "try 1"), (1, 0, "OSError: gone"), (2, 2, "try 3"), (3, 2, "OSError: gone")],
)
def test_what_fails_is_tried_again_as_often_as_said(times: int, retries: int, got: str) -> None:
    assert asked(["a", "b"], failing(times, OSError("gone")), retries=retries) == {"a": got, "b": got}


def test_a_time_out_is_tried_again(stop: threading.Event) -> None:
    tries = []

    def ask(question: str) -> str:
        tries.append(question)
        if len(tries) == 1:
            stop.wait()
        return question

    assert asked(["a"], ask, timeout=SHORT, retries=1) == {"a": "a"}


def test_what_cannot_end_better_is_not_tried_again() -> None:
    assert asked(["a"], failing(1, AppError("HTTP 404")), retries=3) == {"a": "HTTP 404"}
    assert asked(["a"], failing(1, AppError("HTTP 503", again=True)), retries=3) == {"a": "try 2"}


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError(), "ValueError"),
        (ValueError("no\nwords"), "ValueError: no\nwords"),
        (SystemExit(3), "the app ended itself (SystemExit)"),
        (KeyboardInterrupt(), "the app ended itself (KeyboardInterrupt)"),
        (asyncio.CancelledError(), "the app ended itself (CancelledError)"),
    ],
)
def test_whatever_a_function_raises_is_the_error_of_its_question(error: BaseException, text: str) -> None:
    assert asked(["a", "b"], failing(1, error)) == {"a": text, "b": text}


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("x"), "ValueError: x"),
        (SystemExit(3), "the app ended itself (SystemExit)"),
        (asyncio.CancelledError(), "the call was cancelled by the app"),
    ],
)
def test_whatever_a_coroutine_raises_is_the_error_of_its_question(error: BaseException, text: str) -> None:
    async def ask(question: str) -> str:
        if question == "a":
            raise error
        return question

    assert asked(["a", "b"], ask, concurrency=1) == {"a": text, "b": "b"}


def test_it_works_where_an_event_loop_already_runs() -> None:
    async def notebook() -> dict[str, Any]:
        return asked(["a", "b"], louder)

    assert asyncio.run(notebook()) == {"a": "A", "b": "B"}


def test_who_stops_taking_replies_stops_the_run() -> None:
    seen = []
    for reply in replies(["a", "b", "c"], lambda question: seen.append(question), Pace(concurrency=1)):
        assert reply.place == 0
        break
    assert seen == ["a"]


def test_pauses_are_doubled_up_to_half_a_minute() -> None:
    assert [Pace().before_try(number) for number in (1, 2, 3, 5, 6, 20)] == [1.0, 2.0, 4.0, 16.0, 30.0, 30.0]


@pytest.mark.parametrize(
    "pace",
    [{"concurrency": 0}, {"concurrency": 257}, {"concurrency": True}, {"concurrency": 1.5}, {"retries": -1},
     {"retries": 21}, {"timeout": 0}, {"timeout": -1.0}, {"timeout": float("nan")}, {"timeout": float("inf")}],
)  # fmt: skip
def test_a_pace_out_of_range_is_refused(pace: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=f"^{next(iter(pace))}: must be "):
        Pace(**pace)
