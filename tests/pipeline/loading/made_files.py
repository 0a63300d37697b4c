"""Small files of each kind, made here: a PDF byte by byte, a Word file by python-docx."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable, Sequence
from typing import Any


def pdf(pages: Sequence[Sequence[str]], *, encrypted: bool = False) -> bytes:
    """A PDF with these lines on its pages, written to the letter of the format (ISO 32000-1, section 7.5).

    encrypted  it asks for a password, which nobody knows
    """
    kids = [f"{4 + 2 * n} 0 R" for n in range(len(pages))]
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{' '.join(kids)}]/Count {len(kids)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for n, lines in enumerate(pages):
        drawn = "BT /F1 12 Tf 20 280 Td " + "".join(f"({line}) Tj 0 -20 Td " for line in lines) + "ET"
        resources = "/Resources<</Font<</F1 3 0 R>>>>"
        objects.append(f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 500 300]/Contents {5 + 2 * n} 0 R{resources}>>")
        objects.append(f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream")
    extra = ""
    if encrypted:
        objects.append(f"<</Filter/Standard/V 1/R 2/P -44/O<{'41' * 32}>/U<{'42' * 32}>>>")
        extra = f"/Encrypt {len(objects)} 0 R/ID[<00><00>]"
    written, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    count = len(objects) + 1
    end = f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<</Size {count}/Root 1 0 R{extra}>>\n"
    return written + f"{end}startxref\n{len(written)}\n%%EOF\n".encode("latin-1")


def word(fill: Callable[[Any], object]) -> bytes:
    """A Word file that python-docx wrote after `fill(document)`."""
    import docx

    document = docx.Document()
    fill(document)
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def changed(data: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """The zip archive with one of its files changed."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        for file in old.infolist():
            content = old.read(file)
            new.writestr(file.filename, change(content) if file.filename == name else content)
    return written.getvalue()


def with_size_of(data: bytes, size: int) -> bytes:
    """The zip archive, of which the list says that its first file unpacks to so many bytes."""
    at = data.index(b"PK\1\2")
    return data[: at + 24] + struct.pack("<I", size) + data[at + 28 :]
