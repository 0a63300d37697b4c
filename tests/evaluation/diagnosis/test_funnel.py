"""Where the evidence was lost: each place worked by hand, and a slow twin over random worlds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.diagnosis.logs import CHUNKS, HANDBOOK, step_names, verdicts_of
from tests.evaluation.stages.rank_twins import first_ranks, gold_of, inside, options_of, table_of
from tests.strategies import World, worlds

from rag_titan.evaluation.diagnosis.funnel import STEPS, Funnel
from rag_titan.evaluation.diagnosis.reasons import reasons
from rag_titan.evaluation.metric import Stage

QUOTE = "costs 12 euros"
CUT = [{"id": "half", "text": "Parking costs 12"}, {"id": "rest", "text": " euros a month. The canteen opens at 11."}]


def lost(query: dict[str, Any], **setting: Any) -> str | None:
    return step_names(verdicts_of([query], **setting))[0]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ({"retrieved_ids": ["parking", "canteen"], "context_ids": ["parking"]}, None),
        ({"retrieved_ids": ["canteen", "badges", "parking"]}, "retrieval"),
        ({"retrieved_ids": []}, "retrieval"),
        ({"retrieved_ids": ["canteen", "badges", "parking"], "reranked_ids": ["parking"]}, None),
        ({"retrieved_ids": ["parking", "badges"], "reranked_ids": ["badges", "canteen", "parking"]}, "reranking"),
        ({"retrieved_ids": ["parking"], "reranked_ids": []}, "reranking"),
        ({"retrieved_ids": ["badges"], "reranked_ids": ["badges"], "context_ids": ["badges"]}, "retrieval"),
        ({"retrieved_ids": ["parking"], "context_ids": ["canteen"]}, "augmentation"),
        ({"retrieved_ids": ["parking"], "reranked_ids": ["parking"], "context_ids": []}, "augmentation"),
        ({"context_ids": ["canteen"]}, "augmentation"),
        ({"retrieved_ids": ["canteen", "badges", "parking"], "context_ids": ["parking"]}, None),
        ({"retrieved_ids": ["parking"], "reranked_ids": ["badges"], "context_ids": ["parking"]}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("labels", [{"expected_evidence": [QUOTE]}, {"expected_chunk_ids": ["parking"]}])
def test_the_loss_is_placed_after_the_last_step_that_has_the_evidence(
    query: dict[str, Any], place: str | None, labels: dict[str, Any]
) -> None:
    assert lost({**labels, **query}) == place


def test_a_quote_that_no_chunk_holds_whole_was_cut_by_the_chunker() -> None:
    query = {"expected_evidence": [QUOTE], "retrieved_ids": ["half", "rest"], "context_ids": ["half", "rest"]}
    assert lost(query, chunks=CUT) == "chunking"


def test_every_quote_must_be_left() -> None:
    query = {"expected_evidence": [QUOTE, "opens at 11"], "retrieved_ids": ["parking", "canteen"]}
    assert lost(query) is None
    assert lost({**query, "retrieved_ids": ["parking", "badges"]}) == "retrieval"


def test_of_any_of_one_is_enough() -> None:
    query = {"expected_evidence": [{"any_of": [QUOTE, "opens at 11"]}], "retrieved_ids": ["badges", "canteen"]}
    assert lost(query) is None
    assert lost({**query, "retrieved_ids": ["badges"]}) == "retrieval"


def test_of_gold_ids_one_is_enough() -> None:
    query = {"expected_chunk_ids": ["parking", "canteen"], "retrieved_ids": ["badges", "canteen"]}
    assert lost(query) is None


def test_quotes_speak_before_gold_ids() -> None:
    query = {"expected_evidence": [QUOTE], "expected_chunk_ids": ["badges"], "retrieved_ids": ["badges"]}
    assert lost(query) == "retrieval"


def test_gold_ids_speak_where_a_quote_is_in_no_document() -> None:
    query = {"expected_evidence": ["free of charge"], "expected_chunk_ids": ["badges"], "retrieved_ids": ["canteen"]}
    assert lost(query) == "retrieval"
    assert lost({"expected_evidence": ["free of charge"], "retrieved_ids": ["canteen"], "context": "canteen"}) is None


@pytest.mark.parametrize(
    ("indexed", "place"),
    [({"canteen", "badges"}, "embedding"), ({"parking"}, None), (set(), "embedding"), (None, None)],
)
@pytest.mark.parametrize("labels", [{"expected_evidence": [QUOTE]}, {"expected_chunk_ids": ["parking"]}])
def test_what_is_not_in_the_index(indexed: set[str] | None, place: str | None, labels: dict[str, Any]) -> None:
    assert lost(labels, indexed=indexed) == place


@pytest.mark.parametrize(
    ("context", "place"),
    [
        ("... Parking costs\n12  euros a month", None),
        ("The canteen opens at 11.", "augmentation"),
        ("", "augmentation"),
    ],
)
def test_a_context_given_as_text(context: str, place: str | None) -> None:
    assert lost({"expected_evidence": [QUOTE], "retrieved_ids": ["parking"], "context": context}) == place


def test_a_context_given_as_text_says_nothing_about_gold_ids() -> None:
    assert lost({"expected_chunk_ids": ["parking"], "retrieved_ids": ["parking"], "context": "nothing"}) is None


def test_quotes_without_documents_are_looked_for_in_the_texts_of_the_chunks() -> None:
    query = {"expected_evidence": [QUOTE], "retrieved_ids": ["canteen", "badges"]}
    assert lost(query, documents=None) == "retrieval"
    assert lost(query, documents=None, chunks=CUT) == "chunking"


def test_chunks_without_a_text_decide_nothing() -> None:
    """Their text may hold the quote: it is neither cut nor missed for sure."""
    bare = [{"id": "parking"}, {"id": "canteen"}]
    query = {"expected_evidence": [QUOTE], "retrieved_ids": ["canteen"], "context_ids": ["canteen"]}
    assert lost(query, chunks=bare, documents=None, indexed={"parking"}) is None
    assert lost(query, chunks=None, documents=None, indexed={"parking"}) is None
    assert not verdicts_of([query], chunks=None, documents=None).funnel.known.any()


def test_a_span_without_documents_decides_nothing() -> None:
    query = {"expected_evidence": [{"start": 0, "end": 9}], "retrieved_ids": ["canteen"], "context": "canteen"}
    assert lost(query, documents=None) is None


def test_a_quote_found_in_an_unknown_chunk_cannot_be_denied() -> None:
    query = {"expected_evidence": [QUOTE], "retrieved_ids": ["canteen", "elsewhere"]}
    assert np.isnan(verdicts_of([query]).funnel.kept[0, STEPS.index(Stage.RETRIEVAL)])


def test_texts_that_other_queries_logged_are_no_chunks() -> None:
    """Whether the chunker kept a quote does not depend on which queries stand in the same batch."""
    query = {"expected_evidence": ["costs 12 euros a month. The"]}
    other = {"retrieved_texts": ["Parking costs 12 euros a month. The canteen"]}
    both = verdicts_of([query, other])
    assert step_names(both)[0] == lost(query) == "chunking"
    assert reasons(both)[0] == ["no chunk holds “costs 12 euros a month. The” whole"]


def test_a_wrong_quote_that_another_query_logged_stays_a_wrong_quote() -> None:
    query = {"expected_evidence": ["free of charge"], "retrieved_ids": ["canteen"]}
    other = {"retrieved_texts": ["All of it is free of charge."]}
    assert step_names(verdicts_of([query, other]))[0] == lost(query) is None


def test_a_logged_text_that_holds_the_quote_keeps_it() -> None:
    query = {"expected_evidence": [QUOTE], "retrieved_texts": ["So: parking costs 12 euros in winter."]}
    assert lost(query, chunks=None, documents=None) is None
    assert lost({**query, "retrieved_texts": ["The canteen opens at 11."]}, chunks=None, documents=None) == "retrieval"


def test_the_depth_of_further_cutoffs_does_not_matter() -> None:
    query = {"id": "q", "expected_chunk_ids": ["c9"], "retrieved_ids": ["c1", "c2", "c9"]}
    world = World(HANDBOOK, CHUNKS, [query])
    steps = [Funnel(table_of(world, 2, also_at=also)).lost_step.tolist() for also in ((), (3,))]
    assert steps[0] == steps[1] == [STEPS.index(Stage.RETRIEVAL)]


def test_nor_does_a_reranker_behind_another_query() -> None:
    """Where a reranker follows, all of its candidates count; elsewhere the first K, however deep one looks beside."""
    gold = {"expected_chunk_ids": ["c9"], "retrieved_ids": ["c1", "c2", "c9"]}
    world = World(HANDBOOK, CHUNKS, [{"id": "q", **gold}, {"id": "r", **gold, "reranked_ids": ["c9"]}])
    for also in ((), (3,)):
        steps = Funnel(table_of(world, 2, also_at=also)).lost_step.tolist()
        assert steps == [STEPS.index(Stage.RETRIEVAL), -1]


def test_no_queries() -> None:
    funnel = verdicts_of([]).funnel
    assert (funnel.kept.shape, len(funnel.lost_step), len(funnel.arrived)) == ((0, len(STEPS)), 0, 0)


# A slow twin.

Kept = bool | None


def by_quotes(world: World, query: dict[str, Any], ids: list[str]) -> Kept:
    """Every item whole in one of the chunks? None without quotes, and where an unknown chunk might have them."""
    items = query.get("expected_evidence")
    if not items:
        return None
    known = [chunk for chunk in world.chunks if chunk["id"] in ids]
    if all(any(inside(o, chunk) for o in options_of(item) for chunk in known) for item in items):
        return True
    return False if set(ids) <= {chunk["id"] for chunk in world.chunks} else None


def by_ids(query: dict[str, Any], ids: list[str]) -> Kept:
    relevant = {chunk for chunk, grade in (gold_of(query) or {}).items() if grade > 0}
    return bool(relevant & set(ids)) if relevant else None


def step(world: World, query: dict[str, Any], ids: list[str] | None) -> Kept:
    if ids is None:
        return None
    quoted = by_quotes(world, query, ids)
    return by_ids(query, ids) if quoted is None else quoted


def steps_of(world: World, query: dict[str, Any], k: int, indexed: list[str] | None) -> list[Kept]:
    retrieved, reranked = query.get("retrieved_ids"), query.get("reranked_ids")
    candidates = None if retrieved is None else first_ranks(retrieved, None if reranked is not None else k)
    return [
        by_quotes(world, query, [chunk["id"] for chunk in world.chunks]),
        step(world, query, indexed),
        step(world, query, candidates),
        step(world, query, None if reranked is None else first_ranks(reranked, k)),
        step(world, query, query.get("context_ids")),
    ]


def lost_at(kept: list[Kept]) -> int:
    """The first loss after the last step that has the evidence."""
    later = 0
    for place, has in enumerate(kept):
        if has:
            later = place + 1
    return next((place for place in range(later, len(kept)) if kept[place] is False), -1)


@given(world=worlds(), k=st.integers(1, 4), data=st.data())
def test_the_funnel_of_random_worlds(world: World, k: int, data: st.DataObject) -> None:
    ids = [chunk["id"] for chunk in world.chunks]
    indexed = data.draw(st.one_of(st.none(), st.lists(st.sampled_from(ids), unique=True)))
    funnel = Funnel(table_of(world, k), None if indexed is None else frozenset(indexed))
    wanted = [steps_of(world, query, k, indexed) for query in world.queries]
    numbers = [[math.nan if has is None else float(has) for has in kept] for kept in wanted]
    np.testing.assert_array_equal(funnel.kept, numbers)
    assert funnel.lost_step.tolist() == [lost_at(kept) for kept in wanted]
    arrived = [math.nan if set(kept) == {None} else float(lost_at(kept) < 0) for kept in wanted]
    np.testing.assert_array_equal(funnel.arrived, arrived)


@given(world=worlds(queries=6), k=st.integers(1, 4))
def test_each_query_is_judged_for_itself(world: World, k: int) -> None:
    together = Funnel(table_of(world, k)).kept
    for row, query in enumerate(world.queries):
        alone = Funnel(table_of(World(world.documents, world.chunks, [query]), k)).kept
        np.testing.assert_array_equal(alone[0], together[row])
