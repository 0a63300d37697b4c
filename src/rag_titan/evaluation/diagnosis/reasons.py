"""Why a question failed, in a sentence or two: the missing gold id and its rank, the cut quote, the missing number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rag_titan.evaluation.diagnosis.verdicts import PLACES, Verdicts
from rag_titan.evaluation.metric import Stage

NAMED = 3
QUOTED = 80


def reasons(verdicts: Verdicts) -> list[list[str]]:
    """For each of n queries its evidence; empty for a query that lost nothing and is not wrong."""
    why: list[list[str]] = [[] for _ in verdicts.correct]
    for i in np.flatnonzero((verdicts.lost_at >= 0) | verdicts.failed).tolist():
        why[i] = reasons_of(verdicts, i)
    return why


def reasons_of(verdicts: Verdicts, i: int) -> list[str]:
    """The evidence of query i; empty if it lost nothing and is not wrong."""
    lost, wrong = verdicts.lost_at[i], verdicts.correct[i] == 0
    place = PLACES[lost] if lost >= 0 else None
    why = _EXPLAIN[place](verdicts, i) if place in _EXPLAIN else []
    if place == Stage.GENERATION or (place is None and wrong):
        why = [*why, *_answer(verdicts, i)]
    if place is None and wrong:
        why.append("without gold labels nothing says where it went wrong")
    return why


def shortened(text: str, size: int = QUOTED) -> str:
    """A text on one line, cut to `size` characters.

    >>> shortened("one\\ntwo three", 8)
    'one two…'
    """
    line = " ".join(text.split())
    return line if len(line) <= size else line[: size - 1].rstrip() + "…"


def _said(verdicts: Verdicts, text: str) -> str:
    """A text of the data as a sentence has it; each passes here, so that none comes out where they are redacted."""
    return shortened(verdicts.shown(text))


def listed(items: list[str]) -> str:
    """A few items, the rest counted.

    >>> listed(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    more = len(items) - NAMED
    return ", ".join(items[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _quotes(verdicts: Verdicts, i: int, ids: Sequence[str]) -> list[int]:
    """The evidence items of query i if these chunks can be judged by quotes, else none."""
    funnel = verdicts.funnel
    if not funnel.by_quotes:
        return []
    evidence = funnel.table.spans.evidence
    items = list(range(evidence.items[i], evidence.items[i + 1]))
    unreadable = funnel.unreadable(funnel.table.codes([ids]).values).any()
    return [] if unreadable or funnel.unjudged[items].any() else items


def _holders(verdicts: Verdicts, item: int) -> list[str]:
    """The chunks in which an evidence item is whole."""
    table, holders = verdicts.funnel.table, verdicts.funnel.table.spans.holders
    codes = holders.values[holders.offsets[item] : holders.offsets[item + 1]]
    return [table.corpus.chunks[code].id or "" for code in codes.tolist()]


def _quote(verdicts: Verdicts, item: int) -> str:
    evidence = verdicts.funnel.table.spans.evidence
    text = evidence.texts[evidence.options[item]]
    return f"“{_said(verdicts, text) if text else 'a span'}”"


def _missing_quotes(verdicts: Verdicts, i: int, name: str, ids: Sequence[str], k: int | None = None) -> list[str]:
    """The quotes of query i that are whole in none of the first k chunks; `name` says what list these are of."""
    told = []
    for item in _quotes(verdicts, i, ids):
        ranks = sorted((_rank(ids, chunk) or 0, chunk) for chunk in _holders(verdicts, item) if chunk in ids)
        if not ranks:
            told.append(f"{_quote(verdicts, item)} is whole in none of the {name} chunks")
        elif k is not None and ranks[0][0] > k:
            told.append(f"{_quote(verdicts, item)} is whole in chunk {ranks[0][1]}, at rank {ranks[0][0]}, K is {k}")
    return told


def _gold_ids(verdicts: Verdicts, i: int) -> list[str]:
    table = verdicts.funnel.table
    level = table.settings.conventions.relevant_from
    return sorted(chunk for chunk, grade in table.gold.by_id[i].items() if grade >= level)


def _rank(ids: Sequence[str], wanted: str) -> int | None:
    return list(dict.fromkeys(ids)).index(wanted) + 1 if wanted in ids else None


def _chunking(verdicts: Verdicts, i: int) -> list[str]:
    whole = verdicts.funnel.indexed_whole
    cut = [item for item in _quotes(verdicts, i, ()) if not whole[item]]
    return [f"no chunk holds {_quote(verdicts, item)} whole" for item in cut]


def _embedding(verdicts: Verdicts, i: int) -> list[str]:
    ids = _gold_ids(verdicts, i)
    return [f"not in the vector index: {listed(ids)}"] if ids else ["no chunk with the evidence is in the vector index"]


def _retrieval(verdicts: Verdicts, i: int) -> list[str]:
    table = verdicts.funnel.table
    whole = table.lists("retrieved")[i] or []
    if not whole:
        return ["the search returned nothing"]
    k = None if table.has_list("reranked")[i] else table.settings.k
    told = _missing_quotes(verdicts, i, "retrieved", whole, k)
    for chunk in _gold_ids(verdicts, i)[: NAMED if not told else 0]:
        rank = _rank(whole, chunk)
        limit = "" if k is None else f", K is {k}"
        told.append(
            f"gold chunk {chunk} is not among the {len(whole)} retrieved" if rank is None
            else f"gold chunk {chunk} is at rank {rank}{limit}"
        )  # fmt: skip
    return told


def _reranking(verdicts: Verdicts, i: int) -> list[str]:
    table = verdicts.funnel.table
    before, after = table.lists("retrieved")[i] or [], table.lists("reranked")[i] or []
    told = _missing_quotes(verdicts, i, "reranked", after, table.settings.k)
    for chunk in _gold_ids(verdicts, i)[: NAMED if not told else 0]:
        rank, was = _rank(after, chunk), _rank(before, chunk)
        came = f" from rank {was}" if was else ""
        told.append(
            f"gold chunk {chunk} was dropped by the reranker{came}" if rank is None
            else f"gold chunk {chunk} went{came} to rank {rank}, K is {table.settings.k}"
        )  # fmt: skip
    return told


def _augmentation(verdicts: Verdicts, i: int) -> list[str]:
    table = verdicts.funnel.table
    context = table.lists("context")[i]
    if context is None:
        return ["the context lacks the evidence"]
    told = _missing_quotes(verdicts, i, "context", context)
    for chunk in _gold_ids(verdicts, i)[: NAMED if not told else 0]:
        rank = _rank(table.lists("reranked")[i] or table.lists("retrieved")[i] or [], chunk)
        came = f" (it was at rank {rank})" if rank else ""
        told.append(f"gold chunk {chunk} is not in the context{came}")
    return told


def _request(verdicts: Verdicts, i: int) -> list[str]:
    error = verdicts.funnel.table.queries[i].error
    return [f"error: {_said(verdicts, error) if error else 'unknown'}"]


def _answer(verdicts: Verdicts, i: int) -> list[str]:
    """What is wrong with the answer, by the rule that called it wrong, and the numbers that the context lacks."""
    answers = verdicts.answers
    query, rule = answers.inputs.table.queries[i], answers.by[i]
    told = []
    if query.abstained and rule != "abstention":
        told.append("it refused" + (" although the evidence was at hand" if verdicts.funnel.arrived[i] == 1 else ""))
    if rule == "task_success":
        told.append("marked as not successful")
    elif rule == "abstention":
        told.append(
            "it refused a question that can be answered" if query.abstained else "it answered what cannot be answered"
        )
    elif rule == "short_reference":
        wanted = query.expected_answer if query.expected_answer is not None else (query.expected_answers or [""])[0]
        told.append(f"answered “{_said(verdicts, query.answer or '')}”, expected “{_said(verdicts, wanted)}”")
    elif rule == "verified_claims":
        claims = (claim.text for claim in query.verified_claims or () if not claim.supported)
        false = [_said(verdicts, text) if text else "a claim" for text in claims]
        told += [f"not supported: {listed(false)}"] if false else []
    if rule in ("required_facts", "verified_claims"):
        missing = answers.inputs.missing_facts(i)
        told += (
            [f"lacks the required fact {listed([f'“{_said(verdicts, fact)}”' for fact in missing])}"] if missing else []
        )
    strange = answers.inputs.unsupported_numbers(i)
    told += [f"not in the context: {_numbers(verdicts, strange)}"] if strange else []
    return told


def _numbers(verdicts: Verdicts, numbers: list[str]) -> str:
    """The numbers; where texts are redacted how many: the hash of a number would give it away."""
    if verdicts.redaction is None:
        return listed(numbers)
    return f"{len(numbers)} number" + "s" * (len(numbers) != 1)


_EXPLAIN: dict[str, Callable[[Verdicts, int], list[str]]] = {
    Stage.CHUNKING: _chunking,
    Stage.EMBEDDING: _embedding,
    Stage.RETRIEVAL: _retrieval,
    Stage.RERANKING: _reranking,
    Stage.AUGMENTATION: _augmentation,
    Stage.END_TO_END: _request,
}
