"""A test set whose contexts say something else than the world: who answers from memory answers wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import read_dataset
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.judge.counterfactual import Key, Vocabulary, replacements
from rag_titan.judge.facts import KINDS, Rewritten, rewritten

Data = str | Path | Mapping[str, Any]
Record = dict[str, Any]

LEFT_OUT = (
    "answer", "citations", "verified_claims", "verdicts", "abstained", "task_success", "latency_ms",
    "embedding_latency_ms", "search_latency_ms", "retrieval_latency_ms", "rerank_latency_ms", "generation_latency_ms",
    "time_to_first_token_ms", "output_tokens", "total_tokens", "cost_usd", "error", "timestamp",
)  # fmt: skip
"""What a run said of the texts as they were: a new one says something else."""
STALE = ("embeddings", "sentence_vectors", "chunk_vectors")
_TEXTS = ("question", "context", "expected_answer")
_LISTS = ("retrieved_texts", "reranked_texts", "expected_answers", "required_facts")
_ANSWERS = ("expected_answer", "expected_answers", "required_facts")
_EVIDENCE = ("expected_evidence", "structural_blocks")
_BATCH = 4096


@dataclass(frozen=True)
class Counterfactual:
    """A dataset with other facts, and how to undo it.

    inputs     the dataset, as `RAGEvaluator.evaluate` takes it; each question that changed has a key `counterfactual`
               with its facts
    facts      {(kind, original): replacement}, the same in all texts, all different
    unchanged  {question: why none of its facts was changed}
    left_out   the keys of questions and of the dataset that were there and are left out
    """

    inputs: Record
    facts: Mapping[Key, str]
    unchanged: Mapping[str, str]
    left_out: Sequence[str]
    seed: int
    kinds: Sequence[str]

    def as_dict(self) -> Record:
        """The map as plain values."""
        facts = [{"kind": kind, "original": old, "replacement": new} for (kind, old), new in self.facts.items()]
        return {
            "seed": self.seed,
            "kinds": list(self.kinds),
            "facts": facts,
            "changed": [q["id"] for q in self.inputs.get("queries", ()) if "counterfactual" in q],
            "unchanged": dict(self.unchanged),
            "left_out": list(self.left_out),
        }


def counterfactual(data: Data, *, kinds: Iterable[str] = KINDS, seed: int = 0) -> Counterfactual:
    """The dataset with the facts of its gold answers changed, in every text that has them.

    data   a path of a dataset, or the inputs of `RAGEvaluator.evaluate`
    kinds  of facts: "numbers", "dates" (months and weekdays), "names"

    A fact is changed where a gold answer or required fact has it, its question has not, and a context, chunk or
    document says it, too. Raises DatasetError without questions, SettingsError for an unknown kind.

    >>> query = {"id": "q", "question": "How long?", "expected_answer": "25 days", "context_ids": ["a"]}
    >>> made = counterfactual({"chunks": [{"id": "a", "text": "Leave is 25 days."}], "queries": [query]})
    >>> new = made.facts["numbers", "25"]
    >>> made.inputs["chunks"][0]["text"] == f"Leave is {new} days.", restored(f"{new} days", made.as_dict())
    (True, '25 days')
    """
    chosen = _kinds(kinds)
    inputs, left_out = _inputs(data)
    queries: list[Record] = inputs["queries"]
    said = Vocabulary(_passages(inputs))
    vocabulary = Vocabulary([*_passages(inputs), *_others(inputs)])
    wanted = {query["id"]: list(_wanted(query, said, vocabulary, chosen)) for query in queries}
    found = replacements((key for keys in wanted.values() for key in keys), vocabulary, seed)
    unchanged = {name: _why(keys) for name, keys in wanted.items() if not any(key in found for key in keys)}
    changed = _Rewriter(found).inputs(inputs)
    for query, before in zip(changed["queries"], queries, strict=True):
        keys = [key for key in wanted[query["id"]] if key in found]
        if keys:
            query["counterfactual"] = _told(keys, found, before)
    return Counterfactual(changed, found, unchanged, left_out, seed, chosen)


def restored(text: str, made: Mapping[str, Any]) -> str:
    """A text of the changed dataset as it was, by the map of `Counterfactual.as_dict`."""
    return rewritten(text, {(fact["kind"], fact["replacement"]): fact["original"] for fact in made["facts"]}).text


def _kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(kinds))
    strange = [kind for kind in chosen if kind not in KINDS]
    if strange or not chosen:
        got = strange[0] if strange else "none"
        raise SettingsError(f"kinds: must be some of {', '.join(KINDS)}, got {got}. Name at least one.")
    return chosen


def _inputs(data: Data) -> tuple[Record, list[str]]:
    """The inputs as plain values, without what a run said of them; and the keys that were taken out."""
    dataset = dataset_from(**data) if isinstance(data, Mapping) else read_dataset(data)
    if not dataset.queries.given:
        raise DatasetError("queries", "must be given with gold answers, got none. Pass a dataset with questions.")
    names = tuple(dataset.keys())
    given = {name: to_builtins(dataset[name]) for name in names if name not in (*STALE, "queries")}
    queries = [to_builtins(query) for batch in dataset.queries.batches(_BATCH) for query in batch]
    gone = {key for query in queries for key in LEFT_OUT if query.get(key) is not None}
    kept = [{key: value for key, value in query.items() if value is not None and key not in gone} for query in queries]
    left_out = [*(key for key in LEFT_OUT if key in gone), *(name for name in STALE if name in names)]
    return {**given, "queries": kept}, left_out


def _passages(inputs: Record) -> Iterator[str]:
    """What can be in a prompt."""
    yield from (chunk["text"] for chunk in inputs.get("chunks") or () if chunk.get("text"))
    yield from (inputs.get("documents") or {}).values()
    yield from filter(None, [inputs.get("document_text")])
    for query in inputs["queries"]:
        yield from filter(None, [query.get("context")])
        yield from (text for key in ("retrieved_texts", "reranked_texts") for text in query.get(key) or ())


def _others(inputs: Record) -> Iterator[str]:
    for query in inputs["queries"]:
        yield from filter(None, [query.get("question")])
        yield from _answers(query)


def _answers(query: Record) -> Iterator[str]:
    for key in _ANSWERS:
        value = query.get(key)
        yield from [value] if isinstance(value, str) else value or ()


def _wanted(query: Record, said: Vocabulary, vocabulary: Vocabulary, kinds: Sequence[str]) -> Iterator[Key]:
    asked = set(vocabulary.of(query.get("question") or "", KINDS))
    for text in _answers(query):
        yield from (key for key in vocabulary.of(text, kinds) if key not in asked and said.counts[key])


def _why(keys: Sequence[Key]) -> str:
    if keys:
        return "no other fact is left to put in the place of its facts"
    return "its gold answer has no fact that a text says and the question does not"


def _told(keys: Sequence[Key], found: Mapping[Key, str], before: Record) -> Record:
    facts = [{"kind": key[0], "original": key[1], "replacement": found[key]} for key in dict.fromkeys(keys)]
    return {"facts": facts, "original": {key: before[key] for key in _ANSWERS if key in before}}


class _Rewriter:
    """Puts the new facts into every text, and moves the places in them."""

    def __init__(self, found: Mapping[Key, str]) -> None:
        self._found = found
        self._documents: dict[str, Rewritten] = {}
        self._old: dict[str, str] = {}

    def inputs(self, inputs: Record) -> Record:
        """The dataset with the new facts."""
        lone = inputs.get("document_text")
        self._old = dict(inputs.get("documents") or ({"": lone} if lone is not None else {}))
        self._documents = {name: rewritten(text, self._found) for name, text in self._old.items()}
        changed = dict(inputs)
        if "documents" in inputs:
            changed["documents"] = {name: done.text for name, done in self._documents.items()}
        if lone is not None:
            changed["document_text"] = self._documents[""].text
        for key in ("chunks", "expected_chunks"):
            if key in inputs:
                changed[key] = [self._chunk(chunk) for chunk in inputs[key]]
        for key in _EVIDENCE:
            if key in inputs:
                changed[key] = [self._evidence(item) for item in inputs[key]]
        return {**changed, "queries": [self._query(query) for query in inputs["queries"]]}

    def _text(self, text: str) -> str:
        return rewritten(text, self._found).text

    def _query(self, query: Record) -> Record:
        changed = dict(query)
        changed.update({key: self._text(query[key]) for key in _TEXTS if key in query})
        changed.update({key: [self._text(text) for text in query[key]] for key in _LISTS if key in query})
        if "expected_evidence" in query:
            changed["expected_evidence"] = [self._evidence(item) for item in query["expected_evidence"]]
        return changed

    def _document(self, record: Record) -> str | None:
        """The document that offsets of a record are in; None where it is not known."""
        if "" in self._documents:
            return ""
        name = record.get("doc_id")
        if name is None and len(self._documents) == 1:
            return next(iter(self._documents))
        return name if name in self._documents else None

    def _span(self, record: Record) -> Record:
        """The offsets of a record in the new document; without the document they mean nothing any more."""
        name = self._document(record)
        if record.get("start") is None or record.get("end") is None:
            return {}
        if name is None:
            return {"start": None, "end": None}
        done = self._documents[name]
        return {key: done.moved(record[key]) for key in ("start", "end")}

    def _chunk(self, chunk: Any) -> Any:
        if isinstance(chunk, str):
            return self._text(chunk)
        span, name = self._span(chunk), self._document(chunk)
        changed = {**chunk, **span}
        text = chunk.get("text")
        if text is not None and name is not None and span and self._old[name][chunk["start"] : chunk["end"]] == text:
            changed["text"] = self._documents[name].text[span["start"] : span["end"]]
        elif text is not None:
            changed["text"] = self._text(text)
        return {key: value for key, value in changed.items() if value is not None}

    def _evidence(self, item: Any) -> Any:
        if isinstance(item, str):
            return self._text(item)
        changed = {**item, **self._span(item)}
        if item.get("quote") is not None:
            changed["quote"] = self._text(item["quote"])
        if item.get("any_of") is not None:
            changed["any_of"] = [self._evidence(other) for other in item["any_of"]]
        return {key: value for key, value in changed.items() if value is not None}
