"""Where a text may be cut, and how large the pieces are."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.chunking.documents import TEXTS

from rag_titan.pipeline.chunking import pieces as module
from rag_titan.pipeline.chunking.pieces import extends, pieces_of


def pieces(text: str, unit: str = "words", size: int = 100) -> list[str]:
    found = pieces_of(text, unit, size)
    return [text[start:end] for start, end in zip(found.starts, found.ends, strict=True)]


def words(text: str) -> list[str]:
    """What is cut last."""
    found = pieces_of(text, "words", 100)
    ends = [*found.words[1:], len(found.starts)]
    return [text[found.starts[a] : found.ends[b - 1]] for a, b in zip(found.words, ends, strict=True)]


def test_a_word_keeps_the_signs_around_it() -> None:
    assert pieces("(One) «two», 3.5 %!") == ["(One)", "«two»,", "3.", "5", "%!"]
    assert pieces('f(x,[y]):"z"') == ["f", "(x,", '[y]):"', 'z"']
    assert pieces('"One" **two** #3 —four') == ['"One"', "**two**", "#3", "—four"]
    assert words("(One) f(x,[y]) 3.5 %!") == ["(One)", "f(x,[y])", "3.5", "%!"]


def test_a_script_without_spaces_is_cut_between_characters_and_never_before_a_closing_sign() -> None:
    assert words("他说：「你好。」ok去2019年") == ["他", "说：", "「你", "好。」", "ok", "去", "2019", "年"]
    assert words("สวัสดี") == ["ส", "วั", "ส", "ดี"]


def test_a_word_that_is_too_long_is_cut() -> None:
    assert [len(piece) for piece in pieces("a" * 600)] == [256, 256, 88]
    assert [len(piece) for piece in pieces("." * 300 + "word")] == [256, 44, 4]
    assert pieces("well-known", "characters", 4) == ["well", "-", "know", "n"]
    assert pieces("wells-known", "characters", 6) == ["wells-", "known"]
    assert pieces("abcdefg", "characters", 3) == ["abc", "def", "g"]


def test_sizes() -> None:
    found = pieces_of("One  two-three", "words", 9)
    assert (found.after - found.before).tolist() == [1, 1, 1]
    found = pieces_of("One  two-three", "characters", 9)
    assert (found.after - found.before).tolist() == [3, 4, 5]
    assert found.after[-1] - found.before[0] == 14
    found = pieces_of("One\n\nstrawberry", "tokens", 9)
    assert (found.before.tolist(), found.after.tolist()) == ([0, 2], [1, 5])


def test_tokens_that_reach_over_a_cut() -> None:
    assert pieces("a.b c", "tokens", 9) == ["a.b", "c"]  # ".b" is one token
    assert pieces("a.b c", "tokens", 1) == ["a", ".b", "c"]


@given(text=TEXTS, unit=st.sampled_from(["words", "characters", "tokens"]), size=st.integers(1, 20))
def test_the_pieces_hold_all_but_white_space(text: str, unit: str, size: int) -> None:
    found = pieces_of(text, unit, size)
    assert np.all(found.starts < found.ends)
    assert np.all(found.ends[:-1] <= found.starts[1:])
    assert "".join(pieces(text, unit, size)) == "".join(text.split())
    assert not any(set(piece) & set(" \n\t\u3000") for piece in pieces(text, unit, size))


def test_white_space_is_what_python_says() -> None:
    spaces = {chr(point) for point in range(sys.maxunicode + 1) if chr(point).isspace()}
    assert set(module._SPACES) == spaces


@pytest.mark.parametrize("text", ["e\u0301", "🦜🏽", "👩\u200d", "\u200d👩", "\ud83d\ude00", "ก\u0e34", "☂\ufe0f"])
def test_what_extends_a_character(text: str) -> None:
    assert extends(text, 1)


def test_marks_without_end_are_cut() -> None:
    assert max(map(len, pieces("e" + "\u0301" * 1000, "characters", 20))) == 20
    assert max(map(len, pieces("\u0301" * 1000, "tokens", 20))) <= 20
