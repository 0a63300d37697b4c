"""Paths into records, and mappings of them, against values worked by hand and a slow twin."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import SettingsError
from rag_titan.evaluation.data.columns import Columns, SourcePath

RECORD: dict[str, Any] = {
    "docs": [{"id": 3, "parts": [{"n": 1}, {"n": 2}]}, {"id": None, "parts": []}, {"id": 1, "parts": [{"n": 5}]}],
    "a.b": {"c d": "dotted"},
    'say "hi"': 1,
    "text": '{"inner": [{"id": "x"}]}',
    "seconds": 1.5,
    "flag": True,
    "text_number": "1.5",
    "empty": [],
    "grid": [[1, 2], [3], []],
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("docs[].id", [3, None, 1]),
        ("docs[].parts[].n", [1, 2, 5]),
        ("docs[0].id", 3),
        ("docs[-1].id", 1),
        ("docs[3].id", None),
        ("docs[].other", None),  # absent in every element: not given
        ("docs[].id.deeper", None),
        ('"a.b"."c d"', "dotted"),
        ('"a.b".c d', "dotted"),
        (r'"say \"hi\""', 1),
        ("text.inner[].id", ["x"]),
        ("seconds * 1000", 1500.0),
        ("seconds*1e3", 1500.0),
        ("text_number * 2", 3.0),
        ("text * 2", '{"inner": [{"id": "x"}]}'),
        ("flag * 2", True),  # no number: left for the cleaner to refuse
        ("empty[].id", []),
        ("empty", []),
        ("grid[][]", [1, 2, 3]),
        ("grid[]", [[1, 2], [3], []]),
        ("grid[0][]", [1, 2]),
        ("nothing", None),
        ("seconds.more", None),
        ("docs.id", None),  # a list is no object
        ("seconds[]", None),
    ],
)
def test_what_stands_at_a_path(path: str, value: Any) -> None:
    assert SourcePath.of(path).value(RECORD) == value


@pytest.mark.parametrize(
    "path",
    [
        "",
        " ",
        ".a",
        "a.",
        "a..b",
        "[]",
        "a[x]",
        "a[",
        "a]",
        "a[]b",
        '"a',
        "a * ",
        "a * b",
        "a * 1 * 2",
        "a[1.5]",
        "* 2",
    ],
)
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(SettingsError, match=r"^columns\.answer: must be a path into a record, got .* Write a path"):
        SourcePath.of(path, "columns.answer")


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters='"\\'), min_size=1, max_size=4)


@given(st.lists(NAMES, min_size=1, max_size=4), st.integers())
def test_a_quoted_name_is_any_name(names: list[str], leaf: int) -> None:
    record: Any = leaf
    for name in reversed(names):
        record = {name: record}
    assert SourcePath.of(".".join(f'"{name}"' for name in names)).value(record) == leaf


def twin(value: Any, steps: list[str]) -> list[Any]:
    """All values at the end of the steps, in order."""
    if not steps:
        return [value]
    if steps[0] == "[]":
        return [leaf for item in value for leaf in twin(item, steps[1:])]
    return twin(value[steps[0]], steps[1:])


@given(st.data())
def test_lists_in_lists_become_one(data: st.DataObject) -> None:
    steps = ["x", "[]", *data.draw(st.lists(st.sampled_from(["a", "[]"]), max_size=4))]

    def record(rest: list[str]) -> Any:
        if not rest:
            return data.draw(st.integers())
        if rest[0] == "[]":
            return [record(rest[1:]) for _ in range(data.draw(st.integers(0, 3)))]
        return {rest[0]: record(rest[1:])}

    value = record(steps)
    text = "".join(step if step == "[]" else f".{step}" for step in steps).removeprefix(".")
    assert SourcePath.of(text).value(value) == twin(value, steps)


def test_a_mapping_takes_what_it_names_and_keeps_the_rest() -> None:
    columns = Columns.of({"id": "meta.id", "context": "context.text", "error": False, "answer": "out"})
    source = {
        "meta": {"id": 1},
        "context": {"text": "x"},
        "error": False,
        "answer": "old",
        "question": "?",
        "team": "a",
    }
    assert columns.record(source) == {"id": 1, "context": "x", "question": "?", "team": "a"}


def test_tags_may_be_a_table_of_paths() -> None:
    columns = Columns.of({"tags": {"language": "meta.lang", "team": "meta.team"}})
    assert columns.record({"meta": {"lang": "en"}, "id": 1}) == {"id": 1, "tags": {"language": "en"}}
    assert columns.record({"id": 1, "tags": {"language": "de"}}) == {"id": 1}


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        ({"retrieved": "a"}, "columns: unknown key 'retrieved'; the nearest is 'retrieved_ids'."),
        ({"answer": 3}, 'columns.answer: must be a path, got 3. Write a path such as "docs[].metadata.id".'),
        ({"answer": {"a": "b"}}, "columns.answer: must be a path, got {'a': 'b'}."),
        ({"tags": {"a": 1}}, "columns.tags.a: must be a path, got 1."),
        ({"answer": "a * 2"}, "columns.answer: must be a path without a factor, as answer is no number"),
        ({"latency_ms": "a * 0"}, "columns.latency_ms: must have a factor above 0"),
        ({"latency_ms": "a * 1e999"}, "columns.latency_ms: must have a factor above 0"),
        (["answer"], "columns: must be a table {key: path}, got ['answer']."),
    ],
)
def test_what_is_no_mapping(mapping: Any, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Columns.of(mapping)
    assert str(caught.value).startswith(told)


def test_a_path_that_leads_nowhere_says_what_is_there() -> None:
    columns = Columns.of({"retrieved_ids": "docs[].meta.id", "answer": "out.text", "id": "id"})
    example = {"docs": [{"metadata": {"id": 1}}], "output": 3, "id": 1}
    told = list(columns.absent({"id"}, {"retrieved_ids": example, "answer": example}))
    assert [sentence for sentence, _ in told] == [
        'columns: retrieved_ids was not given, as "docs[].meta.id" is in no record; in the first, docs[] has the key '
        "metadata.",
        'columns: answer was not given, as "out.text" is in no record; in the first, the record has the keys docs, '
        "output, id.",
    ]
