"""Documents of every form come out as ids and texts; what is none is refused with its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Document
from rag_titan.evaluation.preparation.sources import documents_of, is_blank


def read(value: Any) -> list[tuple[str | None, str]]:
    return [(document.id, document.text) for document in documents_of(value)]


@pytest.mark.parametrize(
    "value",
    [
        {"a.md": "one", "7": "two"},
        {"a.md": "one", 7: "two"},
        [{"id": "a.md", "text": "one"}, {"id": 7, "text": "two"}],
        [{"source": "a.md", "text": "one"}, {"id": "7", "source": "x", "text": "two"}],
        ({"id": "a.md", "text": "one"}, Document(id="7", text="two")),
        iter([{"id": "a.md", "text": b"one"}, {"id": "7", "text": bytearray(b"two")}]),
        {"a.md": b"one", "7": memoryview(b"two")},
        {"a.md": np.str_("one"), "7": np.bytes_(b"two")},
    ],
)
def test_all_forms_are_the_same(value: Any) -> None:
    assert read(value) == [("a.md", "one"), ("7", "two")]


@pytest.mark.parquet
def test_tables_are_the_same_as_lists() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = [
        {"id": "a", "text": b"one", "category": "hr"},
        {"id": "b", "text": None, "category": None},
    ]
    found = documents_of(pyarrow.Table.from_pylist(rows))
    assert [(d.id, d.text, d.category) for d in found] == [("a", "one", "hr"), ("b", "", None)]
    assert documents_of(pyarrow.RecordBatch.from_pylist(rows)) == found


@pytest.mark.oracle
def test_a_data_frame_has_nan_where_a_text_is_missing() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [1, 2], "text": ["one", float("nan")], "category": ["hr", float("nan")]})
    found = documents_of(frame)
    assert [(d.id, d.text, d.category) for d in found] == [("1", "one", "hr"), ("2", "", None)]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("zwölf".encode(), "zwölf"),
        (b"\xef\xbb\xbf" + "zwölf".encode(), "zwölf"),
        (b"\xff\xfe" + "zwölf".encode("utf-16-le"), "zwölf"),
        (b"\xfe\xff" + "zwölf".encode("utf-16-be"), "zwölf"),
        ("zwölf".encode("latin-1"), "zw\ufffdlf"),
        (b"\xff\xfea", "\ufffd"),
        (b"", ""),
    ],
)
def test_bytes_are_decoded_as_their_mark_says_and_never_refused(data: bytes, text: str) -> None:
    assert read({"a": data}) == [("a", text)]
    assert read([{"id": "a", "text": data}]) == [("a", text)]


def test_a_lone_surrogate_is_replaced_in_both_forms() -> None:
    for value in ({"a": "x\udcff"}, [{"id": "a", "text": "x\udcff"}]):
        notices = Notices()
        assert documents_of(value, notices)[0].text == "x\ufffd"
        assert len(notices.texts()) == 1


def test_a_key_that_is_nearly_a_known_one_is_told() -> None:
    notices = Notices()
    assert documents_of([{"id": "a", "text": "x", "categorie": "hr", "page": 4}], notices)[0].category is None
    assert notices.texts() == [
        "the key 'categorie' is not known and was not read; did you mean 'category'? It stands in a."
    ]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("a.md", 'documents: must be {id: text} or a list, got the text "a.md"; write {"hr.pdf": "..."}.'),
        (None, 'documents: must be {id: text} or a list, got null; write {"hr.pdf": "..."}.'),
        (np.float64(3), 'documents: must be {id: text} or a list, got the number 3.0; write {"hr.pdf": "..."}.'),
        ({"a": 3}, 'documents["a"]: must be text, got the number 3. Write "3".'),
        ({"a": ["x"]}, 'documents["a"]: must be text, got a list.'),
        (
            {"": "x"},
            'documents[""]: must be an id (text or whole number), got an empty text. Remove it, or write the id.',
        ),
        ({7: "x", "7": "y"}, 'documents["7"]: must stand there once; the whole number and the text are the same id.'),
        (["x"], 'documents[0]: must be an object (a document), got the text "x".'),
        ([{"id": "a"}], 'documents[0].text: must be given; the object has the key id. Add "text".'),
        ([{"text": "x"}], 'documents[0].id: must be given (or "source"), got neither. Add one of them.'),
        (
            [{"id": "a", "text": "x"}, {"source": "a", "text": "y"}],
            'documents[1].id: duplicate id "a", as in documents[0]. Document ids must be unique.',
        ),
        (
            [{"id": "a", "text": "x", "category": 3}],
            'documents[0].category: must be text, got the number 3. Write "3".',
        ),
    ],
)
def test_what_is_no_document_is_refused_with_its_place(value: Any, error: str) -> None:
    with pytest.raises(DatasetError) as caught:
        documents_of(value)
    assert str(caught.value) == error


def test_the_caller_s_records_stay_as_they_are() -> None:
    record = {"source": "a", "text": b"x"}
    documents_of([record])
    assert record == {"source": "a", "text": b"x"}
    mine = Document(source="a", text="x")
    documents_of([mine])
    assert mine.id is None


def test_nothing_and_white_space_are_blank() -> None:
    assert [is_blank(text) for text in ("", " \f\n\u3000", "x ", "\ufffd")] == [True, True, False, False]
