"""What a judge writes: every line and every record, whatever stands in them, under a name that is read as such."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.judge.models import dataset, obedient, scripted_by

from rag_titan.errors import SettingsError
from rag_titan.evaluation import read_dataset
from rag_titan.judge import Judge, write_judged
from rag_titan.judge.judged import check_output


def judge(**options: Any) -> Judge:
    return Judge.scripted(scripted_by(obedient), **options)


def judged_of(path: Path, output: Path) -> dict[str, Any]:
    """{question: its verdicts} of the output."""
    write_judged(judge().judge(path), path, output)
    queries = [query for batch in read_dataset(output).queries.batches(100) for query in batch]
    return {query.id: query.verdicts for query in queries}


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x1c", "\x0b", "\x0c"])
def test_a_line_ends_with_its_newline_alone(mark: str, tmp_path: Path) -> None:
    """All of these are ends of lines to Python, and may stand in a JSON text."""
    records = [{"id": f"a{n}{mark}", "answer": f"It is{mark} so.", "context": f"It is{mark} so."} for n in range(2)]
    text = "".join(json.dumps(record, ensure_ascii=ord(mark) < 32) + "\r\n" for record in records)
    (tmp_path / "data.jsonl").write_bytes(text.encode())
    found = judged_of(tmp_path / "data.jsonl", tmp_path / "out.jsonl")
    assert list(found) == [record["id"] for record in records]
    assert all(verdicts.answer_claims for verdicts in found.values())


@pytest.mark.parametrize("name", ["data.json", "data.jsonl"])
def test_an_id_with_half_a_character_keeps_its_verdicts(name: str, tmp_path: Path) -> None:
    line = '{"id": "a\\ud800", "answer": "It is \\udc00 so.", "context": "It is \\udc00 so."}'
    (tmp_path / name).write_text(line if name.endswith("l") else f"[{line}]")
    (verdicts,) = judged_of(tmp_path / name, tmp_path / f"out-{name}").values()
    assert verdicts.answer_claims


@pytest.mark.parametrize("name", ["o", "o.txt", "o.csv", "o.jsonl.gz", "o.json.gz", "o.parquet", ".", "o.xlsx"])
def test_an_output_that_would_be_read_as_something_else_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=r"output: must be a \.json file"):
        check_output("data.jsonl", name)


def test_a_refusal_is_known_to_evade_and_is_no_gap() -> None:
    judged = judge(metrics=["noncommittal_rate"]).judge(dataset(1, abstained=True))
    assert judged.verdicts["q0"] == {"noncommittal": True, "judge": judged.judge}
    assert judged.spent.calls == 0


def test_whether_an_answer_evades_needs_no_vectors() -> None:
    judged = judge(metrics=["noncommittal_rate"]).judge(dataset(1))
    assert judged.verdicts["q0"] == {"noncommittal": False, "judge": judged.judge}
    with pytest.raises(SettingsError, match="embedder: must be given for answer_relevance"):
        judge(metrics=["noncommittal_rate", "answer_relevance"])
