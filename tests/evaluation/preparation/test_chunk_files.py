"""Chunks from a file: golden questions are none, whatever little is asked of a chunk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation import build_dataset, check_golden
from rag_titan.evaluation.preparation.chunk_files import read_chunks

QUESTIONS = [{"id": "g1", "question": "How many days?", "expected_chunk_ids": ["c1"]}]


def written(folder: Path, value: Any, name: str = "some.json") -> Path:
    (folder / name).write_text(json.dumps(value))
    return folder / name


@pytest.mark.parametrize("value", [QUESTIONS, [*QUESTIONS, {"id": "g2", "question": "Who?"}]])
def test_golden_questions_are_refused_as_chunks(tmp_path: Path, value: Any) -> None:
    file = written(tmp_path, value)
    for use in (read_chunks, lambda path: check_golden(QUESTIONS, None, path)):
        with pytest.raises(DatasetError) as said:
            use(file)
        assert str(said.value) == (
            f"{file}: must hold the chunks of the index, got golden questions. Give the file of the chunks."
        )
    logs = [{"id": "g1", "question": "How many days?", "answer": "25", "retrieved_ids": ["c1"]}]
    with pytest.raises(DatasetError, match="got golden questions"):
        build_dataset(logs, QUESTIONS, chunks=file)


@pytest.mark.parametrize(
    "value",
    [
        [{"id": "c1"}],  # an export of ids alone
        [{"id": "c1", "question": "a question and answer page", "text": "25 days"}],
        [{"id": "c1", "question": "Q", "start": 0, "end": 7}],
    ],
)
def test_chunks_stay_chunks(tmp_path: Path, value: Any) -> None:
    chunks = read_chunks(written(tmp_path, value))
    assert chunks is not None
    assert [chunk.id for chunk in chunks] == ["c1"]
