"""Seeded samples: of the documents to write questions for, and of the logged questions to label.

What is drawn depends on the seed and the ids alone: a hash of both gives every item its place, so that neither the
order of the data nor the version of a random generator matters.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from rag_titan.errors import DatasetError, SettingsError, nearest
from rag_titan.evaluation.data.columns import Columns
from rag_titan.evaluation.data.dataset import Dataset, dataset_from
from rag_titan.evaluation.data.normal import question_key
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import plain, shown
from rag_titan.evaluation.data.read import open_dataset
from rag_titan.evaluation.data.records import GOLD, Document, Query
from rag_titan.evaluation.data.source import Source
from rag_titan.evaluation.importers.logs import read_logs
from rag_titan.evaluation.limits import checked_path
from rag_titan.evaluation.preparation.profile import profile_of
from rag_titan.evaluation.preparation.sources import documents_of

Item = TypeVar("Item")

STRATEGIES = ("random", "stratified", "risk")
_BATCH = 4096
_TWICE = "the question of {ids} was asked before under another id; it is sampled once."
_NO_IDS = "no record has an id: they are called q1, q2, ... in their order."
_NO_QUESTION = "these queries have no question and cannot be sampled: {ids}."


def sample_documents(
    documents: Any,
    size: int = 20,
    strategy: str = "random",
    seed: int = 0,
    profile: Mapping[str, Any] | None = None,
) -> list[str]:
    """The ids of `size` documents, or of all where there are fewer (stages.txt).

    documents  as `profile_documents` takes them
    strategy   "random": every document with the same chance. "stratified": every category in proportion to its size,
               by largest remainders; documents without a category are one more. "risk": documents with issues first,
               then random
    seed       a whole number; the same seed gives the same sample, whatever the order of the documents
    profile    for "risk": what `profile_documents` returned. Without it the documents are profiled here, with its
               default options and in the order of their ids

    Raises SettingsError for the options, DatasetError for what is no document.

    >>> documents = {"a.md": "one two", "b.md": "", "c.md": "three four"}
    >>> sample_documents(documents, size=1, strategy="risk", profile={"issues": {"b.md": ["empty"]}})
    ['b.md']
    >>> sample_documents(documents, strategy="risky")
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: strategy: must be the name of a strategy, got 'risky'; the nearest is 'risk'.
    """
    if strategy not in STRATEGIES:
        known = nearest(str(strategy), STRATEGIES)
        raise SettingsError(f"strategy: must be the name of a strategy, got {strategy!r}{known}.")
    size, draw = _from_one(size), _Draw(seed)
    found = documents_of(documents)
    if strategy == "stratified":
        return [_id(d) for d in draw.stratified(found, size, _id, lambda document: document.category)]
    if strategy == "random":
        return [_id(d) for d in draw.first(found, size, _id)]
    risky = _risky(found, profile)
    with_issues = draw.first((d for d in found if d.id in risky), size, _id)
    rest = draw.first((d for d in found if d.id not in risky), size - len(with_issues), _id)
    return [_id(d) for d in [*with_issues, *rest]]


def sample_queries(
    queries: Any,
    size: int = 50,
    by: str | None = None,
    seed: int = 0,
    notices: Notices | None = None,
    columns: Mapping[str, Any] | Columns | None = None,
) -> list[dict[str, Any]]:
    """A golden template: `size` logged questions, or all where there are fewer, with empty fields for a person to fill.

    queries  the logs: a list of query records, a table, or the path of a file or folder that `rag-titan evaluate` reads
    by       the name of a tag: every value of it in proportion to its questions, by largest remainders; queries without
             that tag are one more value
    seed     a whole number; the same seed gives the same template, whatever the order of the logs
    notices  where it is told what cannot be sampled: queries without a question, and further copies of one (case, white
             space, Unicode form and punctuation at its end may differ), of which the one with the smallest id is taken
    columns  where the keys of a query stand in logs with other names: {key: path} (see `Columns`)

    Where no record has an id they are called q1, q2, ... in their order.

    Each item has id, question, the tags if the log has them, expected_evidence [], expected_answer "" and validated
    False, in the order of the ids; gold labels that the log has are kept. Raises DatasetError for bad records and where
    no query has a question, SettingsError for the options.

    >>> sample_queries([{"id": "q1", "question": "How many days?", "answer": "25"}])
    [{'id': 'q1', 'question': 'How many days?', 'expected_evidence': [], 'expected_answer': '', 'validated': False}]
    """
    size, draw = _from_one(size), _Draw(seed)
    notices = notices if notices is not None else Notices()
    found = _different(_logs(queries, columns, notices), notices)
    if by is None:
        chosen = draw.first(found, size, _id)
    else:
        tags = sorted({name for item in found for name in item.get("tags") or ()})
        if by not in tags:
            got = nearest(str(by), tags) if tags else "; no query has tags"
            raise SettingsError(f"by: must be the name of a tag of the queries, got {by!r}{got}.")
        chosen = draw.stratified(found, size, _id, lambda item: (item.get("tags") or {}).get(by))
    return sorted(chosen, key=_id)


class _Draw:
    """Draws without replacement: the items with the smallest hash of seed and id."""

    def __init__(self, seed: Any) -> None:
        seed = plain(seed)
        if type(seed) is not int:
            raise SettingsError(f"seed: must be a whole number, got {shown(seed)}.")
        self._seed = seed

    def _place(self, name: str) -> tuple[bytes, str]:
        text = f"{self._seed}:{name}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=16).digest(), name

    def first(self, items: Iterable[Item], size: int, name: Callable[[Item], str]) -> list[Item]:
        """At most `size` of them, every one with the same chance, in the order drawn."""
        return sorted(items, key=lambda item: self._place(name(item)))[:size]

    def stratified(
        self, items: Sequence[Item], size: int, name: Callable[[Item], str], stratum: Callable[[Item], Any]
    ) -> list[Item]:
        """Of every stratum its share of `size`, rounded by largest remainders; the strata in order of their names."""
        strata: dict[tuple[bool, str], list[Item]] = {}
        for item in items:
            value = stratum(item)
            strata.setdefault((value is None, str(value)), []).append(item)
        keys = sorted(strata)
        shares = quotas([len(strata[key]) for key in keys], size)
        drawn = [self.first(strata[key], share, name) for key, share in zip(keys, shares, strict=True)]
        return [item for some in drawn for item in some]


def quotas(sizes: Sequence[int], size: int) -> list[int]:
    """How many of `size` each stratum gets: its exact share rounded down, and what is left by largest remainders.

    (Hamilton's method.) Where remainders are equal the larger stratum comes first, then the earlier. Never more than a
    stratum has.

    >>> quotas([5, 3, 2], 5), quotas([1, 1], 1), quotas([4], 9)
    ([3, 1, 1], [1, 0], [4])
    """
    total = sum(sizes)
    if not total:
        return [0] * len(sizes)
    size = min(size, total)
    shares = [size * n // total for n in sizes]
    order = sorted(range(len(sizes)), key=lambda i: (-(size * sizes[i] % total), -sizes[i], i))
    for i in order[: size - sum(shares)]:
        shares[i] += 1
    return shares


def _from_one(size: Any) -> int:
    got = plain(size)
    if type(got) is not int or got < 1:
        raise SettingsError(f"size: must be a whole number from 1, got {shown(size)}.")
    return got


def _id(item: Document | Mapping[str, Any]) -> str:
    return (item.id or "") if isinstance(item, Document) else str(item["id"])


def _risky(documents: Sequence[Document], profile: Any) -> frozenset[str]:
    """The ids of the documents with issues."""
    if profile is None:
        profile = profile_of(sorted(documents, key=_id))
    issues = profile.get("issues") if isinstance(profile, Mapping) else None
    if not isinstance(issues, Mapping):
        raise SettingsError(f"profile: must be what profile_documents returned, got {shown(profile)} without issues.")
    return frozenset(map(str, issues))


def _different(logs: Dataset, notices: Notices) -> list[dict[str, Any]]:
    """A template item for each different question."""
    asked: dict[str, dict[str, Any]] = {}
    for batch in logs.queries.batches(_BATCH):
        notices.add(_NO_QUESTION, [query.id for query in batch if not (query.question or "").strip()])
        for query in batch:
            text = question_key(query.question or "")
            if not text:
                continue
            before = asked.get(text)
            if before is None or query.id < before["id"]:
                asked[text] = _template(query)
            if before is not None:
                notices.add(_TWICE, [max(query.id, before["id"])])
    if not asked:
        raise DatasetError(
            "queries", "must have a question in at least one record, got none. Log the question as asked."
        )
    return list(asked.values())


def _logs(queries: Any, columns: Mapping[str, Any] | Columns | None, notices: Notices) -> Dataset:
    path = checked_path(queries, "queries") if isinstance(queries, str | os.PathLike) else None
    mapping = None if columns is None else Columns.of(columns)
    if path is not None and path.is_dir():
        return open_dataset(path, columns=mapping)
    if path is None and isinstance(queries, Iterator):
        queries = list(queries)
    source = path if path is not None else queries
    if _nameless(source, mapping):
        logs = read_logs(source, mapping, notices, "queries")
        notices.add(_NO_IDS)
        return dataset_from(queries=[{**log.values, "id": f"q{number}"} for number, log in enumerate(logs, 1)])
    if path is not None:
        return open_dataset(path, columns=mapping)
    return dataset_from(
        queries=queries if mapping is None else [log.values for log in read_logs(queries, mapping, notices)]
    )


def _nameless(source: Any, columns: Columns | None) -> bool:
    """True for records none of which has an id; what cannot be read at all is said by who reads it."""
    try:
        read = Source.of(source, "queries")
        mapping, _ = (columns or Columns()).fitted(record for _, record in read.records(Notices()))
        found = False
        for _, record in read.records(Notices()):
            found = True
            if mapping.record(record).get("id") is not None:
                return False
    except DatasetError:
        return False
    return found


def _template(query: Query) -> dict[str, Any]:
    item: dict[str, Any] = {"id": query.id, "question": query.question}
    if query.tags is not None:
        item["tags"] = query.tags
    item |= {"expected_evidence": [], "expected_answer": "", "validated": False}
    if query.expected_answers is not None:
        del item["expected_answer"]  # one of several is not the one
    given = {name: getattr(query, name) for name in (*GOLD, "validated")}
    return item | {name: msgspec.to_builtins(value) for name, value in given.items() if value is not None}
