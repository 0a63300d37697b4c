"""Ragas samples in every form that Ragas and pandas write them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.test_public_results import path_of

from rag_titan.errors import DatasetError
from rag_titan.evaluation import Imported, RAGEvaluator, import_run
from rag_titan.evaluation.catalogue import values_of
from rag_titan.evaluation.importers.ragas import _python_list

SAMPLE = {
    "user_input": "How long is leave?",
    "retrieved_contexts": ["Leave is 25 days.", "Sick pay is full."],
    "response": "25 days.",
    "reference": "25 days",
    "faithfulness": 0.5,
}
RECORD = {
    "id": "1",
    "question": "How long is leave?",
    "retrieved_texts": ["Leave is 25 days.", "Sick pay is full."],
    "answer": "25 days.",
    "expected_answer": "25 days",
    "ragas": {"faithfulness": 0.5},
}


def imported(folder: Path, name: str, content: Any, **options: str) -> Imported:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return import_run("ragas", path, **options)


def ordered(record: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(record.items()))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.json", [SAMPLE]),
        ("one.json", SAMPLE),
        ("samples.json", {"samples": [SAMPLE]}),
        ("lines.jsonl", json.dumps(SAMPLE) + "\n"),
        ("pandas.json", {key: {"0": value} for key, value in SAMPLE.items()}),
        ("columns.json", {key: [value] for key, value in SAMPLE.items()}),
        ("annotated.json", {"faithfulness": [{"metric_input": {k: v for k, v in SAMPLE.items() if k != "faithfulness"},
                                              "metric_output": 0.5}]}),
    ],
)  # fmt: skip
def test_every_form_of_json_is_the_same_record(tmp_path: Path, name: str, content: Any) -> None:
    assert [ordered(record) for record in imported(tmp_path, name, content).queries] == [ordered(RECORD)]


@pytest.mark.parametrize(
    "cell",
    [
        "['Leave is 25 days.', 'Sick pay is full.']",
        '["Leave is 25 days.", "Sick pay is full."]',
        "['Leave is 25 days.'\n 'Sick pay is full.']",
    ],
)
def test_lists_in_cells_are_read_as_python_json_and_numpy_write_them(tmp_path: Path, cell: str) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([["user_input", "retrieved_contexts", "response"], ["How long?", cell, "25"]])
    [record] = imported(tmp_path, "table.csv", text.getvalue()).queries
    assert record["retrieved_texts"] == ["Leave is 25 days.", "Sick pay is full."]


@given(st.lists(st.text(), min_size=1))
def test_what_python_writes_is_read_back(texts: list[str]) -> None:
    assert _python_list(repr(texts)) == texts


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))), min_size=1, max_size=5))
def test_what_numpy_writes_is_read_back(texts: list[str]) -> None:
    assert _python_list(f"[{' '.join(map(repr, texts))}]") == texts


def test_what_nobody_writes_stays_a_text() -> None:
    assert _python_list("['a', 'b' 'c']") is None
    assert _python_list("['a', [1]]") is None


@pytest.mark.parquet
def test_parquet_is_read(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist([SAMPLE]), tmp_path / "samples.parquet")
    assert ordered(import_run("ragas", tmp_path / "samples.parquet").queries[0]) == ordered(RECORD)


def test_the_names_of_before_are_known(tmp_path: Path) -> None:
    sample = {"question": "Q?", "contexts": [], "answer": "", "ground_truths": ["a", "b"], "id": "s7"}
    assert imported(tmp_path, "old.json", [sample]).queries == [
        {"id": "s7", "question": "Q?", "answer": "", "expected_answers": ["a", "b"], "retrieved_texts": []}
    ]


def test_what_a_sample_can_support_is_measured(tmp_path: Path) -> None:
    sample = {**SAMPLE, "reference_contexts": ["25 days."]}
    result = imported(tmp_path, "s.json", [sample], context="retrieved")
    assert result.queries[0]["context"] == "Leave is 25 days.\n\nSick pay is full."
    values = values_of(RAGEvaluator().evaluate_dataset(result.dataset()))
    assert values["retrieval.complete_evidence_recall"] == 1.0
    assert values["generation.answer_f1"] == 1.0
    assert values["generation.context_grounding"] == 1.0


def test_ids_of_contexts_make_a_chunk_table(tmp_path: Path) -> None:
    sample = {**SAMPLE, "retrieved_context_ids": [7, 8], "reference_context_ids": [7]}
    result = imported(tmp_path, "s.json", [sample])
    assert result.queries[0]["retrieved_ids"] == ["7", "8"]
    assert result.queries[0]["expected_chunk_ids"] == ["7"]
    assert result.chunks == [{"id": "7", "text": "Leave is 25 days."}, {"id": "8", "text": "Sick pay is full."}]
    assert values_of(RAGEvaluator().evaluate_dataset(result.dataset()))["retrieval.recall_at_k"] == 1.0


def test_ids_that_are_local_to_a_sample_are_prefixed(tmp_path: Path) -> None:
    first = {
        "user_input": "A?",
        "retrieved_contexts": ["x"],
        "retrieved_context_ids": [0],
        "reference_context_ids": [0],
    }
    second = {**first, "retrieved_contexts": ["y"]}
    result = imported(tmp_path, "s.json", [first, second])
    assert [q["retrieved_ids"] for q in result.queries] == [["1/0"], ["2/0"]]
    assert [q["expected_chunk_ids"] for q in result.queries] == [["1/0"], ["2/0"]]


def test_of_a_conversation_the_last_turn_counts(tmp_path: Path) -> None:
    turns = [{"content": "Hi", "type": "human"}, {"content": "Hello", "type": "ai"},
             {"content": "How long is leave?", "type": "human"}, {"content": "Let me see", "type": "ai"},
             {"content": "25", "type": "tool"}, {"content": "25 days.", "type": "ai"}]  # fmt: skip
    result = imported(tmp_path, "s.json", [{"user_input": turns, "reference": "25"}])
    [record] = result.queries
    assert (record["question"], record["answer"]) == ("How long is leave?", "25 days.")
    assert record["ragas"]["messages"] == turns
    assert result.notices.texts() == ["of conversations the last question and its answer were kept: 1."]


def test_a_last_question_without_an_answer_gets_none(tmp_path: Path) -> None:
    turns = [{"content": "Hi", "role": "user"}, {"content": "Hello", "role": "assistant"},
             {"content": "How long is leave?", "role": "user"}]  # fmt: skip
    [record] = imported(tmp_path, "s.json", [{"user_input": turns}]).queries
    assert (record["question"], record.get("answer")) == ("How long is leave?", None)


def test_what_is_not_given_stays_out(tmp_path: Path) -> None:
    nan = '[{"user_input": "Q?", "response": null, "reference": NaN, "faithfulness": NaN, "x": {"y": NaN}}]'
    assert imported(tmp_path, "s.json", nan).queries == [{"id": "1", "question": "Q?", "ragas": {"x": {"y": None}}}]


def test_what_cannot_be_read_is_named_and_the_rest_kept(tmp_path: Path) -> None:
    lines = [json.dumps(SAMPLE), '{"user_input": "cut o', json.dumps({"other": 1}), json.dumps({**SAMPLE, "id": 1}),
             json.dumps({"user_input": "Q?", "contexts": ["a", 5], "retrieved_context_ids": ["i"]})]  # fmt: skip
    result = imported(tmp_path, "s.jsonl", "\n".join(lines))
    assert [record["id"] for record in result.queries] == ["1", "1#2", "3"]
    said = "\n".join(result.notices.texts())
    for part in (
        "s.jsonl line 2 (",
        "records that are no sample were left out: s.jsonl line 3.",
        "ids that came before got a number behind them: 1#2.",
        "retrieved contexts that are no text were left out: 3 (the number 5).",
    ):
        assert part in said


def test_a_list_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    result = imported(tmp_path, "s.json", json.dumps([SAMPLE, SAMPLE])[:-30])
    assert [ordered(record) for record in result.queries] == [ordered(RECORD)]
    assert "s.json: is cut off" in result.notices.texts()[0]


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("s.json", [{"a": 1}], "must be Ragas samples, .* got none"),
        ("s.json", "{", "must be JSON|it ends in the middle"),
        ("s.txt", "text", r"must be one of \.json"),
        ("s.csv", "", "must have the names of the columns"),
    ],
)
def test_another_file_is_one_sentence(tmp_path: Path, name: str, content: Any, rule: str) -> None:
    with pytest.raises(DatasetError, match=rule):
        imported(tmp_path, name, content)


@pytest.mark.parametrize(
    ("name", "queries", "measured"),
    [
        ("annotated_data.json", 19, False),
        ("edited_chain_runs.json", 18, True),
        ("sample_annotated_summary.json", 19, False),
        ("hf_doc_qa_eval.csv", 66, False),
    ],
)
def test_public_files(name: str, queries: int, measured: bool) -> None:
    result = import_run("ragas", path_of(f"ragas/{name}"))
    assert len(result.queries) == queries
    values = values_of(RAGEvaluator().evaluate_dataset(result.dataset()))
    assert ("generation.answer_f1" in values) == measured
