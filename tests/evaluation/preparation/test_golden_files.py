"""Golden questions in every form that people keep them in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Evidence, Query
from rag_titan.evaluation.preparation.golden_files import entries_of, of_row, read_golden

QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "g1",
        "question": "How long?",
        "expected_evidence": ["25 days", {"quote": "is", "occurrence": 2}],
        "expected_answers": ["25 days", "a month"],
        "required_facts": ["25"],
        "relevance": {"c1": 3.0, "c2": 1.0},
        "tags": {"language": "en"},
        "answerable": True,
        "validated": True,
    },
    {"id": "2", "question": "Who?", "validated": False},
]
READ = [
    Query(
        id="g1",
        question="How long?",
        expected_evidence=["25 days", Evidence(quote="is", occurrence=2)],
        expected_answers=["25 days", "a month"],
        required_facts=["25"],
        relevance={"c1": 3.0, "c2": 1.0},
        tags={"language": "en"},
        answerable=True,
        validated=True,
    ),
    Query(id="2", question="Who?", validated=False),
]
CSV = (
    "ID;Question;expected evidence;expected_answers;required_facts;relevance;tags;answerable;validated\n"
    'g1;How long?;"25 days || {""quote"": ""is"", ""occurrence"": 2}";25 days||a month;25;'
    "c1=3||c2=1;language=en;yes;x\n"
    "2;Who?;;;;;;;no\n"
)


def written(folder: Path, form: str) -> Path:
    path = folder / f"golden.{form}"
    if form == "json":
        path.write_text(json.dumps(QUESTIONS))
    elif form == "jsonl":
        path.write_text("\n".join(map(json.dumps, QUESTIONS)))
    else:
        path.write_text(CSV)
    return path


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_every_form_is_the_same_questions(tmp_path: Path, form: str) -> None:
    assert read_golden(written(tmp_path, form)) == READ


@pytest.mark.parametrize("key", ["questions", "queries"])
def test_an_object_with_the_questions(tmp_path: Path, key: str) -> None:
    (tmp_path / "golden.json").write_text(json.dumps({key: QUESTIONS, "about": "leave"}))
    assert read_golden(tmp_path / "golden.json") == read_golden({key: QUESTIONS}) == READ


def test_a_workbook(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["id", "question", "expected_evidence", "validated"])
    book.active.append([7, "Who?", "HR||the manager", True])
    book.save(tmp_path / "golden.xlsx")
    assert read_golden(tmp_path / "golden.xlsx") == [
        Query(id="7", question="Who?", expected_evidence=["HR", "the manager"], validated=True)
    ]


def test_records_and_another_separator(tmp_path: Path) -> None:
    assert read_golden(READ) == READ
    (tmp_path / "golden.csv").write_text("id,expected_evidence\ng1,one / two\n")
    assert read_golden(tmp_path / "golden.csv", separator="/")[0].expected_evidence == ["one", "two"]
    assert read_golden(tmp_path / "golden.csv")[0].expected_evidence == ["one / two"]
    with pytest.raises(SettingsError, match="separator"):
        read_golden(READ, separator=" ")


def test_cells_that_are_no_such_thing_stay_text_and_are_complained_of() -> None:
    row = of_row({"id": "g1", "validated": "perhaps", "relevance": "c1", "expected_evidence": "{not json"})
    assert row == {"id": "g1", "validated": "perhaps", "relevance": "c1", "expected_evidence": ["{not json"]}
    with pytest.raises(DatasetError, match=r'golden\[0\].validated: must be true or false, got the text "perhaps"'):
        read_golden([row])


def test_two_columns_that_mean_one_key_keep_their_names() -> None:
    assert of_row({"Question": "a", "question": "b"}) == {"Question": "a", "question": "b"}


def test_a_broken_line_is_an_entry_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_bytes(b'{"id": "g1"}\n[1]\n\n{"id": "g2", "question": NaN}\n{"id": "g3\n\xff{}\n{"id": "g4"}')
    entries = list(entries_of(path, Notices()))
    assert [(entry.where, entry.value and entry.value["id"]) for entry in entries] == [
        ("golden.jsonl line 1", "g1"),
        ("golden.jsonl line 2", None),
        ("golden.jsonl line 4", "g2"),
        ("golden.jsonl line 5", None),
        ("golden.jsonl line 6", None),
        ("golden.jsonl line 7", "g4"),
    ]
    with pytest.raises(DatasetError, match=r"golden\.jsonl line 2: must be an object, got a list"):
        read_golden(path)


@pytest.mark.parametrize("source", [7, None, {"id": "g1"}, "none.json"])
def test_what_holds_no_questions(source: object) -> None:
    with pytest.raises(DatasetError):
        read_golden(source)
