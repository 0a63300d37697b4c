"""Lines, events and JSON, whatever the pieces they come in."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.models.refusals import Unusable
from rag_titan.models.streams import events, first_byte, json_object, lines, well_formed


@st.composite
def cut_up(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> tuple[bytes, list[bytes]]:
    """Bytes, and the same bytes in pieces, empty ones among them."""
    data = draw(whole)
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return data, [data[a:b] for a, b in pairwise([0, *cuts, len(data)])]


@given(cut_up(st.text(alphabet="ab\n\r\u00e9\u4e16\U0001f600").map(str.encode)))
def test_lines_are_those_of_the_whole(case: tuple[bytes, list[bytes]]) -> None:
    data, parts = case
    wanted = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    assert list(lines(parts)) == (wanted if data and not data.endswith(b"\n") else wanted[:-1])


@given(cut_up(st.lists(st.text(alphabet="é世\U0001f600 a"), max_size=5).map(
    lambda texts: "".join(f"data: x{text}\r\n\r\n" for text in texts).encode())))  # fmt: skip
def test_events_do_not_depend_on_the_pieces(case: tuple[bytes, list[bytes]]) -> None:
    data, parts = case
    assert list(events(parts)) == [e.removeprefix(b"data: ") for e in data.split(b"\r\n\r\n") if e]


def test_an_event_of_several_lines_is_joined_and_all_else_left_out() -> None:
    stream = b": a comment\nevent: token\nid: 7\ndata:one\ndata: two\n\nretry: 9\n\ndata: three"
    assert list(events([stream])) == [b"one\ntwo", b"three"]


def test_a_line_that_comes_in_many_pieces_is_put_together_once() -> None:
    assert list(lines([b"x"] * 100_000 + [b"\ny"])) == [b"x" * 100_000, b"y"]


def test_the_first_byte_is_found_behind_white_space() -> None:
    parts = iter([b"\xef\xbb\xbf \r\n", b"  ", b"\n {", b"}"])
    assert first_byte(parts) == (b"{", [b"\xef\xbb\xbf \r\n", b"  ", b"\n {"])
    assert list(parts) == [b"}"]
    assert first_byte(iter([b" "])) == (b"", [b" "])


@pytest.mark.parametrize(
    ("data", "kind", "got"),
    [
        (b"<!DOCTYPE html><p>Hello", "", "an HTML page (<!DOCTYPE html><p>Hello)"),
        (b"gateway", "text/html; charset=utf-8", "an HTML page (gateway)"),
        (b"  ", "application/json", "nothing"),
        (b"{'a': 1}", "", "\"{'a': 1}\""),
        (b"[1]", "", "'[1]'"),
        (b"[" * 100_000, "", "'" + "[" * 200 + "…'"),
        (b"9" * 5000, "", "'" + "9" * 200 + "…'"),
        (b"\xff\xfe", "", "'��'"),
    ],
)
def test_what_is_no_json_object_is_named(data: bytes, kind: str, got: str) -> None:
    with pytest.raises(Unusable) as caught:
        json_object(data, kind)
    assert caught.value.got == got
    assert not caught.value.again


def test_an_object_is_read_also_behind_a_byte_order_mark() -> None:
    assert json_object(b'\xef\xbb\xbf{"a": "\xc3\xa9"}') == {"a": "é"}


@given(st.text(alphabet=st.characters(codec=None)))
def test_a_well_formed_text_can_be_written(text: str) -> None:
    well_formed(text).encode()


@given(st.text())
def test_a_text_without_surrogates_stays_as_it_is(text: str) -> None:
    assert well_formed(text) == text
