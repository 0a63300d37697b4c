"""The passage that a lost quote was taken from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.preparation.near_misses import Passage, differences, fold, near_misses

TEXT = (
    "Every full-time employee gets\n   20 paid leave days per calendar year. “Carry-over” is limited to 5\u00a0days.\n"
    "Die Größe der E\ufb03zienz — siehe Cafe\u0301. Sick pay is full salary for ten days, then half of it for ten more."
)


def nearest(quote: str, text: str = TEXT) -> Passage | None:
    passage = near_misses([quote], Documents.of({"other": "nothing " * 300, "d": text}))[0]
    assert passage is None or (passage.document == 1 and text[passage.start : passage.end] == passage.text)
    return passage


@pytest.mark.parametrize(
    ("quote", "text", "differs"),
    [
        ("employee gets 20 paid leave", "employee gets\n   20 paid leave", ("white space",)),
        ("5 days.", "5\u00a0days.", ("white space",)),
        ('"Carry-over" is', "“Carry-over” is", ("quote marks or dashes",)),
        ("EVERY FULL-TIME", "Every full-time", ("case",)),
        ("Effizienz - siehe", "E\ufb03zienz — siehe", ("Unicode form", "quote marks or dashes")),
        ("siehe Caf\u00e9.", "siehe Cafe\u0301.", ("Unicode form",)),
        ("GRÖSSE der", "Größe der", ("Unicode form", "case")),
    ],
)
def test_what_differs_in_form_alone(quote: str, text: str, differs: tuple[str, ...]) -> None:
    passage = nearest(quote)
    assert passage is not None
    assert (passage.text, passage.differs_in) == (text, differs)


def test_what_differs_in_words() -> None:
    passage = nearest("Sick pay is the full salary for ten days, and then half")
    assert passage is not None
    assert passage.text == "Sick pay is full salary for ten days, then half"
    assert passage.differs_in == ()


@pytest.mark.parametrize("quote", ["nothing of the kind stands in any of these", "zzz", "x", "…"])
def test_what_is_nowhere(quote: str) -> None:
    assert nearest(quote, TEXT) is None


@pytest.mark.parametrize("filler", [" Stra\u00dfe", "ﬁ\u00a0 ", "x"])
def test_a_place_far_inside_a_long_document(filler: str) -> None:
    text = filler * 2000 + "\nSick pay IS\tfull." + filler * 2000
    passage = near_misses(["sick pay is full."], Documents.of({"d": text}))[0]
    assert passage is not None
    assert (passage.start, passage.text) == (len(filler) * 2000 + 1, "Sick pay IS\tfull.")


def test_no_quotes_and_no_documents() -> None:
    assert near_misses([], Documents.of({"d": TEXT})) == []
    assert near_misses(["some words of a quote"], Documents.of({})) == [None]


LETTERS = ["a", "B", "é", "e\u0301", " ", "\u00a0", "\n", "“", '"', "-", "–", "ﬁ"]
WORDS = st.lists(st.sampled_from(LETTERS), min_size=1, max_size=40).map("".join)


@given(st.lists(WORDS, min_size=1, max_size=4), st.data())
def test_a_piece_of_a_document_in_another_form_is_found_in_it(texts: list[str], data: st.DataObject) -> None:
    """Whatever is cut out of a document, folded, is found, and what is found folds to the same."""
    documents = Documents.of({str(i): text * 30 for i, text in enumerate(texts)})
    text = data.draw(st.sampled_from(documents.texts))
    start = data.draw(st.integers(0, len(text) - 1))
    quote = fold(text)[start : start + 20].upper()
    passage = near_misses([quote], documents)[0]
    if fold(quote):
        assert passage is not None
        assert fold(quote) in fold(passage.text)


def test_differences_are_none_but_those_needed() -> None:
    assert differences("a b", "a  b") == ("white space",)
    assert differences("A  b", "a b") == ("white space", "case")
