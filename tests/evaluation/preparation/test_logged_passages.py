"""Passages of logs under the ids of the chunk table: worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rag_titan.evaluation.data.corpus import Corpus, text_id
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Chunk
from rag_titan.evaluation.preparation.logged_passages import with_chunk_ids

CORPUS = Corpus(
    (Chunk(id="c1", text="One  text"), Chunk(id="c2", text="Two\ntexts"), Chunk(id="7", text="7")), given=True
)


def named(corpus: Corpus = CORPUS, **record: Any) -> tuple[dict[str, Any], list[str]]:
    notices = Notices()
    (found,) = with_chunk_ids([{"id": "q", **record}], corpus, notices)
    assert found.pop("id") == "q"
    return found, notices.texts()


def test_texts_are_looked_up_by_their_words() -> None:
    found, notices = named(retrieved_texts=["Two texts", "a stranger"], reranked_texts=["One text"])
    assert found["retrieved_ids"] == ["c2", text_id("a stranger")]
    assert found["reranked_ids"] == ["c1"]
    assert notices == ['logged texts that are no chunk\'s, which got an id of their own: "a stranger" (query q).']


def test_an_empty_list_of_texts_is_an_empty_list_of_ids() -> None:
    assert named(retrieved_texts=[])[0]["retrieved_ids"] == []


def test_ids_of_the_store_give_way_to_those_of_the_table() -> None:
    found, notices = named(retrieved_ids=["uuid-1", "c2"], retrieved_texts=["One text", "whatever"])
    assert found["retrieved_ids"] == ["c1", "c2"]
    assert "logged ids that no chunk has were replaced by those of the chunks with the same text: query q." in notices


def test_without_a_table_reranked_texts_are_found_among_the_retrieved() -> None:
    record = {"retrieved_ids": ["a", "b"], "retrieved_texts": ["x", "y"]}
    assert named(Corpus(), **record, reranked_texts=["y "])[0]["reranked_ids"] == ["b"]
    assert "reranked_ids" not in named(Corpus(), **record, reranked_texts=["z"])[0]
    assert "retrieved_ids" not in named(Corpus(), retrieved_texts=["x"])[0]


@pytest.mark.parametrize(
    ("citations", "context", "ids", "told"),
    [
        (["[2]", "[1]"], ["c1", "c2"], ["c2", "c1"], None),
        (["[2]", "c1"], ["c1", "c2"], ["c2", "c1"], None),
        (["[3]"], ["c1", "c2"], None, "citations of a position behind the end of the context were left out: [3]"),
        (["[0]", "[1]"], ["c1"], ["c1"], "citations of a position behind the end of the context were left out: [0]"),
        (["[1]"], None, None, "citations such as [1] are positions in the context, of which no `context_ids` were"),
        (["1", "2"], ["c1", "c2"], ["c1", "c2"], "citations are numbers that no chunk has as an id, and were read as"),
        (["7"], ["c1"] * 9, ["7"], None),  # a chunk has that id
        (["1", "9"], ["c1", "c2"], ["1", "9"], None),  # not all of them can be positions
        (["1"], None, ["1"], None),
        ([], ["c1"], [], None),
    ],
)
def test_positions_are_no_ids(citations: list[str], context: Any, ids: Any, told: str | None) -> None:
    record = {"citations": citations, **({} if context is None else {"context_ids": context})}
    found, notices = named(**record)
    assert found.get("citations") == ids
    assert [text[: len(told)] for text in notices] == [told] if told else notices == []


def test_positions_in_place_of_ids_are_left_out() -> None:
    found, notices = named(retrieved_ids=["[1]", "[2]"], retrieved_texts=["One text", "7"])
    assert found["retrieved_ids"] == ["c1", "7"]
    assert notices == ["positions such as [1] are no ids, and were left out: retrieved_ids of query q."]


def test_ids_that_no_chunk_has() -> None:
    assert named(retrieved_ids=["c1", "x"])[1] == ["`retrieved_ids` hold ids that no chunk has: x."]
    assert named(retrieved_ids=["x", "y"])[1] == [
        'none of the 2 logged `retrieved_ids` is among the chunks, whose ids look like "c1"; the logs have such as "x".'
        " Dump the chunks with the ids that the system logs, or log the texts."
    ]
