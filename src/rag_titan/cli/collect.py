"""rag-titan collect: put the golden questions to a running app, and record what it answers."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_titan.cli.config import share
from rag_titan.cli.terminal import complain, counted, escaped, progress, say
from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    from rag_titan.evaluation import Collected

NOTHING, TOO_MANY_ERRORS, STOPPED = 3, 1, 130
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
    bool,
    typer.Option(
        "--fresh", rich_help_panel=PACE, help="Ask everything anew; an earlier run of more questions is kept aside."
    ),
]
MaxErrors = Annotated[
    float | None,
    typer.Option(metavar="SHARE", rich_help_panel=PACE, help="Exit code 1 if more questions failed."),
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

    max_error_rate = None if max_error_rate is None else share("--max-error-rate", max_error_rate)
    ask = _app(url, call, request, header or (), method, allow_remote)
    pace, paths = Pace(concurrency, timeout, retries), _paths(maps or ())
    with _counting(golden, limit, fresh) as counter:
        collected = collect_answers(
            golden, ask, map=paths, output=output, fresh=fresh, retry_errors=retry_errors, limit=limit,
            pace=pace, progress=counter,
        )  # fmt: skip
    say([*_lines(collected), *_next(collected, golden, output)])
    if not collected.answered:
        complain("nothing was answered.")
    raise typer.Exit(_exit_code(collected, max_error_rate))


@contextmanager
def _counting(golden: Path, limit: int | None, fresh: bool) -> Iterator[Callable[[int], None]]:
    """A callback that counts the questions on the terminal; Ctrl-C ends the run with a sentence that says how many."""
    from rag_titan.evaluation import read_golden

    total = len(read_golden(golden)[:limit])
    through = 0
    with progress(at_once=True) as shown:

        def count(done: int) -> None:
            nonlocal through
            through = done
            if shown is not None:
                shown(done, total)

        try:
            yield count
            return
        except KeyboardInterrupt:
            pass
    go_on = "the same command without --fresh goes on" if fresh else "the same command goes on"
    are = "is" if through == 1 else "are"
    complain(f"stopped: {counted(through, 'answer')} of {total:,} {are} kept; {go_on}.")
    raise typer.Exit(STOPPED)


def _app(
    url: str | None, call: str | None, request: str | None, headers: Sequence[str], method: str, allow_remote: bool
) -> Callable[[str], Any]:
    if (url is None) == (call is None):
        got = "neither" if url is None else "both"
        raise SettingsError(f"--url, --call: must be given one of them, got {got}. Say which app to ask.")
    if call is not None:
        return function_of(call)
    from rag_titan.evaluation import HttpApp

    return HttpApp(
        url or "", json_of(request), method=method, headers=headers, allow_remote=allow_remote
    )  # fmt: skip


def json_of(request: str | None) -> Any:
    if request is None:
        return None
    try:
        return json.loads(request)
    except (ValueError, RecursionError):
        example = '{"question": "{question}"}'
        raise SettingsError(f"--request: must be JSON, got something else. Write it as {example}.") from None


def function_of(call: str, option: str = "--call") -> Callable[[str], Any]:
    """The function that `module:name` stands for; the module may lie in the current folder."""
    module, colon, name = call.partition(":")
    if not module or not colon or not name:
        raise SettingsError(f"{option}: must be MODULE:FUNCTION, got {escaped(call)!r}. Write it as my_app:answer.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module)
    except (Exception, SystemExit) as error:  # whatever somebody else's module raises while it loads
        said = f"{type(error).__name__}: {error}"
        raise SettingsError(
            f"{option}: must be a module that loads, got {said} from {module}. Try it in Python."
        ) from None
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise SettingsError(f"{option}: must name a function of {module}, got {name}. Check its name.")
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


def _lines(collected: Collected) -> Iterator[str]:
    count, errors = len(collected.queries), collected.errors
    yield f"Answers saved: {escaped(collected.file)}"
    yield f"Questions: {count} | Answered: {collected.answered} | Errors: {errors}"
    if collected.kept:
        yield f"Kept from an earlier run: {collected.kept}; asked now: {collected.asked}. --fresh asks everything anew."
    texts = collected.notices.texts()
    yield from (f"Note: {escaped(text)}" for text in texts[:SHOWN])
    if len(texts) > SHOWN:
        yield f"Note: and {len(texts) - SHOWN} more of this kind; `error` in the records says each."
    yield from _advice(collected)


def _advice(collected: Collected) -> Iterator[str]:
    """What to do about what failed: the option that works for its cause."""
    unmapped = collected.unmapped
    if unmapped and all("error" in record for record in collected.queries):
        yield "The app answers otherwise than --map has it: correct --map; the same command asks again what failed."
    elif unmapped:
        yield "Some answers are not as --map has it: correct --map and add --fresh, or mend the app and --retry-errors."
    if collected.errors > unmapped:
        yield "Once the cause is gone: the same command with --retry-errors."


def _next(collected: Collected, golden: Path, output: Path) -> Iterator[str]:
    """The command that comes next: gold chunks have to be found first where the golden set has none."""
    if not collected.answered:
        return
    quoting = any(
        (record.get("expected_evidence") or record.get("required_evidence_ids"))
        and not record.get("expected_chunk_ids")
        and not record.get("relevance")
        for record in collected.queries
    )
    chunks = _chunks(output, golden) if quoting else None
    if chunks is not None:
        folder = output.with_name(f"{output.stem if collected.file == output else output.name}-data")
        texts = chunks.with_name(chunks.name.replace("chunks", "documents", 1))
        inputs = f"--logs {_shown(collected.file)} --golden {_shown(golden)} --chunks {_shown(chunks)}"
        inputs += f" --documents {_shown(texts)}" if texts.is_file() else ""
        yield f"Next: rag-titan build {inputs} --output {_shown(folder)}"
        return
    yield f"Next: rag-titan evaluate --input {_shown(output)}"
    if quoting:
        yield "With the chunks of your index, rag-titan build --chunks FILE finds the gold chunks of the quotes first;"
        yield "those of an index of rag-titan are written by rag-titan index FILES --output FOLDER."


def _chunks(*near: Path) -> Path | None:
    """A file of chunks in the output, beside it, beside the golden questions, or here."""
    folders = dict.fromkeys([*(path for place in near for path in (place, place.parent)), Path()])
    files = (folder / f"chunks{suffix}" for folder in folders for suffix in (".jsonl", ".json", ".parquet"))
    return next((file for file in files if file.is_file()), None)


def _shown(path: object) -> str:
    return escaped(shlex.quote(str(path)))


def _exit_code(collected: Collected, max_error_rate: float | None) -> int:
    if not collected.answered:
        return NOTHING
    share = collected.errors / len(collected.queries)
    return TOO_MANY_ERRORS if max_error_rate is not None and share > max_error_rate + 1e-9 else 0
