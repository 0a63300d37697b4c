"""The vocabulary gives the tokens that each split finds in the whole text, however it gets there."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.data import squad, vocabulary
from rag_titan.evaluation.data.numerals import NUMBERS, facts
from rag_titan.evaluation.data.tokens import PLAIN_WORDS, UNICODE_WORDS, Split, words
from rag_titan.evaluation.data.vocabulary import CodedTexts, Vocabularies, Vocabulary
from rag_titan.evaluation.measures.ragged import Ragged

SPLITS = {
    "words": UNICODE_WORDS,
    "plain words": PLAIN_WORDS,
    "official": squad.OFFICIAL,
    "any script": squad.IN_ANY_SCRIPT,
    "with articles": squad.WITH_ARTICLES,
    "numbers": NUMBERS[0],
    "numbers, otherwise": NUMBERS[1],
    "facts": facts()[0],
    "facts, otherwise": facts("word")[1],
}
TRICKY = st.sampled_from(
    " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2028\u3000\x00aA.,-%'’1052ΑΣσéß\u0301\u200d你क्ษ३\ud800—"
)
WORDS = st.sampled_from(["the", "A", "an", "U.S.", "don't", "3.5", "1,000", "-5", "20%", "l’a", "the—cat", "ΟΔΟΣ"])
TEXTS = st.lists(WORDS | st.text(TRICKY, max_size=8), max_size=6).map("".join)


def read(lists: Ragged, known: Vocabulary) -> list[list[str]]:
    texts = list(known._codes)
    return [
        [texts[code] for code in lists.values[a:b].tolist()]
        for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)
    ]


@pytest.mark.parametrize("name", SPLITS)
@given(batches=st.lists(st.lists(TEXTS, max_size=4), max_size=3))
def test_pieces_give_the_tokens_of_the_whole_text(name: str, batches: list[list[str]]) -> None:
    split, known = SPLITS[name], Vocabulary()
    for texts in batches:
        assert read(known.encode(texts, split), known) == [split.tokens(text) for text in texts]


def test_several_splits_share_the_pieces_and_the_codes() -> None:
    known = Vocabulary()
    coded = CodedTexts(known, ["The cat", "a cat."])
    plain, normalised = coded.tokens(UNICODE_WORDS), coded.tokens(squad.IN_ANY_SCRIPT)
    assert read(plain, known) == [["the", "cat"], ["a", "cat"]]
    assert read(normalised, known) == [["cat"], ["cat"]]
    assert plain.values[1] == normalised.values[0] == known.code("cat")


def test_rows_are_read_in_the_order_asked() -> None:
    known = Vocabulary()
    own = Split(lambda text: ([text[:1], text[1:]], vocabulary.np.array([0, 1])), by_piece=False)
    for split in (UNICODE_WORDS, own):
        coded = CodedTexts(known, ["ab", "cd", "ef"])
        order = vocabulary.np.array([2, 0, 0])
        whole = read(coded.tokens(split), known)
        assert read(coded.tokens(split, order), known) == [whole[i] for i in (2, 0, 0)]


def test_texts_that_are_longer_than_a_block_keep_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "_BLOCK", 16)
    texts = ["one two", "", "a piece that is longer than the block", "x" * 99, "é " * 20, "end"]
    known = Vocabulary()
    assert read(known.encode(texts, UNICODE_WORDS), known) == [UNICODE_WORDS.tokens(text) for text in texts]


def test_a_full_vocabulary_is_replaced_and_the_old_one_still_reads_its_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Vocabulary()
    assert known.fresh() is known
    monkeypatch.setattr(vocabulary, "_MOST_PIECES", 1)
    lists = known.encode(["one two"], words())
    assert known.full
    assert len(known.fresh()) == 0
    assert read(lists, known) == [["one", "two"]]


def test_batches_share_a_vocabulary_until_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Vocabularies()
    first = shared.current()
    first.encode(["one two"], words())
    assert shared.current() is first
    monkeypatch.setattr(vocabulary, "_MOST_TOKENS", 1)
    assert shared.current() is not first


def test_what_was_learnt_is_not_pickled() -> None:
    shared = Vocabularies()
    shared.current().encode(["one two"], words())
    assert len(pickle.loads(pickle.dumps(shared)).current()) == 0


def test_nothing_is_an_empty_list() -> None:
    assert Vocabulary().encode([], words()).offsets.tolist() == [0]
    assert Vocabulary().encode(["", " \n"], words()).offsets.tolist() == [0, 0, 0]
