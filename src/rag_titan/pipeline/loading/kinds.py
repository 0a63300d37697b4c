"""What a file is: by its content first, and by the end of its name only where the content leaves it open."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib

from rag_titan.errors import DatasetError

PDF, WORD, HTML, MARKDOWN, TEXT = "a PDF", "a Word file", "HTML", "Markdown", "text"

SUFFIXES = {
    **dict.fromkeys((".pdf",), PDF),
    **dict.fromkeys((".docx",), WORD),
    **dict.fromkeys((".html", ".htm", ".xhtml"), HTML),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), MARKDOWN),
    **dict.fromkeys((".txt", ".text", ".rst", ".adoc", ".org", ".tex", ".log", ".csv", ".tsv", ""), TEXT),
}
"""{the end of a name: what the file should be}"""

MOST_UNPACKED = 1 << 26  # bytes of XML, of which each takes up to twenty in memory
TIGHTLY = 4  # how many times its size a file unpacks to that counts for this: pictures are hardly packed at all
_START = 1 << 13
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")

_FOREIGN = {
    b"{\\rtf": "rich text (.rtf). Save it as .docx.",
    b"\x89PNG": "a picture (PNG). Run text recognition on it first.",
    b"\xff\xd8\xff": "a picture (JPEG). Run text recognition on it first.",
    b"GIF89a": "a picture (GIF). Run text recognition on it first.",
    b"II*\0": "a picture (TIFF). Run text recognition on it first.",
    b"MM\0*": "a picture (TIFF). Run text recognition on it first.",
    b"\x1f\x8b": "a gzip archive. Unpack it first.",
    b"BZh91AY&SY": "a bzip2 archive. Unpack it first.",
    b"\xfd7zXZ": "an xz archive. Unpack it first.",
    b"\x28\xb5\x2f\xfd": "a zstandard archive. Unpack it first.",
    b"7z\xbc\xaf": "a 7z archive. Unpack it first.",
    b"Rar!\x1a\x07": "a rar archive. Unpack it first.",
    b"PAR1\x15": "a Parquet file. It is data, not a document.",
    b"SQLite format 3\0": "an SQLite database. It is data, not a document.",
}
_HTML = re.compile(rb"(?:\s|<\?xml[^>]*>|<!--.*?-->)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_ZIPS = {
    "xl/": "a workbook (.xlsx). Save its sheets as .csv or .html.",
    "ppt/": "slides (.pptx). Save them as a PDF.",
    "content.xml": "an OpenDocument file. Save it as .docx or PDF.",
    "META-INF/container.xml": "an e-book (.epub). Unpack it: the texts in it are HTML.",
}


def kind_of(name: str, data: bytes) -> str:
    """PDF, WORD, HTML, MARKDOWN or TEXT; DatasetError for an empty file and for what is none of these."""
    start = data[:_START]
    if not data:
        raise DatasetError(name, "must hold something, got an empty file. Leave it out, or save it again.")
    wanted = SUFFIXES.get(suffix_of(name))
    if start.lstrip().startswith(b"%PDF-") or (wanted == PDF and b"%PDF-" in start[:1024]):
        return PDF  # readers of PDF pass over what stands before it; a text may speak of it
    if start.startswith((b"PK\3\4", b"PK\5\6")):
        return _in_zip(name, data)
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        got = "an encrypted one. Save it without a password." if _ENCRYPTED in data else "an old one. Save it as .docx."
        raise DatasetError(name, f"must be a document of today's Office, got {got}")
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise DatasetError(name, f"must be a document that can be read, got {what}")
    if _HTML.match(start.removeprefix(b"\xef\xbb\xbf")):
        return HTML
    _refuse_binary(name, start)
    return wanted if wanted in (HTML, MARKDOWN) else TEXT


def suffix_of(name: str) -> str:
    """The end of a name, from its last full stop, in small letters: ".md"; "" where there is none."""
    stem, dot, end = name.rpartition("/")[2].rpartition(".")
    return f".{end.lower()}" if dot and stem else ""


def wrongly_named(name: str, kind: str) -> str | None:
    """The warning for a file whose name says that it is something else."""
    wanted = SUFFIXES.get(suffix_of(name), kind)
    if kind == wanted or (kind == TEXT and wanted == MARKDOWN):
        return None
    got = f"got {kind}: it is wrongly named. It was read as {kind}; rename it."
    return f"{name}: must be {wanted}, as its name says, {got}"


def _in_zip(name: str, data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = archive.infolist()
    except (zipfile.BadZipFile, zlib.error, struct.error, ValueError, NotImplementedError, OSError):
        is_word = b"word/" in data or suffix_of(name) == ".docx"
        whole = "a whole Word file" if is_word else "a whole archive"
        raise DatasetError(name, f"must be {whole}, got a truncated or broken one. Save it again.") from None
    names = [file.filename for file in files]
    if "[Content_Types].xml" not in names or not any(n.startswith("word/") for n in names):
        got = (what for mark, what in _ZIPS.items() if any(n.startswith(mark) for n in names))
        found = next(got, "a zip archive. Unpack it first.")
        raise DatasetError(name, f"must be a document that can be read, got {found}")
    _refuse_bomb(name, files, len(data))
    return WORD


def _refuse_bomb(name: str, files: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse what would fill the memory. The sizes may be believed: zipfile stops at those that it was told."""
    tight = sum(file.file_size for file in files if file.file_size > TIGHTLY * file.compress_size)
    if sum(file.compress_size for file in files) > size:
        raise DatasetError(name, "must be a whole Word file, got one whose parts are larger than it. Save it again.")
    if tight > MOST_UNPACKED:
        got = f"{tight >> 20} MB from {size >> 10} kB"
        raise DatasetError(name, f"must unpack to at most {MOST_UNPACKED >> 20} MB, got {got}. Save it as a PDF.")


def _refuse_binary(name: str, start: bytes) -> None:
    if start.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
        return
    controls = sum(byte < 9 or 13 < byte < 27 for byte in start)
    if controls <= len(start) // 50:
        return
    kind = "zero bytes: binary data of an unknown kind, or UTF-16 without a byte order mark. Save it as UTF-8."
    got = kind if b"\0" in start else "binary data of an unknown kind. Leave it out."
    raise DatasetError(name, f"must be text or a document, got {got}")
