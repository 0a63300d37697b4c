"""Verdicts of a judge, or of a person, as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.notices import Notices, Private
from rag_titan.evaluation.data.plain import quoted
from rag_titan.evaluation.data.records import JudgedClaim, Verdicts
from rag_titan.evaluation.measures.ragged import Ragged, ragged

SUPPORTED, CONTRADICTED = "supported", "contradicted"
UNSAID = float("nan")
UNNAMED = "unnamed"

SETTLED = frozenset(
    {
        "empty answer", "no answer given", "no answer: the question has an error", "refusal",
        "empty reference answer", "no reference answer given", "no question given",
        "empty context", "no context given", "no chunk ids given", "a chunk without text",
    }
)  # fmt: skip
"""Why nobody needs to be asked, in the words of `rag-titan judge`; no text of the data."""

_UNJUDGED = "the judge gave no verdict ({said}): query {{ids}}."

Floats = NDArray[np.float64]
Flags = Mapping[str, float]
Says = Callable[[JudgedClaim], float]


@dataclass(frozen=True)
class Claims:
    """The statements of n answers, or of n references; each part has one value a statement: 1, 0, or NaN (not said).

    asked       (n,) somebody cut the text into statements
    supported   by the context: by its verdict as a whole, or by any of its chunks where only these were judged
    denied      contradicted by the context, and supported by no part of it
    found       by any single chunk, or by the context where only that was judged
    useful      by a chunk that bears out a statement of the reference
    useless     by another chunk, and by no useful one
    other       a statement of the answer: by the reference; one of the reference: by the answer
    """

    asked: NDArray[np.bool_]
    supported: Ragged
    denied: Ragged
    found: Ragged
    useful: Ragged
    useless: Ragged
    other: Ragged


def bearing(verdicts: Verdicts | None) -> set[str] | None:
    """The ids of the chunks that bear out a statement of the reference; None where none was asked about.

    >>> claim = JudgedClaim(chunks={"a": "supported", "b": "not_supported"})
    >>> bearing(Verdicts(reference_claims=[claim])), bearing(Verdicts())
    ({'a'}, None)
    """
    claims = (verdicts.reference_claims if verdicts is not None else None) or ()
    judged = [claim.chunks for claim in claims if claim.chunks is not None]
    if not judged:
        return None
    return {chunk for chunks in judged for chunk, verdict in chunks.items() if verdict == SUPPORTED}


def answer_claims(columns: Sequence[Verdicts | None]) -> Claims:
    """The statements of the answers."""
    lists = [None if v is None else v.answer_claims for v in columns]
    return _claims(lists, [bearing(v) for v in columns], lambda claim: _said(claim.reference))


def reference_claims(columns: Sequence[Verdicts | None]) -> Claims:
    """The statements of the references."""
    lists = [None if v is None else v.reference_claims for v in columns]
    return _claims(lists, [bearing(v) for v in columns], lambda claim: _said(claim.answer))


def judges_of(columns: Sequence[Verdicts | None]) -> Counter[str]:
    """{who judged: on how many questions}; verdicts that do not say by whom count as "unnamed".

    >>> judges_of([Verdicts(judge="gpt-x@1f2e"), Verdicts(), None])
    Counter({'gpt-x@1f2e': 1, 'unnamed': 1})
    """
    return Counter(verdicts.judge or UNNAMED for verdicts in columns if verdicts is not None)


def tell_unjudged(columns: Sequence[Verdicts | None], ids: Sequence[str], notices: Notices) -> None:
    """A notice for each reason why some questions have no verdict, with the questions; how many each metric lacks
    stands in the report.

    >>> notices = Notices()
    >>> verdicts = Verdicts(unjudged={"faithfulness": "refusal", "hallucination": "refusal", "claim_recall": "late"})
    >>> tell_unjudged([verdicts, None], ["q1", "q2"], notices)
    >>> notices.texts()
    ['nothing to judge (refusal): query q1.', 'the judge gave no verdict ("late"): query q1.']
    """
    for verdicts, query in zip(columns, ids, strict=True):
        unjudged = (verdicts.unjudged if verdicts is not None else None) or {}
        for reason in sorted(set(unjudged.values())):
            if reason in SETTLED:
                notices.add(f"nothing to judge ({reason}): query {{ids}}.", [query])
                continue
            said = quoted(reason).replace("{", "(").replace("}", ")")
            notices.add(_UNJUDGED.format(said=said), [query], Private(_UNJUDGED.format(said="{text}"), said))


def ranked_flags(rankings: Sequence[Sequence[str] | None], flags: Sequence[Flags | None]) -> Ragged:
    """The flags of the chunks in the order of their ranking; no list where one of them has none.

    >>> ranked_flags([["a", "b"], ["c"]], [{"b": 1.0, "a": 0.0}, {}]).values.tolist()
    [0.0, 1.0]
    """
    lists = []
    for ranking, known in zip(rankings, flags, strict=True):
        fits = ranking is not None and known is not None and all(chunk in known for chunk in ranking)
        lists.append([float(known[chunk]) for chunk in ranking] if fits and ranking and known else [])
    return ragged(lists, np.float64)


def _claims(lists: Sequence[Sequence[JudgedClaim] | None], useful: Sequence[set[str] | None], other: Says) -> Claims:
    def column(says: Callable[[JudgedClaim, set[str] | None], float]) -> Ragged:
        return ragged(
            [[says(claim, ids) for claim in claims or ()] for claims, ids in zip(lists, useful, strict=True)],
            np.float64,
        )

    return Claims(
        asked=np.array([claims is not None for claims in lists], dtype=bool),
        supported=column(lambda claim, _: _first(_said(claim.context), _by_chunks(claim))),
        denied=column(lambda claim, _: _denied(claim)),
        found=column(lambda claim, _: _first(_by_chunks(claim), _said(claim.context))),
        useful=column(lambda claim, ids: _by_useful(claim, ids)),
        useless=column(lambda claim, ids: _by_useless(claim, ids)),
        other=column(lambda claim, _: other(claim)),
    )


def _said(verdict: str | None) -> float:
    return UNSAID if verdict is None else float(verdict == SUPPORTED)


def _first(said: float, otherwise: float) -> float:
    return otherwise if np.isnan(said) else said


def _by_chunks(claim: JudgedClaim) -> float:
    return UNSAID if claim.chunks is None else float(SUPPORTED in claim.chunks.values())


def _denied(claim: JudgedClaim) -> float:
    if claim.context is not None:
        return float(claim.context == CONTRADICTED)
    if claim.chunks is None:
        return UNSAID
    said = claim.chunks.values()
    return float(CONTRADICTED in said and SUPPORTED not in said)


def _by_useful(claim: JudgedClaim, useful: set[str] | None) -> float:
    if claim.chunks is None or useful is None:
        return UNSAID
    return float(any(verdict == SUPPORTED and chunk in useful for chunk, verdict in claim.chunks.items()))


def _by_useless(claim: JudgedClaim, useful: set[str] | None) -> float:
    if claim.chunks is None or useful is None:
        return UNSAID
    return float(_by_chunks(claim) == 1 and _by_useful(claim, useful) == 0)
