"""What JSON importers share."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Claim
from rag_titan.evaluation.importers.parsing import items_of, json_value, readable


def test_bad_records_are_left_out_and_named() -> None:
    notices = Notices()
    values = [
        ("a[0]", {"supported": True}),
        ("a[1]", {"supported": "yes"}),
        ("a[2]", 7),
        ("a[3]", {"supported": False}),
    ]
    assert [claim.supported for _, claim in readable(Claim, values, notices)] == [True, False]
    assert notices.texts() == [
        'records that could not be read were left out: a[1].supported: must be true or false, got the text "yes", '
        "a[2]: must be an object, got the number 7."
    ]


def test_a_file_of_other_records_is_refused_with_the_first() -> None:
    with pytest.raises(DatasetError, match=r"^a\[0\]\.supported: must be given; the object has the key name"):
        list(readable(Claim, [("a[0]", {"name": 1}), ("a[1]", 7)], Notices()))


def test_no_records_are_no_error() -> None:
    assert list(readable(Claim, [], Notices())) == []


@pytest.mark.parametrize(("value", "got"), [([], "an empty list"), ({}, "an object"), (None, "null")])
def test_items_of_what_is_no_list(value: object, got: str) -> None:
    with pytest.raises(DatasetError, match=f"^file: must be a list, got {got}"):
        items_of(value, "file", "must be a list")


@pytest.mark.parametrize(
    ("content", "value"),
    [('{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}), ("[NaN, 2]", [None, 2]), ('\ufeff["x"]', ["x"])],
)
def test_json_values(tmp_path: Path, content: str, value: object) -> None:
    path = tmp_path / "value.json"
    path.write_text(content, "utf-8")
    assert json_value(path, Notices()) == value


def test_json_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    path.write_text('{"results": [{"query_id": "1"', "utf-8")
    with pytest.raises(DatasetError, match=r"value\.json"):
        json_value(path, Notices())


def test_half_characters_and_depth(tmp_path: Path) -> None:
    path, notices = tmp_path / "value.json", Notices()
    path.write_text('{"a": ["\\ud800"]}', "utf-8")
    assert json_value(path, notices) == {"a": ["\ufffd"]}
    assert "lone surrogate" in notices.texts()[0]
    path.write_text("[" * 100_000 + "]" * 100_000, "utf-8")
    with pytest.raises(DatasetError, match="nested so deep"):
        json_value(path, notices)
