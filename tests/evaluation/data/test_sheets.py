"""Tables that people made by hand: every oddity is read through, and named."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.sheets import read_sheet

Rows = list[tuple[int, dict[str, str]]]


def read(tmp_path: Path, data: bytes | str, name: str = "t.csv") -> tuple[Rows, list[str]]:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    notices = Notices()
    return list(read_sheet(path, notices)), notices.texts()


def workbook(tmp_path: Path, *sheets: list[list[object]]) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {number}")
        for row in rows:
            sheet.append(row)
    path = tmp_path / "t.xlsx"
    book.save(path)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_seen_in_the_first_row(tmp_path: Path, delimiter: str) -> None:
    text = f'id{delimiter}"a,b;c\t"\ng1{delimiter}"x;y,z\t"\n'
    assert read(tmp_path, text) == ([(2, {"id": "g1", "a,b;c": "x;y,z\t"})], [])


def test_a_row_may_state_the_delimiter_as_spreadsheet_programs_write_it(tmp_path: Path) -> None:
    assert read(tmp_path, "sep=|\nid|q\ng1|a,b\n") == ([(3, {"id": "g1", "q": "a,b"})], [])


def test_a_byte_order_mark_quoted_line_breaks_and_doubled_quotes(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf"id","q"\r\n"g1","one\r\ntwo ""three"""\r\n"g2","x"\r\n'
    assert read(tmp_path, data) == ([(2, {"id": "g1", "q": 'one\r\ntwo "three"'}), (3, {"id": "g2", "q": "x"})], [])


def test_ragged_rows_keep_every_named_cell(tmp_path: Path) -> None:
    rows, notices = read(tmp_path, "id,q,a\ng1,x,y,lost,too\ng2,x\n\ng3,x,y,,\n")
    assert rows == [
        (2, {"id": "g1", "q": "x", "a": "y"}),
        (3, {"id": "g2", "q": "x"}),
        (5, {"id": "g3", "q": "x", "a": "y"}),
    ]
    assert notices == [
        't.csv: cells beyond the last name of the first row were not read: row 2 ("lost", "too").',
        "t.csv: rows have fewer cells than the first row; what they lack is not given: row 3.",
    ]


def test_a_line_that_is_no_utf8_is_windows_1252_and_the_others_stay_utf8(tmp_path: Path) -> None:
    data = "id,q\ng1,café\n".encode() + b"g2,caf\xe9 \x80\x81\n"
    rows, notices = read(tmp_path, data)
    assert [row["q"] for _, row in rows] == ["café", "café €\x81"]
    assert notices == ["t.csv: lines that are no UTF-8 were read as Windows-1252: line 3. Save it as UTF-8."]


@pytest.mark.parametrize("mark", ["utf-16", "utf-16-be"])
def test_utf16_with_its_mark(tmp_path: Path, mark: str) -> None:
    text = "id\tq\r\ng1\tcafé\r\n"
    data = text.encode("utf-16") if mark == "utf-16" else b"\xfe\xff" + text.encode(mark)
    assert read(tmp_path, data) == ([(2, {"id": "g1", "q": "café"})], ["t.csv: is UTF-16 text."])


def test_columns_of_one_name_and_of_none(tmp_path: Path) -> None:
    rows, notices = read(tmp_path, ",id,q,q,q_2,\n0,g1,a,b,c,\n")
    assert rows == [(2, {"id": "g1", "q": "a", "q_3": "b", "q_2": "c"})]
    assert notices == [
        "t.csv: columns without a name in the first row were not read; in how many cells: column 1.",
        't.csv: further columns of the same name are called "q_3".',
    ]


def test_an_empty_cell_is_absent_and_an_empty_row_is_none(tmp_path: Path) -> None:
    assert read(tmp_path, "\nid,q\n,,\n  ,\ng1, \n")[0] == [(5, {"id": "g1"})]


def test_line_ends_of_old_macs(tmp_path: Path) -> None:
    rows, _ = read(tmp_path, "id,q\rg1,x\rg2,y\rz")
    assert rows == [(2, {"id": "g1", "q": "x"}), (3, {"id": "g2", "q": "y"}), (4, {"id": "z"})]


