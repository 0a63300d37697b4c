"""Do answers to a counterfactual test set follow the context, or what the model knew before?"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rag_titan.errors import DatasetError, NothingMatchedError
from rag_titan.evaluation import read_dataset
from rag_titan.evaluation.measures.resampling import interval95
from rag_titan.evaluation.measures.sums import Moments
from rag_titan.judge.facts import facts

CONTEXT, ORIGINAL, BOTH, NEITHER = "context", "original", "both", "neither"
FOLLOWS = (CONTEXT, ORIGINAL, BOTH, NEITHER)
_MARKS = re.compile(r"\[\d+\]")
_BATCH = 4096
_FACT = ("kind", "original", "replacement")
_WROTE = "Pass what `judge counterfactual` wrote."


def counterfactual_score(dataset: Mapping[str, Any], answers: Mapping[str, str | None]) -> dict[str, Any]:
    """What the answers to the changed questions follow.

    dataset  the inputs that `counterfactual` made
    answers  {question: its answer}; None where there is none

    An answer with a changed fact follows the context, one with an original fact what was there before; with facts of
    both kinds it is "both", with none "neither" (a refusal, or other words). Returns {"questions", "answered",
    "context", "original", "both", "neither", "per_query"}; each share is {"value", "n", "count", "ci95"} of those
    answered, the interval Wilson's. Raises NothingMatchedError where no changed question has an answer.

    >>> fact = {"kind": "numbers", "original": "25", "replacement": "61"}
    >>> queries = [{"id": name, "counterfactual": {"facts": [fact]}} for name in "ab"]
    >>> found = counterfactual_score({"queries": queries}, {"a": "61 days", "b": "It is 25 days. [1]"})
    >>> found["context"]["value"], [row["follows"] for row in found["per_query"]]
    (0.5, ['context', 'original'])
    """
    changed = [query for query in dataset.get("queries") or () if "counterfactual" in query]
    for place, query in enumerate(changed):
        if not _is_changed(query):
            rule = "must have an id and counterfactual.facts, each with kind, original and replacement, got others"
            raise DatasetError(f"queries[{place}] with a key counterfactual", f"{rule}. {_WROTE}")
    if not changed:
        raise DatasetError("queries", f"must have some with a key counterfactual, got none. {_WROTE}")
    known = [(query, text) for query in changed if (text := answers.get(str(query["id"]))) is not None]
    if not known:
        raise NothingMatchedError("answers", "must answer questions of the test set, got no id of it. Check the ids.")
    rows = [_row(query, text) for query, text in known]
    counts = Counter(row["follows"] for row in rows)
    shares = {name: _share(counts[name], len(rows)) for name in FOLLOWS}
    return {"questions": len(changed), "answered": len(rows), **shares, "per_query": rows}


def read_counterfactual(path: str | Path) -> Mapping[str, Any]:
    """The inputs in a file that `judge counterfactual` wrote. Raises DatasetError for anything else."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DatasetError(str(path), f"must be a JSON file ({error}). {_WROTE}") from None
    queries = value.get("queries") if isinstance(value, dict) else None
    if not isinstance(queries, list) or not all(isinstance(query, dict) for query in queries):
        raise DatasetError(str(path), f"must hold an object with queries. {_WROTE}")
    found: Mapping[str, Any] = value
    return found


def read_answers(path: str | Path) -> dict[str, str | None]:
    """{question: answer} of a dataset in any form that is evaluated."""
    return {query.id: query.answer for batch in read_dataset(path).queries.batches(_BATCH) for query in batch}


def _row(query: Mapping[str, Any], answer: str) -> dict[str, Any]:
    said = {(fact.kind, fact.key) for fact in facts(_MARKS.sub(" ", answer))}
    told = query["counterfactual"]["facts"]
    new = _found(told, "replacement", said)
    old = _found(told, "original", said)
    follows = BOTH if new and old else CONTEXT if new else ORIGINAL if old else NEITHER
    return {"id": str(query["id"]), "follows": follows, "of_context": new, "of_original": old}


def _is_changed(query: Mapping[str, Any]) -> bool:
    told = query["counterfactual"].get("facts") if isinstance(query["counterfactual"], dict) else None
    return (
        "id" in query
        and isinstance(told, list)
        and all(isinstance(fact, dict) and all(isinstance(fact.get(key), str) for key in _FACT) for fact in told)
    )


def _found(told: Iterable[Mapping[str, str]], side: str, said: set[tuple[str, str]]) -> list[str]:
    return [fact[side] for fact in told if (fact["kind"], fact[side]) in said]


def _share(count: int, n: int) -> dict[str, Any]:
    values = np.repeat([1.0, 0.0], [count, n - count])
    return {"value": count / n, "n": n, "count": count, "ci95": interval95(Moments.of(values), 0.0, 1.0)}
