"""Hashes of many texts at once, against one text at a time in whole Python numbers."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.data.fingerprint import (
    Fingerprint,
    HashLog,
    SeenHashes,
    chunk_fingerprint,
    chunk_id_fingerprint,
    text_hashes,
)
from rag_titan.evaluation.data.fingerprint import gold_fingerprint as gold_of_columns
from rag_titan.evaluation.data.fingerprint import query_fingerprint as asked_of_columns
from rag_titan.evaluation.data.records import Chunk, Evidence, Query

MASK = 2**64 - 1


def gold_fingerprint(queries: list[Query]) -> Fingerprint:
    return gold_of_columns([q.id for q in queries], lambda name: [getattr(q, name) for q in queries])


def query_fingerprint(queries: list[Query]) -> Fingerprint:
    return asked_of_columns([q.id for q in queries], [q.question for q in queries])


def slow_hash(text: str) -> int:
    """The same, eight bytes after eight bytes."""
    data = text.encode()
    h = len(data) * 0x9E3779B97F4A7C15 & MASK
    for start in range(0, max(len(data), 1), 8):
        word = int.from_bytes(data[start : start + 8], "little")
        h = (h ^ word) * 0xBF58476D1CE4E5B9 & MASK
        h ^= h >> 29
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & MASK
    h = (h ^ h >> 27) * 0x94D049BB133111EB & MASK
    return h ^ h >> 31


@given(st.lists(st.text(max_size=30)))
def test_hashes_of_many_texts_are_those_of_each(texts: list[str]) -> None:
    assert text_hashes(texts).tolist() == [slow_hash(text) for text in texts]


def test_a_line_break_inside_a_text_changes_nothing_for_the_others() -> None:
    alone = text_hashes(["q1", "q2"]).tolist()
    assert text_hashes(["q1", "q2", "a\nb"]).tolist()[:2] == alone


def test_hashes_of_many_ids_do_not_collide() -> None:
    ids = [f"q{i}" for i in range(100_000)] + [f"{i:064d}" for i in range(100_000)]
    assert len(np.unique(text_hashes(ids))) == len(ids)


def test_hashes_and_fingerprints_are_the_same_in_every_process() -> None:
    code = (
        "from rag_titan.evaluation.data.fingerprint import *\n"
        "from rag_titan.evaluation.data.records import GOLD\n"
        "columns = {**dict.fromkeys(GOLD, [None]), 'relevance': [{'b': 1.0, 'a': 2.0}]}\n"
        "print(text_hashes(['q1']).tolist(), gold_fingerprint(['q'], columns.get).text)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    here = gold_fingerprint([Query(id="q", relevance={"a": 2.0, "b": 1.0})]).text
    assert run.stdout == f"{text_hashes(['q1']).tolist()} {here}\n"


@given(st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=8))
def test_the_log_names_what_came_more_than_once(batches: list[list[int]]) -> None:
    log = HashLog()
    for batch in batches:
        log.add(np.array(batch, dtype=np.uint64))
    counts = Counter(value for batch in batches for value in batch)
    assert log.repeated().tolist() == sorted(value for value, n in counts.items() if n > 1)


@given(st.lists(st.lists(st.integers(0, 60), max_size=12), max_size=12))
def test_what_was_seen_before_is_known_batch_by_batch(batches: list[list[int]]) -> None:
    seen, known = SeenHashes(), set()
    for batch in batches:
        expected = []
        for value in batch:
            expected.append(value in known)
            known.add(value)
        assert seen.add(np.array(batch, dtype=np.uint64)).tolist() == expected


def queries() -> list[Query]:
    return [
        Query(id="a", question="Who?", expected_chunk_ids=["c1", "c2"], answerable=True),
        Query(id="b", relevance={"c1": 1.0, "c2": 2.0}, expected_evidence=["x", Evidence(quote="y")]),
        Query(id="c", retrieved_ids=["c1"]),
    ]


def test_fingerprints_do_not_depend_on_order_or_batches() -> None:
    a, b, c = queries()
    for fingerprint in (gold_fingerprint, query_fingerprint):
        whole = fingerprint([a, b, c])
        assert fingerprint([c, b, a]) == whole
        assert fingerprint([a]).merge(fingerprint([])).merge(fingerprint([c, b])) == whole
        assert len(whole.text) == 16


def test_gold_is_what_a_person_wrote_and_lists_of_it_are_sets() -> None:
    whole = gold_fingerprint(queries())
    a, b, c = queries()
    a.expected_chunk_ids = ["c2", "c1", "c2"]
    b.expected_evidence = [Evidence(quote="y"), "x"]
    b.relevance = {"c2": 2.0, "c1": 1.0}
    c.retrieved_ids, c.answer, a.question = [], "x", "When?"
    assert gold_fingerprint([a, b, c]) == whole
    for key, value in (("expected_chunk_ids", ["c1"]), ("answerable", False), ("expected_answer", ""), ("id", "z")):
        changed = queries()
        setattr(changed[0], key, value)
        assert gold_fingerprint(changed) != whole, key
    swapped = queries()
    swapped[0].id, swapped[1].id = "b", "a"
    assert gold_fingerprint(swapped) != whole, "the labels of two questions changed places"


def test_chunk_ids_that_follow_from_quotes_or_pages_are_no_gold_of_a_person() -> None:
    sources: tuple[dict[str, Any], ...] = ({"expected_evidence": ["25 days"]}, {"required_evidence_ids": ["hr.pdf#p4"]})
    for source in sources:
        derived = [
            gold_fingerprint([Query(id="a", expected_chunk_ids=ids, **source)]) for ids in (["c1"], ["c9"], None)
        ]
        assert derived[0] == derived[1] == derived[2]
        assert derived[0] != gold_fingerprint([Query(id="a", expected_chunk_ids=["c1"])])
    beside = [Query(id="b", expected_evidence=["x"]), Query(id="a", expected_chunk_ids=["c1"])]
    other = [Query(id="b", expected_evidence=["x"]), Query(id="a", expected_chunk_ids=["c2"])]
    assert gold_fingerprint(beside) != gold_fingerprint(other), "those of a query without quotes are written"
    empty = [Query(id="a", expected_evidence=[], expected_chunk_ids=[name]) for name in ("c1", "c2")]
    assert gold_fingerprint(empty[:1]) != gold_fingerprint(empty[1:])


def test_chunk_ids_beside_quotes_or_pages_have_a_fingerprint_of_their_own() -> None:
    def fingerprint(*asked: Query) -> Fingerprint:
        return chunk_id_fingerprint([q.id for q in asked], lambda name: [getattr(q, name) for q in asked])

    beside = Query(id="a", expected_evidence=["25 days"], expected_chunk_ids=["c1", "c2"])
    paged = Query(id="b", required_evidence_ids=["hr.pdf#p4"], expected_chunk_ids=["c1"])
    alone = Query(id="c", expected_chunk_ids=["c1"])
    whole = fingerprint(beside, paged, alone)
    assert whole == fingerprint(paged, alone).merge(fingerprint(beside)) == fingerprint(paged, beside)
    assert fingerprint(alone) == fingerprint() == Fingerprint(0)
    beside.expected_chunk_ids = ["c2", "c1", "c2"]
    assert fingerprint(beside, paged, alone) == whole
    for changed in (["c1"], [], None):
        beside.expected_chunk_ids = changed
        assert fingerprint(beside, paged, alone) != whole


def test_which_key_a_label_stands_under_counts() -> None:
    assert gold_fingerprint([Query(id="a", required_facts=["x"])]) != gold_fingerprint(
        [Query(id="a", expected_answers=["x"])]
    )


def test_questions_and_chunks_have_fingerprints_of_their_own() -> None:
    whole = query_fingerprint(queries())
    other = queries()
    other[0].question = "When?"
    assert query_fingerprint(other) != whole
    chunks = [Chunk(id="c1", text="a"), Chunk(id="c2", text="b", metadata={"page": 1})]
    assert chunk_fingerprint(chunks) == chunk_fingerprint([Chunk(id="c2", text="b"), chunks[0]])
    assert chunk_fingerprint(chunks) != chunk_fingerprint([chunks[0], Chunk(id="c2", text="c")])
    assert chunk_fingerprint([]) == Fingerprint(0)


def test_gold_of_several_kinds_has_the_same_fingerprint_in_any_batches() -> None:
    """A quote and a span in one batch are hashed as each is alone."""
    evidence = [["quote", "quote"], [Evidence(start=0, end=2)], [], ["a", Evidence(quote="b")], None]
    ids = [f"q{i}" for i in range(len(evidence))]

    def fingerprint(rows: list[int]) -> Fingerprint:
        columns = {"expected_evidence": [evidence[i] for i in rows]}
        return gold_of_columns([ids[i] for i in rows], lambda name: columns.get(name, [None] * len(rows)))

    merged = Fingerprint()
    for row in (3, 1, 0, 4, 2):
        merged = merged.merge(fingerprint([row]))
    assert merged == fingerprint([0, 1, 2, 3, 4])
