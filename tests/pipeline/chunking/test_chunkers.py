"""What holds for every chunker, and what each of them keeps whole."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.chunking.documents import SIGNS, TEXTS, documents

from rag_titan.evaluation.data.tokens import token_spans
from rag_titan.pipeline.chunking import chunkers
from rag_titan.pipeline.chunking.chunkers import LEVELS, PackingChunker, chunker_of
from rag_titan.pipeline.chunking.model_tokens import model_tokens
from rag_titan.pipeline.chunking.pieces import extends
from rag_titan.pipeline.parts import Document, Mark
from rag_titan.pipeline.settings import CHUNKERS, Settings

EVERY = pytest.mark.parametrize("name", CHUNKERS)


def words_of(text: str) -> list[tuple[int, int]]:
    starts, ends = token_spans(text)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def units(name: str, text: str, start: int, end: int) -> int:
    """How large text[start:end] is, counted one by one; model tokens are those of the whole text."""
    if name == "characters":
        return end - start
    if name == "tokens":
        tokens = model_tokens(text)
        return sum(a < end and b > start for a, b in zip(tokens.starts, tokens.ends, strict=True))
    return sum(start <= a and b <= end for a, b in words_of(text))


def texts_of(name: str, text: str, size: int, overlap: int = 0, marks: list[Mark] | None = None) -> list[str]:
    return [chunk.text for chunk in PackingChunker(name, size, overlap).chunks(Document("d", text, marks or []))]


# --- every chunker --------------------------------------------------------------------------------


def test_there_is_one_for_every_name_that_the_settings_know() -> None:
    assert tuple(LEVELS) == CHUNKERS


@EVERY
@given(document=documents(), size=st.integers(1, 30), data=st.data())
def test_a_chunk_is_what_stands_at_its_place(name: str, document: Document, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    chunks = chunker_of(Settings(chunker=name, chunk_size=size, chunk_overlap=overlap)).chunks(document)
    for number, chunk in enumerate(chunks, 1):
        assert chunk.id == f"d.txt#{number}"
        assert chunk.doc_id == chunk.metadata["source"] == "d.txt"
        assert chunk.text == document.text[chunk.start : chunk.end] == chunk.text.strip() != ""
    assert chunks == chunker_of(Settings(chunker=name, chunk_size=size, chunk_overlap=overlap)).chunks(document)


@EVERY
@given(document=documents(), size=st.integers(25, 60))
def test_without_overlap_every_word_is_in_one_chunk(name: str, document: Document, size: int) -> None:
    chunks = PackingChunker(name, size).chunks(document)
    assert all(before.end <= after.start for before, after in pairwise(chunks))
    for start, end in words_of(document.text):
        assert sum(chunk.start <= start and end <= chunk.end for chunk in chunks) == 1


@EVERY
@given(document=documents(), size=st.integers(1, 30), data=st.data())
def test_every_character_is_in_a_chunk(name: str, document: Document, size: int, data: st.DataObject) -> None:
    chunks = PackingChunker(name, size, data.draw(st.integers(0, size - 1))).chunks(document)
    covered = {place for chunk in chunks for place in range(chunk.start, chunk.end)}
    assert [p for p, char in enumerate(document.text) if not char.isspace() and p not in covered] == []


@EVERY
@given(document=documents(), size=st.integers(1, 30))
def test_no_chunk_is_larger_than_the_size(name: str, document: Document, size: int) -> None:
    for chunk in PackingChunker(name, size, size // 3).chunks(document):
        if units(name, document.text, chunk.start, chunk.end) > size:
            bare = [char for char in chunk.text if unicodedata.category(char)[0] != "M"]
            assert name == "tokens"
            assert len(bare) <= 1  # a character, with its marks, of several tokens


@EVERY
@given(document=documents(), size=st.integers(2, 40), data=st.data())
def test_chunks_overlap_no_more_than_they_may_and_go_on(
    name: str, document: Document, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(1, size - 1))
    chunks = PackingChunker(name, size, overlap).chunks(document)
    for before, after in pairwise(chunks):
        assert before.start < after.start
        assert before.end < after.end
        assert units(name, document.text, after.start, before.end) <= overlap or after.start >= before.end


@EVERY
@pytest.mark.parametrize("text", ["", " ", "\r\n\t\u3000\x1c", "\n\n\n"])
def test_a_blank_document_has_no_chunks(name: str, text: str) -> None:
    marks = [Mark("page", 0, len(text), "1"), Mark("heading", 0, 0, "A", 1)]
    assert PackingChunker(name, 5, 2).chunks(Document("d", text, marks)) == []


@EVERY
@pytest.mark.parametrize("unit", ["a", "字", "あ", "ก", "🦜", "-", "\u0301", "\ud83d", "1", "។", "\u1a20", "A1+/"])
def test_text_without_spaces_makes_no_giant(name: str, unit: str) -> None:
    chunks = PackingChunker(name, 20, 5).chunks(Document("d", unit * 20_000))
    assert max(len(chunk.text) for chunk in chunks) <= 20 * 256
    assert chunks[-1].end == len((unit * 20_000).rstrip())


@EVERY
@given(text=TEXTS, part=st.integers(40, 200))
def test_a_long_document_is_chunked_part_by_part(name: str, text: str, part: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunkers, "MOST_AT_ONCE", part)
        chunks = PackingChunker(name, 60).chunks(Document("d", text, [Mark("page", 0, len(text), "7")]))
    assert all(before.end <= after.start for before, after in pairwise(chunks))
    assert all(chunk.text == text[chunk.start : chunk.end] and chunk.metadata["page"] == 7 for chunk in chunks)
    for start, end in words_of(text):
        assert sum(chunk.start <= start and end <= chunk.end for chunk in chunks) == 1


def test_parts_of_a_long_document_begin_where_a_section_or_a_page_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunkers, "MOST_AT_ONCE", 40)

    def starts(name: str, text: str, *marks: Mark) -> list[int]:
        return [chunk.start for chunk in PackingChunker(name, 99).chunks(Document("d", text, marks))]

    heading, page = Mark("heading", 25, 28, "A", 1), Mark("page", 30, 60, "2")
    words = "abcd " * 12
    assert starts("words", words) == [0, 40]
    assert starts("words", words[:25] + "ab\n" + words) == [0, 28, 28 + 40]
    assert starts("words", words[:24] + "\n\n" + words[:6] + "\n" + words) == [0, 26, 26 + 37]
    assert starts("words", words, page, heading) == [0, 25]
    assert starts("page", words, page, heading) == [0, 30]
    assert starts("words", "abcd." * 12) == [0, 35]
    later = [Mark("heading", 35, 38, "B", 1), Mark("heading", 50, 54, "C", 1)]
    assert starts("words", words, heading, *later) == [0, 35]
    assert starts("section", words, heading, *later) == [0, 25, 35, 50]


# --- each of them ---------------------------------------------------------------------------------

TWO = "# Leave\n\nLeave is 25 days. Ask HR first.\n\n## Sick pay\n\nSick pay is full. It ends."
TWO_MARKS = [Mark("heading", 0, 7, "Leave", 1), Mark("heading", TWO.index("##"), TWO.index("## ") + 11, "Sick pay", 2)]


def test_words() -> None:
    assert texts_of("words", "One two, three four (five) well-known 25%.", 3) == [
        "One two, three",
        "four (five)",
        "well-known 25%.",
    ]
    assert texts_of("words", "One two three four five six", 4, 2) == ["One two three four", "three four five six"]


def test_characters() -> None:
    assert texts_of("characters", "One two, three", 8) == ["One two,", "three"]
    assert texts_of("characters", "Donaudampfschifffahrt ok", 8) == ["Donaudam", "pfschiff", "fahrt ok"]
    assert texts_of("characters", "One two three four", 9, 5) == ["One two", "two three", "four"]


def test_characters_do_not_part_a_letter_from_its_marks() -> None:
    assert texts_of("characters", "abce\u0301fg", 4) == ["abc", "e\u0301fg"]
    assert texts_of("characters", "👩‍👩‍👧👩‍👩‍👧", 6) == ["👩‍👩‍👧"] * 2
    assert texts_of("characters", "ab\ud83d\ude00c", 3) == ["ab", "\ud83d\ude00c"]


def test_tokens() -> None:
    assert texts_of("tokens", "Leave is days. Ask", 4) == ["Leave is days.", "Ask"]
    assert texts_of("tokens", "a\nstrawberry b", 2) == ["a", "straw", "berry b"]
    assert texts_of("tokens", "a\nstrawberry b", 3) == ["a", "strawberry", "b"]
    assert texts_of("tokens", "-----strawberry", 3) == ["-----", "strawberry"]  # not through the word


def test_sentences() -> None:
    text = "Leave is 25 days. Ask HR first. They know. 是的。好。"
    assert texts_of("sentence", text, 7) == ["Leave is 25 days. Ask HR first.", "They know. 是的。好。"]
    assert texts_of("sentence", text, 7, 3) == [
        "Leave is 25 days. Ask HR first.",
        "Ask HR first. They know. 是的。",
        "是的。好。",
    ]


def test_a_sentence_that_is_too_long_is_cut_between_words_and_packed_on() -> None:
    assert texts_of("sentence", "Go. One two three four five. Stop.", 3) == ["Go. One two", "three four five.", "Stop."]


def test_an_item_of_a_list_is_a_sentence_and_its_number_is_none() -> None:
    text = "Ask:\n\n1. Anna, then\n2. Ben\n- Carl"
    assert texts_of("sentence", text, 4) == ["Ask:\n\n1. Anna, then", "2. Ben\n- Carl"]


def test_paragraphs() -> None:
    text = "One two.\r\n\r\nThree four five six. Seven eight nine ten.\n \nEleven.\n\nTwelve."
    assert texts_of("paragraph", text, 5) == [
        "One two.",
        "Three four five six.",
        "Seven eight nine ten.",
        "Eleven.\n\nTwelve.",
    ]
    assert texts_of("paragraph", text, 99) == [text]
    assert texts_of("paragraph", "One two. Three.\n\nFour five.\n\nSix seven.", 5, 1) == [
        "One two. Three.\n\nFour five.",
        "Six seven.",
    ]
    assert texts_of("paragraph", "One two. Three.\n\nFour five six.", 4, 1) == [
        "One two. Three.",
        "Three.\n\nFour five six.",
    ]


def test_sections() -> None:
    assert texts_of("section", TWO, 99, marks=TWO_MARKS) == [TWO[: TWO.index("\n\n##")], TWO[TWO.index("##") :]]
    assert texts_of("section", f"Foreword. {TWO}", 99) == [f"Foreword. {TWO}"]  # no marks
    assert texts_of("section", TWO, 7, marks=TWO_MARKS) == [
        "# Leave\n\nLeave is 25 days.",
        "Ask HR first.",
        "## Sick pay\n\nSick pay is full.",
        "It ends.",
    ]


def test_a_section_without_text_goes_with_the_deeper_one_below() -> None:
    text = "A\n\nB\n\ntext\n\nC\n\nD\n\nmore"
    levels = zip("ABCD", (1, 2, 1, 1), strict=True)
    marks = [Mark("heading", text.index(label), text.index(label) + 1, label, level) for label, level in levels]
    chunks = PackingChunker("section", 9).chunks(Document("d", text, marks))
    assert [(c.text, c.metadata["headings"]) for c in chunks] == [
        ("A\n\nB\n\ntext", ["A", "B"]),
        ("C", ["C"]),
        ("D\n\nmore", ["D"]),
    ]


def test_pages() -> None:
    text = "One two.\n\nThree four. Five\n\nsix."
    marks = [Mark("page", 0, 8, "1"), Mark("page", 8, 8, "2"), Mark("page", 10, 26, "3"), Mark("page", 28, 32, "iv")]
    chunks = PackingChunker("page", 2, 1).chunks(Document("d", text, marks))
    assert [(c.text, c.metadata["page"]) for c in chunks] == [
        ("One two.", 1),
        ("Three four.", 3),
        ("Five", 3),
        ("six.", "iv"),
    ]
    assert [c.text for c in PackingChunker("page", 99).chunks(Document("d", text, marks))] == text.split("\n\n")


def test_recursive() -> None:
    text = f"Hi.\n\n{TWO}\nOne\ntwo three\nfour. Five six seven eight nine."
    marks = [Mark(m.kind, m.start + 5, m.end + 5, m.label, m.level) for m in TWO_MARKS]
    assert texts_of("recursive", text, 99, marks=marks) == [text]
    assert texts_of("recursive", text, 9, marks=marks) == [
        "Hi.",
        "# Leave\n\nLeave is 25 days. Ask HR first.",
        "## Sick pay\n\nSick pay is full. It ends.",
        "One\ntwo three\nfour. Five six seven eight nine.",
    ]
    assert texts_of("recursive", text, 3, marks=marks)[-3:] == ["One\ntwo three", "four. Five six", "seven eight nine."]


def test_a_table_is_whole_where_it_fits_and_else_its_rows_are() -> None:
    text = "Days. By grade.\n\nA | 25.\n\nB | 30. C\nD | 40.\n\nAsk HR."
    marks = [Mark("table", text.index("A"), text.index("\n\nAsk"))]
    table = text[text.index("A") : text.index("\n\nAsk")]
    assert texts_of("paragraph", text, 11, marks=marks) == ["Days. By grade.", table, "Ask HR."]
    assert texts_of("paragraph", text, 4, marks=marks)[1:-1] == ["A | 25.", "B | 30. C", "D | 40."]


@given(
    sentences=st.lists(st.tuples(st.integers(1, 12), st.sampled_from([" ", "\n", "\n\n"])), max_size=12),
    name=st.sampled_from(["sentence", "paragraph", "section", "page"]),
    size=st.integers(4, 30),
)
def test_a_sentence_that_fits_is_whole_in_a_chunk(sentences: list[tuple[int, str]], name: str, size: int) -> None:
    text, places = "", []
    for words, space in sentences:
        sentence = " ".join(["word"] * words) + "."
        places += [(len(text), len(text) + len(sentence))] * (words <= size)
        text += sentence + space
    chunks = PackingChunker(name, size, size // 3).chunks(Document("d", text))
    for start, end in places:
        assert any(chunk.start <= start and end <= chunk.end for chunk in chunks)


def test_a_sign_that_is_several_tokens_is_cut_only_where_it_is_larger_than_a_chunk() -> None:
    assert texts_of("tokens", "🦜🦜", 1) == ["🦜", "🦜"]
    assert texts_of("tokens", "e\u0301e\u0301", 2) == ["e\u0301", "e\u0301"]
    assert texts_of("tokens", "e\u0301e\u0301", 1) == ["e", "\u0301", "e", "\u0301"]


@given(signs=st.lists(SIGNS, min_size=1, max_size=9), size=st.integers(6, 9))
def test_no_chunk_begins_with_a_mark(signs: list[str], size: int) -> None:
    text = "".join(signs)
    places = [chunk.start for chunk in PackingChunker("characters", size).chunks(Document("d", text))]
    assert not [place for place in places[1:] if extends(text, place)]
