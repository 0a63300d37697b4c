"""How far a judge agrees with people: the same verdicts, given by both, side by side."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rag_titan.errors import NothingMatchedError, SettingsError
from rag_titan.evaluation import CATALOGUE, RAGEvaluator, read_dataset
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.evaluation.data.records import Claim, JudgedClaim, Query, Verdicts
from rag_titan.evaluation.data.verdicts import judges_of
from rag_titan.judge.agreement_statistics import Floats, Labels, Scores, estimates, share_interval

Data = str | Path | Mapping[str, Any] | Iterable[Any]
Estimate = dict[str, Any]

SUPPORTED, NOT_SUPPORTED = "supported", "not_supported"
CLASSES = (SUPPORTED, "contradicted", NOT_SUPPORTED)
TITLES: Mapping[str, str] = {
    "answer_claims.context": "Statements of the answer, by the context",
    "answer_claims.verified": "Statements of the answer, supported or not",
    "answer_claims.chunks": "Statements of the answer, chunk by chunk",
    "answer_claims.reference": "Statements of the answer, by the reference",
    "reference_claims.context": "Statements of the reference, by the context",
    "reference_claims.chunks": "Statements of the reference, chunk by chunk",
    "reference_claims.answer": "Statements of the reference, by the answer",
    "useful_chunks": "Useful chunks",
    "chunk_relevance": "Relevance of chunks",
    "noncommittal": "Noncommittal answers",
}
_ORDER: Mapping[str, tuple[str, ...]] = {
    "answer_claims.verified": (SUPPORTED, NOT_SUPPORTED),
    "useful_chunks": ("useful", "useless"),
    "noncommittal": ("noncommittal", "committal"),
}
_BATCH = 4096
_NAN = float("nan")


def agreement(judge: Data, human: Data, *, seed: int = 0) -> dict[str, Any]:
    """How far the verdicts of a judge agree with those of people on the same questions.

    judge  a dataset with `verdicts`: a path in any form that is evaluated, its inputs as a mapping, or its queries
    human  the same with verdicts by people, or with `verified_claims`
    seed   of the resamples that the intervals stand on

    Statements are paired by their texts, or by their places where one side has no texts and both have as many; what
    finds no partner is counted as unmatched. Returns plain values:

    questions       {"judge", "human", "shared"}
    judges, people  {who: on how many of the shared questions}
    labels          one entry a kind of verdict: {"what", "title", "n", "questions", "unmatched", "agreement", "kappa",
                    "confusion": {label of the judge: {label of people: n}}, "classes": [{"label", "judge", "human",
                    "precision", "recall"}]}; of grades also "kappa_linear", "kappa_quadratic" (by the difference of the
                    grades), "pearson" and "spearman"
    scores          the scores of the stage `judge`, question by question: {"metric", "title", "n", "judge_mean",
                    "human_mean", "pearson", "spearman"}

    Each estimate is {"value", "n", "ci95"}; a value that is undefined, such as the kappa of two sides that gave one
    label throughout, is None. Raises NothingMatchedError without a question that both have labels for.

    >>> def labelled(*verdicts):
    ...     return [{"id": i, "verdicts": {"noncommittal": verdict}} for i, verdict in enumerate(verdicts)]
    >>> found = agreement(labelled(True, True, False, False), labelled(True, True, False, True))
    >>> found["labels"][0]["agreement"]["value"], found["labels"][0]["kappa"]["value"]
    (0.75, 0.5)
    """
    ours, theirs = _queries(judge, "judge"), _queries(human, "human")
    shared = [name for name in ours if name in theirs and _labelled(ours[name]) and _labelled(theirs[name])]
    if not shared:
        rule = "must have verdicts, or verified_claims, on questions that the judge's file has too; got none."
        raise NothingMatchedError("human", f"{rule} Label some of the judged questions, under their ids.")
    asked = {"judge": len(ours), "human": len(theirs), "shared": len(shared)}
    return {"questions": asked, **_compared([(ours[name], theirs[name]) for name in shared], seed)}


def correlations(
    judge: Sequence[float | None],
    human: Sequence[float | None],
    *,
    questions: Sequence[Any] | None = None,
    seed: int = 0,
) -> dict[str, Estimate]:
    """{"pearson", "spearman"} of two rows of numbers, such as the scores of a judge and the grades of people.

    questions  what each number belongs to; those of one question are drawn together. Default: all by themselves

    A place where either is None is left out, and `n` says how many are left. Raises SettingsError for rows of different
    lengths.

    >>> found = correlations([0.1, 0.4, 0.5, None], [1, 2, 4, 5])
    >>> round(found["pearson"]["value"], 3), found["spearman"]["value"], found["pearson"]["n"]
    (0.891, 1.0, 3)
    """
    places = list(range(len(judge))) if questions is None else list(questions)
    if not len(judge) == len(human) == len(places):
        rule = "must have as many numbers on both sides, and as many questions"
        raise SettingsError(f"correlations: {rule}, got {len(judge)}, {len(human)} and {len(places)}.")
    x, y = (_numbers(side, name) for side, name in ((judge, "judge"), (human, "human")))
    known = np.isfinite(x) & np.isfinite(y)
    return _correlated(x[known], y[known], [places[i] for i in np.flatnonzero(known).tolist()], seed)


def _numbers(side: Sequence[float | None], name: str) -> Floats:
    """(n,) with NaN for None and for what is not finite."""
    if isinstance(side, str | bytes):
        raise SettingsError(f"{name}: must be a row of numbers, got a text.")
    values = np.full(len(side), _NAN)
    for place, value in enumerate(side):
        if value is not None and not isinstance(value, bool | int | float | np.number | np.bool_):
            raise SettingsError(f"{name}[{place}]: must be a number or None, got {type(value).__name__}.")
        with suppress(OverflowError):  # a whole number of hundreds of digits
            values[place] = _NAN if value is None else value
    return values


def _queries(data: Data, name: str) -> dict[str, Query]:
    if isinstance(data, str | Path):
        dataset = read_dataset(data)
    else:
        dataset = dataset_from(**data) if isinstance(data, Mapping) else dataset_from(queries=list(data))
    if not dataset.queries.given:
        raise NothingMatchedError(name, "must hold queries, got none. Pass a dataset with verdicts.")
    return {query.id: query for batch in dataset.queries.batches(_BATCH) for query in batch}


def _compared(pairs: Sequence[tuple[Query, Query]], seed: int) -> dict[str, Any]:
    found = _Observations()
    for i, (mine, other) in enumerate(pairs):
        found.add(i, mine, other)
    return {
        "judges": _who([mine.verdicts for mine, _ in pairs]),
        "people": _who([other.verdicts for _, other in pairs]),
        "labels": [_label_entry(what, found, seed) for what in TITLES if found.pairs.get(what)],
        "scores": list(_score_entries(pairs, seed)),
    }


def _labelled(query: Query) -> bool:
    return query.verdicts is not None or query.verified_claims is not None


def _who(verdicts: Sequence[Verdicts | None]) -> dict[str, int]:
    return dict(sorted(judges_of(verdicts).items()))


# --- pairs of labels ------------------------------------------------------------------------------


@dataclass
class _Observations:
    """{kind of verdict: [(question, label of the judge, that of people)]}, and {list: [unmatched on each side]}."""

    pairs: dict[str, list[tuple[int, Any, Any]]] = field(default_factory=dict)
    unmatched: dict[str, list[int]] = field(default_factory=dict)

    def add(self, i: int, judge: Query, human: Query) -> None:
        """The labels of a question."""
        mine, other = judge.verdicts or Verdicts(), human.verdicts or Verdicts()
        self._claims(i, "answer_claims", mine.answer_claims, other.answer_claims)
        self._claims(i, "reference_claims", mine.reference_claims, other.reference_claims)
        if other.answer_claims is None and human.verified_claims is not None:
            self._claims(i, "answer_claims", mine.answer_claims, _as_judged(human.verified_claims), ("verified",))
        self._mapped(i, "useful_chunks", mine.useful_chunks, other.useful_chunks, _ORDER["useful_chunks"])
        self._mapped(i, "chunk_relevance", mine.chunk_relevance, other.chunk_relevance)
        evades, evaded = ({} if v.noncommittal is None else {"": v.noncommittal} for v in (mine, other))
        self._mapped(i, "noncommittal", evades, evaded, _ORDER["noncommittal"])

    def _claims(
        self,
        i: int,
        name: str,
        judge: Sequence[JudgedClaim] | None,
        human: Sequence[JudgedClaim] | None,
        asked: Sequence[str] = ("context", "reference", "answer", "chunks"),
    ) -> None:
        if judge is None or human is None:
            return
        matched = list(_matched(judge, human))
        unmatched = self.unmatched.setdefault(name, [0, 0])
        unmatched[0] += len(judge) - len(matched)
        unmatched[1] += len(human) - len(matched)
        for mine, other in matched:
            for kind in asked:
                for label, against in _labels(kind, mine, other):
                    self.pairs.setdefault(f"{name}.{kind}", []).append((i, label, against))

    def _mapped(
        self,
        i: int,
        name: str,
        judge: Mapping[str, Any] | None,
        human: Mapping[str, Any] | None,
        words: tuple[str, ...] | None = None,
    ) -> None:
        if judge is None or human is None:
            return
        shared = [key for key in judge if key in human]
        unmatched = self.unmatched.setdefault(name, [0, 0])
        unmatched[0] += len(judge) - len(shared)
        unmatched[1] += len(human) - len(shared)
        for key in shared:
            label, against = judge[key], human[key]
            if words is not None:
                label, against = (words[0] if said else words[1] for said in (label, against))
            self.pairs.setdefault(name, []).append((i, label, against))


def _labels(kind: str, judge: JudgedClaim, human: JudgedClaim) -> Iterator[tuple[str, str]]:
    """The labels that both sides gave a statement."""
    if kind == "chunks":
        mine, other = judge.chunks or {}, human.chunks or {}
        yield from ((mine[chunk], other[chunk]) for chunk in mine if chunk in other)
        return
    if kind == "verified":
        said, against = _supported(judge), human.context
    else:
        said, against = getattr(judge, kind), getattr(human, kind)
    if said is not None and against is not None:
        yield said, against


def _supported(claim: JudgedClaim) -> str | None:
    """Whether the context, or any chunk where only these were judged, supports a statement."""
    if claim.context is None and claim.chunks is None:
        return None
    said = [claim.context] if claim.context is not None else list((claim.chunks or {}).values())
    return SUPPORTED if SUPPORTED in said else NOT_SUPPORTED


def _as_judged(claims: Sequence[Claim]) -> list[JudgedClaim]:
    return [JudgedClaim(text=c.text, context="supported" if c.supported else "not_supported") for c in claims]


def _matched(judge: Sequence[JudgedClaim], human: Sequence[JudgedClaim]) -> Iterator[tuple[JudgedClaim, JudgedClaim]]:
    texts = [[_key(claim) for claim in side] for side in (judge, human)]
    if any(text is None for side in texts for text in side):
        yield from zip(judge, human, strict=True) if len(judge) == len(human) else ()
        return
    places: dict[str | None, list[int]] = {}
    for place, text in enumerate(texts[1]):
        places.setdefault(text, []).append(place)
    for claim, text in zip(judge, texts[0], strict=True):
        if places.get(text):
            yield claim, human[places[text].pop(0)]


def _key(claim: JudgedClaim) -> str | None:
    return None if claim.text is None else " ".join(claim.text.split()).casefold()


# --- entries --------------------------------------------------------------------------------------


def _label_entry(what: str, found: _Observations, seed: int) -> dict[str, Any]:
    observed = found.pairs[what]
    questions, judge, human = (list(column) for column in zip(*observed, strict=True))
    graded = what == "chunk_relevance"
    names = sorted({*judge, *human}) if graded else list(_ORDER.get(what, CLASSES))
    code = {name: i for i, name in enumerate(names)}
    labels = Labels(
        _numbered(questions), np.array([code[x] for x in judge]), np.array([code[x] for x in human]), len(names)
    )
    unmatched = found.unmatched[what.partition(".")[0]]
    entry: dict[str, Any] = {
        "what": what,
        "title": TITLES[what],
        "n": len(observed),
        "questions": labels.questions,
        "unmatched": {"judge": unmatched[0], "human": unmatched[1]},
        "agreement": _agreed(labels, seed),
        "kappa": _kappa(labels, 1 - np.eye(labels.k), seed),
    }
    if graded:
        steps = np.abs(np.subtract.outer(np.array(names, dtype=np.float64), np.array(names, dtype=np.float64)))
        entry |= {"kappa_linear": _kappa(labels, steps, seed), "kappa_quadratic": _kappa(labels, steps**2, seed)}
        entry |= _correlated(np.array(judge, dtype=np.float64), np.array(human, dtype=np.float64), questions, seed)
    return {**entry, **_by_class(labels, [f"{name:g}" if graded else name for name in names], seed)}


def _numbered(questions: Sequence[Any]) -> Any:
    """(n,) the questions as numbers from 0 in the order of their first place."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in questions], dtype=np.int64)


