"""Command line over config file -> the evaluator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag_titan.cli.config import LARGEST, Config, share, short, tolerance
from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    from rag_titan.evaluation import Columns, RAGEvaluator

USUAL_K = 5
_KEYS = {"stage_weights": "weights.stage", "metric_weights": "weights", "strict_gates": "gates"}


def merged(
    config: Config,
    *,
    k: str | None = None,
    stages: str | None = None,
    by: str | None = None,
    require: Sequence[str] = (),
    **others: Any,
) -> Config:
    """The config with what the command line says instead; metrics that it requires come on top.

    others  keys of the config by their names; None stands for what the command line does not say
    """
    changes = {key: value for key, value in others.items() if value is not None}
    if k is not None:
        first, *further = _cutoffs(k)
        changes |= {"k": first, "also_at": tuple(further)}
    if stages is not None:
        changes["stages"] = names_of("--stages", stages)
    if by is not None:
        changes["by"] = names_of("--by", by)
    if "tolerance" in changes:
        changes["tolerance"] = tolerance("--tolerance", changes["tolerance"])
    if "max_error_rate" in changes:
        changes["max_error_rate"] = share("--max-error-rate", changes["max_error_rate"])
    return replace(config, **changes, required=(*config.required, *require))


def evaluator_of(config: Config, chosen: Config, **options: Any) -> RAGEvaluator:
    """The evaluator that `chosen` describes; what is wrong in the config file itself is said with the file's name.

    options  arguments of RAGEvaluator that come before those of the config
    """
    with _placed(config.file):
        evaluator = _built(config)
        _check_primary(config, evaluator)
    return evaluator if chosen == config and not any(options.values()) else _built(chosen, **options)


def _check_primary(config: Config, evaluator: RAGEvaluator) -> None:
    """What a change is judged by is asked for after the work; a misspelt name is said before it."""
    if config.primary:
        from rag_titan.evaluation.catalogue import find

        for name in config.primary:
            find(name, evaluator.rows)


def columns_of(config: Config) -> Columns | None:
    """The column mapping of the config file, None where it has none."""
    if not config.columns:
        return None
    from rag_titan.evaluation import Columns

    with _placed(config.file):
        return Columns.of(config.columns)


def _built(config: Config, **options: Any) -> RAGEvaluator:
    from rag_titan.evaluation import RAGEvaluator, ScoreAggregator

    usual: dict[str, Any] = {
        "k": config.k or USUAL_K,
        "also_at": config.also_at,
        "thresholds": config.thresholds,
        "conventions": config.conventions,
        "stages": config.stages,
        "by": config.by,
    }
    settings = {**usual, **options}
    evaluator = RAGEvaluator(**settings)
    if settings.get("scorer") is not None:
        return evaluator
    evaluator.scorer = ScoreAggregator(
        None if settings["stages"] is None else [str(stage) for stage in evaluator.stages],
        config.stage_weights,
        config.metric_weights,
        config.targets,
        strict_gates=config.gates,
        required=config.required,
        rows=evaluator.rows,
    )
    return evaluator


@contextmanager
def _placed(file: str | None) -> Iterator[None]:
    try:
        yield
    except SettingsError as error:
        if file is None:
            raise
        raise SettingsError(f"{file}: {_as_spelled(str(error))}") from None


def _as_spelled(sentence: str) -> str:
    """The sentence with the keys of the file in place of the arguments that they become."""
    for argument, key in _KEYS.items():
        sentence = re.sub(rf"^{argument}\b", key, sentence)
    return sentence


def _cutoffs(text: str) -> list[int]:
    """The numbers of "10,5,100": K, then further cut-offs."""
    parts = names_of("--k", text)
    if not all(part.isascii() and part.isdecimal() and len(part) < 20 and 1 <= int(part) <= LARGEST for part in parts):
        rule = f"must be whole numbers from 1 to {LARGEST}, the first of which is K"
        raise SettingsError(f"--k: {rule}, got {short(text)}. Write 10,5,100.")
    return [int(part) for part in parts]


def names_of(option: str, text: str) -> tuple[str, ...]:
    """The parts of "a,b"; raises SettingsError where one of them is empty."""
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts):
        raise SettingsError(f"{option}: must be a list with commas and nothing empty in it, got {text!r}.")
    return parts
