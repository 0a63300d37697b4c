"""open-rag-eval's CSV."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation.importers.imported import Imported
from rag_titan.evaluation.importers.open_rag_eval import read

HEAD = "query_id,query,query_run,passage_id,passage,generated_answer\n"


def imported(tmp_path: Path, text: str | bytes) -> Imported:
    path = tmp_path / "results.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read([path])


def test_one_query_of_several_rows(tmp_path: Path) -> None:
    rows = 'q1,When?,1,[1],Opens at seven.,"At seven [1], or\nso [1, 2]."\nq1,When?,1,[2],Closes at nine.,\n'
    got = imported(tmp_path, b"\xef\xbb\xbf" + (HEAD + rows).encode())
    assert got.queries == [
        {
            "id": "q1",
            "question": "When?",
            "tags": {"query_run": "1"},
            "retrieved_ids": ["q1/1", "q1/2"],
            "context_ids": ["q1/1", "q1/2"],
            "answer": "At seven [1], or\nso [1, 2].",
            "citations": ["q1/1", "q1/2"],
        }
    ]
    assert got.chunks == [{"id": "q1/1", "text": "Opens at seven."}, {"id": "q1/2", "text": "Closes at nine."}]


def test_a_citation_is_read_by_the_number_of_the_passage(tmp_path: Path) -> None:
    rows = "q,How many?,1,[2],Seven have one.,Seven [2]\nq,How many?,1,[3],Earth has one.,\n"
    query = imported(tmp_path, HEAD + rows).queries[0]
    assert (query["answer"], query["citations"]) == ("Seven [q/2]", ["q/2"])


def test_a_citation_of_nothing(tmp_path: Path) -> None:
    got = imported(tmp_path, HEAD + "q,When?,1,[1],Opens at seven.,At seven [1][4]\n")
    assert (got.queries[0]["answer"], got.queries[0]["citations"]) == ("At seven [1]", ["q/1", "q/4"])
    assert any("cites what its query has not" in text and "q [4]" in text for text in got.notices.texts())
    assert got.dataset().chunks is not None


def test_runs_of_one_query_are_queries(tmp_path: Path) -> None:
    rows = "a,When?,1,[1],Seven.,One [1]\na,When?,2,[1],Eight.,Two [1]\nb,Where?,1,[1],Here.,\n"
    got = imported(tmp_path, HEAD + rows)
    assert [(query["id"], query["retrieved_ids"]) for query in got.queries] == [
        ("a/1", ["a/1/1"]),
        ("a/2", ["a/2/1"]),
        ("b", ["b/1"]),
    ]
    assert "answer" not in got.queries[2]
    assert any("one query a run" in text and text.endswith(": a.") for text in got.notices.texts())


def test_queries_without_an_id_are_known_by_their_text(tmp_path: Path) -> None:
    got = imported(tmp_path, "query,passage_id,passage,generated_answer\nWhen?,[1],Seven.,At seven\nWhen?,[2],Nine.,\n")
    assert [(query["id"], query["retrieved_ids"]) for query in got.queries] == [("When?", ["When?/1", "When?/2"])]


def test_queries_that_were_not_asked_yet(tmp_path: Path) -> None:
    got = imported(tmp_path, "query_id,query\na,When?\nb,Where?\n")
    assert got.queries == [{"id": "a", "question": "When?"}, {"id": "b", "question": "Where?"}]
    assert got.chunks is None


def test_further_columns_stay_and_oddities_are_told(tmp_path: Path) -> None:
    head = HEAD.replace("\n", ",latency\n")
    rows = "a,When?,1,[1],Seven.,One,250\na,Where?,1,[1],Nine.,Two,\n,,1,[1],Lost.,,\n"
    got = imported(tmp_path, head + rows)
    assert got.queries[0]["latency"] == "250"
    assert (got.queries[0]["question"], got.queries[0]["answer"]) == ("When?", "One")
    assert got.queries[0]["retrieved_ids"] == ["a/1", "a/1.2"]
    text = " ".join(got.notices.texts())
    assert "several answers, and the first one counts: a." in text
    assert "several query texts, and the first one counts: a." in text
    assert "neither query_id nor query were left out: row 4." in text


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "empty"),
        (b"a,b\n1,2\n", "results.csv: must have the columns query_id, query, .*, got a, b"),
        (b"\0\1\2binary\n", "zero bytes"),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, sentence: str) -> None:
    with pytest.raises(DatasetError, match=sentence) as caught:
        imported(tmp_path, content)
    assert "\n" not in str(caught.value)


def test_a_table_of_names_alone(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="got no rows below its names"):
        imported(tmp_path, HEAD)


def test_ragged_rows_and_mixed_encodings(tmp_path: Path) -> None:
    rows = HEAD.encode() + b"a,Caf\xe9?,1,[1]\nb,Na\xc3\xafve?,1,[1],Yes.,Yes [1],left,over\n"
    got = imported(tmp_path, rows)
    assert [query["question"] for query in got.queries] == ["Café?", "Naïve?"]
    assert got.queries[1]["citations"] == ["b/1"]
    text = " ".join(got.notices.texts())
    assert "fewer cells" in text
    assert "Windows-1252" in text
    assert "beyond the last name" in text
