"""RAGChecker's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.importers.imported import Imported
from rag_titan.evaluation.importers.ragchecker import read

E, N, C = "Entailment", "Neutral", "Contradiction"


def result(name: str = "1", **changes: Any) -> dict[str, Any]:
    given = {
        "query_id": name,
        "query": "When does the pool open?",
        "gt_answer": "At seven.",
        "response": "It opens at seven and closes at nine.",
        "retrieved_context": [
            {"doc_id": "000", "text": "The pool opens at seven."},
            {"doc_id": "001", "text": "It has a slide."},
        ],
        "response_claims": [["pool", "opens", "at seven"], ["pool", "closes", "at nine"]],
        "retrieved2response": [[E, N], [N, C]],
    }
    return {key: value for key, value in (given | changes).items() if value is not None}


def imported(tmp_path: Path, *values: Any) -> Imported:
    paths = []
    for number, value in enumerate(values):
        paths.append(tmp_path / f"file{number}.json")
        paths[-1].write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return read(paths)


def test_a_result(tmp_path: Path) -> None:
    got = imported(tmp_path, {"results": [result()], "metrics": {"generator": {"faithfulness": 50.0}}})
    assert got.queries == [
        {
            "id": "1",
            "question": "When does the pool open?",
            "expected_answer": "At seven.",
            "answer": "It opens at seven and closes at nine.",
            "retrieved_ids": ["000", "001"],
            "verified_claims": [
                {"text": "pool opens at seven", "supported": True},
                {"text": "pool closes at nine", "supported": False},
            ],
            "context_ids": ["000", "001"],
            "verdicts": {
                "answer_claims": [
                    {"text": "pool opens at seven", "chunks": {"000": "supported", "001": "not_supported"}},
                    {"text": "pool closes at nine", "chunks": {"000": "not_supported", "001": "contradicted"}},
                ],
                "judge": "RAGChecker",
            },
        }
    ]
    assert [chunk["text"] for chunk in got.chunks or ()] == ["The pool opens at seven.", "It has a slide."]
    assert got.notices.texts() == ["the run's own figures are in no record: generator.faithfulness 50.0."]


def test_claim_support_is_faithfulness(tmp_path: Path) -> None:
    rows = [result("1"), result("2", retrieved2response=[[E, E], [C, E]]), result("3", retrieved2response=[[], []])]
    report = RAGEvaluator(k=2).evaluate_dataset(imported(tmp_path, {"results": rows}).dataset())
    assert report["generation"]["summary"]["annotated_claim_support"] == (0.5 + 1 + 0) / 3


def test_what_is_not_given_is_not_there(tmp_path: Path) -> None:
    row = result(retrieved_context=None, response_claims=None, gt_answer=None)
    got = imported(tmp_path, [row])
    assert got.queries[0].keys() == {"id", "question", "answer"}
    assert got.notices.texts() == ["verdicts do not fit the claims, and were left out: query 1."]
    assert got.chunks is None


def test_an_empty_context_is_a_miss(tmp_path: Path) -> None:
    query = imported(tmp_path, [result(retrieved_context=[], retrieved2response=[[], []])]).queries[0]
    assert query["retrieved_ids"] == query["context_ids"] == []


def test_document_ids_that_start_again_with_each_query(tmp_path: Path) -> None:
    other = result("2", retrieved_context=[{"doc_id": "000", "text": "The gym is open."}])
    got = imported(tmp_path, {"results": [result(), other]})
    assert [query["retrieved_ids"] for query in got.queries] == [["1/000", "1/001"], ["2/000"]]


def test_verdicts_by_both_answers_and_by_the_texts(tmp_path: Path) -> None:
    row = result(
        answer2response=[E, C], gt_answer_claims=["opens at seven", "has a slide"], response2answer=[E, N],
        retrieved2answer=[[E, N], [N, N]],
    )  # fmt: skip
    verdicts = imported(tmp_path, [row]).queries[0]["verdicts"]
    assert [claim["reference"] for claim in verdicts["answer_claims"]] == ["supported", "contradicted"]
    assert verdicts["reference_claims"] == [
        {"text": "opens at seven", "answer": "supported", "chunks": {"000": "supported", "001": "not_supported"}},
        {"text": "has a slide", "answer": "not_supported", "chunks": {"000": "not_supported", "001": "not_supported"}},
    ]


@pytest.mark.parametrize("verdicts", [[[E, N]], [["entailed"], [E]]])
def test_verdicts_that_do_not_fit(tmp_path: Path, verdicts: list[list[str]]) -> None:
    got = imported(tmp_path, [result(retrieved2response=verdicts)])
    assert "verified_claims" not in got.queries[0]
    assert got.notices.texts() == ["verdicts do not fit the claims, and were left out: query 1."]


def test_a_bad_record_costs_no_other(tmp_path: Path) -> None:
    got = imported(tmp_path, {"results": [result("1"), result("2", response=7), {"query": "no id"}, result("4")]})
    assert [query["id"] for query in got.queries] == ["1", "4"]
    text = got.notices.texts()[-1]
    assert "file0.json: results[1].response: must be text, got the number 7." in text
    assert "file0.json: results[2].query_id: must be given" in text


def test_the_same_question_in_two_files(tmp_path: Path) -> None:
    got = imported(tmp_path, [result("1")], [result("1", response="Another."), result("2")])
    assert [query["id"] for query in got.queries] == ["1", "2"]
    assert "an id that came before was left out with its record: 1." in got.notices.texts()


def pair(number: int, first: str, second: str, label: int) -> dict[str, Any]:
    sides = [{"model_name": name, "response": text} for name, text in (("alpha", first), ("beta", second))]
    labels = {"correctness_label": label, "completeness_label": 0, "overall_label": label}
    given = {
        "instance_id": number,
        "dataset": "pools",
        "query_id": str(number),
        "query": "When?",
        "gt_answer": "At seven.",
    }
    return {**given, "model1": sides[0], "model2": sides[1], **labels}


def test_pairs_that_two_people_compared(tmp_path: Path) -> None:
    got = imported(tmp_path, [pair(0, "At seven.", "At nine.", 2), pair(0, "At seven.", "At nine.", 1)])
    assert [query["id"] for query in got.queries] == ["pools/0/alpha", "pools/0/beta"]
    first = got.queries[0]
    assert first["tags"] == {"dataset": "pools", "model": "alpha"}
    assert [(c["with"], c["place"], c["overall_label"]) for c in first["comparisons"]] == [
        ("beta", "first", 2.0),
        ("beta", "first", 1.0),
    ]
    assert any("answers that several people compared stand once" in text for text in got.notices.texts())


def test_another_answer_under_the_same_name_is_left_out(tmp_path: Path) -> None:
    got = imported(tmp_path, [pair(0, "At seven.", "At nine.", 2), pair(0, "At ten.", "At nine.", 1)])
    assert [query["answer"] for query in got.queries] == ["At seven.", "At nine."]
    assert [len(query["comparisons"]) for query in got.queries] == [1, 2]
    assert "an id that came before was left out with its record: pools/0/alpha." in got.notices.texts()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{}", "file0.json: must be RAGChecker's"),
        ('{"results": 3}', "file0.json: results: must be a list of RAGChecker's results, got the number 3"),
        ('{"results": []}', "got an empty list"),
        ('{"results": [{"query_id": "1"', "file0.json"),
        ("[1, 2]", r"file0.json\[0\]: must be an object, got the number 1"),
        ("", "file0.json: must hold at least one record, got an empty file"),
        ('[{"model1": {}, "model2": {}}]', r"file0.json\[0\]"),
    ],
)
def test_broken_files(tmp_path: Path, content: str, sentence: str) -> None:
    with pytest.raises(DatasetError, match=sentence) as caught:
        imported(tmp_path, content)
    assert "\n" not in str(caught.value)
