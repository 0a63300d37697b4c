"""ALCE's answers with their documents and [n] citations: results of its runs, and its human evaluation.

https://github.com/princeton-nlp/ALCE
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct

from rag_titan.errors import DatasetError, SettingsError, nearest
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Id, Query
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.markers import ASTRAY, read_citations
from rag_titan.evaluation.importers.parsing import TWICE, items_of, json_value, readable
from rag_titan.evaluation.importers.passages import Passage, Passages

OVERALL = "overall_results"

_FIGURES = "the runs' own figures are in no record: {ids}."
_SAMPLES = "of several answers to a question the first was taken: {ids}."
_RULE = 'must be ALCE\'s {"data": [...]}, a list of its answers, or its human evaluation'
_USED = frozenset(("id", "sample_id", "qid", "question", "output", "answer", "annotations", "docs"))


class Document(Struct, kw_only=True):
    """A document that the model was given."""

    id: Id | None = None
    title: str | None = None
    text: str | None = None
    summary: str | None = None
    extraction: str | None = None


class Annotation(Struct, kw_only=True):
    """A reference answer of ASQA."""

    long_answer: str | None = None


class Sentence(Struct, kw_only=True):
    """A sentence of the answer, which a person judged: do the documents that it cites support it?"""

    sentence: str | None = None
    text: str | None = None
    sentence_recall_score: float | None = None


class Item(Struct, kw_only=True):
    """A question and the answer of a model."""

    id: Id | None = None
    sample_id: Id | None = None
    qid: Id | None = None
    question: str | None = None
    output: str | list[str] | None = None
    answer: str | None = None
    annotations: list[Annotation] | None = None
    docs: list[Document] | None = None
    sentences: list[Sentence] | None = None


@dataclass(frozen=True)
class _Run:
    """The answers of one system, with their places in the file."""

    name: str
    tags: dict[str, str]
    items: list[tuple[str, Any]]
    shorter: str = ""  # "summary" or "extraction" where the model read these


def read(sources: Sequence[Path], *, dataset: str | None = None, system: str | None = None) -> Imported:
    """The answers in ALCE's files.

    dataset  of a human evaluation: this data set alone, such as asqa
    system   of a human evaluation: this system alone

    `docs` become `retrieved_ids` and `context_ids`; those without an id, and all of them where one id stands for
    several texts, get the id of their question. [n] is the n-th of them, read into `citations`. A person's verdicts on
    the sentences of an answer become `verified_claims`: the mean of `annotated_claim_support` is ALCE's human citation
    recall. Everything else that is known of a question stays in its record, `utility_score` among it.

    Where there are several systems, each answer is a query of its own: DATASET/SYSTEM/ID, with both in `tags`.

    Raises DatasetError for another kind of file, SettingsError where no run is left.
    """
    notices = Notices()
    runs = [run for path in sources for run in _runs(path, len(sources) > 1, notices)]
    runs = _chosen(runs, {"dataset": dataset, "system": system})
    passages = Passages()
    queries: dict[str, Record] = {}
    for run in runs:
        for name, item, others in _items(run, notices):
            name = f"{run.name}/{name}" if len(runs) > 1 else name
            if name in queries:
                notices.add(TWICE, [name])
                continue
            queries[name] = {"id": name} | _query(item, run, others)
            if item.docs:
                passages.add(name, [_passage(doc, run.shorter) for doc in item.docs])
            if isinstance(item.output, list) and len(item.output) > 1:
                notices.add(_SAMPLES, [name])
    for name in passages.queries():
        _link(queries[name], passages.ids(name), notices)
    passages.tell(notices)
    return Imported(list(queries.values()), passages.chunks() or None, notices=notices)


# --- runs in a file -------------------------------------------------------------------------------


def _runs(path: Path, several: bool, notices: Notices) -> Iterator[_Run]:
    value = json_value(path, notices)
    if isinstance(value, dict) and "data" in value:
        args = value.get("args")
        shorter = str(args.get("use_shorter")) if isinstance(args, dict) else ""
        if isinstance(value.get("total_cost"), int | float):
            notices.add(_FIGURES, [f"{path.stem}: total_cost {value['total_cost']}"])
        items = list(items_of(value["data"], f"{path.name}: data", _RULE))
        yield _Run(path.stem, {"system": path.stem} if several else {}, items, shorter)
    elif isinstance(value, list):
        yield _Run(path.stem, {"system": path.stem} if several else {}, list(items_of(value, path.name, _RULE)))
    else:
        yield from _human_evaluation(value, path.name, notices)


def _human_evaluation(value: dict[str, Any], file: str, notices: Notices) -> Iterator[_Run]:
    """{data set: {system: {question id: answer}}}"""
    found = False
    for dataset, systems in value.items():
        for system, answers in systems.items() if isinstance(systems, dict) else ():
            if not isinstance(answers, dict) or not any(isinstance(item, dict) for item in answers.values()):
                continue
            found = True
            name = f"{dataset}/{system}"
            figures = answers.get(OVERALL)
            if isinstance(figures, dict):
                notices.add(_FIGURES, [f"{name}: {', '.join(f'{k} {_short(v)}' for k, v in figures.items())}"])
            items = [(f"{file}: {name}/{key}", _with_id(key, item)) for key, item in answers.items() if key != OVERALL]
            yield _Run(name, {"dataset": dataset, "system": system}, items)
    if not found:
        raise DatasetError(file, f"{_RULE}, got an object without any of them.")


def _short(figure: Any) -> Any:
    return round(figure, 2) if isinstance(figure, float) else figure


def _with_id(key: str, item: Any) -> Any:
    return {"id": key, **item} if isinstance(item, dict) else item


def _chosen(runs: list[_Run], wanted: dict[str, str | None]) -> list[_Run]:
    for option, name in wanted.items():
        if name is None:
            continue
        known = dict.fromkeys(run.tags[option] for run in runs if option in run.tags)
        runs = [run for run in runs if run.tags.get(option) == name]
        if not runs:
            raise SettingsError(f"{option}: {name!r} has no answers here{nearest(name, known)}.")
    return runs


# --- one answer -----------------------------------------------------------------------------------


def _items(run: _Run, notices: Notices) -> Iterator[tuple[str, Item, Record]]:
    """Each answer with its id (its number, from 0, where it has none), and the keys that stay as they are."""
    numbers = {where: number for number, (where, _) in enumerate(run.items)}
    for where, item in readable(Item, run.items, notices):
        number = numbers[where]
        raw: Record = run.items[number][1]
        others = {key: value for key, value in raw.items() if key not in _USED and key not in Query.__struct_fields__}
        yield item.sample_id or item.id or item.qid or str(number), item, others


def _query(item: Item, run: _Run, others: Record) -> Record:
    output = item.output[0] if isinstance(item.output, list) and item.output else item.output
    references = [item.answer, *(annotation.long_answer for annotation in item.annotations or ())]
    given = {
        "question": item.question,
        "tags": run.tags or None,
        "expected_answers": list(dict.fromkeys(text for text in references if text)) or None,
        "answer": output if isinstance(output, str) else None,
        "verified_claims": _claims(item),
    }
    return {key: value for key, value in given.items() if value is not None} | others


def _claims(item: Item) -> list[Record] | None:
    """The sentences that a person judged; 1 is "fully supported by what it cites"."""
    judged = [sentence for sentence in item.sentences or () if sentence.sentence_recall_score is not None]
    claims: list[Record] = []
    for sentence in judged:
        text = sentence.sentence or sentence.text
        claims.append(({"text": text} if text else {}) | {"supported": sentence.sentence_recall_score == 1})
    return claims or None


def _passage(doc: Document, shorter: str) -> Passage:
    text = {"summary": doc.summary, "extraction": doc.extraction}.get(shorter) or doc.text
    return Passage(doc.id, text, {"title": doc.title} if doc.title else None)


def _link(query: Record, ids: list[str], notices: Notices) -> None:
    """Name the documents of an answer, and those that it cites."""
    query["retrieved_ids"] = query["context_ids"] = ids
    if "answer" in query:
        places = {str(place): name for place, name in enumerate(ids, 1)}
        cited = read_citations(query["answer"], places, query["id"])
        query["answer"] = cited.answer
        if cited.ids:
            query["citations"] = cited.ids
        notices.add(ASTRAY, [f"{query['id']} {marker}" for marker in cited.astray])
