"""Files and folders -> documents and warnings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.pipeline.loading.made_files import changed, pdf, word

from rag_titan.errors import DatasetError, MissingExtraError, SettingsError
from rag_titan.evaluation import profile_documents
from rag_titan.pipeline.loading import load
from rag_titan.pipeline.loading.load import load_document, load_documents


def write(folder: Path, **files: str | bytes) -> None:
    """Files by name; "__" stands for "/" and "_" for "."."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def ids(loading: load.Loading) -> list[str]:
    return [document.id for document in loading.documents]


def test_a_folder_is_read_in_order_without_what_is_hidden(tmp_path: Path) -> None:
    write(tmp_path, b_md="# b", a__z_txt="z", a__y_txt="y", c_pdf=pdf([["c"]]), _hidden_md="h", a___git__x_md="x")
    (tmp_path / "~$b.docx").write_bytes(b"owner")
    write(tmp_path, d_docx=word(lambda d: d.add_paragraph("d")), e_html="<p>e")
    loading = load_documents(tmp_path)
    assert ids(loading) == ["a/y.txt", "a/z.txt", "b.md", "c.pdf", "d.docx", "e.html"]
    assert loading.texts() == {
        "a/y.txt": "y",
        "a/z.txt": "z",
        "b.md": "# b",
        "c.pdf": "c",
        "d.docx": "d",
        "e.html": "e",
    }
    assert loading.warnings == []


