"""What a run of a judge brought: verdicts for each question, what there is no verdict for, and what it cost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_titan.errors import SettingsError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.data.plain import without_surrogates
from rag_titan.evaluation.limits import above
from rag_titan.evaluation.writing import PathLike, write
from rag_titan.judge.metrics import NEEDS, Ask
from rag_titan.judge.questioning import Part

Verdicts = dict[str, Any]
_LINES = (".jsonl", ".ndjson")
_CLAIMS = ("answer_claims", "reference_claims")


@dataclass(frozen=True)
class Spent:
    """What a run used.

    calls    tries that were sent, `retried` of them because the one before failed
    cached   calls that the cache answered
    guessed  calls of which the server did not count the tokens
    cost_usd None without prices
    """

    calls: int = 0
    retried: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    guessed: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True)
class Failure:
    """A verdict that was asked for in vain; `said` is what came instead, or what the server answered."""

    query_id: str
    ask: str
    reason: str
    said: str


@dataclass
class Judged:
    """Verdicts by question.

    judge     the model and the hash of its prompts and settings
    metrics   what was asked for
    settings  what the hash is made of beside prompts, schemas and checks
    verdicts  {query id: what belongs under `verdicts` of its record}
    done      kinds of verdicts that are there, over all questions
    settled   questions of which some kind needed nobody to be asked, by reason
    unasked   those that were not asked for, since the run ended before, by reason
    failures  those that were asked for in vain
    spread    {metric: its value in each repeat} where there are several; the verdicts are those of the first
    """

    judge: str
    metrics: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    verdicts: dict[str, Verdicts] = field(default_factory=dict)
    done: int = 0
    settled: Counter[str] = field(default_factory=Counter)
    unasked: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    spread: dict[str, list[float | None]] = field(default_factory=dict)

    @property
    def error_rate(self) -> float | None:
        """Failures among what was asked for; None where nothing was."""
        asked = self.done + len(self.failures)
        return len(self.failures) / asked if asked else None

    def fails(self, max_error_rate: float) -> bool:
        """True where more failed than may."""
        return self.error_rate is not None and above(self.error_rate, max_error_rate)

    def take(self, query_id: str, parts: Iterable[Part]) -> None:
        """Put the parts of a question together."""
        verdicts: Verdicts = {}
        reasons: dict[Ask, str] = {}
        settled: set[str] = set()
        for part in parts:
            verdicts |= part.verdicts
            reasons |= part.reasons
            self.done += len(part.done)
            settled |= self._settled(query_id, part)
        self.settled.update(settled)
        unjudged = {metric: why for metric in self.metrics if (why := _why(metric, reasons)) is not None}
        if "noncommittal" in verdicts:  # of a refusal it is known without a judge
            unjudged.pop("noncommittal_rate", None)
        self.verdicts[query_id] = verdicts | {"judge": self.judge} | ({"unjudged": unjudged} if unjudged else {})

    def summary(self) -> dict[str, Any]:
        """Everything but the verdicts, in JSON."""
        return {
            "judge": self.judge,
            "settings": dict(self.settings),
            "metrics": list(self.metrics),
            "questions": len(self.verdicts),
            "verdicts": self.done,
            "errors": len(self.failures),
            "error_rate": self.error_rate,
            "settled": dict(sorted(self.settled.items())),
            "not_asked": dict(sorted(self.unasked.items())),
            "calls": self.spent.calls,
            "retried": self.spent.retried,
            "cached": self.spent.cached,
            "prompt_tokens": self.spent.prompt_tokens,
            "output_tokens": self.spent.output_tokens,
            "tokens_guessed_of": self.spent.guessed,
            "cost_usd": self.spent.cost_usd,
            "spread": {metric: _spread(values) for metric, values in self.spread.items()},
            "failures": [vars(failure) for failure in self.failures],
        }

    def _settled(self, query_id: str, part: Part) -> set[str]:
        """Why nobody was asked; counts what was asked for in vain, and what was left."""
        settled = set(part.ruled.values())
        for ask, reason in part.reasons.items():
            if ask in part.failed:
                self.failures.append(Failure(query_id, str(ask), reason, part.failed[ask]))
            elif reason.startswith("not asked"):
                self.unasked[reason] += 1
            else:
                settled.add(reason)
        return settled


def values_of(judged: Judged, rankings: Mapping[str, Sequence[str] | None]) -> dict[str, float | None]:
    """The value of each metric over the questions, as the evaluation computes it."""
    queries = [
        {"id": name, "verdicts": verdicts} | ({} if rankings.get(name) is None else {"context_ids": rankings[name]})
        for name, verdicts in judged.verdicts.items()
    ]
    summary = RAGEvaluator().evaluate(queries=queries)["judge"]["summary"]
    return {metric: summary[metric] for metric in judged.metrics}


def merged(old: Verdicts | None, new: Verdicts, metrics: Sequence[str]) -> Verdicts:
    """Verdicts of the same judge together: those on the same claims side by side, the newer before the older."""
    if not old:
        return new
    both = {**old, **new}
    for name in _CLAIMS:
        one, other = old.get(name), new.get(name)
        if one and other:
            both[name] = _side_by_side(one, other)
    unjudged = {metric: why for metric, why in (old.get("unjudged") or {}).items() if metric not in metrics}
    unjudged |= new.get("unjudged") or {}
    both.pop("unjudged", None)
    return both | ({"unjudged": unjudged} if unjudged else {})


def _side_by_side(old: Sequence[Verdicts], new: Sequence[Verdicts]) -> Sequence[Verdicts]:
    """Newer verdicts on the same claims; what a rule says of a text as a whole holds for each of its claims."""
    if [claim.get("text") for claim in old] == [claim.get("text") for claim in new]:
        return [{**before, **after} for before, after in zip(old, new, strict=True)]
    if all("text" not in claim for claim in new):
        return [{**claim, **new[0]} for claim in old]
    if all("text" not in claim for claim in old):
        return [{**old[0], **claim} for claim in new]
    return new


def check_output(source: PathLike, output: PathLike) -> None:
    """Raises SettingsError where an output cannot hold what the input holds, as JSON Lines are questions alone; and
    where its name would have it read as something else."""
    suffix = Path(output).suffix.lower()
    if suffix in _LINES and Path(source).suffix.lower() not in _LINES:
        raise SettingsError(f"output: must be a .json file for such an input, got {output}. Rename it.")
    if suffix not in (".json", *_LINES):
        raise SettingsError(f"output: must be a .json file, or .jsonl for such an input, got {output}. Rename it.")


def write_judged(judged: Judged, source: PathLike, output: PathLike) -> None:
    """Write the dataset of `source` with the verdicts in it, whole or not at all.

    A JSON file and JSON Lines keep everything that they hold; whatever else is read becomes a JSON file. Verdicts of
    the same judge are kept beside the new ones, those of another give way. Raises SettingsError, see `check_output`.
    """
    check_output(source, output)
    path, target = Path(source), Path(output)
    if target.suffix.lower() in _LINES:
        # not splitlines(), which also breaks where a text holds U+2028 and its like
        records = [json.loads(line) for line in _read(path).split("\n") if line.strip()]
        lines = (json.dumps(_with_verdicts(record, judged), ensure_ascii=True) for record in records)
        write(target, "".join(f"{line}\n" for line in lines))
        return
    value = _whole(path)
    queries = value["queries"] if isinstance(value, dict) else value
    queries[:] = [_with_verdicts(record, judged) for record in queries]
    write(target, json.dumps(value, indent=1) + "\n")


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogatepass").removeprefix("\ufeff")


def _whole(path: Path) -> Any:
    """What a file or folder holds, as JSON."""
    if path.suffix.lower() == ".json" and path.is_file():
        return json.loads(_read(path))
    from rag_titan.judge.reading import plain_dataset

    return plain_dataset(path)


def _with_verdicts(record: dict[str, Any], judged: Judged) -> dict[str, Any]:
    name = without_surrogates(str(record["id"]))
    if name not in judged.verdicts:
        return record
    old = record.get("verdicts") or {}
    if old.get("judge") != judged.judge:
        old = {}
    return {**record, "verdicts": merged(old, judged.verdicts[name], judged.metrics)}


def _why(metric: str, reasons: Mapping[Ask, str]) -> str | None:
    """Why there is no verdict for a metric: a failure before anything else."""
    found = [reasons[ask] for ask in NEEDS[metric] if ask in reasons]
    return min(found, key=lambda why: not why.startswith("failed")) if found else None


def _spread(values: Sequence[float | None]) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    return {
        "values": list(values),
        "min": min(known, default=None),
        "max": max(known, default=None),
        "range": max(known) - min(known) if known else None,
    }
