"""SQuAD's JSON (XQuAD, MLQA and others have it too): articles with questions, and the predictions of a model.

https://rajpurkar.github.io/SQuAD-explorer
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import shown
from rag_titan.evaluation.data.records import Id, Offset
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.parsing import TWICE, items_of, json_value, readable

_NO_PREDICTION = "the predictions have no answer to this question"
_UNASKED = "predictions for questions that are not in the articles were left out: {ids}."
_MISPLACED = "answers that do not stand where answer_start says are no evidence: question {ids}."
_NO_TEXT = "predictions that are no text were left out: {ids}."
_RULE = 'must be SQuAD\'s {"data": [articles]} or predictions, {question id: answer}'


class Answer(Struct, kw_only=True):
    """A reference answer, and the character of the paragraph where it starts."""

    text: str
    answer_start: Offset | None = None


class Asked(Struct, kw_only=True):
    """A question about a paragraph."""

    id: Id
    question: str | None = None
    answers: list[Answer] | None = None
    is_impossible: bool | None = None


class Paragraph(Struct, kw_only=True):
    """A paragraph; its questions are read one by one."""

    context: str
    qas: list[Any] | None = None


class Article(Struct, kw_only=True):
    """An article; its paragraphs are read one by one."""

    title: str | None = None
    paragraphs: list[Any]


def read(sources: Sequence[Path]) -> Imported:
    """The questions of a file of articles, with the answers of a file of predictions.

    Each paragraph is a document, TITLE/NUMBER from 0; the places of the reference answers in it are the evidence, of
    which one is enough. A question without a prediction gets an `error`, where there are predictions. `is_impossible`
    becomes `answerable`; as SQuAD 2.0 counts, the reference of such a question is the empty answer, and an empty
    prediction has `abstained`.

    Raises DatasetError where no file has articles, or one has neither articles nor predictions.
    """
    notices = Notices()
    queries: dict[str, Record] = {}
    documents: dict[str, str] = {}
    predictions: dict[str, str] | None = None
    for path in sources:
        value = json_value(path, notices)
        if isinstance(value, dict) and "data" in value:
            _articles(value["data"], path.name, queries, documents, notices)
        elif isinstance(value, dict) and any(isinstance(answer, str) for answer in value.values()):
            predictions = (predictions or {}) | _predictions(value, notices)
        else:
            raise DatasetError(path.name, f"{_RULE}, got {shown(value)} of another kind.")
    if not queries:
        raise DatasetError(sources[0].name, "must come with the articles that it answers, got predictions alone.")
    if predictions is not None:
        _answer(queries, predictions, notices)
    return Imported(list(queries.values()), documents=documents, notices=notices)


def _predictions(value: Mapping[str, Any], notices: Notices) -> dict[str, str]:
    notices.add(_NO_TEXT, [name for name, answer in value.items() if not isinstance(answer, str)])
    return {name: answer for name, answer in value.items() if isinstance(answer, str)}


def _articles(value: Any, name: str, queries: dict[str, Record], documents: dict[str, str], notices: Notices) -> None:
    for document, paragraph, where in _paragraphs(value, name, documents, notices):
        documents[document] = paragraph.context
        values = ((f"{where}.qas[{i}]", asked) for i, asked in enumerate(paragraph.qas or ()))
        for _, asked in readable(Asked, values, notices):
            if asked.id in queries:
                notices.add(TWICE, [asked.id])
                continue
            queries[asked.id] = _query(asked, document, paragraph.context, notices)


def _paragraphs(
    value: Any, name: str, taken: Mapping[str, str], notices: Notices
) -> Iterator[tuple[str, Paragraph, str]]:
    """Each paragraph with the id of its document and its place."""
    articles = items_of(value, f"{name}: data", "must be a list of articles")
    for number, (place, article) in enumerate(readable(Article, articles, notices)):
        values = ((f"{place}.paragraphs[{i}]", part) for i, part in enumerate(article.paragraphs))
        title = article.title or str(number)
        for i, (where, paragraph) in enumerate(readable(Paragraph, values, notices)):
            document = f"{title}/{i}"
            yield document if document not in taken else f"{title}/{number}/{i}", paragraph, where


def _query(asked: Asked, document: str, context: str, notices: Notices) -> Record:
    query: Record = {"id": asked.id}
    if asked.question is not None:
        query["question"] = asked.question
    if asked.answers:
        query["expected_answers"] = list(dict.fromkeys(answer.text for answer in asked.answers))
        spans = [_span(answer, document) for answer in asked.answers if _stands(answer, context)]
        spans = [span for i, span in enumerate(spans) if span not in spans[:i]]
        if spans:
            query["expected_evidence"] = spans if len(spans) == 1 else [{"any_of": spans}]
        if any(answer.answer_start is not None and not _stands(answer, context) for answer in asked.answers):
            notices.add(_MISPLACED, [asked.id])
    if asked.is_impossible is not None:
        query["answerable"] = not asked.is_impossible
        if asked.is_impossible:
            query["expected_answers"] = [""]
    return query


def _stands(answer: Answer, context: str) -> bool:
    start = answer.answer_start
    return start is not None and start >= 0 and bool(answer.text) and context.startswith(answer.text, start)


def _span(answer: Answer, document: str) -> Record:
    start = answer.answer_start or 0
    return {"start": start, "end": start + len(answer.text), "doc_id": document}


def _answer(queries: dict[str, Record], predictions: Mapping[str, str], notices: Notices) -> None:
    notices.add(_UNASKED, predictions.keys() - queries.keys())
    for name, query in queries.items():
        if name not in predictions:
            query["error"] = _NO_PREDICTION
            continue
        query["answer"] = predictions[name]
        if "answerable" in query:
            query["abstained"] = not predictions[name].strip()
