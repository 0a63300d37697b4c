"""Logs as they come: rows of passages, values and lines that are wrong, timestamps of every kind."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import plain
from rag_titan.evaluation.importers import passage_rows
from rag_titan.evaluation.importers.logs import LogRecord, latest, moment, read_logs


def read(source: Any, columns: Any = None) -> tuple[list[dict[str, Any]], list[str]]:
    notices = Notices()
    return [record.values for record in read_logs(source, columns, notices)], notices.texts()


def test_rows_of_one_passage_each_are_joined_in_order() -> None:
    rows = [
        {"id": 1, "answer": "yes", "retrieved_ids": "c3", "retrieved_scores": 0.9, "latency_ms": 5},
        {"id": 2, "answer": "no", "retrieved_ids": 7},
        {"id": 1, "answer": "yes", "retrieved_ids": "c1", "question": "?"},
        {"id": 1, "answer": "yes, later", "retrieved_ids": "c9"},
    ]
    records, notices = read(rows)
    assert records == [
        {"id": "1", "answer": "yes", "retrieved_ids": ["c3", "c1"], "retrieved_scores": [0.9, None],
         "latency_ms": 5.0, "question": "?"},
        {"id": "2", "answer": "no", "retrieved_ids": ["7"]},
        {"id": "1", "answer": "yes, later", "retrieved_ids": ["c9"]},
    ]  # fmt: skip
    assert notices == [
        "logs: has one row a passage; 4 rows became 3 records, one of the rows with the same id (else question) whose "
        "timestamps and answers do not differ."
    ]


def test_rows_without_an_id_are_joined_by_their_question() -> None:
    rows = [{"question": "How long?", "retrieved_texts": "a"}, {"question": "how long", "retrieved_texts": "b"}]
    assert read(rows)[0] == [{"question": "How long?", "retrieved_texts": ["a", "b"]}]


def test_a_row_without_an_answer_goes_with_the_one_before() -> None:
    """As where each run writes its answer into its first row."""
    rows = [
        {"id": 1, "retrieved_ids": "a", "answer": "x"},
        {"id": 1, "retrieved_ids": "b", "answer": None},
        {"id": 1, "retrieved_ids": "c", "answer": "y"},
        {"id": 1, "retrieved_ids": "d"},
        {"id": 1, "retrieved_ids": "e", "answer": "x"},
    ]
    assert [record["retrieved_ids"] for record in read(rows)[0]] == [["a", "b", "e"], ["c", "d"]]


def test_places_are_no_lists_of_one_number(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("id,retrieved_ids,retrieved_texts\n1,[1],a\n1,[2],b\n2,,\n")
    assert read(tmp_path / "log.csv")[0] == [
        {"id": "1", "retrieved_ids": ["[1]", "[2]"], "retrieved_texts": ["a", "b"]},
        {"id": "2"},
    ]
    (tmp_path / "log.csv").write_text('id,retrieved_ids\n1,[1]\n2,"[1, 2]"\n')
    assert read(tmp_path / "log.csv")[0] == [
        {"id": "1", "retrieved_ids": ["1"]},
        {"id": "2", "retrieved_ids": ["1", "2"]},
    ]


def test_several_gold_labels_in_a_cell(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("id,expected_chunk_ids,required_facts\n1,c1||c2,25 days\n")
    assert read(tmp_path / "log.csv")[0] == [
        {"id": "1", "expected_chunk_ids": ["c1", "c2"], "required_facts": ["25 days"]}
    ]


def test_rows_that_nothing_joins_stay_alone() -> None:
    assert read([{"retrieved_ids": "a"}, {"retrieved_ids": "b"}])[0] == [
        {"retrieved_ids": ["a"]},
        {"retrieved_ids": ["b"]},
    ]


def test_lists_are_never_joined() -> None:
    rows = [{"id": 1, "retrieved_ids": ["a"]}, {"id": 1, "retrieved_ids": ["b"]}, {"id": 2, "retrieved_ids": "c"}]
    assert [record["retrieved_ids"] for record in read(rows)[0]] == [["a"], ["b"], ["c"]]


def test_rows_that_contradict_each_other_are_told() -> None:
    rows = [{"id": 1, "retrieved_ids": "a", "latency_ms": 3}, {"id": 1, "retrieved_ids": "b", "latency_ms": 4}]
    records, notices = read(rows)
    assert records == [{"id": "1", "retrieved_ids": ["a", "b"], "latency_ms": 3.0}]
    assert notices[1] == "the rows of one question differ in latency_ms, of which the first was kept: logs[0]."


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=4), st.randoms())
def test_joining_undoes_the_writing_of_rows(lists: list[list[int]], random: Any) -> None:
    """Rows of several questions may be mixed, as long as those of one stay in order."""
    rows = [(number, passage) for number, some in enumerate(lists) for passage in some]
    turns = [number for number, _ in rows]
    random.shuffle(turns)
    left = {number: iter(some) for number, some in enumerate(lists)}
    mixed = [{"id": number, "retrieved_ids": next(left[number])} for number in turns]
    found = {record["id"]: record["retrieved_ids"] for record in read(mixed)[0]}
    assert found == {str(number): [str(passage) for passage in some] for number, some in enumerate(lists)}


def test_one_bad_value_costs_nothing_else() -> None:
    records, notices = read(
        [
            {
                "request": {"id": 1},
                "answer": 3,
                "latency_ms": float("nan"),
                "out": {"ids": ["a", None]},
                "retrievd_ids": [],
            }
        ],
        {"id": "request.id", "retrieved_ids": "out.ids"},
    )
    assert records == [{"id": "1", "retrievd_ids": []}]
    assert notices == [
        "the key 'retrievd_ids' is not known and was not read; did you mean 'retrieved_ids'? It stands in logs[0].",
        "these values break a rule and were left out: logs[0].answer (must be text, got the number 3), "
        "logs[0].latency_ms (must be a finite number, got NaN or an infinite one), logs[0].retrieved_ids (out.ids)[1] "
        "(must be an id (text or whole number), got null).",
    ]


def test_a_file_that_is_cut_off_and_of_two_encodings_keeps_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [
        '{"id": 1, "answer": "café"}'.encode(),
        '{"id": 2, "answer": "naïve"}'.encode("cp1252"),
        b"[1]",
        b'{"id": 3, "ans',
    ]
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(lines))
    records, notices = read(path)
    assert records == [{"id": "1", "answer": "café"}, {"id": "2", "answer": "naïve"}]
    assert notices == [
        "lines that are no UTF-8 were read as Windows-1252: log.jsonl line 2. Save the file as UTF-8.",
        "these records could not be read and were left out: log.jsonl line 3 (must be an object, got a list), "
        "log.jsonl line 4 (must be JSON, but the text from column 11 on has no end: it is cut off. Write it again).",
    ]


def test_a_sheet_with_a_mark_and_ragged_rows(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes('\ufeffid,retrieved_ids,latency_ms\n1,"[""a""]",2\n2\n3,b,fast,lost\n'.encode())
    records, notices = read(path)
    assert records == [
        {"id": "1", "retrieved_ids": ["a"], "latency_ms": 2.0},
        {"id": "2"},
        {"id": "3", "retrieved_ids": ["b"]},
    ]
    assert any('row 4 ("lost")' in text for text in notices)
    assert any('log.csv row 4: latency_ms (must be a number, got the text "fast")' in text for text in notices)


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ('[{"id": 1}]', 1),
        ('{"queries": [{"id": 1}], "other": [1, 2]}', 1),
        ('{"results": [{"id": 1}, {"id": 2}], "version": 3, "errors": [], "names": ["a"]}', 2),
    ],
)
def test_where_the_records_of_a_json_file_are(text: str, records: int, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(text)
    assert len(read(tmp_path / "log.json")[0]) == records


@pytest.mark.parametrize("value", ['{"a": [], "b": []}', "{}", "3", "null"])
def test_a_json_file_without_a_list_of_records(value: str, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(value)
    with pytest.raises(DatasetError, match=r"log\.json: must hold a list of records, got "):
        read(tmp_path / "log.json")


@pytest.mark.parametrize("value", [3, None, b"x", {"id": 1}])
def test_what_are_no_logs(value: Any) -> None:
    with pytest.raises(DatasetError, match="logs: must be a list of records, a table or the path of a file, got "):
        read(value)


@pytest.mark.parquet
def test_tables_of_arrow_and_pandas() -> None:
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    rows = [{"id": "1", "retrieved_ids": ["a", "b"]}, {"id": "2", "retrieved_ids": None}]
    expected = [{"id": "1", "retrieved_ids": ["a", "b"]}, {"id": "2"}]
    assert read(pa.Table.from_pylist(rows))[0] == expected
    assert read(pd.DataFrame(rows))[0] == expected


SECOND = 1_793_869_200


@pytest.mark.parametrize(
    "value",
    [SECOND, str(SECOND), SECOND * 1000, SECOND * 10**6, SECOND * 10**9, float(SECOND),
     "2026-11-05T09:00:00", "2026-11-05 09:00:00Z", "2026-11-05T10:00:00+01:00"],
)  # fmt: skip
def test_moments_of_every_kind(value: Any) -> None:
    assert moment(value) == SECOND


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system has no time.tzset")
def test_a_date_without_a_zone_is_utc_wherever_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:
        context.setenv("TZ", "XXX-9")
        time.tzset()
        found = moment("2026-11-05T09:00:00")
    time.tzset()
    assert found == SECOND


@pytest.mark.parametrize("value", [None, True, "soon", "", float("nan"), float("inf"), "1e999", [], "2026-13-01"])
def test_what_is_no_moment(value: Any) -> None:
    assert moment(value) is None


def test_the_last_where_moments_are_missing_or_the_same() -> None:
    def of(*moments: Any) -> str:
        return latest([LogRecord(str(i), {"timestamp": moment}) for i, moment in enumerate(moments)]).where

    assert (of(2, 1), of(1, 2), of(2, 2), of(2, None), of(None, None)) == ("0", "1", "1", "1", "1")


def test_deep_nests_are_left_out_alone(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(
        json.dumps({"id": 1}) + '\n{"id": 2, "x": ' + "[" * 100_000 + "]" * 100_000 + "}\n"
    )
    records, notices = read(tmp_path / "log.jsonl")
    assert (records, len(notices)) == ([{"id": "1"}], 1)


def test_arrays_beside_single_passages_are_lists() -> None:
    gold = np.array(["c1", "c9"])
    rows = [
        {"id": 1, "retrieved_ids": "c1", "retrieved_scores": 0.5, "expected_chunk_ids": gold},
        {"id": 1, "retrieved_ids": "c2", "retrieved_scores": float("nan"), "expected_chunk_ids": gold},
        {"id": 2, "retrieved_ids": np.array(["a", "b"])},
    ]
    [first, second] = read_logs(rows, None, Notices())
    assert (first.values["retrieved_ids"], first.values["retrieved_scores"]) == (["c1", "c2"], [0.5, None])
    assert (first.values["expected_chunk_ids"], second.values["retrieved_ids"]) == (["c1", "c9"], ["a", "b"])


def slowly_joined(rows: list[dict[str, Any]]) -> list[list[str]]:
    """The passages of each request: a row goes to the latest one that it does not contradict."""
    requests: list[tuple[dict[str, Any], list[str]]] = []
    order: list[int] = []
    for row in rows:
        said = {key: row[key] for key in ("timestamp", "answer") if row[key] is not None}
        fits = [n for n in reversed(order) if all(requests[n][0].get(key, said[key]) == said[key] for key in said)]
        number = fits[0] if fits else len(requests)
        if not fits:
            requests.append(({}, []))
        order = [n for n in order if n != number] + [number]
        requests[number][0].update(said)
        requests[number][1].append(row["retrieved_ids"])
    return [passages for _, passages in requests]


@given(st.lists(st.tuples(st.sampled_from([None, 1, 2]), st.sampled_from([None, "a", "b"])), min_size=1, max_size=12))
def test_rows_go_to_the_latest_request_that_they_do_not_contradict(said: list[tuple[Any, Any]]) -> None:
    rows = [{"id": 1, "timestamp": t, "answer": a, "retrieved_ids": f"c{n}"} for n, (t, a) in enumerate(said)]
    assert [log.values["retrieved_ids"] for log in read_logs(rows, None, Notices())] == slowly_joined(rows)


def test_a_row_of_a_popular_question_is_not_compared_with_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []

    def counted(value: Any) -> Any:
        looked.append(value)
        return plain(value)

    monkeypatch.setattr(passage_rows, "plain", counted)
    rows = [{"question": "Who?", "timestamp": n, "retrieved_ids": "c"} for n in range(200)]
    assert len(read_logs(rows, None, Notices())) == 200
    assert len(looked) < 20 * len(rows)


def test_logs_with_the_names_of_the_format_are_not_mapped() -> None:
    logs = [{"id": "q1", "question": "x", "retrieved_ids": ["c1"]}]
    found, told = read(logs, {"id": "rid", "question": "input", "retrieved_ids": "docs[].id"})
    assert (found, len(told)) == (logs, 1)
    assert told[0].startswith("columns: the mapping was not used")
