"""What a file is."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.loading.made_files import pdf, with_size_of, word

from rag_titan.errors import DatasetError
from rag_titan.pipeline.loading.kinds import HTML, MARKDOWN, PDF, TEXT, WORD, kind_of, suffix_of, wrongly_named


def archive(*names: str, content: bytes = b"x") -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        for name in names:
            file.writestr(name, content)
    return written.getvalue()


WORD_FILE = ("[Content_Types].xml", "word/document.xml")


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.txt", pdf([["x"]]), PDF),
        ("a.pdf", b"\n\njunk before %PDF-1.7", PDF),
        ("a.pdf", archive(*WORD_FILE), WORD),
        ("a.md", b"\xef\xbb\xbf <?xml version='1.0'?>\n<!-- a -->\n<!DOCTYPE  HTML>", HTML),
        ("a.txt", b"<html lang=en>", HTML),
        ("a.html", b"no tag at all", HTML),
        ("a.md", b"# a", MARKDOWN),
        ("a.md", b"# a\0 " + b"text " * 20, MARKDOWN),
        ("a.md", b"A file that begins with %PDF-1.7 is a PDF.", MARKDOWN),
        ("a.txt", b"BZhang writes of GIF89 and PAR1", TEXT),
        ("a.md", b"<div align=center>a picture</div>\n\n# a", MARKDOWN),
        ("a.docx", b"plain text", TEXT),
        ("README", b"plain text", TEXT),
        ("a.json", b"{}", TEXT),
        ("a.txt", "ä\0".encode("utf-16"), TEXT),
        ("a.txt", b"\x1b[1mbold\x1b[0m", TEXT),
    ],
)
def test_the_content_decides(name: str, data: bytes, kind: str) -> None:
    assert kind_of(name, data) == kind


@pytest.mark.parametrize(
    ("name", "data", "got"),
    [
        ("a.txt", b"", "got an empty file"),
        ("a.txt", archive("a.txt"), "got a zip archive"),
        ("a.docx", archive("[Content_Types].xml", "xl/workbook.xml"), "got a workbook"),
        ("a.docx", archive("[Content_Types].xml", "ppt/presentation.xml"), "got slides"),
        ("a.docx", archive("mimetype", "content.xml"), "got an OpenDocument file"),
        ("a.docx", archive("mimetype", "META-INF/container.xml"), "got an e-book"),
        ("a.docx", archive(*WORD_FILE)[:40], "a whole Word file, got a truncated"),
        ("a.bin", archive("a.txt")[:40], "a whole archive, got a truncated"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "got an old one"),
        ("a.docx", b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "got an encrypted one"),
        ("a.pdf", b"\x89PNG\r\n\x1a\n", r"a picture \(PNG\)"),
        ("a.rtf", b"{\\rtf1", "rich text"),
        ("a.gz", b"\x1f\x8b\x08", "a gzip archive"),
        ("a.txt", "a b".encode("utf-16-le"), "UTF-16 without a byte order mark"),
        ("a.txt", bytes(range(1, 32)) * 3, "binary data of an unknown kind"),
    ],
)
def test_what_is_no_document_is_named(name: str, data: bytes, got: str) -> None:
    with pytest.raises(DatasetError, match=rf"^{name}: must .*{got}.*\."):
        kind_of(name, data)


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    data = archive(*WORD_FILE, content=b"\0" * (33 << 20))
    assert len(data) < 100_000
    with pytest.raises(DatasetError, match=r"must unpack to at most 64 MB, got 66 MB from 6\d kB"):
        kind_of("a.docx", data)


def test_an_archive_that_lies_about_its_sizes_is_refused_by_what_it_says() -> None:
    with pytest.raises(DatasetError, match="got 4095 MB"):
        kind_of("a.docx", with_size_of(archive(*WORD_FILE), 2**32 - 2))


def test_a_large_file_of_pictures_is_no_bomb() -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as file:
        for name in (*WORD_FILE, "word/media/a.png"):
            file.writestr(name, bytes(34 << 20) if name.endswith("png") else b"x")
        file.writestr("word/media/b.png", bytes(34 << 20))
    assert kind_of("a.docx", written.getvalue()) == WORD


def test_every_word_file_is_one() -> None:
    assert kind_of("a", word(lambda document: document.add_paragraph("x"))) == WORD


@pytest.mark.parametrize(
    ("name", "suffix"), [("a/b.c/D.PDF", ".pdf"), ("a.b/README", ""), (".hidden", ""), ("a.tar.gz", ".gz"), ("a.", ".")]
)
def test_the_end_of_a_name(name: str, suffix: str) -> None:
    assert suffix_of(name) == suffix


def test_a_wrong_name_is_said() -> None:
    assert wrongly_named("a.txt", PDF) == (
        "a.txt: must be text, as its name says, got a PDF: it is wrongly named. It was read as a PDF; rename it."
    )
    assert [wrongly_named(*given) for given in [("a.pdf", PDF), ("a.unknown", PDF), ("a.md", TEXT)]] == [None] * 3


MAGICS = [b"", b"%PDF-", b"PK\3\4", b"\xd0\xcf\x11\xe0", b"<html>", b"\xff\xfe"]


@given(st.binary(max_size=300), st.sampled_from(MAGICS))
def test_any_bytes_have_a_kind_or_a_reason(data: bytes, magic: bytes) -> None:
    with suppress(DatasetError):
        assert kind_of("a.docx", magic + data) in (PDF, WORD, HTML, TEXT)
