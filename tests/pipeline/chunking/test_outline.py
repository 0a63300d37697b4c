"""On which page and below which headings a chunk stands."""

from __future__ import annotations

from typing import Any

from rag_titan.pipeline.chunking.outline import Outline
from rag_titan.pipeline.parts import Document, Mark

TEXT = "A\nB\ntext\nC\nmore\nD\nend"
HEADINGS = [
    Mark("heading", TEXT.index(label), TEXT.index(label) + 1, label, n)
    for label, n in zip("ABCD", (1, 3, 2, 1), strict=True)
]


def at(start: int, end: int, *marks: Mark) -> dict[str, Any]:
    found = Outline(Document("d", TEXT, marks)).metadata(start, end)
    assert found.pop("source") == "d"
    return found


def test_what_is_not_there_is_not_said() -> None:
    assert at(0, 3) == {}
    assert at(0, 1, HEADINGS[2]) == {}


def test_the_path_of_headings() -> None:
    assert at(4, 8, *HEADINGS) == {"headings": ["A", "B"]}
    assert at(11, 15, *reversed(HEADINGS)) == {"headings": ["A", "C"]}  # 2 is above 3
    assert at(18, 21, *HEADINGS) == {"headings": ["D"]}


def test_a_chunk_that_opens_with_headings_stands_below_them() -> None:
    assert at(0, 8, *HEADINGS) == {"headings": ["A", "B"]}
    assert at(0, 1, *HEADINGS) == {"headings": ["A"]}
    assert at(0, 22, *HEADINGS) == {"headings": ["A", "B"]}
    assert at(9, 22, *HEADINGS) == {"headings": ["A", "C"]}


def test_the_page_that_holds_the_start() -> None:
    pages = [Mark("page", 0, 0, "1"), Mark("page", 0, 8, "2"), Mark("page", 9, 15, "iii"), Mark("page", 15, 15, "4")]
    assert at(0, 20, *pages) == {"page": 2}
    assert at(7, 20, *pages) == {"page": 2}
    assert at(8, 20, *pages) == {}
    assert at(9, 20, *pages) == {"page": "iii"}
    assert at(16, 20, *pages) == {}
    assert at(0, 3, Mark("page", 0, 9, "²")) == {"page": "²"}


def test_lists_are_not_shared() -> None:
    outline = Outline(Document("d", TEXT, HEADINGS))
    outline.metadata(4, 8)["headings"].append("X")
    assert outline.metadata(4, 8)["headings"] == ["A", "B"]


def test_a_chunk_that_starts_within_a_table_of_markdown_knows_its_columns() -> None:
    rows = "| City | Limit |\n|---|---|\n| Oslo | 190 |\n| Bonn | 95 |"
    text = f"Limits\n\n{rows}\n\nNo more.\n\nName | Kim\nGrade | 4"
    marks = [Mark("table", 8, 8 + len(rows)), Mark("table", text.index("Name"), len(text))]
    outline = Outline(Document("a.md", text, marks))
    found = {name: outline.metadata(text.index(name), len(text)).get("columns") for name in WORDS}
    assert {name for name, columns in found.items() if columns == "| City | Limit |"} == {"|---", "| Oslo", "95"}
    assert {name for name, columns in found.items() if columns is not None} == {"|---", "| Oslo", "95"}


WORDS = ("Limits", "| City", "City", "|---", "| Oslo", "95", "No more", "Name", "Grade")
