"""Evidence against chunks, compared with sets of positions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.evidence import evidence_of
from rag_titan.evaluation.data.layout import Layout
from rag_titan.evaluation.data.records import Chunk, Evidence
from rag_titan.evaluation.data.spans import Spans, cuts, pieces, whole_in_one
from rag_titan.evaluation.measures.ragged import Ragged, ragged

WORDS = "aa bb cc dd ee ff gg hh"
LENGTH = len(WORDS)
Span = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """Spans of characters: chunks, for each query items of options, for each query a list of chunk codes or -1."""

    chunks: list[Span]
    evidence: list[list[list[Span]]]
    lists: list[list[int]]

    def spans(self) -> Spans:
        documents = Documents.of(document_text=WORDS)
        chunks = [Chunk(id=str(i), start=a, end=b) for i, (a, b) in enumerate(self.chunks)]
        items = [[Evidence(any_of=[Evidence(start=a, end=b) for a, b in item]) for item in q] for q in self.evidence]
        return Spans(evidence_of(items, documents, ["q"] * len(items)), Layout.of(chunks, documents))


def tokens(span: Span) -> set[int]:
    return {i for i in range(8) if span[0] <= 3 * i and 3 * i + 2 <= span[1]}


SPANS = st.tuples(st.integers(0, LENGTH - 1), st.integers(1, LENGTH)).filter(lambda s: s[0] < s[1])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    chunks = draw(st.lists(SPANS, min_size=1, max_size=5))
    evidence = draw(st.lists(st.lists(st.lists(SPANS, min_size=1, max_size=3), max_size=3), max_size=4))
    codes = st.integers(-1, len(chunks) - 1)
    return Case(chunks, evidence, [draw(st.lists(codes, max_size=4)) for _ in evidence])


def holds(case: Case, code: int, option: Span) -> bool:
    return case.chunks[code][0] <= option[0] and option[1] <= case.chunks[code][1]


@given(cases())
def test_holders_and_whole(case: Case) -> None:
    spans = case.spans()
    flat = [(q, item) for q, items in enumerate(case.evidence) for item in items]
    held = [[c for c in range(len(case.chunks)) if any(holds(case, c, o) for o in item)] for _, item in flat]
    assert as_lists(spans.holders) == held
    want = [bool(set(case.lists[q]) & set(codes)) for (q, _), codes in zip(flat, held, strict=True)]
    assert spans.whole(ragged(case.lists)).tolist() == want
    assert spans.anywhere().tolist() == [bool(codes) for codes in held]
    assert whole_in_one(spans.evidence, spans.layout).tolist() == [bool(codes) for codes in held]


@given(cases())
def test_pieces(case: Case) -> None:
    spans = case.spans()
    want = []
    for item in (item for items in case.evidence for item in items):
        touched = [sum(bool(tokens(o) & tokens(c)) for c in case.chunks) for o in item if tokens(o)]
        want.append(min(touched, default=math.nan))
    np.testing.assert_array_equal(pieces(spans.evidence, spans.layout), want)


@given(cases())
def test_scores(case: Case) -> None:
    scores = case.spans().scores(ragged(case.lists), np.ones(len(case.lists), dtype=bool))
    for q, (items, codes) in enumerate(zip(case.evidence, case.lists, strict=True)):
        if -1 in codes:
            assert np.isnan([scores.recall[q], scores.precision[q], scores.iou[q], scores.complete[q]]).all()
            continue
        retrieved = set().union(*(tokens(case.chunks[c]) for c in codes))
        gold: set[int] = set()
        for item in items:
            shares = [len(tokens(o) & retrieved) / len(tokens(o)) if tokens(o) else -1 for o in item]
            gold |= tokens(item[shares.index(max(shares))])
        got = [scores.recall[q], scores.precision[q], scores.iou[q]]
        both = len(gold & retrieved)
        want = [both / len(whole) if whole and gold else math.nan for whole in (gold, retrieved, gold | retrieved)]
        np.testing.assert_allclose(got, want, rtol=1e-12)
        whole = [any(holds(case, c, o) for c in codes for o in item) for item in items]
        np.testing.assert_allclose(scores.complete[q], sum(whole) / len(whole) if whole else math.nan, rtol=1e-12)


def as_lists(lists: Ragged) -> list[list[int]]:
    return [lists.values[a:b].tolist() for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)]


def spans_of(chunks: list[str | None], quotes: list[list[str]], text: str | None = None) -> Spans:
    documents = Documents.of(document_text=text)
    rows = [Chunk(id=f"c{i}", text=chunk) for i, chunk in enumerate(chunks)]
    names = [f"q{i}" for i in range(len(quotes))]
    return Spans(evidence_of(quotes, documents, names), Layout.of(rows, documents))


GIVEN = np.array([True])


def test_without_documents_words_decide() -> None:
    spans = spans_of(["one  two\nthree", "three four", None], [["two three", "four"], ["five"]])
    assert as_lists(spans.holders) == [[0], [1], []]
    scores = spans.scores(ragged([[0], [0, 1]]), np.array([True, True]))
    np.testing.assert_array_equal(scores.complete, [0.5, 0.0])
    assert np.isnan(scores.recall).all()


def test_a_chunk_or_quote_without_a_place_is_compared_by_its_words() -> None:
    text = "One two. Same. Three four. Same."
    spans = spans_of(["One two.", "Same.", "Three  four. (cleaned)"], [["two"], ["Three four"], ["Same"]], text)
    assert as_lists(spans.holders) == [[0], [2], [1]]
    assert spans.evidence.owner_placed.tolist() == [True, True, False]


@pytest.mark.parametrize("codes", [[-1], [0, -1], [1]])
def test_a_chunk_that_cannot_be_judged_leaves_its_query_out(codes: list[int]) -> None:
    spans = spans_of(["One two.", "cleaned up"], [["two"]], "One two. Three.")
    scores = spans.scores(ragged([codes]), GIVEN)
    assert np.isnan([scores.recall, scores.precision, scores.iou, scores.complete]).all()


def test_an_unknown_chunk_holds_nothing() -> None:
    spans = spans_of(["One two."], [["two"], ["two"]], "One two. Three.")
    assert spans.whole(ragged([[], [-1]])).tolist() == [False, False]


def test_strangers_are_named_with_their_query() -> None:
    spans = spans_of(["One two.", "cleaned up"], [], "One two. Three.")
    ids = [["c0"], ["c0", "c1", "zz"], [], ["zz"]]
    codes = ragged([[0], [0, 1, -1], [], [-1]])
    assert spans.strangers(codes, ids, ["q0", "q1", "q2", "q3"]) == ["q1 (c1)", "q3 (zz)"]


def test_a_wrong_quote_leaves_its_query_out() -> None:
    scores = spans_of(["One two."], [["two", "nowhere"]], "One two. Three.").scores(ragged([[0]]), GIVEN)
    assert np.isnan([scores.recall, scores.complete]).all()


def test_an_empty_list_is_a_miss_and_none_is_not_measured() -> None:
    spans = spans_of(["One two."], [["two"]], "One two. Three.")
    empty, none = (spans.scores(ragged([[]]), np.array([given])) for given in (True, False))
    np.testing.assert_array_equal([empty.recall, empty.iou, empty.complete], [[0.0]] * 3)
    assert np.isnan([empty.precision, none.recall, none.complete]).all()


def test_complete_in_texts() -> None:
    spans = spans_of(["One"], [["two  three", "four"], ["five"], ["five"], []])
    got = spans.complete_in_texts(["one two three four", "four", None, "x"])
    np.testing.assert_array_equal(got, [1.0, 0.0, math.nan, math.nan])


def test_cuts_leave_out_the_last_of_each_document() -> None:
    documents = Documents.of({"a": "one two three", "b": "four five"})
    rows = [("one ", "a"), ("two ", "a"), ("three", "a"), ("ree", "a"), ("four", "b"), (" five", "b")]
    layout = Layout.of([Chunk(text=text, doc_id=name) for text, name in rows], documents)
    assert cuts(layout, 0).tolist() == [4, 8, 17]
    assert cuts(layout, 100).tolist() == [4, 8, 117]
