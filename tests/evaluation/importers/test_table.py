"""Tables of any names, as one imports them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.importers.table import read


def write(tmp_path: Path, text: str, name: str = "log.csv") -> list[Path]:
    (tmp_path / name).write_text(text)
    return [tmp_path / name]


def test_a_row_a_passage_becomes_queries_and_chunks(tmp_path: Path) -> None:
    rows = "q,doc,passage,score,gold\n1,c1,One,0.9,c2\n1,c2,Two,0.5,c2\n2,c1,One,0.4,\n"
    names = ["id=q", "retrieved_ids=doc", "retrieved_texts=passage", "retrieved_scores=score"]
    imported = read(write(tmp_path, rows), columns=names)
    assert imported.queries == [
        {"id": "1", "gold": "c2", "retrieved_ids": ["c1", "c2"], "retrieved_scores": [0.9, 0.5]},
        {"id": "2", "retrieved_ids": ["c1"], "retrieved_scores": [0.4]},
    ]
    assert imported.chunks == [{"id": "c1", "text": "One"}, {"id": "c2", "text": "Two"}]


def test_texts_without_ids_stay_with_their_query(tmp_path: Path) -> None:
    imported = read(write(tmp_path, "id,contexts\n1,\"['a b', 'c']\"\n"), columns={"retrieved_texts": "contexts"})
    assert (imported.queries, imported.chunks) == ([{"id": "1", "retrieved_texts": ["a b", "c"]}], None)


def test_ids_that_mean_another_text_in_another_query_get_its_id(tmp_path: Path) -> None:
    rows = 'id,retrieved_ids,retrieved_texts,expected_chunk_ids,relevance\n1,0,a,0,\n2,0,b,9,"{""0"": 2}"\n'
    imported = read(write(tmp_path, rows))
    assert imported.queries == [
        {"id": "1", "retrieved_ids": ["1/0"], "expected_chunk_ids": ["1/0"]},
        {"id": "2", "retrieved_ids": ["2/0"], "expected_chunk_ids": ["2/9"], "relevance": {"2/0": 2.0}},
    ]
    assert imported.chunks == [{"id": "1/0", "text": "a"}, {"id": "2/0", "text": "b"}]


def test_an_id_of_two_texts_in_one_query_stands_for_both(tmp_path: Path) -> None:
    imported = read(write(tmp_path, "id,retrieved_ids,retrieved_texts\n1,c1,a\n1,c1,b\n"))
    assert imported.queries == [{"id": "1", "retrieved_ids": ["1/c1", "1/c1.2"]}]
    assert imported.chunks == [{"id": "1/c1", "text": "a"}, {"id": "1/c1.2", "text": "b"}]


def test_reranked_passages_are_those_that_were_retrieved(tmp_path: Path) -> None:
    line = '{"id": 1, "retrieved_ids": ["a", "b"], "retrieved_texts": ["x", "y"], "reranked_ids": ["b"]}\n'
    imported = read(write(tmp_path, line, "log.jsonl"))
    assert imported.queries == [{"id": "1", "retrieved_ids": ["a", "b"], "reranked_ids": ["b"]}]
    assert imported.chunks == [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}]


def test_places_get_the_id_of_their_query(tmp_path: Path) -> None:
    rows = "id,retrieved_ids,retrieved_texts,citations\n1,[1],a,[2]\n1,[2],b,\n"
    imported = read(write(tmp_path, rows))
    assert imported.queries == [{"id": "1", "retrieved_ids": ["1/1", "1/2"], "citations": ["1/2"]}]
    bare = read(write(tmp_path, "id,retrieved_ids,answer\n1,[1],a\n"))
    assert bare.queries == [{"id": "1", "answer": "a"}]
    assert "places such as [1] are no ids, and were left out: retrieved_ids of query 1." in bare.notices.texts()


def test_a_record_without_an_id_gets_that_of_its_question(tmp_path: Path) -> None:
    lines = '{"question": "Why?", "answer": "a"}\n{"question": "why", "answer": "b"}\n{"answer": "c"}\n'
    imported = read(write(tmp_path, lines, "log.jsonl"))
    assert [(query["id"][:9], query["answer"]) for query in imported.queries] == [
        ("question:", "b"),
        ("log.jsonl", "c"),
    ]
    assert len(imported.notices.texts()) == 3


def test_several_sources_are_one_log(tmp_path: Path) -> None:
    one, two = write(tmp_path, "id,answer\n1,a\n"), write(tmp_path, "id,answer\n2,b\n", "two.csv")
    assert [query["answer"] for query in read([*one, *two]).queries] == ["a", "b"]


def test_it_can_be_evaluated(tmp_path: Path) -> None:
    rows = 'id,hits,gold,s\n1,"[""a"", ""b""]","[""b""]",2\n'
    names = {"retrieved_ids": "hits", "expected_chunk_ids": "gold", "latency_ms": "s * 1000"}
    report = RAGEvaluator().evaluate_dataset(read(write(tmp_path, rows), columns=names).dataset())
    assert report["retrieval"]["summary"]["mrr_at_k"] == 0.5
    assert report["end_to_end"]["p50_latency_ms"] == 2000


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["answer"], "columns: must be key=path, got 'answer'."),
        (["answr=out"], "columns: unknown key 'answr'; the nearest is 'answer'."),
        (["answer=out."], "columns.answer: must be a path into a record"),
    ],
)
def test_what_is_no_mapping(columns: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read(write(tmp_path, "a,b\n1,2\n"), columns=columns)
    assert str(caught.value).startswith(told)


def test_a_key_may_be_switched_off(tmp_path: Path) -> None:
    assert read(write(tmp_path, "id,answer,error\n1,a,none\n"), columns=["error="]).queries == [
        {"id": "1", "answer": "a"}
    ]


def test_a_table_that_nothing_is_known_of(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError, match=r"log\.csv: must hold records with columns that a query has, got the keys a, b"
    ):
        read(write(tmp_path, "a,b\n1,2\n"))


def test_a_score_that_is_no_number_costs_its_row_no_passage(tmp_path: Path) -> None:
    rows = "id,retrieved_ids,retrieved_scores\n1,c1,0.5\n1,c2,nan\n1,c3,0.25\n"
    [query] = read(write(tmp_path, rows)).queries
    assert (query["retrieved_ids"], query["retrieved_scores"]) == (["c1", "c2", "c3"], [0.5, None, 0.25])