def _kappa(labels: Labels, disagreement: Floats, seed: int) -> Estimate:
    values, ends = estimates(lambda weights: labels.kappas(weights, disagreement), labels.questions, labels.k**2, seed)
    return _estimate(values[0], ends[0], len(labels.judge))


def _agreed(labels: Labels, seed: int) -> Estimate:
    values, ends = estimates(labels.agreed, labels.questions, labels.k**2, seed)
    hits, n = int((labels.judge == labels.human).sum()), len(labels.judge)
    return {**_estimate(values[0], ends[0], n), "ci95": share_interval(hits, labels.questions, n, ends[0])}


def _by_class(labels: Labels, names: Sequence[str], seed: int) -> dict[str, Any]:
    """The confusion table, and precision and recall of each label that somebody gave."""
    table = labels.tables(np.ones((1, labels.questions)))[0].astype(np.int64)
    sides = {
        "precision": (labels.judge, estimates(labels.precisions, labels.questions, labels.k**2, seed)),
        "recall": (labels.human, estimates(labels.recalls, labels.questions, labels.k**2, seed)),
    }
    classes = []
    for code, name in enumerate(names):
        given: dict[str, Any] = {"label": name, "judge": int(table[code].sum()), "human": int(table[:, code].sum())}
        if not given["judge"] + given["human"]:
            continue
        for key, (side, (values, ends)) in sides.items():
            those, n = len(set(labels.question[side == code].tolist())), int((side == code).sum())
            ci95 = share_interval(int(table[code, code]), those, n, ends[code])
            given[key] = {**_estimate(values[code], ends[code], n), "ci95": ci95}
        classes.append(given)
    confusion = {name: dict(zip(names, row, strict=True)) for name, row in zip(names, table.tolist(), strict=True)}
    return {"classes": classes, "confusion": confusion}


