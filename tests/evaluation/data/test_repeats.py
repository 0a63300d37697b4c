from __future__ import annotations

from pathlib import Path

import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation import RAGEvaluator, check_golden, read_golden
from rag_titan.evaluation.data.plain import Place
from rag_titan.evaluation.data.repeats import WRITTEN_BY_HAND, refuse_repeated

QUERY = '"id": "q1", "expected_chunk_ids": ["a"], "retrieved_ids": ["b", "a"]'
ONCE = "must have each key once, got"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'{{"queries": [{{{QUERY}}}], "queries": []}}', f'data.json: {ONCE} "queries" twice. Keep one of them.'),
        (f'{{"queries": [{{{QUERY}, "id": "q2"}}]}}', f'data.json: queries[0]: {ONCE} "id" twice.'),
        (
            f'[{{{QUERY}}}, {{"id": "q2", "relevance": {{"a": 1, "a": 3}}}}]',
            f'data.json[1].relevance: {ONCE} "a" twice.',
        ),
        (f'[{{{QUERY}, "latency_ms": NaN, "latency_ms": 5}}]', f'data.json[0]: {ONCE} "latency_ms" twice.'),
        (f'[{{{QUERY}, "x": {{"a": 1, "a": 2}}, "x": 3}}]', f'data.json[0]: {ONCE} "x" twice.'),
        ('{"queries": [{"a": 1, "a": 2}], "queries": 5}', f'data.json: {ONCE} "queries" twice.'),
    ],
)
def test_a_dataset_with_a_key_twice_is_refused_at_its_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "data.json").write_text(text)
    with pytest.raises(DatasetError) as found:
        RAGEvaluator(k=3).evaluate_path(tmp_path / "data.json")
    assert str(found.value).startswith(said)


def test_keys_of_the_data_are_not_told_where_no_text_may_come_out() -> None:
    with pytest.raises(DatasetError) as found:
        refuse_repeated(b'{"secret": {"word": 1, "word": 2}}', Place("data.json"))
    assert found.value.redacted.startswith("data.json[...]: must have each key once, got what")


@pytest.mark.parametrize(
    "text", ['{"a": 1, "b": {"a": 1}, "c": [{"a": 1}, {"a": 2}]}', '{"a": 1, "a"', "x", "[" * 10**5, ""]
)
def test_what_repeats_nothing_and_what_is_no_json_pass(text: str) -> None:
    refuse_repeated(text.encode(), Place("data.json"))


def test_what_only_a_program_writes_is_read_as_fast_as_before(tmp_path: Path) -> None:
    """As Python's json and jq read it: the last counts."""
    text = f'[{{{QUERY}, "answer": "{"x" * WRITTEN_BY_HAND}", "answer": "b"}}]'
    (tmp_path / "data.json").write_text(text)
    assert RAGEvaluator(k=3).evaluate_path(tmp_path / "data.json")["meta"]["counts"]["queries"] == 1


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("g.json", '[{"id": "g1", "question": "How?", "question": "Why?"}]', f"g.json[0]: {ONCE}"),
        ("g.json", '{"questions": [{"id": "g1", "question": "a", "id": "g2"}]}', f"g.json: questions[0]: {ONCE}"),
        ("g.jsonl", '{"id": "g1", "question": "a"}\n{"id": "g2", "id": "g3"}\n', f"g.jsonl line 2: {ONCE}"),
    ],
)
def test_golden_questions_with_a_key_twice_are_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DatasetError) as found:
        read_golden(tmp_path / name)
    assert str(found.value).startswith(said)


def test_a_check_of_golden_lines_names_the_repeated_key_beside_the_other_faults(tmp_path: Path) -> None:
    (tmp_path / "g.jsonl").write_text('{"id": "g1", "question": "a", "question": "b"}\n{"id": "g2", "question": "c"}\n')
    problems = [str(problem) for problem in check_golden(tmp_path / "g.jsonl")["problems"]]
    assert any("each key once" in problem for problem in problems)
