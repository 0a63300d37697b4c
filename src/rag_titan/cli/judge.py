"""rag-titan judge: ask a model for verdicts, and store them in the dataset."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rag_titan.cli import judge_options as options
from rag_titan.cli.config import share
from rag_titan.cli.judge_agreement import agreement
from rag_titan.cli.judge_counterfactual import counterfactual
from rag_titan.cli.terminal import complain, counted, escaped, progress, say

if TYPE_CHECKING:
    from rag_titan.judge import Judge, Judged

TOO_MANY_ERRORS, NOTHING, STOPPED = 1, 3, 130
SHOWN = 10  # reasons
_WITHOUT_TEXT = "a chunk without text"  # of a question whose context is known by ids alone

app = typer.Typer(
    name="judge",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Ask a model for verdicts on answers and contexts, and store them in the data; evaluate scores them.",
)


@app.callback(invoke_without_command=True)
def judge(
    context: typer.Context, input: options.Input = None, output: options.Output = None,
    metrics: options.Metrics = "faithfulness", replace: options.Replace = False, model: options.Model = None,
    base_url: options.BaseUrl = None, api_key_env: options.KeyEnv = None, allow_remote: options.Remote = False,
    temperature: options.Temperature = 0.0, seed: options.Seed = 0, answer_tokens: options.AnswerTokens = 2048,
    json_schema: options.JsonSchema = True, questions: options.Questions = 3,
    embedder: options.EmbedderName = options.EmbedderChoice.WORDLLAMA, embedding_model: options.EmbeddingName = None,
    embedding_url: options.EmbeddingUrl = None, concurrency: options.Concurrency = 8,
    timeout: options.Timeout = 120.0, call_timeout: options.CallTimeout = 600.0,
    max_seconds: options.MaxSeconds = None, retries: options.Retries = 3, repeat: options.Repeat = 1,
    cache: options.Cache = None, retry_errors: options.RetryErrors = False, max_calls: options.MaxCalls = None,
    max_tokens: options.MaxTokens = None, max_cost: options.MaxCost = None, price: options.Price = None,
    dry_run: options.DryRun = False, max_error_rate: options.MaxErrorRate = 0.05, summary: options.Summary = None,
    redact: options.Redact = False,
) -> None:  # fmt: skip
    """Ask a model for verdicts on answers and contexts, and store them in the data; evaluate scores them.

    The same command goes on where a run was stopped: what the cache holds is not asked again. Exit codes: 0 done,
    1 too many errors or a budget that is spent, 2 bad input, 3 nothing was judged.
    """
    if context.invoked_subcommand is not None:
        return
    given = dict(context.params)
    share("--max-error-rate", max_error_rate)
    source, target, kept = options.checked(input, output, cache, summary, model, base_url)
    with options.judge_of(given, kept) as asking:
        if dry_run:
            say(_estimated(asking.estimate(source)))
            raise typer.Exit(0)
        judged, stopped = _asked(asking, source)
    _save(judged, source, target, summary)
    say([*_lines(judged, max_error_rate), *_saved(target, summary, bool(judged.done))])
    raise typer.Exit(_exit_code(judged, max_error_rate, stopped))


app.command()(agreement)
app.command()(counterfactual)


def _asked(asking: Judge, source: Path) -> tuple[Judged, bool]:
    """What came back, and whether somebody pressed Ctrl-C before all did."""
    from rag_titan.judge import StoppedError

    try:
        with _counting() as shown:
            return asking.judge(source, shown), False
    except StoppedError as stopped:
        complain("stopped: what was judged by then is kept; the same command goes on.")
        return stopped.judged, True


@contextmanager
def _counting() -> Iterator[Callable[..., None] | None]:
    """A callback that shows on the terminal what is done and what it cost."""
    with progress("parts", at_once=True) as counter:
        if counter is None:
            yield None
            return

        def count(done: int, of: int, spent: Any) -> None:
            cost = "" if spent.cost_usd is None else f", {spent.cost_usd:.4f} USD"
            tokens = spent.prompt_tokens + spent.output_tokens
            counter(done, of, f"{spent.calls:,} calls, {spent.cached:,} from the cache, {tokens:,} tokens{cost}")

        yield count


def _save(judged: Judged, source: Path, target: Path, summary: Path | None) -> None:
    from rag_titan.evaluation.writing import write
    from rag_titan.judge import write_judged

    write_judged(judged, source, target)
    if summary is not None:
        text = json.dumps(judged.summary(), indent=2, ensure_ascii=False, allow_nan=False)
        write(summary, text + "\n")


def _lines(judged: Judged, most: float) -> Iterator[str]:
    yield f"Judge: {escaped(judged.judge)} | Metrics: {', '.join(judged.metrics)}"
    rate = "" if judged.error_rate is None else f" ({judged.error_rate:.1%}; at most {most:.1%} may fail)"
    errors = counted(len(judged.failures), "error")
    yield f"{counted(len(judged.verdicts), 'question')}: {counted(judged.done, 'verdict')} | {errors}{rate}"
    reasons = Counter(one.reason for one in judged.failures)
    for title, counts in (("Failed", reasons), ("Not asked", judged.unasked)):
        for reason, n in _most_first(counts):
            yield f"{title}: {n:,} x {escaped(reason.removeprefix('failed: ').removeprefix('not asked: '))}"
    said = next((one.said for one in judged.failures if one.said), None)
    if said:
        yield f"For example: {escaped(said[:200])}"
    if judged.failures:
        yield "The same command asks again what got no answer, with --retry-errors also what got one that is no verdict"
    yield from _settled(judged)
    yield _spending(judged)
    for metric, values in judged.spread.items():
        shown = ", ".join("not measured" if value is None else f"{value:.4f}" for value in values)
        known = [value for value in values if value is not None]
        apart = f" (apart by {max(known) - min(known):.4f})" if known else ""
        yield f"Repeats of {metric}: {shown}{apart}"


def _settled(judged: Judged) -> Iterator[str]:
    """What needed no call."""
    for reason, n in _most_first(judged.settled):
        yield f"Nothing to judge: {escaped(reason)} ({counted(n, 'question')})"
    if _WITHOUT_TEXT in judged.settled:
        yield "Chunks are read from one JSON file that holds them, or from a folder with queries.jsonl and chunks.jsonl"


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:SHOWN]


def _spending(judged: Judged) -> str:
    spent = judged.spent
    cost = "" if spent.cost_usd is None else f" | Cost: {spent.cost_usd:.4f} USD"
    guess = f" (guessed for {counted(spent.guessed, 'call')})" if spent.guessed else ""
    again = f", {spent.retried:,} of them again" if spent.retried else ""
    return (
        f"Calls: {spent.calls:,}{again}, {spent.cached:,} from the cache | "
        f"Tokens: {spent.prompt_tokens:,} sent, {spent.output_tokens:,} answered{guess}{cost}"
    )


def _estimated(judged: Judged) -> Iterator[str]:
    spent = judged.spent
    cost = "" if spent.cost_usd is None else f", {spent.cost_usd:.4f} USD"
    yield f"Nothing was asked. A run on {counted(len(judged.verdicts), 'question')} would make about:"
    yield (
        f"{counted(spent.calls, 'call')} ({spent.cached:,} more are in the cache), "
        f"{spent.prompt_tokens:,} tokens sent, {spent.output_tokens:,} answered{cost}"
    )
    yield from _settled(judged)


def _saved(target: Path, summary: Path | None, any_verdict: bool) -> Iterator[str]:
    yield f"Verdicts saved: {escaped(target)}" + ("" if summary is None else f"; summary: {escaped(summary)}")
    if any_verdict:
        yield f"Next: rag-titan evaluate --input {escaped(shlex.quote(str(target)))}"


def _exit_code(judged: Judged, most: float, stopped: bool) -> int:
    if stopped:
        return STOPPED
    if judged.fails(most) or judged.unasked:
        return TOO_MANY_ERRORS
    return 0 if judged.done else NOTHING
