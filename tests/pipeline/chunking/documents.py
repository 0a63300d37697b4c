"""Strategies of documents: texts of several scripts, with marks that stand in order or anywhere."""

from __future__ import annotations

from hypothesis import strategies as st

from rag_titan.pipeline.parts import Document, Mark

WORDS = st.sampled_from(
    [
        "a",
        "leave",
        "days.",
        "(see)",
        "3.5",
        "well-known",
        "don't",
        "HR?”",
        "«Oui»",
        "naïve",
        "cafe\u0301",
        "हिन्दी",
        "İ",
        "ß",
    ]
)
SYMBOLS = st.sampled_from(["https://x.org/a?b=c", "#1", "—", "…", "|", "**", "½", "(", "{[<«x"])
UNSPACED = st.sampled_from(["在2019年有25天假期。", "「好」是，吗？", "สวัสดีครับ", "ノート", "𠮷野家", "ភាសាខ្មែរ។"])
SIGNS = st.sampled_from(
    ["🦜", "👩\u200d👩\u200d👧🏽", "🇩🇪", "\ud83d", "\ud83e\udd9c", "\u200b", "\ufeff", "\x00", "e\u0301\u0302\u0303"]
)
SPACES = st.sampled_from(
    [" "] * 4 + ["  ", "\n", "\r\n", "\n\n", "\r\n\r\n", "\r", "\t", "\u3000", "\u2029", "\x1c", ""]
)
LINES = st.sampled_from(
    ["\n\n# Leave\n\n", "\n## Paid leave\n", "\n- item\n- other", "\n1. one\n2. two\n", "\n| a | b |\n| - | - |\n"]
)

TEXTS = st.lists(st.tuples(st.one_of(WORDS, WORDS, SYMBOLS, UNSPACED, SIGNS, LINES), SPACES), max_size=40).map(
    lambda parts: "".join(word + space for word, space in parts)
)


@st.composite
def documents(draw: st.DrawFn, texts: st.SearchStrategy[str] = TEXTS) -> Document:
    """A document with marks anywhere: in a word, on a space, one in the other, empty ones."""
    text = draw(texts)
    places = st.integers(0, len(text))
    marks = []
    for _ in range(draw(st.integers(0, 6))):
        start, end = sorted((draw(places), draw(places)))
        kind = draw(st.sampled_from(["page", "heading", "heading", "table", "code"]))
        marks.append(Mark(kind, start, end, draw(st.sampled_from(["1", "iv", "A"])), draw(st.integers(0, 3))))
    return Document("d.txt", text, marks)
