"""Bytes -> text."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.pipeline.loading.text import decoded, text_document

TEXT = "Naïve café, 25 €\r\nשלום 日本 😀\n"


@pytest.mark.parametrize(
    ("bom", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_says_the_encoding(bom: bytes, encoding: str) -> None:
    assert decoded(bom + TEXT.encode(encoding)) == (TEXT, "")


@given(st.text())
def test_utf8_is_read_as_it_stands(text: str) -> None:
    assert decoded(b"\xef\xbb\xbf" + text.encode())[0] == text.replace("\0", "\ufffd")


@given(st.binary())
def test_whatever_the_bytes_there_is_a_text(data: bytes) -> None:
    text, _ = decoded(data)
    text.encode("utf-8")


def test_other_bytes_are_windows_1252_with_a_warning() -> None:
    assert text_document("a.txt", "5 € für Käse".encode("cp1252")).text == "5 € für Käse"
    _, warning = decoded(b"caf\xe9 \x81 \x8d")
    assert warning == (
        "must be UTF-8, got other bytes. They were read as Windows-1252, but for 2 places that mean nothing there;"
        " save the file as UTF-8."
    )


def test_utf8_with_damage_stays_utf8() -> None:
    text, warning = decoded("größer und schöner, für alle".encode() + b"\xc3")
    assert text == "größer und schöner, für alle\ufffd"
    assert warning == "must be UTF-8 throughout, got 1 place that cannot be read. Save the file again."


def test_half_a_sign_of_utf16_is_damage() -> None:
    text, warning = decoded(codecs.BOM_UTF16_LE + "ab".encode("utf-16-le") + b"c")
    assert text == "ab\ufffd"
    assert warning.startswith("must be UTF-16 throughout")


def test_zero_bytes_in_a_text_are_named_and_cost_no_more_than_themselves() -> None:
    assert decoded(b"a\0b\0") == (
        "a\ufffdb\ufffd",
        "must hold no zero bytes, got 2. Save the file again without them.",
    )


def test_white_space_alone_is_said() -> None:
    assert text_document("a.txt", b" \n\t").warnings == [
        "a.txt: must hold text, got none but white space. Leave it out."
    ]


def test_a_hundred_megabytes_are_read() -> None:
    data = b"twenty-five days a year\n" * (100 * 2**20 // 24)
    document = text_document("a.txt", data)
    assert (len(document.text), document.warnings) == (len(data), [])