def _correlated(judge: Floats, human: Floats, questions: Sequence[Any], seed: int) -> dict[str, Estimate]:
    n = len(judge)
    if n < 2:
        return {name: {"value": None, "n": n, "ci95": None} for name in ("pearson", "spearman")}
    scores = Scores(_numbered(questions), judge, human)
    found = {"pearson": scores.pearson, "spearman": scores.spearman}
    done = {name: estimates(statistic, scores.questions, n, seed) for name, statistic in found.items()}
    return {name: _estimate(values[0], ends[0], n) for name, (values, ends) in done.items()}


def _estimate(value: float, ends: Floats, n: int) -> Estimate:
    known = not np.isnan(ends).any()
    return {
        "value": None if np.isnan(value) else float(value),
        "n": n,
        "ci95": [float(end) for end in ends] if known else None,
    }


# --- scores ---------------------------------------------------------------------------------------


def _score_entries(pairs: Sequence[tuple[Query, Query]], seed: int) -> Iterator[dict[str, Any]]:
    """The judge's rankings and contexts serve both sides: labels of people often come without them."""
    ours, theirs = _scored([mine for mine, _ in pairs]), _scored([_with_labels(mine, other) for mine, other in pairs])
    by_claims = {mine.id for mine, other in pairs if _verdicts_of(other) is not other.verdicts}
    for row in CATALOGUE.values():
        values = [
            (own, theirs[name][row.key], name)
            for name, scores in ours.items()
            if row.stage == "judge" and (own := scores[row.key]) is not None and theirs[name][row.key] is not None
            if name not in by_claims or row.key == "faithfulness"  # no more follows from supported or not
        ]
        if not values:
            continue
        judge, human = (np.array([value[side] for value in values], dtype=np.float64) for side in (0, 1))
        means = {"judge_mean": float(judge.mean()), "human_mean": float(human.mean())}
        found = _correlated(judge, human, [name for _, _, name in values], seed)
        yield {"metric": row.key, "title": row.title, "n": len(values), **means, **found}


def _scored(queries: Sequence[Query]) -> dict[str, Mapping[str, float | None]]:
    report = RAGEvaluator(stages=["judge"]).evaluate(queries=queries)
    return {row["id"]: row for row in (report.get("judge") or {}).get("per_query", ())}


def _with_labels(judge: Query, human: Query) -> Query:
    labelled = copy.copy(judge)
    labelled.verdicts = _verdicts_of(human)
    return labelled


def _verdicts_of(human: Query) -> Verdicts | None:
    verdicts = human.verdicts
    if human.verified_claims is None or (verdicts is not None and verdicts.answer_claims is not None):
        return verdicts
    return Verdicts(answer_claims=_as_judged(human.verified_claims))
