"""ALCE's results and human evaluations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.importers.alce import read
from rag_titan.evaluation.importers.imported import Imported

DOCS = [
    {"id": "11", "title": "Pool", "text": "The pool opens at seven.", "summary": "Opens at seven.", "score": 0.9},
    {"id": "12", "title": "Gym", "text": "The gym closes at nine.", "summary": "Closes at nine.", "score": 0.4},
]


def item(**changes: Any) -> dict[str, Any]:
    given = {
        "sample_id": "s1",
        "question": "When does the pool open?",
        "answer": "At seven.",
        "annotations": [{"long_answer": "At seven."}, {"long_answer": "The pool opens at seven."}],
        "qa_pairs": [{"question": "When?", "short_answers": ["7", "seven"]}],
        "docs": DOCS,
        "output": "It opens at seven [1], the gym closes at nine [2][5].",
    }
    return {key: value for key, value in (given | changes).items() if value is not None}


def imported(tmp_path: Path, *values: Any, **options: Any) -> Imported:
    paths = []
    for number, value in enumerate(values):
        paths.append(tmp_path / f"run{number}.json")
        paths[-1].write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return read(paths, **options)


def test_a_result(tmp_path: Path) -> None:
    got = imported(tmp_path, {"args": {"ndoc": 2}, "data": [item()], "total_cost": 0.5})
    assert got.queries == [
        {
            "id": "s1",
            "question": "When does the pool open?",
            "expected_answers": ["At seven.", "The pool opens at seven."],
            "answer": "It opens at seven [1], the gym closes at nine [2].",
            "qa_pairs": [{"question": "When?", "short_answers": ["7", "seven"]}],
            "retrieved_ids": ["11", "12"],
            "context_ids": ["11", "12"],
            "citations": ["11", "12", "s1/5"],
        }
    ]
    assert got.chunks is not None
    assert got.chunks[0] == {"id": "11", "text": "The pool opens at seven.", "metadata": {"title": "Pool"}}
    assert any("run0: total_cost 0.5" in text for text in got.notices.texts())
    report = RAGEvaluator(k=2).evaluate_dataset(got.dataset())
    assert report["generation"]["summary"]["citations_outside_context_rate"] == pytest.approx(1 / 3)


def test_the_model_read_summaries(tmp_path: Path) -> None:
    got = imported(tmp_path, {"args": {"use_shorter": "summary"}, "data": [item()]})
    assert [chunk["text"] for chunk in got.chunks or ()] == ["Opens at seven.", "Closes at nine."]


def test_documents_without_ids_are_local(tmp_path: Path) -> None:
    docs = [{"title": doc["title"], "text": doc["text"]} for doc in DOCS]
    got = imported(tmp_path, [item(docs=docs, sample_id=None), item(docs=docs[::-1], sample_id=None)])
    assert [(query["id"], query["retrieved_ids"]) for query in got.queries] == [
        ("0", ["0/1", "0/2"]),
        ("1", ["1/1", "1/2"]),
    ]


def test_a_closed_book_answer_has_no_retrieval(tmp_path: Path) -> None:
    query = imported(tmp_path, {"data": [item(docs=[], output="At seven [1].")]}).queries[0]
    assert query.keys() & {"retrieved_ids", "context_ids", "citations"} == set()
    assert query["answer"] == "At seven [1]."


def test_several_answers_to_a_question(tmp_path: Path) -> None:
    got = imported(tmp_path, [item(output=["First [1].", "Second [2]."])])
    assert got.queries[0]["answer"] == "First [1]."
    assert any("the first was taken: s1." in text for text in got.notices.texts())


def test_two_runs(tmp_path: Path) -> None:
    got = imported(tmp_path, {"data": [item()]}, {"data": [item(output="At nine.")]})
    assert [(query["id"], query["tags"]) for query in got.queries] == [
        ("run0/s1", {"system": "run0"}),
        ("run1/s1", {"system": "run1"}),
    ]


def judged(*scores: int, **more: Any) -> dict[str, Any]:
    sentences = [{"sentence": f"Sentence {i}.", "sentence_recall_score": score} for i, score in enumerate(scores)]
    return {"question": "When?", "output": "At seven.", "sentences": sentences, "utility_score": 4, **more}


def evaluation() -> dict[str, Any]:
    figures = {"length": 2.0, "str_em": 35.25}
    return {
        "asqa": {"one": {"q1": judged(1, 0), "q2": judged(1), "overall_results": figures}, "two": {"q1": judged(0)}},
        "eli5": {"one": {"e1": judged()}},
    }


def test_a_human_evaluation(tmp_path: Path) -> None:
    got = imported(tmp_path, evaluation())
    assert [query["id"] for query in got.queries] == ["asqa/one/q1", "asqa/one/q2", "asqa/two/q1", "eli5/one/e1"]
    first = got.queries[0]
    assert first["tags"] == {"dataset": "asqa", "system": "one"}
    assert first["utility_score"] == 4
    assert first["verified_claims"] == [
        {"text": "Sentence 0.", "supported": True},
        {"text": "Sentence 1.", "supported": False},
    ]
    assert "verified_claims" not in got.queries[3]
    assert got.notices.texts() == ["the runs' own figures are in no record: asqa/one: length 2.0, str_em 35.25."]


def test_one_run_of_a_human_evaluation(tmp_path: Path) -> None:
    got = imported(tmp_path, evaluation(), dataset="asqa", system="one")
    assert [query["id"] for query in got.queries] == ["q1", "q2"]
    report = RAGEvaluator().evaluate_dataset(got.dataset())
    assert report["generation"]["summary"]["annotated_claim_support"] == 0.75


@pytest.mark.parametrize("options", [{"dataset": "asqua"}, {"dataset": "eli5", "system": "two"}])
def test_a_run_that_is_not_there(tmp_path: Path, options: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=r"has no answers here; (the nearest is 'asqa'|there are one)"):
        imported(tmp_path, evaluation(), **options)


def test_a_bad_answer_costs_no_other(tmp_path: Path) -> None:
    got = imported(tmp_path, {"data": [item(), item(sample_id="s2", docs="none"), 3, item(sample_id="s4")]})
    assert [query["id"] for query in got.queries] == ["s1", "s4"]
    assert any("data[1].docs: must be a list" in text and "data[2]" in text for text in got.notices.texts())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{}", "got an object without any of them"),
        ('{"asqa": {"one": []}}', "got an object without any of them"),
        ('{"metrics": {"overall": {"precision": 76.4}}}', "got an object without any of them"),
        ('{"data": {}}', "run0.json: data: must be ALCE's .* got an object"),
        ('{"data": [{"output": "At sev', "run0.json"),
        ("[7]", r"run0.json\[0\]: must be an object, got the number 7"),
        ("7", "run0.json"),
    ],
)
def test_broken_files(tmp_path: Path, content: str, sentence: str) -> None:
    with pytest.raises(DatasetError, match=sentence) as caught:
        imported(tmp_path, content)
    assert "\n" not in str(caught.value)
