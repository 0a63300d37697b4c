"""The statements of a question that a judge spoke of, as the explorer shows them: with the place of what was quoted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, get_args

from rag_titan.evaluation.data.records import JudgedClaim, Verdict, Verdicts

Row = dict[str, Any]
Shown = Callable[[str | None], str | None]

VERDICTS: tuple[str, ...] = get_args(Verdict)
SIDES = {"answer": "answer_claims", "reference": "reference_claims"}


def judged_claims(verdicts: Verdicts | None, shown: Shown, texts: Mapping[str, str]) -> Row | None:
    """{"answer", "reference"}: the statements, None where nobody cut that side into any; None without verdicts.

    shown  a text of the data as it may come out
    texts  {chunk: its text} of the chunks in which a quote of the judge is looked for, as they are shown

    >>> claim = JudgedClaim(text="5 days", context="supported", evidence="five  days")
    >>> row = judged_claims(Verdicts(answer_claims=[claim]), lambda text: text, {"a": "It is five\\n days."})
    >>> row["answer"][0]["places"], row["reference"]
    ([{'chunk': 'a', 'start': 6, 'end': 16}], None)
    """
    if verdicts is None:
        return None
    found: Row = {}
    for side, key in SIDES.items():
        claims = getattr(verdicts, key)
        found[side] = None if claims is None else [_row(claim, shown, texts) for claim in claims]
    return found


def places_of(row: Mapping[str, Any]) -> Iterator[Row]:
    """The places in chunks of everything that the judge quoted on a question."""
    for claims in (row.get("claims") or {}).values():
        for claim in claims or ():
            yield from claim["places"]


def moved(row: Mapping[str, Any], move: Callable[[Iterable[Row]], Iterator[Row]]) -> Row | None:
    """The claims of a question with their places moved."""
    claims = row.get("claims")
    if claims is None:
        return None
    return {
        side: None if listed is None else [{**claim, "places": list(move(claim["places"]))} for claim in listed]
        for side, listed in claims.items()
    }


def _row(claim: JudgedClaim, shown: Shown, texts: Mapping[str, str]) -> Row:
    return {
        "text": shown(claim.text),
        "context": claim.context,
        "chunks": claim.chunks,
        "reference": claim.reference,
        "answer": claim.answer,
        "evidence": shown(claim.evidence),
        "by": claim.by,
        "places": list(_places(claim.evidence, texts)),
    }


def _places(evidence: str | None, texts: Mapping[str, str]) -> Iterator[Row]:
    """Where a quote stands to the letter, but for white space; of several places in a chunk the first."""
    words = (evidence or "").split()
    for chunk, text in texts.items() if words else ():
        span = _found(words, text)
        if span is not None:
            yield {"chunk": chunk, "start": span[0], "end": span[1]}


def _found(words: list[str], text: str) -> tuple[int, int] | None:
    squeezed = " ".join(words)
    at = text.find(squeezed)
    if at >= 0:
        return at, at + len(squeezed)
    own = text.split()
    joined = " ".join(own)
    at = joined.find(squeezed)
    if at < 0:
        return None
    solid = [place for place, char in enumerate(text) if not char.isspace()]
    first = at - joined.count(" ", 0, at)
    last = first + len(squeezed) - squeezed.count(" ")
    return solid[first], solid[last - 1] + 1
