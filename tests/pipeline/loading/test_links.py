"""Links in a folder of documents: what they lead to inside it is read, what they lead to outside it is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rag_titan.errors import SettingsError
from rag_titan.evaluation import read_documents
from rag_titan.evaluation.data.notices import Notices
from rag_titan.pipeline.loading.load import load_documents
from rag_titan.pipeline.titan import RAGTitan


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder, outside = tmp_path / "docs", tmp_path / "outside"
    (folder / "hr").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.md").write_text("SECRET")
    (folder / "hr" / "leave.md").write_text("Leave is 25 days.")
    (folder / "again.md").symlink_to(folder / "hr" / "leave.md")
    (folder / "passwd.md").symlink_to(os.path.relpath(outside / "secret.md", folder))
    (folder / "away").symlink_to(outside)
    return folder


def test_a_link_out_of_the_folder_is_named_and_not_read(docs: Path) -> None:
    loading = load_documents(docs)
    assert loading.texts() == {"again.md": "Leave is 25 days."}  # one file under two names is read once
    rule = "must be in the folder, got a link that leads out of it. Give what it leads to by its own path."
    assert loading.warnings == [f"{docs / 'away'}: {rule}", f"{docs / 'passwd.md'}: {rule}"]


def test_the_folder_itself_and_a_file_that_is_given_may_be_links(docs: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(docs)
    assert set(load_documents(tmp_path / "link").texts()) == {"again.md"}
    assert load_documents(docs / "passwd.md").texts() == {"passwd.md": "SECRET"}
    assert set(read_documents(tmp_path / "link")) == {"again.md", "hr/leave.md"}


def test_the_reader_of_texts_follows_the_same_links(docs: Path) -> None:
    notices = Notices()
    assert set(read_documents(docs, notices)) == {"again.md", "hr/leave.md"}
    assert notices.texts() == ["links that lead out of the folder were not followed: passwd.md."]


@pytest.mark.parametrize("files", ["", [""], ["docs", ""]])
def test_an_empty_path_is_not_the_current_folder(files: str | list[str]) -> None:
    pytest.importorskip("bm25s")
    said = r"files: must be paths of files or folders, got an empty text. Write '\.' for this folder."
    with pytest.raises(SettingsError, match=said):
        load_documents(files)
    with pytest.raises(SettingsError, match=said):
        RAGTitan(settings={"retriever": "bm25"}).evaluate_stages(files, [{"id": "g", "question": "How many days?"}])
