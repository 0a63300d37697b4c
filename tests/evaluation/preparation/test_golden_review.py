"""A file of golden questions under review: every change is in the file, and nothing else has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.preparation import golden_review
from rag_titan.evaluation.preparation.golden_files import read_golden
from rag_titan.evaluation.preparation.golden_review import (
    REJECTED,
    GoldenFile,
    GoldenReview,
    extract_of,
    open_golden,
)

DOCUMENTS = {"leave.md": "# Leave\n\nOne gets 25 days\nof leave.\nAsk HR.\n", "sick.md": "Ask HR."}


def opened(tmp_path: Path, text: str | bytes, name: str) -> GoldenFile:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_golden(path)


def test_json_keeps_its_other_keys_their_order_and_its_indent(tmp_path: Path) -> None:
    whole: dict[str, Any] = {
        "about": {"é": 1.50},
        "questions": [{"zeta": [1], "id": "g1", "validated": None}, {"id": "g2", "question": "x", "validated": True}],
        "version": 3,
    }
    file = opened(tmp_path, json.dumps(whole, indent=4, ensure_ascii=False), "golden.json")
    assert file.left() == [0]
    file.change(0, {"validated": True, "question": "How?", REJECTED: None})
    whole["questions"][0] |= {"validated": True, "question": "How?"}
    assert file.path.read_text() == json.dumps(whole, indent=4, ensure_ascii=False)
    assert file.left() == []


def test_lines_that_are_not_changed_stay_byte_for_byte(tmp_path: Path) -> None:
    lines = [b'\xef\xbb\xbf{"id":  "g1"}\r', b"", b"{broken", b'{"id": "g2", "own": "\xc3\xa9"}', b""]
    file = opened(tmp_path, b"\n".join(lines), "golden.jsonl")
    assert file.left() == [0, 2]
    file.change(2, {"validated": False, REJECTED: "wrong"})
    lines[3] = '{"id": "g2", "own": "é", "validated": false, "rejected": "wrong"}'.encode()
    assert file.path.read_bytes() == b"\n".join(lines)
    file.change(0, {"validated": True})
    lines[0] = b'{"id": "g1", "validated": true}\r'
    assert file.path.read_bytes() == b"\n".join(lines)


def test_csv_keeps_columns_cells_and_delimiter(tmp_path: Path) -> None:
    text = "\ufeffID;mine;Expected evidence\r\ng1;7;one||two;beyond\r\n\r\ng2;8\r\n"
    file = opened(tmp_path, text, "golden.csv")
    assert [entry.value for entry in file.entries] == [
        {"id": "g1", "mine": "7", "expected_evidence": ["one", "two"]},
        {"id": "g2", "mine": "8"},
    ]
    file.change(1, {"validated": True, "expected_evidence": ["a||b", {"quote": "c", "occurrence": 2}]})
    file.change(0, {"validated": False, "expected_evidence": ["one", {"quote": "c", "occurrence": 2}]})
    assert file.path.read_bytes().decode() == (
        "\ufeffID;mine;Expected evidence;;validated\r\n"
        'g1;7;"one||{""quote"": ""c"", ""occurrence"": 2}";beyond;false\r\n\r\n'
        'g2;8;"[""a||b"", {""quote"": ""c"", ""occurrence"": 2}]";;true\r\n'
    )
    again = [query.expected_evidence for query in read_golden(file.path)]
    assert again == [query.expected_evidence for query in map(_query, file.entries)]


def test_a_new_column_gives_every_row_a_cell(tmp_path: Path) -> None:
    file = opened(tmp_path, "id,question,validated\ng1,How?,\n\ng2\ng3,Why?,\n", "golden.csv")
    file.change(0, {"validated": False, REJECTED: "wrong"})
    assert file.path.read_text() == ("id,question,validated,rejected\ng1,How?,false,wrong\n\ng2,,,\ng3,Why?,,\n")


@pytest.mark.parametrize(
    ("cells", "written"),
    [
        (("", "no", "x"), "yes no x"),
        (("TRUE", "", ""), "TRUE FALSE "),
        (("Yes", "", ""), "Yes No "),
        (("", "", "0"), "1 0 0"),
        (("", "", "X"), "X - X"),
        (("✓", "", ""), "✓ ✗ "),
        (("perhaps", "", ""), "true false "),
    ],
)
def test_csv_keeps_its_own_words_for_true_and_false(tmp_path: Path, cells: tuple[str, ...], written: str) -> None:
    rows = "".join(f"g{number},{cell}\n" for number, cell in enumerate(cells))
    file = opened(tmp_path, f"id,Validated\n{rows}", "golden.csv")
    file.change(0, {"validated": True})
    file.change(1, {"validated": False})
    assert [line.partition(",")[2] for line in file.path.read_text().splitlines()[1:]] == written.split(" ")


def test_a_column_without_words_takes_those_of_another(tmp_path: Path) -> None:
    file = opened(tmp_path, "id,answerable\ng1,NO\n", "golden.csv")
    file.change(0, {"validated": True})
    assert file.path.read_text() == "id,answerable,validated\ng1,NO,YES\n"


def _query(entry: Any) -> Any:
    return entry.query()


@pytest.mark.parametrize("name", ["golden.json", "golden.jsonl", "golden.csv"])
def test_what_was_judged_is_not_asked_again(tmp_path: Path, name: str) -> None:
    text = {
        "golden.json": '[{"id": "g1"}, {"id": "g2", "validated": false}, {"id": "g3"}]',
        "golden.jsonl": '{"id": "g1"}\n{"id": "g2", "validated": false}\n{"id": "g3"}',
        "golden.csv": "id,validated\ng1,\ng2,no\ng3,\n",
    }[name]
    file = opened(tmp_path, text, name)
    file.change(1, {"validated": False, REJECTED: "wrong"})
    file.change(0, {"validated": True, REJECTED: None})
    for one in (file, open_golden(file.path)):
        assert (one.left(), one.left(again=True), one.counts()) == ([2], [1, 2], (1, 1, 1))


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = opened(tmp_path, '[{"id": "g1"}]', "golden.json")

    def refuse(path: Path, content: str) -> None:
        raise SettingsError("no room")

    monkeypatch.setattr(golden_review, "write", refuse)
    with pytest.raises(SettingsError):
        file.change(0, {"validated": True})
    assert file.path.read_text() == '[{"id": "g1"}]'
    assert file.left() == [0]


def test_a_file_that_others_change_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = opened(tmp_path, '[{"id": "g1"}]', "golden.json")
    file.path.write_text('[{"id": "g1", "question": "new"}]')
    with pytest.raises(SettingsError, match="changed by others"):
        file.change(0, {"validated": True})
    assert "new" in file.path.read_text()


@pytest.mark.parametrize("name", ["golden.xlsx", "golden.parquet", "golden", "golden.json.gz"])
def test_forms_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(DatasetError, match="Save it as CSV"):
        opened(tmp_path, "x", name)


def test_a_lone_surrogate_stays_an_escape(tmp_path: Path) -> None:
    file = opened(tmp_path, '[{"id": "g1", "question": "\\ud800 é"}]', "golden.json")
    file.change(0, {"validated": True})
    assert json.loads(file.path.read_text())[0]["question"] == "\ud800 é"


def review(tmp_path: Path, *questions: dict[str, Any]) -> GoldenReview:
    (tmp_path / "golden.json").write_text(json.dumps(questions))
    return GoldenReview(tmp_path / "golden.json", DOCUMENTS)


def test_problems_are_those_of_the_set_and_follow_a_change(tmp_path: Path) -> None:
    one = review(tmp_path, {"id": "g1", "expected_evidence": ["25  days"]}, {"id": "g2", "expected_evidence": ["HR"]})
    assert [[p["problem"] for p in one.problems(row)] for row in (0, 1)] == [
        ["quote '25  days' is not found exactly once"],
        ["quote 'HR' is not found exactly once"],
    ]
    nearest = one.nearest("25  days")
    assert nearest is not None
    assert nearest.passage == "25 days"
    assert one.nearest("HR") is None
    assert one.nearest("25 days") is None
    assert one.nearest({"any_of": ["25  days"]}) is None
    one.change(0, {"expected_evidence": ["25 days"]})
    assert one.problems(0) == []


def test_where_evidence_stands(tmp_path: Path) -> None:
    one = review(tmp_path, {"id": "g1"})
    extract = one.extract({"quote": "HR", "occurrence": 2})
    assert extract is not None
    assert (extract.doc_id, extract.first, extract.before, extract.passage, extract.after) == (
        "sick.md", 1, "Ask ", "HR", ".",
    )  # fmt: skip
    extract = one.extract({"any_of": ["nowhere", "25 days\nof leave"]})
    assert extract is not None
    assert (extract.first, extract.before, extract.after) == (1, "# Leave\n\nOne gets ", ".\nAsk HR.")
    for item in ("HR", "", 7, {"start": 5}, {"start": 5, "end": 900, "doc_id": "sick.md"}):
        assert one.extract(item) is None


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_an_extract_counts_lines_as_an_editor_does(end: str) -> None:
    lines = [f"line {number}" for number in range(1, 30)]
    documents = Documents.of({"d": "\n".join(lines) + end})
    for number in (1, 2, 3, 15, 28, 29):
        start = documents.texts[0].index(f"line {number}" + ("\n" if number < 29 else end))
        extract = extract_of(documents, 0, start, start + len(f"line {number}"))
        shown = f"{extract.before}{extract.passage}{extract.after}".replace("\r", "").split("\n")
        assert extract.first == max(1, number - 2)
        assert shown == lines[max(0, number - 3) : number + 2]


def test_long_lines_are_cut_around_the_quote() -> None:
    documents = Documents.of({"d": "a" * 5000 + "quote" + "b" * 5000})
    extract = extract_of(documents, 0, 5000, 5005)
    assert (extract.before, extract.passage, extract.after) == ("…" + "a" * 240, "quote", "b" * 240 + "…")


def test_a_validated_question_with_a_broken_quote_is_left(tmp_path: Path) -> None:
    quotes: tuple[list[str], ...] = (["25 days"], ["25 weeks"], ["Ask HR."], [])
    one = review(tmp_path, *({"id": f"g{i}", "expected_evidence": q, "validated": True} for i, q in enumerate(quotes)))
    assert one.left() == [1, 2]
    assert one.file.left() == []
    one.change(1, {"expected_evidence": ["25 days"]})
    assert one.left() == [2]
