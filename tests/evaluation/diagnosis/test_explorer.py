"""The explorer's rows: what they say of a small dataset that a person can read, and what holds for any."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import World, datasets, worlds

from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.evaluation.data.normal import normal_text
from rag_titan.evaluation.diagnosis.explorer import GAP, LONGEST, ExplorerRows
from rag_titan.evaluation.diagnosis.explorer_marks import located
from rag_titan.evaluation.evaluator import _Run
from rag_titan.evaluation.partial import partial_of

TEXT = "Leave is 25 days a year. Sick pay is full. Parking costs 12 euros a month."
CHUNKS = [
    {"id": "leave", "text": TEXT[:30], "start": 0, "end": 30},  # "... year. Sick "
    {"id": "sick", "text": TEXT[30:60], "start": 30, "end": 60},  # "pay is full. Parking costs 12 "
    {"id": "parking", "text": TEXT[43:], "start": 43, "end": len(TEXT)},
]
ASKED = {
    "id": "q1",
    "question": "What does parking cost?",
    "expected_evidence": ["Sick pay is full", "Parking costs 12 euros"],
    "expected_chunk_ids": ["parking"],
    "retrieved_ids": ["leave", "sick", "parking", "leave"],
    "retrieved_scores": [0.5, float("nan"), 0.3, 0.2],
    "context_ids": ["leave", "leave"],
    "answer": "It is 13 % [1] of 25 [parking].",
    "expected_answer": "12 euros",
    "required_facts": ["12 euros", "13 %"],
    "tags": {"language": "en"},
}


def explored(queries: list[dict[str, Any]], most: Any = True, k: int = 2, **inputs: Any) -> dict[str, Any]:
    inputs = {"chunks": CHUNKS, "document_text": TEXT, **inputs}
    explorer: dict[str, Any] = RAGEvaluator(k=k, explorer=most).evaluate(queries=queries, **inputs)["explorer"]
    return explorer


def row_of(query: dict[str, Any], **inputs: Any) -> dict[str, Any]:
    row: dict[str, Any] = explored([{"id": "q", **query}], **inputs)["queries"][0]
    return row


def said(explorer: dict[str, Any], places: list[dict[str, Any]]) -> list[tuple[str, str]]:
    texts = explorer["chunks"]
    return [(p["chunk"], texts[p["chunk"]]["text"][p["start"] : p["end"]]) for p in places]


def test_a_question_worked_by_hand() -> None:
    report = RAGEvaluator(k=2, explorer=True).evaluate(
        queries=[ASKED], chunks=CHUNKS, document_text=TEXT, max_context_tokens=10
    )
    explorer = report["explorer"]
    row = explorer["queries"][0]
    evidence, metrics = row.pop("evidence"), row.pop("metrics")
    assert row == {
        "id": "q1",
        "question": "What does parking cost?",
        "tags": {"language": "en"},
        "error": None,
        "answer": "It is 13 % [1] of 25 [parking].",
        "references": ["12 euros"],
        "abstained": None,
        "answerable": None,
        "facts": [{"text": "12 euros", "found": False}, {"text": "13 %", "found": True}],
        "answer_marks": [{"start": 6, "end": 10, "what": "number"}, {"start": 21, "end": 30, "what": "citation"}],
        "gold": [{"id": "parking", "grade": 1.0, "retrieved_rank": 3, "reranked_rank": None, "in_context": False}],
        "retrieved": [
            {"id": "leave", "grade": None, "score": 0.5},
            {"id": "sick", "grade": None, "score": None},
            {"id": "parking", "grade": 1.0, "score": 0.3},
        ],
        "reranked": None,
        "context": [{"id": "leave", "tokens": 7}, {"id": "leave", "tokens": 7}],
        "budget": {"used": 14, "max": 10.0},
        "verdict": report["queries"][0],
    }
    cut, found = evidence
    assert said(explorer, cut["places"]) == [("leave", "Sick"), ("sick", "pay is full")]
    assert (cut["whole_in"], cut["retrieved_rank"], cut["in_context"]) == ([], None, False)
    assert said(explorer, found["places"]) == [("sick", "Parking costs 12"), ("parking", "Parking costs 12 euros")]
    assert (found["whole_in"], found["retrieved_rank"], found["in_context"]) == (["parking"], 3, False)
    assert found["quotes"] == ["Parking costs 12 euros"]
    assert metrics["retrieval.hit_at_k"] == 0
    assert metrics["augmentation.budget_compliant"] == 0
    assert "retrieval.latency_ms" not in metrics  # not measured
    assert (explorer["left_out"], explorer["redacted"]) == (0, False)


def test_the_values_are_those_of_the_lists_per_query() -> None:
    report = RAGEvaluator(k=2, explorer=True).evaluate(queries=[ASKED], chunks=CHUNKS, document_text=TEXT)
    values = {
        f"{stage}.{key}": value
        for stage in ("retrieval", "reranking", "augmentation", "generation", "end_to_end")
        for key, value in (report[stage]["per_query"][0] if report[stage] else {}).items()
        if key != "id" and value is not None
    }
    assert report["explorer"]["queries"][0]["metrics"] == values


def test_quotes_without_documents_are_looked_for_in_the_chunks() -> None:
    chunks = [{"id": "a", "text": "Leave is\n25  days."}, {"id": "b", "text": "Leave is 30 days."}, {"id": "c"}]
    query = {"id": "q", "expected_evidence": ["Leave is 25 days"], "retrieved_ids": ["b", "a", "c", "d"]}
    explorer = explored([query], chunks=chunks, document_text=None)
    item = explorer["queries"][0]["evidence"][0]
    assert said(explorer, item["places"]) == [("a", "Leave is\n25  days")]
    assert (item["whole_in"], item["retrieved_rank"], item["in_context"]) == (["a"], 2, None)
    assert explorer["chunks"].keys() == {"a", "b"}  # of the others nothing is known


def test_texts_that_were_logged_without_ids_are_shown() -> None:
    query = {
        "id": "q",
        "retrieved_texts": ["Leave  is 25 days a year.", TEXT[43:]],
        "context": "Sick pay is full.\nLeave is 25 days a year.",
        "expected_evidence": ["25 days a year"],
        "answer": "24 days",
    }
    explorer = explored([query])
    row = explorer["queries"][0]
    first, second = (item["id"] for item in row["retrieved"])
    (part,) = row["context"]
    texts = {name: chunk["text"] for name, chunk in explorer["chunks"].items()}
    assert (texts[first], second, texts[part["id"]]) == ("Leave is 25 days a year.", "parking", query["context"])
    assert part["tokens"] == row["budget"]["used"] == 10
    assert row["evidence"][0]["in_context"] is True
    assert {word for _, word in said(explorer, row["evidence"][0]["places"])} == {"25 days a year"}
    assert [place["chunk"] for place in row["evidence"][0]["places"]] == [first, part["id"], "leave"]
    assert row["evidence"][0]["whole_in"] == [first, part["id"], "leave"]
    assert row["answer_marks"] == [{"start": 0, "end": 2, "what": "number"}]


def test_texts_in_the_logs_of_other_questions_are_not_shown() -> None:
    asked = {"id": "q1", "expected_evidence": ["25 days"], "retrieved_ids": []}
    logged = {"id": "q2", "retrieved_texts": ["It is 25 days."]}
    rows = {row["id"]: row for row in explored([asked, logged])["queries"]}
    assert rows["q1"] == explored([asked])["queries"][0]


def test_a_context_as_text_stands_for_chunks_without_texts() -> None:
    row = row_of({"context_ids": ["x"], "context": "Leave is long."}, chunks=None, document_text=None)
    assert [item["tokens"] for item in row["context"]] == [None, None]
    assert row["context"][0]["id"] == "x"
    assert row_of({"context": " "})["context"] == []


def test_of_several_quotes_the_whole_one_is_marked_alone() -> None:
    quotes = ["Sick pay is full. Parking", "Parking costs"]
    explorer = explored([{"id": "q", "expected_evidence": [{"any_of": quotes}], "retrieved_ids": ["sick"]}])
    item = explorer["queries"][0]["evidence"][0]
    assert item["quotes"] == quotes
    assert said(explorer, item["places"]) == [("sick", "Parking costs"), ("parking", "Parking costs")]


@pytest.mark.parametrize(
    ("query", "marks"),
    [
        ({"answer": "5", "context": "5 and 6"}, []),
        ({"answer": "-5 %, 7", "context": "5 %"}, ["-5 %", "7"]),
        ({"answer": "5", "context_ids": ["unknown"]}, []),  # nobody can say
        ({"answer": "[1] 9 [2]", "context_ids": ["leave"]}, ["9"]),  # [2] is no marker: its number is one of the answer
        ({"answer": "see [sick, 1]", "context_ids": ["leave"]}, ["[sick, 1]"]),
        ({"answer": "see [sick]", "context_ids": ["leave"], "citations": ["leave"]}, []),
        ({"answer": "see [sick]"}, []),
        ({"answer": "\U0001f600 9", "context": "x"}, ["9"]),
        ({"answer": None, "context": "x"}, []),
    ],
)
def test_what_is_marked_in_an_answer(query: dict[str, Any], marks: list[str]) -> None:
    row = row_of(query)
    found = [row["answer"][mark["start"] : mark["end"]] for mark in row["answer_marks"]]
    assert found == ([*marks, "2"] if query["answer"] == "[1] 9 [2]" else marks)


def test_facts_without_an_answer_are_missing() -> None:
    assert row_of({"required_facts": ["a"]})["facts"] == [{"text": "a", "found": False}]


def test_an_error_and_a_question_that_has_no_answer() -> None:
    rows = explored(
        [{"id": "b", "answerable": False, "abstained": True, "answer": "I do not know."}, {"id": "z", "error": "504"}]
    )["queries"]
    assert [(row["id"], row["error"], row["answerable"], row["abstained"]) for row in rows] == [
        ("z", "504", None, None),
        ("b", None, False, True),
    ]


def test_failed_questions_come_first_and_are_kept_first() -> None:
    queries = [{"id": f"q{i}", "task_success": i not in (3, 7), "answer": "x"} for i in range(9)]
    explorer = explored(queries, most=4)
    assert [row["id"] for row in explorer["queries"]] == ["q3", "q7", "q0", "q1"]
    assert explorer["left_out"] == 5


def test_lists_are_cut_and_chunks_of_questions_that_are_left_out_are_not_kept() -> None:
    chunks = [{"id": f"c{i}", "text": f"text {i}"} for i in range(40)]
    queries = [
        {"id": "a", "retrieved_ids": [f"c{i}" for i in range(30)]},
        {"id": "b", "retrieved_ids": ["c39"]},
    ]
    explorer = explored(queries, most=1, chunks=chunks, document_text=None)
    assert len(explorer["queries"][0]["retrieved"]) == len(explorer["chunks"]) == 20
    assert len(explored(queries, k=25, chunks=chunks, document_text=None)["queries"][0]["retrieved"]) == 25


def test_a_long_chunk_is_cut_around_its_marks() -> None:
    text = "a " * 5000 + "first quote " + "b " * 5000 + "second quote" + " c" * 5000
    quotes = ["first quote", "second quote"]
    query = {"id": "q", "expected_evidence": quotes, "retrieved_ids": ["long"]}
    explorer = explored([query], chunks=[{"id": "long", "text": text}], document_text=None)
    chunk = explorer["chunks"]["long"]
    assert chunk["cut"]
    assert len(chunk["text"]) <= LONGEST + 3 * len(GAP)
    assert chunk["text"].count("…") == 3
    for item, quote in zip(explorer["queries"][0]["evidence"], quotes, strict=True):
        assert said(explorer, item["places"]) == [("long", quote)]
    unmarked = explored([{"id": "q", "retrieved_ids": ["long"]}], chunks=[{"id": "long", "text": text}])
    assert unmarked["chunks"]["long"]["text"] == text[:LONGEST] + " …"


def test_a_mark_longer_than_what_is_shown_is_cut_off() -> None:
    text = "x " * 4000
    query = {"id": "q", "expected_evidence": [text], "retrieved_ids": ["long"]}
    explorer = explored([query], chunks=[{"id": "long", "text": text + "end"}], document_text=None)
    ((_, marked),) = said(explorer, explorer["queries"][0]["evidence"][0]["places"])
    assert marked == text[:LONGEST]


def test_documents_of_chunks_are_named() -> None:
    chunks = [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}, {"id": "c", "text": "?", "doc_id": "d9"}]
    query = {"id": "q", "retrieved_ids": ["a", "b", "c"]}
    inputs: dict[str, Any] = {"document_text": None, "documents": {"d1": "one", "d2": "two"}}
    named = explored([query], chunks=chunks, **inputs)["chunks"]
    assert [chunk["document"] for chunk in named.values()] == ["d1", "d2", "d9"]


@pytest.mark.parametrize(
    ("words", "text", "near", "found"),
    [
        ("a b", "x a\n b", 0, (2, 6)),
        ("aa", "aaaa", 2, (2, 4)),
        ("a  b", "a b, a b", 4, (5, 8)),
        ("e\u0301", "x\u00e9", 0, (1, 2)),
        ("\u00e9t", "caf e\u0301t", 0, (4, 7)),
        ("\uac01", "\u1100\u1161\u11a8", 0, (0, 3)),  # a Korean syllable in parts
        (" ", "a b", 0, (1, 2)),
        ("", "a", 0, None),
        ("c", "", 0, None),
    ],
)
def test_where_words_stand(words: str, text: str, near: int, found: tuple[int, int] | None) -> None:
    assert located(words, text, near) == found


def test_nothing_else_of_the_report_changes() -> None:
    plain = RAGEvaluator(k=2).evaluate(queries=[ASKED], chunks=CHUNKS, document_text=TEXT)
    report = RAGEvaluator(k=2, explorer=True).evaluate(queries=[ASKED], chunks=CHUNKS, document_text=TEXT)
    del report["explorer"], report["meta"]["created_at"], plain["meta"]["created_at"]
    assert json.dumps(report) == json.dumps(plain)


def test_without_lists_per_query_and_with_processes_it_is_the_same(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("rag_titan.evaluation.evaluator.LEAST", 100)
    queries = [{**ASKED, "id": f"q{i}", "retrieved_texts": [f"text {i}"], "retrieved_ids": None} for i in range(6)]
    path, chunks, documents = tmp_path / "queries.jsonl", tmp_path / "chunks.jsonl", tmp_path / "documents.jsonl"
    path.write_text("\n".join(json.dumps(query) for query in queries))
    chunks.write_text("\n".join(json.dumps({**chunk, "doc_id": "d"}) for chunk in CHUNKS))
    documents.write_text(json.dumps({"id": "d", "text": TEXT}))
    evaluator = RAGEvaluator(k=2, explorer=4)
    whole = evaluator.evaluate_path(path, chunks=chunks, documents=documents)["explorer"]
    parts = evaluator.evaluate_path(path, chunks=chunks, documents=documents, per_query=None, processes=2)["explorer"]
    assert json.dumps(parts) == json.dumps(whole)
    assert whole["left_out"] == 2
    assert len([name for name in whole["chunks"] if name.startswith("text:")]) == 4


def merged_by_chance(data: dict[str, Any], most: int, random: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The explorer of all queries at once, and that of batches of one, merged in any order."""
    dataset = dataset_from(**data)
    run = _Run(RAGEvaluator(k=2, explorer=most), dataset, "report")
    queries = [query for batch in dataset.queries.batches(100) for query in batch]
    parts = [partial_of([query], run.plan).explorer for query in queries]
    random.shuffle(parts)
    merged = ExplorerRows(most)
    for part in parts:
        moved = pickle.loads(pickle.dumps(part)) if random.random() < 0.5 else part
        merged = moved.merge(merged) if random.random() < 0.5 else merged.merge(moved)
    whole: dict[str, Any] = RAGEvaluator(k=2, explorer=most).evaluate(**data)["explorer"]
    return whole, merged.report(run.plan.corpus)


