"""How an error names places and values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rag_titan.evaluation.data.plain import Place, keys_of, plain, quoted, shown
from rag_titan.evaluation.data.records import Claim


class NAType:
    """Named as the missing value of pandas."""


class Unknown:
    pass


def test_places_are_named_from_the_outside_in() -> None:
    record = Place("line 12", ": ")
    assert record.field("tags").key("a b").where == 'line 12: tags["a b"]'
    assert (
        record.field("expected_evidence").item(0).field("any_of").item(1).where
        == "line 12: expected_evidence[0].any_of[1]"
    )
    assert Place("queries[0]").key("\ud800").where == 'queries[0]["\ufffd"]'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"), (True, "true"), (np.False_, "false"), (3, "the number 3"), (2.5, "the number 2.5"),
        (math.nan, "NaN"), (-math.inf, "a number of more than 40 digits"), (10**400, "a number of more than 40 digits"),
        ("a\nb", 'the text "a\\nb"'), ((), "a list"), ({}, "an object"), (b"x", "a bytes"), (Unknown(), "a Unknown"),
    ],
)  # fmt: skip
def test_values_as_errors_show_them(value: Any, text: str) -> None:
    assert shown(value) == text


def test_long_texts_are_cut_and_broken_ones_mended() -> None:
    assert quoted("x" * 100) == '"' + "x" * 39 + '…"'
    assert quoted("\ud800") == '"\ufffd"'
    assert keys_of({}) == "no keys"
    assert keys_of({"\ud800" * 50: 1}) == "the key " + "\ufffd" * 39 + "…"


def test_plain_values() -> None:
    assert plain(Claim(supported=True)) == {"supported": True, "text": None}
    assert plain(NAType()) is None
    assert plain(np.datetime64("NaT")) is None
    assert plain(np.datetime64("2026-01-02")) == "2026-01-02"
    assert plain(range(2)) == [0, 1]
    unknown = Unknown()
    assert plain(unknown) is unknown