def test_a_quote_that_never_closes_swallows_no_row(tmp_path: Path) -> None:
    rows, notices = read(tmp_path, 'id,q\ng1,"open\ng2,x\ng3,"two\nlines"\n'.replace('"two\nlines"', "y"))
    assert rows == [(2, {"id": "g1", "q": '"open'}), (3, {"id": "g2", "q": "x"}), (4, {"id": "g3", "q": "y"})]
    assert notices == ["t.csv: a cell begins with a quote that is never closed: row 2; it ends with its line."]


def test_many_quotes_that_never_close_take_no_square_of_time(tmp_path: Path) -> None:
    rows, _ = read(tmp_path, "id,q\n" + 'x","\n' * 20_000)
    assert len(rows) == 20_000


def test_a_cell_of_any_length_and_the_limit_of_python_is_left_alone(tmp_path: Path) -> None:
    limit = 131_072  # Python's own
    csv.field_size_limit(limit)
    text = "word " * 100_000
    assert read(tmp_path, f"id,text\nd1,{text}\n")[0] == [(2, {"id": "d1", "text": text})]
    assert csv.field_size_limit() == limit


def test_compressed_with_gzip(tmp_path: Path) -> None:
    assert read(tmp_path, gzip.compress(b"id\ng1\n"), "t.csv.gz")[0] == [(2, {"id": "g1"})]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty table"),
        (b"\n \n,,\n", "empty table"),
        (b"\x00\x01\x02", "binary data"),
        (b"PK\x03\x04broken", ".xlsx workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "old or locked workbook"),
    ],
)
def test_what_is_no_table_is_one_sentence(tmp_path: Path, data: bytes, says: str) -> None:
    pytest.importorskip("openpyxl")
    with pytest.raises(DatasetError, match=says) as error:
        read(tmp_path, data)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="nothing there"):
        list(read_sheet(tmp_path / "none.csv", Notices()))


def test_a_workbook_whose_cells_have_types(tmp_path: Path) -> None:
    day = datetime.datetime(2026, 11, 30, 8, 5)
    path = workbook(
        tmp_path,
        [["id", "n", "f", "yes", "day", None], [7, 3.0, 0.1, True, day], [], ["g2", None, None, False, None, "over"]],
        [["other"]],
    )
    notices = Notices()
    assert list(read_sheet(path, notices)) == [
        (2, {"id": "7", "n": "3", "f": "0.1", "yes": "true", "day": "2026-11-30T08:05:00"}),
        (4, {"id": "g2", "yes": "false"}),
    ]
    assert notices.texts() == [
        't.xlsx: cells beyond the last name of the first row were not read: row 4 ("over").',
        't.xlsx: the first sheet is read; not read: "sheet 1".',
    ]


def test_a_workbook_that_says_a_wrong_size_of_itself(tmp_path: Path) -> None:
    path = workbook(tmp_path, [["id", "q"], ["g1", "x"], ["g2", "y"]])
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name).replace(b'ref="A1:B3"', b'ref="A1:A2"') for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, part in parts.items():
            book.writestr(name, part)
    assert [row for _, row in read_sheet(path, Notices())] == [{"id": "g1", "q": "x"}, {"id": "g2", "q": "y"}]


def test_a_truncated_workbook_is_one_sentence(tmp_path: Path) -> None:
    path = workbook(tmp_path, [["id", "q"], *([f"g{i}", "x"] for i in range(500))])
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(DatasetError, match=r"must be an \.xlsx workbook"):
        list(read_sheet(path, Notices()))


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=12)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=8), st.sampled_from(",;\t"))
def test_whatever_python_writes_comes_back(
    tmp_path_factory: pytest.TempPathFactory, cells: list[list[str]], by: str
) -> None:
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=by, quoting=csv.QUOTE_ALL).writerows([["id", "q"], *cells])
    rows, notices = read(tmp_path_factory.mktemp("sheet"), written.getvalue())
    kept = [{n: c for n, c in zip(("id", "q"), row, strict=True) if c.strip()} for row in cells]
    assert [row for _, row in rows] == [row for row in kept if row]
    assert notices == []
