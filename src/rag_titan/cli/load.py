"""rag-titan load: put an app under load, and find the rate that it sustains."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer

from rag_titan.cli import load_options as option
from rag_titan.cli.collect import function_of, json_of
from rag_titan.cli.lab_outputs import aligned, check_places
from rag_titan.cli.outputs import check_file
from rag_titan.cli.terminal import complain, counted, escaped, say, watched
from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    from rag_titan.loadtest.plan import Plan
    from rag_titan.loadtest.result import LoadResult

TOO_SLOW, NOTHING, STOPPED, TERMINATED = 1, 3, 130, 143
QUESTION = "What is this about?"


def load(
    target: option.To = None, questions: option.Questions = None, request: option.Request = None,
    header: option.Headers = None, method: option.Method = "POST", allow_remote: option.Remote = False,
    rates: option.Rates = "1,2,5,10,20,50", sla_ms: option.Sla = 2000.0, duration: option.Duration = 30.0,
    warm_up: option.WarmUp = 2.0, arrivals: option.Arrivals = "poisson", seed: option.Seed = 0,
    trials: option.Trials = 3, resolution: option.Resolution = 0.05, all_rates: option.AllRates = False,
    timeout: option.Timeout = 30.0, max_in_flight: option.InFlight = None, max_lag_ms: option.Lag = None,
    min_rate: option.MinRate = None, output: option.Output = None, markdown: option.Markdown = None,
    plot: option.Plot = None, as_json: option.AsJson = False, merge: option.Merge = None,
) -> None:  # fmt: skip
    """Send requests at growing rates, and find the last one at which p99 keeps the SLA.

    Requests come when they are due, answered or not (an open loop). Ctrl-C shows and writes what was measured so far.

    Exit codes: 0 fine, 1 --min-rate was not sustained, 2 bad input, 3 nothing was answered or the generator was late.
    """
    _check_files(output, markdown, plot, [*(merge or ()), *([questions] if questions else [])])
    terminated = False
    if merge:
        result = _merged(merge, target, min_rate)
    else:
        plan = _plan(
            rates, min_rate, sla_ms=sla_ms, duration=duration, warm_up=warm_up, arrivals=arrivals, seed=seed,
            trials=trials, resolution=resolution, all_rates=all_rates, timeout=timeout, max_in_flight=max_in_flight,
            max_lag_ms=max_lag_ms,
        )  # fmt: skip
        with _stopping() as asked, redirect_stdout(sys.stderr):  # what a function prints is no part of the result
            result = _run(_target(target, request, header or (), method, allow_remote), _texts(questions), plan)
        terminated = bool(asked)
    _show(result, as_json)
    _write(result, output, markdown, plot)
    raise typer.Exit(TERMINATED if terminated else _exit_code(result, min_rate))


@contextmanager
def _stopping() -> Iterator[list[int]]:
    """SIGTERM ends the run as Ctrl-C does, so that what was measured so far is shown and written; the list then holds
    the signal."""
    asked: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):  # Ctrl-C is ignored, as in the background of a script
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)

    if threading.current_thread() is not threading.main_thread():
        yield asked  # only there can a signal be handled
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGTERM, before)


def _check_files(output: Path | None, markdown: Path | None, plot: Path | None, read: Sequence[Path]) -> None:
    check_places(output, plot, read)
    if markdown is not None:
        check_file("--markdown", markdown, read)
    files = [("--output", output), ("--markdown", markdown), ("--plot", plot)]
    given = [(name, file) for name, file in files if file is not None]
    for place, (name, file) in enumerate(given):
        if file.resolve() in {other.resolve() for _, other in given[:place]}:
            raise SettingsError(f"{name}: must be a file of its own, got {file} twice. Choose another name.")


def _plan(rates: str, min_rate: float | None, **options: Any) -> Plan:
    from rag_titan.loadtest.plan import Plan

    try:
        each = [float(part) for part in rates.split(",") if part.strip()]
    except ValueError:
        raise SettingsError(f"--rates: must be numbers, got {escaped(rates)!r}. Write them as 1,2,5.") from None
    return Plan(rates=[*each, *([] if min_rate is None else [min_rate])], **options)


def _target(text: str | None, request: str | None, headers: Sequence[str], method: str, remote: bool) -> Any:
    if text is None:
        raise SettingsError("target: must be given, got none. Write it as http://127.0.0.1:8000/ask or my_app:answer.")
    if "://" in text:
        from rag_titan.loadtest.http import HttpTarget

        return HttpTarget(text, json_of(request), method=method, headers=headers, allow_remote=remote)
    from rag_titan.loadtest.functions import FunctionTarget

    return FunctionTarget(function_of(text, "target"))


def _texts(questions: Path | None) -> list[str]:
    if questions is None:
        return [QUESTION]
    from rag_titan.evaluation import read_golden

    texts = [query.question for query in read_golden(questions) if query.question]
    if not texts:
        raise SettingsError(f"--questions: must hold questions, got none in {questions}. Choose another file.")
    return [str(text) for text in texts]


def _run(target: Any, questions: Sequence[str], plan: Plan) -> LoadResult:
    from rag_titan.loadtest.run import load_test

    def tell(text: str) -> None:
        sys.stderr.write(f"{escaped(text)}\n")

    told: Callable[[str], None] | None = tell if watched() else None
    if told is not None:
        told(_how_long(plan))
    return load_test(target, questions, plan, name=target.name, progress=told)


def _how_long(plan: Plan) -> str:
    each = plan.duration + plan.warm_up
    minutes = len(plan.rates) * each * plan.trials / 60
    rates, trials = counted(len(plan.rates), "rate"), counted(plan.trials, "trial")
    return (
        f"{rates} of {each:g} s, {trials}: up to {minutes:.1f} minutes, and some for the rates between; "
        "Ctrl-C shows what was measured so far"
    )


def _merged(files: Sequence[Path], target: str | None, min_rate: float | None) -> LoadResult:
    from rag_titan.loadtest.merging import merged, read_result

    if target is not None:
        raise SettingsError("--merge: must stand without a target, got one. Take one of them out.")
    if len({file.resolve() for file in files}) < len(files):
        raise SettingsError("--merge: must be other files each, got one twice: its load would count twice.")
    if min_rate is not None:
        _plan("", min_rate)
    return merged([read_result(file) for file in files])


def _show(result: LoadResult, as_json: bool) -> None:
    from rag_titan.loadtest.summary import BELOW, HEADER, rows, verdict

    if as_json:
        say([json.dumps(result.record(), indent=1, allow_nan=False, ensure_ascii=False)])
        return
    say([*aligned(HEADER, rows(result)), BELOW, ""] if result.steps else [])
    say(map(escaped, verdict(result)))


def _write(result: LoadResult, output: Path | None, markdown: Path | None, plot: Path | None) -> None:
    from rag_titan.evaluation.writing import write
    from rag_titan.loadtest.summary import TITLE, pictures
    from rag_titan.loadtest.summary import markdown as as_markdown

    if output is not None:
        result.save(output)
    if markdown is not None:
        write(markdown, as_markdown(result))
    if plot is not None:
        from rag_titan.plots import save

        save(pictures(result), plot, title=TITLE)


def _exit_code(result: LoadResult, min_rate: float | None) -> int:
    if result.stopped:
        return STOPPED
    if result.invalid or not result.answered:
        complain("the run is invalid." if result.invalid else "nothing was answered.")
        return NOTHING
    knee = result.knee
    if min_rate is None or (knee is not None and knee.rate is not None and knee.rate >= min_rate - 1e-9):
        return 0
    complain(f"{min_rate:g} requests a second were not sustained.")
    return TOO_SLOW
