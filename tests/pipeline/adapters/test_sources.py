"""From which document a chunk is, and where it stands there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import SettingsError
from rag_titan.pipeline.adapters.passages import Passage, passage_of
from rag_titan.pipeline.adapters.sources import Sources

TEXTS = {"hr/leave.md": "Leave is 25 days.", "hr/sick.md": "Sick pay is full."}


def chunk(text: str, **metadata: Any) -> Passage:
    return passage_of({"text": text, "metadata": metadata})


@pytest.mark.parametrize("source", ["hr/leave.md", "leave.md", "/srv/docs/hr/leave.md", "C:\\docs\\leave.md"])
def test_a_document_is_known_by_its_name_or_the_last_part_of_it(source: str) -> None:
    found = Sources.of(TEXTS, None).place(chunk("25 days", source=source, start_index=9))
    assert found == {"doc_id": "hr/leave.md", "start": 9, "end": 16}


@pytest.mark.parametrize("start", [8, -1, -8, 400, None])
def test_an_offset_that_is_not_right_is_left_out(start: int | None) -> None:
    assert Sources.of(TEXTS, None).place(chunk("25 days", source="leave.md", start_index=start)) == {
        "doc_id": "hr/leave.md"
    }


def test_a_page_that_no_document_has_says_nothing() -> None:
    """Splitters count pages in documents that were loaded whole."""
    place = Sources.of(TEXTS, None).place(chunk("25 days", source="leave.md", page=1, start_index=9))
    assert place == {"doc_id": "hr/leave.md", "start": 9, "end": 16}


def test_of_two_documents_of_one_name_the_offset_tells_which_and_without_it_neither_is_named() -> None:
    sources = Sources.of({"a/x.md": "Leave is 25 days.", "b/x.md": "Leave is 20 days."}, None)
    assert sources.place(chunk("20 days", source="x.md", start_index=9)) == {"doc_id": "b/x.md", "start": 9, "end": 16}
    assert sources.place(chunk("20 days", source="x.md")) == {}
    assert sources.place(chunk("Leave is", source="x.md", start_index=0)) == {}


def test_a_chunk_without_a_file_or_of_another_has_no_document() -> None:
    sources = Sources.of(TEXTS, None)
    assert [sources.place(chunk("25 days", **meta)) for meta in ({}, {"source": "other.md"})] == [{}, {}]


def test_the_parent_that_a_node_names_comes_before_its_file() -> None:
    documents = [
        {"id": "d1", "text": "Leave is 25 days."},
        {"id": "d2", "text": "Sick pay.", "meta": {"source": "x.md"}},
    ]
    sources = Sources.of(documents, None)
    assert sources.texts() == {"d1": "Leave is 25 days.", "x.md": "Sick pay."}
    assert sources.place(Passage("25 days", parent="d1", start=9)) == {"doc_id": "d1", "start": 9, "end": 16}
    assert sources.place(Passage("Sick", parent="d2", start=0)) == {"doc_id": "x.md", "start": 0, "end": 4}


def test_a_file_that_was_loaded_page_by_page_gives_a_document_a_page() -> None:
    pages = [{"text": f"Page {n} text.", "metadata": {"source": "a.pdf", "page": n}} for n in (1, 2)]
    sources = Sources.of(pages, None)
    assert sources.texts() == {"a.pdf#p1": "Page 1 text.", "a.pdf#p2": "Page 2 text."}
    assert sources.place(chunk("text", source="a.pdf", page=2, start_index=7)) == {
        "doc_id": "a.pdf#p2",
        "start": 7,
        "end": 11,
    }


def test_documents_without_a_name_or_with_the_same_get_one_each() -> None:
    sources = Sources.of([{"text": "a"}, {"text": "b"}, *({"text": t, "meta": {"source": "x"}} for t in "cd")], None)
    assert sources.texts() == {"document_1": "a", "document_2": "b", "x": "c", "x#4": "d"}


def test_names_are_relative_to_the_folder_that_was_indexed(tmp_path: Path) -> None:
    (tmp_path / "hr").mkdir()
    (tmp_path / "hr" / "leave.md").write_text("# Leave\n\nLeave is 25 days.\n")
    loaded = Sources.of(None, tmp_path)
    given = Sources.of(
        [{"text": "Leave is 25 days.", "metadata": {"source": str(tmp_path / "hr" / "leave.md")}}], tmp_path
    )
    assert list(loaded.texts()) == list(given.texts()) == ["hr/leave.md"]
    place = loaded.place(chunk("25 days", source=str(tmp_path / "hr" / "leave.md")))
    assert place == {"doc_id": "hr/leave.md"}


def test_what_could_not_be_loaded_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty.md").write_text("")
    assert Sources.of(None, [tmp_path]).warnings == [
        "empty.md: must hold something, got an empty file. Leave it out, or save it again."
    ]


@pytest.mark.parametrize(("documents", "files"), [(None, None), (None, ()), (3, "docs")])
def test_documents_must_come_from_somewhere(documents: Any, files: Any) -> None:
    with pytest.raises(SettingsError, match=r"^documents: must be \{id: text\}, a list of documents, or left out"):
        Sources.of(documents, files)
