"""What a token is, against the rule spelt out character by character."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import SettingsError
from rag_titan.evaluation.data.tokens import UNSPACED, normal, token_spans, words

TRICKY = st.sampled_from(
    "aB1_ .,-\t\n'éßİΣς²½٣१क्षिी你々ーアﾞสวัน้ຂໃខ្មែမြန်\u0301\u200c\u200d\ufe0f❤\ufeff\u3000\xa0\U00020000\ud800"
)
TEXTS = st.text(TRICKY | st.characters(), max_size=25)


def is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def is_letter(char: str) -> bool:
    return char.isalnum() or char == "_"


def is_unspaced(char: str) -> bool:
    return is_letter(char) and any(first <= ord(char) <= last for first, last in UNSPACED)


def slow_spans(text: str) -> list[tuple[int, int]]:
    """A token starts at a letter and takes in marks, joiners with something behind them, and, with spaces, letters."""
    spans, at = [], 0
    while at < len(text):
        start = at
        at += 1
        if not is_letter(text[start]):
            continue
        alone = is_unspaced(text[start])
        while at < len(text):
            ahead = at
            while ahead < len(text) and text[ahead] in "\u200c\u200d":
                ahead += 1
            if ahead == len(text):
                break
            joins = is_letter(text[ahead]) and not alone and not is_unspaced(text[ahead])
            if not joins and not is_mark(text[ahead]):
                break
            at = ahead + 1
        spans.append((start, at))
    return spans


def spans_of(text: str, tokenizer: object = "unicode") -> list[tuple[int, int]]:
    starts, ends = token_spans(text, tokenizer)  # type: ignore[arg-type]  # what a caller may get wrong
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


@given(TEXTS)
def test_tokens_are_found_in_the_text_as_it_is(text: str) -> None:
    assert spans_of(text) == slow_spans(text)


@given(TEXTS)
def test_words_are_the_normalised_texts_of_the_spans(text: str) -> None:
    expected = [unicodedata.normalize("NFC", text[start:end].lower()) for start, end in slow_spans(text)]
    assert words().tokens(text) == expected


@given(TEXTS)
def test_the_plain_tokenizer_is_the_word_pattern_of_python(text: str) -> None:
    assert spans_of(text, "word") == [m.span() for m in re.finditer(r"\w+", text)]
    assert words("word").tokens(text) == [normal(word) for word in re.findall(r"\w+", text)]


@given(st.text(st.characters(max_codepoint=127), max_size=30))
def test_ascii_text_takes_a_way_of_its_own_to_the_same_spans(text: str) -> None:
    assert spans_of(text) == [m.span() for m in re.finditer(r"[A-Za-z0-9_]+", text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi, Bob!", ["hi", "bob"]),
        ("don't state-of-the-art _x_", ["don", "t", "state", "of", "the", "art", "_x_"]),
        ("Größe: 3,5 m²", ["größe", "3", "5", "m²"]),
        ("हिन्दी नीति", ["हिन्दी", "नीति"]),
        ("你好，世界2024年", ["你", "好", "世", "界", "2024", "年"]),
        ("かタナ", ["か", "タ", "ナ"]),
        ("กินข้าว", ["กิ", "น", "ข้", "า", "ว"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("a\u200d b", ["a", "b"]),
        ("a\u200d\u0301b", ["a\u200d\u0301b"]),
        ("你\u200da", ["你", "a"]),
        ("你\u200d\u0301a", ["你\u200d\u0301", "a"]),
        ("a\u200d你", ["a", "你"]),
        ("!\u200da", ["a"]),
        ("❤\ufe0f ok", ["ok"]),
        ("ΟΔΟΣ", ["οδος"]),
        ("", []),
    ],
)
def test_tokens_by_hand(text: str, expected: list[str]) -> None:
    assert words().tokens(text) == expected


def test_a_word_written_in_two_unicode_forms_is_one_token() -> None:
    assert words().tokens("Cafe\u0301") == words().tokens("CAFÉ") == ["café"]


def test_a_tokenizer_of_your_own_gives_the_spans() -> None:
    def letters(text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i, char in enumerate(text) if char.isalpha()]

    assert spans_of("A b", letters) == [(0, 1), (2, 3)]
    assert words(letters).tokens("A b") == ["a", "b"]
    assert not words(letters).by_piece


@pytest.mark.parametrize("spans", [[(0, 9)], [(1, 1)], [(1, 2), (0, 1)], [(-1, 1)]])
def test_a_tokenizer_that_points_outside_the_text_is_refused(spans: list[tuple[int, int]]) -> None:
    with pytest.raises(SettingsError, match=r"conventions\.tokenizer: must return"):
        token_spans("abc", lambda text: spans)


def test_the_blocks_without_spaces_are_in_order() -> None:
    edges = [edge for block in UNSPACED for edge in block]
    assert edges == sorted(edges)


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (None, r"got None\.$"),
        (3, r"got 3\.$"),
        (["ab"], r"got 'ab' as a token\."),
        (["a", "b", "c"], r"got 'a' as a token\."),
        ([(0, 1, 2)], r"got \(0, 1, 2\) as a token\."),
        ([(0, 1.5)], r"got \(0, 1\.5\) as a token\."),
        ([None], r"got None as a token\."),
    ],
)
def test_a_tokenizer_that_returns_no_spans_is_refused(returned: Any, got: str) -> None:
    with pytest.raises(SettingsError, match=r"^conventions\.tokenizer: must return the tokens .*" + got):
        token_spans("abc", lambda text: returned)


def test_what_a_tokenizer_raises_is_named_and_kept_as_the_cause() -> None:
    with pytest.raises(SettingsError, match=r"^conventions\.tokenizer: .* got a KeyError \('abc'\)\.$") as caught:
        token_spans("abc", lambda text: {}[text])
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_tokenizer_may_return_whole_numbers_of_numpy_and_lists() -> None:
    assert spans_of("a b", lambda text: iter(np.array([[0, 1], [2, 3]]))) == [(0, 1), (2, 3)]
