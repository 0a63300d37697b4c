"""rag-titan collect: put the golden questions to a running app, and record what it answers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_titan.cli.terminal import complain, escaped, progress, say
from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    from rag_titan.evaluation import Collected

NOTHING, TOO_MANY_ERRORS = 3, 1
SHOWN = 20  # notices
APP, ANSWERS, PACE = "The app", "What is recorded", "How it is asked"

Golden = Annotated[
    Path, typer.Option(metavar="FILE", readable=False, rich_help_panel=ANSWERS, help="The golden questions.")
]
Output = Annotated[
    Path,
    typer.Option(
        metavar="FOLDER|FILE.jsonl",
        rich_help_panel=ANSWERS,
        help="Where the records go; a file .journal beside them keeps every answer as it comes.",
    ),
]
Maps = Annotated[
    list[str] | None,
    typer.Option(
        "--map", metavar="KEY=PATH", rich_help_panel=ANSWERS, help="As retrieved_ids=docs[].id. Usually the same names."
    ),
]
Url = Annotated[str | None, typer.Option(metavar="URL", rich_help_panel=APP, help="Where the app listens.")]
Call = Annotated[
    str | None,
    typer.Option(metavar="MODULE:FUNCTION", rich_help_panel=APP, help="A Python function of a question, instead."),
]
Request = Annotated[
    str | None,
    typer.Option(
        metavar="JSON", rich_help_panel=APP, help='What is sent. Usually \'{"question": "{question}"}\'.'
    ),
]  # fmt: skip
Headers = Annotated[
    list[str] | None,
    typer.Option(
        "--header", metavar="'NAME: VALUE'", rich_help_panel=APP, help="$NAME in a value is an environment variable."
    ),
]
Method = Annotated[str, typer.Option(metavar="METHOD", rich_help_panel=APP, help="POST, PUT or GET.")]
Remote = Annotated[
    bool, typer.Option("--allow-remote", rich_help_panel=APP, help="Ask an app that is not on this machine.")
]
Concurrency = Annotated[int, typer.Option(metavar="N", rich_help_panel=PACE, help="Questions at a time.")]
Timeout = Annotated[
    float, typer.Option(metavar="SECONDS", rich_help_panel=PACE, help="The longest wait for an answer.")
]
Retries = Annotated[int, typer.Option(metavar="N", rich_help_panel=PACE, help="Further tries of what failed.")]
Limit = Annotated[int | None, typer.Option(metavar="N", rich_help_panel=PACE, help="Only the first N questions.")]
RetryErrors = Annotated[
    bool, typer.Option("--retry-errors", rich_help_panel=PACE, help="Ask again what failed in an earlier run.")
]
Fresh = Annotated[
    bool, typer.Option("--fresh", rich_help_panel=PACE, help="Ask everything anew, and forget an earlier run.")
]
MaxErrors = Annotated[
    float | None,
    typer.Option(metavar="SHARE", min=0, max=1, rich_help_panel=PACE, help="Exit code 1 if more questions failed."),
]


def collect(
    golden: Golden,
    output: Output,
    url: Url = None,
    call: Call = None,
    request: Request = None,
    maps: Maps = None,
    header: Headers = None,
    method: Method = "POST",
    allow_remote: Remote = False,
    concurrency: Concurrency = 4,
    timeout: Timeout = 30.0,
    retries: Retries = 0,
    limit: Limit = None,
    retry_errors: RetryErrors = False,
    fresh: Fresh = False,
    max_error_rate: MaxErrors = None,
) -> None:
    """Put every golden question to a running app, and record answers, ids, times and errors.

    The same command continues a run that was stopped. Exit codes: 0 done, 1 too many errors (see --max-error-rate),
    2 bad input, 3 nothing was answered.
    """
    from rag_titan.evaluation import Pace, collect_answers

    ask = _app(url, call, request, header or (), method, allow_remote)
    pace, paths = Pace(concurrency, timeout, retries), _paths(maps or ())
    with progress() as counter:
        collected = collect_answers(
            golden, ask, map=paths, output=output, fresh=fresh, retry_errors=retry_errors, limit=limit,
            pace=pace, progress=counter,
        )  # fmt: skip
    say(_lines(collected, output))
    raise typer.Exit(_exit_code(collected, max_error_rate))


def _app(
    url: str | None, call: str | None, request: str | None, headers: Sequence[str], method: str, allow_remote: bool
) -> Callable[[str], Any]:
    if (url is None) == (call is None):
        got = "neither" if url is None else "both"
        raise SettingsError(f"--url, --call: must be given one of them, got {got}. Say which app to ask.")
    if call is not None:
        return _function(call)
    from rag_titan.evaluation import HttpApp

    return HttpApp(
        url or "", _json(request), method=method, headers=headers, allow_remote=allow_remote
    )  # fmt: skip


def _json(request: str | None) -> Any:
    if request is None:
        return None
    try:
        return json.loads(request)
    except (ValueError, RecursionError):
        example = '{"question": "{question}"}'
        raise SettingsError(f"--request: must be JSON, got something else. Write it as {example}.") from None


def _function(call: str) -> Callable[[str], Any]:
    """The function that `module:name` stands for; the module may lie in the current folder."""
    module, colon, name = call.partition(":")
    if not module or not colon or not name:
        raise SettingsError(f"--call: must be MODULE:FUNCTION, got {escaped(call)!r}. Write it as my_app:answer.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module)
    except (Exception, SystemExit) as error:  # whatever somebody else's module raises while it loads
        said = f"{type(error).__name__}: {error}"
        raise SettingsError(
            f"--call: must be a module that loads, got {said} from {module}. Try it in Python."
        ) from None
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise SettingsError(f"--call: must name a function of {module}, got {name}. Check its name.")
    function: Callable[[str], Any] = found
    return function


def _paths(maps: Sequence[str]) -> dict[str, str]:
    paths: dict[str, str] = {}
    for text in maps:
        key, equals, path = (part.strip() for part in text.partition("="))
        if not equals or not key or not path:
            raise SettingsError(f"--map: must be KEY=PATH, got {text!r}. Write it as answer=output.text.")
        if key in paths:
            raise SettingsError(f"--map: must give each key once, got {key} twice. Take one out.")
        paths[key] = path
    return paths


def _lines(collected: Collected, output: Path) -> Iterator[str]:
    count, errors = len(collected.queries), collected.errors
    yield f"Answers saved: {escaped(collected.file)}"
    yield f"Questions: {count} | Answered: {collected.answered} | Errors: {errors}"
    if collected.kept:
        yield f"Kept from an earlier run: {collected.kept}; asked now: {collected.asked}. --fresh asks everything anew."
    texts = collected.notices.texts()
    yield from (f"Note: {escaped(text)}" for text in texts[:SHOWN])
    if len(texts) > SHOWN:
        yield f"Note: and {len(texts) - SHOWN} more of this kind; `error` in the records says each."
    if errors:
        yield "Once the cause is gone: the same command with --retry-errors."
    if collected.answered:
        yield f"Next: rag-titan evaluate --input {escaped(output)}"
    else:
        complain("nothing was answered.")


def _exit_code(collected: Collected, max_error_rate: float | None) -> int:
    if not collected.answered:
        return NOTHING
    share = collected.errors / len(collected.queries)
    return TOO_MANY_ERRORS if max_error_rate is not None and share > max_error_rate + 1e-9 else 0
