"""RAGChecker's JSON: answers with their retrieved context and the verdicts on their claims, or pairs of answers.

A claim of the answer is supported where a retrieved text entails it, as RAGChecker's faithfulness counts: "Entailment"
by one of the texts is enough, "Neutral" and "Contradiction" are not. The mean of `annotated_claim_support` is then its
faithfulness. https://github.com/amazon-science/RAGChecker
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Id
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.parsing import TWICE, items_of, json_value, readable
from rag_titan.evaluation.importers.passages import Passage, Passages

VERDICTS = {"Entailment": "supported", "Neutral": "not_supported", "Contradiction": "contradicted"}
ENTAILED = "Entailment"
LABELS = ("correctness_label", "completeness_label", "overall_label")

_NO_VERDICTS = "verdicts do not fit the claims, and were left out: query {ids}."
_FIGURES = "the run's own figures are in no record: {ids}."
_PAIRS = "answers that several people compared stand once, with all their labels in `comparisons`: {ids}."

Claims = list[str | list[str]]
Sources = list[str]  # ids of the retrieved texts


class Retrieved(Struct, kw_only=True):
    """A retrieved text."""

    doc_id: Id | None = None
    text: str | None = None


class Result(Struct, kw_only=True):
    """One question of `checking_inputs.json` or `checking_outputs.json`."""

    query_id: Id
    query: str | None = None
    gt_answer: str | None = None
    response: str | None = None
    retrieved_context: list[Retrieved] | None = None
    response_claims: Claims | None = None
    gt_answer_claims: Claims | None = None
    answer2response: list[str] | None = None
    response2answer: list[str] | None = None
    retrieved2response: list[list[str]] | None = None
    retrieved2answer: list[list[str]] | None = None
    metrics: dict[str, Any] | None = None


class Side(Struct, kw_only=True):
    """One of two answers that people compared."""

    model_name: str
    response: str | None = None
    critiques: str | None = None
    ragchecker: dict[str, Any] | None = None


class Pair(Struct, kw_only=True):
    """One row of the meta-evaluation: two answers to one question, and a person's labels."""

    query_id: Id
    model1: Side
    model2: Side
    dataset: str | None = None
    query: str | None = None
    gt_answer: str | None = None
    correctness_label: float | None = None
    completeness_label: float | None = None
    overall_label: float | None = None


def read(sources: Sequence[Path]) -> Imported:
    """The questions of RAGChecker's files.

    `retrieved_context` becomes `retrieved_ids` and `context_ids`: RAGChecker takes it for what the generator was given.
    Its document ids are kept where each stands for one text; else the id of the query is put before them. Its verdicts
    become `verdicts`; its figures stay in the records under their own names. Of a pair of answers each is a query of
    its own, with the model in `tags`.

    Raises DatasetError for what is neither of the two kinds of file.
    """
    notices = Notices()
    queries: dict[str, Record] = {}
    passages = Passages()
    judged: dict[str, Result] = {}
    for path in sources:
        value = json_value(path, notices)
        if isinstance(value, list) and any(isinstance(row, dict) and "model1" in row for row in value):
            _pairs(value, path.name, queries, notices)
        else:
            _results(value, path.name, queries, judged, passages, notices)
    for name, query in queries.items():
        if "retrieved_ids" in query:
            query["retrieved_ids"] = query["context_ids"] = passages.ids(name)
        if verdicts := _verdicts(judged.get(name), query.get("retrieved_ids") or []):
            query["verdicts"] = {**verdicts, "judge": "RAGChecker"}
    passages.tell(notices)
    return Imported(list(queries.values()), passages.chunks() or None, notices=notices)


# --- answers with verdicts ------------------------------------------------------------------------


def _results(
    value: Any,
    name: str,
    queries: dict[str, Record],
    judged: dict[str, Result],
    passages: Passages,
    notices: Notices,
) -> None:
    rows = value
    if isinstance(value, dict):
        if "results" not in value:
            raise DatasetError(name, 'must be RAGChecker\'s {"results": [...]}, got an object without "results".')
        rows = value["results"]
        notices.add(_FIGURES, _figures(value.get("metrics")))
        name = f"{name}: results"
    for _, row in readable(Result, items_of(rows, name, "must be a list of RAGChecker's results"), notices):
        if row.query_id in queries:
            notices.add(TWICE, [row.query_id])
            continue
        row = _checked(row, notices)
        queries[row.query_id], judged[row.query_id] = _query(row), row
        if row.retrieved_context is not None:
            passages.add(row.query_id, [Passage(doc.doc_id, doc.text) for doc in row.retrieved_context])