@settings(max_examples=20)
@given(worlds(), st.integers(1, 5), st.randoms(use_true_random=False))
def test_batches_merge_in_any_order(world: World, most: int, random: Any) -> None:
    data = {"chunks": world.chunks, "documents": world.documents, "queries": world.queries}
    whole, merged = merged_by_chance(data, most, random)
    assert json.dumps(merged) == json.dumps(whole)
    failed = [row["verdict"]["correct"] is False or row["verdict"]["lost_at"] is not None for row in whole["queries"]]
    assert failed == sorted(failed, reverse=True)


@settings(max_examples=20)
@given(datasets(hostile=False), st.integers(1, 3), st.randoms(use_true_random=False))
def test_batches_of_any_data_merge_in_any_order(data: dict[str, Any], most: int, random: Any) -> None:
    whole, merged = merged_by_chance(data, most, random)
    assert json.dumps(merged) == json.dumps(whole)


@settings(max_examples=25)
@given(worlds())
def test_places_hold_the_quote_or_a_part_of_it(world: World) -> None:
    """Where every word of the documents occurs once: exactly the characters that a chunk and a quote share."""
    explorer = explored(world.queries, chunks=world.chunks, document_text=None, documents=world.documents)
    by_id = {chunk["id"]: chunk for chunk in world.chunks}
    for row in explorer["queries"]:
        shown = {i["id"] for key in ("retrieved", "reranked", "context", "gold") for i in row[key] or ()}
        for item in row["evidence"]:
            for place in item["places"]:
                text = explorer["chunks"][place["chunk"]]["text"]
                marked = text[place["start"] : place["end"]]
                assert 0 <= place["start"] < place["end"] <= len(text)
                assert any(marked in quote for quote in item["quotes"])
                assert text == by_id[place["chunk"]]["text"]
            whole = {p["chunk"] for p in item["places"] if whole_quote(explorer, p) in item["quotes"]}
            holders = {c["id"] for c in world.chunks if any(quote in c["text"] for quote in item["quotes"])}
            assert set(item["whole_in"]) == whole == holders
            assert {place["chunk"] for place in item["places"]} <= shown | holders


def whole_quote(explorer: dict[str, Any], place: dict[str, Any]) -> str:
    text: str = explorer["chunks"][place["chunk"]]["text"]
    return text[place["start"] : place["end"]]


@settings(max_examples=40)
@given(datasets(hostile=False))
def test_marks_lie_in_their_texts_and_mark_what_they_say(data: dict[str, Any]) -> None:
    explorer = RAGEvaluator(k=2, explorer=True).evaluate(**data)["explorer"]
    json.dumps(explorer, allow_nan=False)
    for row in explorer["queries"]:
        for mark in row["answer_marks"]:
            marked = row["answer"][mark["start"] : mark["end"]]
            assert mark["start"] < mark["end"] <= len(row["answer"])
            if mark["what"] == "citation":
                assert (marked[0], marked[-1]) == ("[", "]")
            else:
                assert any(character.isdecimal() for character in marked)
        for item in row["evidence"]:
            quotes = [normal_text(quote) for quote in item["quotes"]]
            for place in item["places"]:
                text = explorer["chunks"][place["chunk"]]["text"]
                assert 0 <= place["start"] < place["end"] <= len(text)
                marked = normal_text(text[place["start"] : place["end"]])
                assert any(marked in quote for quote in quotes)
