"""Chunks at their places: verified, searched, moved, lost."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.layout import Layout
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Chunk

TEXT = "Leave is 25 days.\nSick pay is full.\nLeave is 25 days.\n"


def layout_of(*chunks: dict[str, Any], **documents: Any) -> tuple[Layout, list[str]]:
    notices = Notices()
    rows = [Chunk(**{"id": f"c{i}", **chunk}) for i, chunk in enumerate(chunks)]
    return Layout.of(rows, Documents.of(**(documents or {"document_text": TEXT})), notices), notices.texts()


def places(layout: Layout) -> list[tuple[int, int]]:
    return list(zip(layout.starts.tolist(), layout.ends.tolist(), strict=True))


@pytest.mark.parametrize(
    ("chunk", "place"),
    [
        ({"text": "Leave is 25 days.\n", "start": 36, "end": 54}, (36, 54)),
        ({"text": "Sick pay is full."}, (18, 35)),
        ({"text": "Leave is 25 days.", "start": 36}, (36, 53)),
        ({"start": 18, "end": 26}, (18, 26)),
        ({"text": "Sick pay is full. ", "start": 18, "end": 36}, (18, 36)),  # another white space at the end
        ({"text": "  Sick pay is full."}, (18, 35)),
    ],
)
def test_placed_without_a_word(chunk: dict[str, Any], place: tuple[int, int]) -> None:
    layout, notices = layout_of(chunk)
    assert places(layout) == [place]
    assert layout.placed.all()
    assert not layout.lost.any()
    assert notices == []


@pytest.mark.parametrize(
    ("chunk", "place", "words"),
    [
        ({"text": "Sick pay is full.", "start": 19, "end": 36}, (18, 35), "c0; it was placed by searching"),
        ({"text": "Sick pay is full.", "start": 99, "end": 116}, (18, 35), "c0; it was placed by searching"),
        ({"text": "25 days.\r\nSick", "start": 9, "end": 22}, (9, 22), "line ends of chunk c0"),
        ({"text": "25 days.\r\nSick"}, (9, 22), "line ends of chunk c0"),
    ],
)
def test_placed_with_a_notice(chunk: dict[str, Any], place: tuple[int, int], words: str) -> None:
    layout, notices = layout_of(chunk)
    assert places(layout) == [place]
    assert not layout.lost.any()
    assert len(notices) == 1
    assert words in notices[0]


@pytest.mark.parametrize(
    ("chunk", "words"),
    [
        ({"text": "Leave is 25 days."}, "the text of chunk c0 occurs more than once"),
        ({"text": "Leave is 25 days.", "start": 3, "end": 20}, "the text of chunk c0 occurs more than once"),
        ({"text": "LEAVE IS 25 DAYS."}, "the text of chunk c0 is not in the documents"),
        ({"text": "Sick pay", "doc_id": "other"}, "the doc_id of chunk c0 is not among the documents"),
        ({}, "chunk c0 has neither a text nor a place"),
        ({"start": 3}, "chunk c0 has neither a text nor a place"),
    ],
)
def test_lost_with_a_notice(chunk: dict[str, Any], words: str) -> None:
    layout, notices = layout_of(chunk, documents={"here": TEXT})
    assert places(layout) == [(-1, -1)]
    assert layout.lost.all()
    assert len(notices) == 1
    assert words in notices[0]


def test_a_chunk_is_searched_in_all_documents_or_in_its_own() -> None:
    documents = {"a": "one two", "b": "two three"}
    layout, _ = layout_of({"text": "two"}, {"text": "two", "doc_id": "b"}, {"text": "three"}, documents=documents)
    assert places(layout) == [(-1, -1), (7, 10), (11, 16)]
    assert layout.document_codes.tolist() == [-1, 1, 1]


@pytest.mark.parametrize(
    ("chunk", "where"),
    [
        ({"start": 5, "end": 99, "doc_id": "a"}, "chunks[1].start, end"),
        ({"start": -1, "end": 2, "doc_id": "a"}, "chunks[1].start, end"),
        ({"start": 5, "end": 4, "doc_id": "a"}, "chunks[1].start, end"),
        ({"start": 0, "end": 2}, "chunks[1].doc_id"),
    ],
)
def test_offsets_alone_must_lie_in_a_document(chunk: dict[str, Any], where: str) -> None:
    with pytest.raises(DatasetError) as error:
        layout_of({"text": "one"}, chunk, documents={"a": "one two", "b": ""})
    assert error.value.where == where


@pytest.mark.parametrize("chunk", [{"text": ""}, {"text": " \n"}, {"text": " ", "start": 70, "end": 71}])
def test_white_space_alone_needs_no_place(chunk: dict[str, Any]) -> None:
    layout, notices = layout_of(chunk, {"text": "Sick pay is full."})
    assert layout.lost.tolist() == [False, False]
    assert layout.placed.tolist() == [False, True]
    assert layout.sizes.tolist() == [0, 4]
    assert notices == []


def test_without_documents_nothing_is_placed_and_nothing_is_said() -> None:
    notices = Notices()
    layout = Layout.of([Chunk(id="a", text="one", start=0, end=3), Chunk(id="b")], Documents(), notices)
    assert (layout.placed.any(), layout.lost.any(), notices.texts()) == (False, False, [])
    np.testing.assert_array_equal(layout.sizes, [1, np.nan])


def test_a_chunk_owns_only_whole_tokens() -> None:
    layout, _ = layout_of({"start": 0, "end": 8}, {"start": 8, "end": 25}, document_text="Alpha beta gamma. Delta eps")
    assert [x.tolist() for x in layout.tokens] == [[0, 2], [1, 4]]
    assert layout.sizes.tolist() == [2, 4]  # "be", "ta" and "ep" are words of the chunks, not of the document
    assert layout.all_tokens.covered(1).tolist() == [3]


@given(st.permutations(range(5)), st.lists(st.sampled_from(["a", "b", None]), min_size=5, max_size=5))
def test_reading_order(order: list[int], names: list[str | None]) -> None:
    documents = {"a": "v w x y z", "b": "v w x y z"}
    chunks = [{"text": "vwxyz"[i], "doc_id": names[i], "start": 2 * i, "end": 2 * i + 1} for i in order]
    layout, _ = layout_of(*chunks, documents=documents)
    codes, groups = layout.reading_order
    read = [[order[c] for c in codes.tolist() if groups[c] == g] for g in dict.fromkeys(groups[codes].tolist())]
    for parts in read:
        name = names[parts[0]]
        assert parts == [i for i in (order if name is None else sorted(order)) if names[i] == name]
    assert sorted(codes.tolist()) == list(range(5))


def test_reading_order_without_documents_is_that_of_the_list() -> None:
    layout = Layout.of([Chunk(text="x", doc_id=d) for d in ("b", "a", "b", None)], Documents())
    codes, groups = layout.reading_order
    assert codes.tolist() == [0, 2, 1, 3]
    assert len(set(groups.tolist())) == 3


def test_a_document_with_a_lost_chunk_is_read_as_it_was_given() -> None:
    chunks = [
        {"text": text, "doc_id": name} for text, name in (("z", "a"), ("?", "a"), ("v", "a"), ("z", "b"), ("v", "b"))
    ]
    layout, _ = layout_of(*chunks, documents={"a": "v w x y z", "b": "v w x y z"})
    assert layout.reading_order[0].tolist() == [0, 1, 2, 4, 3]


def test_more_chunks_behind() -> None:
    layout, _ = layout_of({"text": "Sick pay"})
    more = layout.with_chunks([Chunk(id="x", text="full"), Chunk(id="y", text="none")])
    whole, _ = layout_of({"text": "Sick pay"}, {"id": "x", "text": "full"}, {"id": "y", "text": "none"})
    assert (places(more), more.lost.tolist(), more.texts) == (places(whole), whole.lost.tolist(), whole.texts)


@given(st.text(st.sampled_from("ab \n"), min_size=1, max_size=40), st.data())
def test_a_place_always_holds_the_text(document: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(document)), max_size=6)))
    parts = [document[a:b] for a, b in pairwise(cuts)]
    layout, _ = layout_of(*({"text": part} for part in parts), document_text=document)
    for text, (start, end) in zip(parts, places(layout), strict=True):
        once = sum(document.startswith(text, i) for i in range(len(document))) == 1
        assert (start >= 0) == (bool(text.strip()) and once)
        assert start < 0 or document[start:end] == text
