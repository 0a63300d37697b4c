"""What is read of a document, whatever framework it is of."""

from __future__ import annotations

from types import SimpleNamespace as Thing
from typing import Any

import numpy as np
import pytest

from rag_titan.errors import DatasetError
from rag_titan.pipeline.adapters.passages import Passage, documents_in, passage_of, without_scores


@pytest.mark.parametrize(
    ("value", "passage"),
    [
        ("25 days", Passage("25 days")),
        (Thing(page_content="a", metadata={}, id=None), Passage("a")),
        (
            Thing(page_content="", metadata={"start_index": 0}, id="c1"),
            Passage("", "c1", None, {"start_index": 0}, start=0),
        ),
        (
            Thing(node=Thing(text="a", metadata={}, node_id="n1", ref_doc_id="d1", start_char_idx=7), score=0.5),
            Passage("a", "n1", 0.5, {}, "d1", 7),
        ),
        (
            Thing(content="a", id="h1", score=None, meta={"source_id": "d1", "split_idx_start": 3}),
            Passage("a", "h1", None, {"source_id": "d1", "split_idx_start": 3}, "d1", 3),
        ),
        ({"text": "a", "id": 7}, Passage("a", "7")),
        (Thing(get_content=lambda: "a", node_id="n1"), Passage("a", "n1")),
        (Thing(content=None, id="picture"), Passage(None, "picture")),
        (
            Thing(page_content="a", metadata={"relevance_score": 0.25}),
            Passage("a", None, 0.25, {"relevance_score": 0.25}),
        ),
        ((Thing(page_content="a", metadata={}), np.float32(0.5)), Passage("a", score=0.5)),
        ((Thing(page_content="a", metadata={"score": 1.0}), 0.5), Passage("a", None, 0.5, {"score": 1.0})),
    ],
)
def test_a_passage_is_read(value: Any, passage: Passage) -> None:
    assert passage_of(value) == passage


@pytest.mark.parametrize("score", [True, float("nan"), float("inf"), "0.5", None])
def test_what_is_no_number_is_no_score(score: Any) -> None:
    assert passage_of({"text": "a", "score": score}).score is None


@pytest.mark.parametrize("start", [True, 1.0, "1", None])
def test_what_is_no_whole_number_is_no_start(start: Any) -> None:
    assert passage_of({"text": "a", "metadata": {"start_index": start}}).start is None


def test_file_and_page_are_found_under_their_usual_names() -> None:
    passages = [
        passage_of({"text": "", "metadata": metadata})
        for metadata in (
            {"source": "a.pdf", "page": 0},
            {"file_path": "a.pdf", "page_label": "iv"},
            {"title": "A"},
            None,
        )
    ]
    assert [(p.file, p.page) for p in passages] == [("a.pdf", "0"), ("a.pdf", "iv"), (None, None), (None, None)]


@pytest.mark.parametrize("value", [["d"], ("d",), {"documents": ["d"]}, {"context": ["d"]}, Thing(source_nodes=["d"])])
def test_the_documents_of_a_step_are_found(value: Any) -> None:
    assert documents_in(value, "retriever") == ["d"]


@pytest.mark.parametrize("value", ["text", None, {}, {"documents": "text"}, 3])
def test_a_step_without_documents_is_named(value: Any) -> None:
    with pytest.raises(DatasetError, match=r"^retriever: must give a list of documents, got \w+\.$"):
        documents_in(value, "retriever")


def test_a_score_is_taken_off_and_another_pair_is_left_alone() -> None:
    assert without_scores([("d", 0.5), "e", ("f", "g")]) == ["d", "e", ("f", "g")]
