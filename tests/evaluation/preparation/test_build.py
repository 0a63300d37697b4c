"""From logs as systems write them and golden questions to a dataset that an evaluation takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError, NothingMatchedError
from rag_titan.evaluation import RAGEvaluator, build_dataset
from rag_titan.evaluation.data.read import open_dataset

CHUNKS = [
    {"id": "c1", "text": "Leave is 25 days.", "metadata": {"source": "hr.pdf", "page": 1}},
    {"id": "c2", "text": "Sick pay is full.", "metadata": {"source": "hr.pdf", "page": 2}},
]
GOLDEN: list[dict[str, Any]] = [
    {
        "id": "g1",
        "question": "How long is leave?",
        "expected_evidence": ["25 days"],
        "expected_answers": ["25 days", "five weeks"],
        "required_facts": ["25"],
        "tags": {"team": "hr"},
        "validated": True,
    },
    {"id": "g2", "question": "What is sick pay?", "required_evidence_ids": ["hr.pdf#p2"]},
    {"id": "g3", "question": "Who pays?", "expected_chunk_ids": ["c2"]},
]
LOGS: list[dict[str, Any]] = [
    {
        "id": "r7",
        "question": "how long is LEAVE",
        "retrieved_texts": ["Leave  is 25 days.", "Sick pay is full."],
        "context_ids": ["c1"],
        "answer": "25 days [1]",
        "citations": ["[1]"],
        "latency_ms": 12,
        "tags": {"team": "it", "agent": "v2"},
        "expected_answer": "25",
        "model": "m",
    },
    {"id": "g2", "question": "Sick pay?", "retrieved_texts": [], "error": "time-out"},
    {"id": "r9", "question": "Another one?"},
]


def test_everything_together() -> None:
    built = build_dataset(LOGS, GOLDEN, chunks=CHUNKS)
    assert built.queries == [
        {
            **GOLDEN[0],
            **{key: LOGS[0][key] for key in ("retrieved_texts", "context_ids", "answer", "model", "expected_answer")},
            "tags": {"team": "hr", "agent": "v2"},
            "latency_ms": 12.0,
            "log_id": "r7",
            "retrieved_ids": ["c1", "c2"],
            "citations": ["c1"],
            "expected_chunk_ids": ["c1"],
        },
        {
            **GOLDEN[1],
            "retrieved_texts": [],
            "error": "time-out",
            "retrieved_ids": [],
            "expected_chunk_ids": ["c2"],
        },
        {**GOLDEN[2], "error": "absent from the logs"},
    ]
    assert built.unmatched == {"golden": ["g3"], "logs": ["logs[2]"]}
    assert built.by == {"g1": "question", "g2": "id"}
    assert built.notices.texts() == [
        "golden questions that are absent from the logs are records with an error: g3.",
        'joined by id although the logged question is another one: g2 ("Sick pay?" for "What is sick pay?").',
        'logged requests that answer no golden question were left out: logs[2] ("Another one?").',
        "the gold chunks are all chunks of a file or page, of which nobody retrieves every one: recall and citation "
        "recall look low; hit, MRR and precision stay meaningful: query g2.",
    ]


def test_an_evaluation_takes_it() -> None:
    built = build_dataset(LOGS, GOLDEN, CHUNKS, documents={"hr.pdf": "Leave is 25 days. Sick pay is full."})
    assert set(built) == {"queries", "chunks", "documents"}
    report = RAGEvaluator().evaluate(**built)
    assert report["end_to_end"]["error_rate"] == pytest.approx(2 / 3)
    assert report["retrieval"]["summary"]["recall_at_k"] == 0.5  # g1 found, g2 a miss, g3 not measured
    assert report["retrieval"]["detail"]["recall_at_k"]["n"] == 2


def test_what_is_written_is_what_was_built(tmp_path: Path) -> None:
    built = build_dataset(LOGS, GOLDEN, CHUNKS, {"hr.pdf": "Leave is 25 days."})
    assert [path.name for path in built.write(tmp_path)] == ["queries.jsonl", "chunks.jsonl", "documents.jsonl"]
    read = RAGEvaluator().evaluate_dataset(open_dataset(tmp_path))
    memory = RAGEvaluator().evaluate(**built)
    for report in (read, memory):
        report["meta"].pop("created_at")
    assert read == memory


def test_files_of_every_form(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text('qid;q;docs\n1;How long is leave?;"[{""id"": ""c1""}]"\n')
    (tmp_path / "golden.csv").write_text("id,question,expected_evidence\ng1,How long is leave?,25 days||is 25\n")
    (tmp_path / "chunks.jsonl").write_text("".join(json.dumps(chunk) + "\n" for chunk in CHUNKS))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "hr.md").write_text("Leave is 25 days. Sick pay is full.")
    columns = {"id": "qid", "question": "q", "retrieved_ids": "docs[].id"}
    built = build_dataset(*(tmp_path / name for name in ("log.csv", "golden.csv", "chunks.jsonl", "docs")), columns)
    (query,) = built.queries
    assert (query["retrieved_ids"], query["expected_chunk_ids"], query["log_id"]) == (["c1"], ["c1"], "1")
    assert built.documents == {"hr.md": "Leave is 25 days. Sick pay is full."}


def test_outputs_of_an_earlier_run_in_the_golden_file_are_left_out() -> None:
    built = build_dataset([{"id": 1}], [{"id": 1, "answer": "old", "retrieved_ids": ["old"], "expected_answer": "x"}])
    assert built.queries == [{"id": "1", "expected_answer": "x"}]
    assert built.notices.texts() == [
        "what the golden questions hold of an earlier run was left out: answer, retrieved_ids."
    ]


def test_labels_of_chunks_come_from_one_side() -> None:
    logs = [{"id": 1, "relevance": {"c1": 0}, "answerable": True}]
    assert build_dataset(logs, [{"id": 1, "expected_chunk_ids": ["c1"]}]).queries == [
        {"id": "1", "expected_chunk_ids": ["c1"], "answerable": True}
    ]


def test_given_but_empty_is_kept_and_not_given_stays_out() -> None:
    empty, absent = build_dataset([{"id": 1, "retrieved_ids": []}, {"id": 2}], [{"id": 1}, {"id": 2}]).queries
    assert (empty, absent) == ({"id": "1", "retrieved_ids": []}, {"id": "2"})


@given(st.permutations(range(6)))
def test_the_order_of_the_logs_does_not_matter(order: list[int]) -> None:
    logs = [
        *({**log, "timestamp": 10 - i} for i, log in enumerate(LOGS)),
        *({**log, "answer": "early", "timestamp": i} for i, log in enumerate(LOGS)),
    ]
    expected, mixed = (build_dataset(some, GOLDEN, CHUNKS) for some in (logs, [logs[i] for i in order]))
    assert (mixed.queries, mixed.counts, mixed.by) == (expected.queries, expected.counts, expected.by)


def test_what_cannot_be_read_costs_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + json.dumps(LOGS[0]).encode() + b'\n\xff\n{"id": "g2", "latency_ms": "fast"}\n{"id": "g3'
    )
    built = build_dataset(path, GOLDEN, CHUNKS)
    assert built.by == {"g1": "question", "g2": "id"}
    assert [text.partition(":")[0] for text in built.notices.texts()] == [
        "golden questions that are absent from the logs are records with an error",
        "lines that are no UTF-8 were read as Windows-1252",
        "the gold chunks are all chunks of a file or page, of which nobody retrieves every one",
        "these records could not be read and were left out",
        "these values break a rule and were left out",
    ]


@pytest.mark.parametrize(
    ("logs", "golden", "told"),
    [
        ([], GOLDEN, "logs: must hold at least one record that can be read, got none."),
        ([3, None], GOLDEN, "logs: must hold at least one record that can be read, got none."),
        (LOGS, [], "golden: must hold at least one question, got none."),
        (LOGS, [{"id": 1}, {"id": 1}], 'golden[1].id: duplicate id "1"'),
        (LOGS, [{"id": "g2", "relevance": {"a": 0}, "expected_chunk_ids": ["a"]}], "queries[0].relevance"),
        (LOGS, "nowhere.json", "nowhere.json: must be a file or a folder, got nothing there."),
    ],
)
def test_what_cannot_be_joined_at_all(logs: Any, golden: Any, told: str) -> None:
    with pytest.raises(DatasetError) as caught:
        build_dataset(logs, golden)
    assert str(caught.value).startswith(told)


def test_nothing_in_common_is_an_error_of_its_own() -> None:
    with pytest.raises(NothingMatchedError, match='got question "x" as the first of 1 logs and id "g1" with question'):
        build_dataset([{"question": "x"}], GOLDEN)