def test_one_bad_file_stops_nothing(tmp_path: Path) -> None:
    good = word(lambda d: d.add_paragraph("text"))
    write(
        tmp_path, a_pdf=b"", b_pdf=b"%PDF-1.4 nothing", c_docx=good[: len(good) // 2], d_txt=b"\0\1\2", e_txt="good",
        f_docx=changed(good, "word/document.xml", lambda xml: xml[:100]), g_pdf=pdf([[]]), h_txt=pdf([["h"]]),
        i_docx=changed(good, "word/document.xml", lambda xml: xml.replace(b"<w:body>", b"<w:body>" + b"<w:p>" * 5000)),
    )  # fmt: skip
    loading = load_documents(tmp_path)
    assert ids(loading) == ["e.txt", "g.pdf", "h.txt"]
    named = [warning.partition(": must ")[0] for warning in loading.warnings]
    assert named == ["a.pdf", "b.pdf", "c.docx", "d.txt", "f.docx", "g.pdf", "h.txt", "i.docx"]
    assert all(warning.endswith(".") and "\n" not in warning and ", got " in warning for warning in loading.warnings)
    assert "XMLSyntaxError" in loading.warnings[4]
    assert "wrongly named" in loading.warnings[6]
    assert [len(document.warnings) for document in loading.documents] == [0, 1, 1]


def test_data_and_code_in_a_folder_are_read_only_when_they_are_named(tmp_path: Path) -> None:
    write(tmp_path, golden_json="[]", notes_txt="x", README="y", scan_xyz=pdf([["z"]]))
    loading = load_documents(tmp_path)
    assert ids(loading) == ["README", "notes.txt", "scan.xyz"]
    assert (loading.warnings, loading.left_out) == ([], ["golden.json"])
    assert loading.notes() == [
        "files of the folder that are no documents by their names were left out: golden.json. "
        "Give a file itself to have it read."
    ]
    assert load_documents([tmp_path / "golden.json"]).texts() == {"golden.json": "[]"}


def test_the_golden_questions_are_no_document(tmp_path: Path) -> None:
    write(tmp_path, golden_csv="id,question", other_csv="a,b", golden_json="[]", notes_txt="x")
    table, data = tmp_path / "golden.csv", tmp_path / "golden.json"
    told = "holds the golden questions, and was not read as a document."
    assert ids(load_documents(tmp_path)) == ["golden.csv", "notes.txt", "other.csv"]
    for files in (tmp_path, [tmp_path / "other.csv", tmp_path / "notes.txt", tmp_path / "x" / ".." / "golden.csv"]):
        (tmp_path / "x").mkdir(exist_ok=True)
        loading = load_documents(files, golden=str(table))
        assert sorted(ids(loading)) == ["notes.txt", "other.csv"]
        assert loading.warnings == [f"{table}: {told}"]
    loading = load_documents(tmp_path, golden=data)  # its name is that of data anyway
    assert (loading.warnings, loading.left_out) == ([], [])
    assert load_documents([tmp_path / "notes.txt", data], golden=data).warnings == [f"{data}: {told}"]
    assert ids(load_documents(tmp_path, golden=[{"id": "q", "question": "Which?"}])) == ids(load_documents(tmp_path))


def test_ids_are_paths_below_what_was_given_or_below_the_root(tmp_path: Path) -> None:
    write(tmp_path, x__a_md="xa", y__a_md="ya", y__b_md="yb")
    several = load_documents([tmp_path / "x", tmp_path / "y", str(tmp_path / "x" / "a.md")])
    assert ids(several) == ["a.md", (tmp_path / "y" / "a.md").as_posix(), "b.md"]
    assert ids(load_documents([tmp_path / "y" / "b.md"])) == ["b.md"]
    assert ids(load_documents([tmp_path / "x", tmp_path / "y"], root=tmp_path)) == ["x/a.md", "y/a.md", "y/b.md"]
    with pytest.raises(SettingsError, match="root: must be a folder above"):
        load_documents(tmp_path / "x", root=tmp_path / "y")


def test_a_path_that_is_nothing_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.md").symlink_to("nowhere")
    write(tmp_path, in__a_md="a")
    (tmp_path / "in" / "up").symlink_to(tmp_path / "in")
    os.mkfifo(tmp_path / "in" / "pipe")
    loading = load_documents([tmp_path / "no", tmp_path / "pipe", tmp_path / "link.md", tmp_path / "in"])
    assert ids(loading) == ["a.md"]
    got = [warning.partition(", got ")[2].partition(".")[0] for warning in loading.warnings]
    assert got == [
        "nothing there", "a device, a pipe or a socket", "nothing there",
        "a broken link, a device or nothing there",
    ]  # fmt: skip


def test_what_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied")

    write(tmp_path, a_md="a", c__d_md="d")
    monkeypatch.setattr(Path, "open", refuse)
    assert load_documents(tmp_path).warnings[0] == (
        "a.md: must be readable, got: Permission denied. Check its permissions."
    )
    monkeypatch.setattr(Path, "iterdir", refuse)
    assert load_documents(tmp_path).warnings == [
        f"{tmp_path}: must be readable, got: Permission denied. Check its permissions."
    ]


def test_a_name_that_is_no_utf8_can_be_written(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/caf\xe9.md", "wb") as file:
        file.write(b"x")
    assert json.dumps(ids(load_documents(tmp_path)), ensure_ascii=False).encode() == '["caf\ufffd.md"]'.encode()


def test_deep_folders_are_read(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["d"] * 200)
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("deep")
    assert ids(load_documents(tmp_path)) == ["d/" * 200 + "a.md"]


def test_too_large_a_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "MOST_BYTES", 3)
    write(tmp_path, a_txt="abcd", b_txt="abc")
    loading = load_documents(tmp_path)
    assert ids(loading) == ["b.txt"]
    assert "a.txt: must be at most 0 MB, got more" in loading.warnings[0]


def test_one_file_alone(tmp_path: Path) -> None:
    write(tmp_path, a_md="# A")
    document = load_document(tmp_path / "a.md", "hr/a.md")
    assert (document.id, document.text, [mark.label for mark in document.marks]) == ("hr/a.md", "# A", ["A"])
    with pytest.raises(DatasetError, match=r"b\.md: must be a file"):
        load_document(tmp_path / "b.md")


def test_an_absent_library_stops_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a_docx=word(lambda d: d.add_paragraph("x")))
    monkeypatch.setitem(sys.modules, "docx", None)
    with pytest.raises(MissingExtraError, match="python-docx is not installed"):
        load_documents(tmp_path)


def test_records_are_what_the_profile_takes(tmp_path: Path) -> None:
    write(tmp_path, hr__scan_pdf=pdf([[]]), hr__leave_txt="25 days", README="read me")
    loading = load_documents(tmp_path)
    assert loading.records() == [
        {"id": "README", "text": "read me"},
        {"id": "hr/leave.txt", "text": "25 days", "category": "txt"},
        {"id": "hr/scan.pdf", "text": "", "category": "pdf"},
    ]
    assert [record.get("category") for record in loading.records("folder")] == [None, "hr", "hr"]
    with pytest.raises(SettingsError, match="category: must be 'suffix' or 'folder', got 'kind'"):
        loading.records("kind")
    profile = profile_documents(loading.records(), min_words=1)
    assert profile["issues"] == {"hr/scan.pdf": ["empty", "no text layer"]}
    assert profile["categories"] == {"pdf": 1, "txt": 1}


def test_no_library_is_loaded_before_there_is_a_file_for_it() -> None:
    code = (
        "import sys, rag_titan.pipeline.loading.load\n"
        "print([n for n in ('pypdfium2', 'docx', 'markdown_it', 'lxml') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