def _figures(metrics: Any) -> Iterator[str]:
    """The figures of the whole run, as "generator.faithfulness 68.2"."""
    for part, values in metrics.items() if isinstance(metrics, dict) else ():
        for key, value in values.items() if isinstance(values, dict) else ():
            yield f"{part}.{key} {value}"


def _checked(row: Result, notices: Notices) -> Result:
    """The result without the verdicts that do not fit: one for each claim, or for each retrieved text of it."""
    for name, claims in (
        ("answer2response", row.response_claims),
        ("response2answer", row.gt_answer_claims),
        ("retrieved2response", row.response_claims),
        ("retrieved2answer", row.gt_answer_claims),
    ):
        verdicts = getattr(row, name)
        if verdicts is not None and not _fits(verdicts, claims):
            notices.add(_NO_VERDICTS, [row.query_id])
            setattr(row, name, None)
    return row


def _fits(verdicts: list[Any], claims: Claims | None) -> bool:
    words = [word for some in verdicts for word in ([some] if isinstance(some, str) else some)]
    return claims is not None and len(claims) == len(verdicts) and all(word in VERDICTS for word in words)


def _query(row: Result) -> Record:
    given = {
        "question": row.query,
        "expected_answer": row.gt_answer,
        "answer": row.response,
        "retrieved_ids": None if row.retrieved_context is None else [],
        "verified_claims": _claims(row),
        "metrics": row.metrics,
    }
    return {"id": row.query_id, **{key: value for key, value in given.items() if value is not None}}


def _claims(row: Result) -> list[Record] | None:
    claims, verdicts = row.response_claims, row.retrieved2response
    if claims is None or verdicts is None:
        return None
    return [{"text": _text(claim), "supported": ENTAILED in some} for claim, some in zip(claims, verdicts, strict=True)]


def _verdicts(row: Result | None, sources: Sources) -> Record:
    """The statements of both answers, each with what the other answer and the retrieved texts say of it."""
    if row is None:
        return {}
    lists = {
        "answer_claims": _judged(
            row.response_claims, "reference", row.answer2response, row.retrieved2response, sources
        ),
        "reference_claims": _judged(row.gt_answer_claims, "answer", row.response2answer, row.retrieved2answer, sources),
    }
    return {name: claims for name, claims in lists.items() if claims is not None}


def _judged(
    claims: Claims | None, other: str, by_other: list[str] | None, by_texts: list[list[str]] | None, sources: Sources
) -> list[Record] | None:
    if claims is None or (by_other is None and by_texts is None):
        return None
    judged: list[Record] = [{"text": _text(claim)} for claim in claims]
    for claim, verdict in zip(judged, by_other or (), strict=False):
        claim[other] = VERDICTS[verdict]
    for claim, some in zip(judged, by_texts or (), strict=False):
        if len(some) == len(sources):
            claim["chunks"] = {source: VERDICTS[verdict] for source, verdict in zip(sources, some, strict=True)}
    return judged


def _text(claim: str | list[str]) -> str:
    return claim if isinstance(claim, str) else " ".join(claim)


# --- pairs of answers -----------------------------------------------------------------------------


def _pairs(value: list[Any], name: str, queries: dict[str, Record], notices: Notices) -> None:
    """Each of the two answers once, however many people compared them."""
    for _, row in readable(Pair, items_of(value, name, "must be a list of pairs of answers"), notices):
        for side, other in ((row.model1, row.model2), (row.model2, row.model1)):
            query = _answer(row, side)
            earlier = queries.setdefault(query["id"], query)
            if earlier.get("answer") != query.get("answer"):
                notices.add(TWICE, [query["id"]])
                continue
            labels = {key: getattr(row, key) for key in LABELS if getattr(row, key) is not None}
            if labels:
                earlier.setdefault("comparisons", []).append(
                    {"with": other.model_name, "place": "first" if side is row.model1 else "second", **labels}
                )
            if earlier is not query:
                notices.add(_PAIRS, [query["id"]])


def _answer(row: Pair, side: Side) -> Record:
    name = "/".join(part for part in (row.dataset, row.query_id, side.model_name) if part)
    given = {
        "question": row.query,
        "tags": {key: text for key, text in (("dataset", row.dataset), ("model", side.model_name)) if text},
        "expected_answer": row.gt_answer,
        "answer": side.response,
        "critiques": side.critiques,
        "ragchecker": side.ragchecker,
    }
    return {"id": name, **{key: value for key, value in given.items() if value is not None}}
