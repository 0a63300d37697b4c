"""SQuAD's articles and predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.importers.imported import Imported
from rag_titan.evaluation.importers.squad import read

CONTEXT = "The pool opens at seven. The gym opens at seven too."


def articles(*questions: Any, **article: Any) -> dict[str, Any]:
    return {"data": [{"title": "Hours", "paragraphs": [{"context": CONTEXT, "qas": list(questions)}], **article}]}


def asked(name: str, *starts: int, text: str = "seven", **more: Any) -> dict[str, Any]:
    answers = [{"text": text, "answer_start": start} for start in starts]
    return {"id": name, "question": "When?", "answers": answers, **more}


def imported(tmp_path: Path, *values: Any) -> Imported:
    paths = []
    for number, value in enumerate(values):
        paths.append(tmp_path / f"file{number}.json")
        paths[-1].write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return read(paths)


def test_questions_and_predictions(tmp_path: Path) -> None:
    got = imported(tmp_path, articles(asked("a", 18), asked("b", 18, 42)), {"a": "at seven", "c": "?"})
    first, second = got.queries
    assert first == {
        "id": "a",
        "question": "When?",
        "expected_answers": ["seven"],
        "expected_evidence": [{"start": 18, "end": 23, "doc_id": "Hours/0"}],
        "answer": "at seven",
    }
    assert [span["start"] for span in second["expected_evidence"][0]["any_of"]] == [18, 42]
    assert second["error"] == "the predictions have no answer to this question"
    assert got.documents == {"Hours/0": CONTEXT}
    assert got.notices.texts() == ["predictions for questions that are not in the articles were left out: c."]
    report = RAGEvaluator(conventions="squad").evaluate_dataset(got.dataset())
    assert report["generation"]["summary"]["answer_f1"] == pytest.approx(2 / 3)
    assert report["end_to_end"]["error_rate"] == 0.5


def test_annotators_who_agree_name_one_place(tmp_path: Path) -> None:
    """SQuAD has the answers of several annotators, which are mostly the same."""
    one, two = imported(tmp_path, articles(asked("a", 18, 18, 18), asked("b", 18, 42, 18))).queries
    assert one["expected_evidence"] == [{"start": 18, "end": 23, "doc_id": "Hours/0"}]
    assert [span["start"] for span in two["expected_evidence"][0]["any_of"]] == [18, 42]


def test_articles_alone(tmp_path: Path) -> None:
    query = imported(tmp_path, articles(asked("a", 18))).queries[0]
    assert query.keys() & {"answer", "error"} == set()


def test_questions_that_have_no_answer(tmp_path: Path) -> None:
    """As the official script of 2.0 counts: the empty answer is right where there is none (two of these four)."""
    questions = [asked("a", 18, is_impossible=False), asked("b", 18, is_impossible=False)]
    questions += [asked("c", is_impossible=True), asked("d", is_impossible=True)]
    got = imported(tmp_path, articles(*questions), {"a": "seven", "b": "", "c": "", "d": "nine"})
    assert [query["answerable"] for query in got.queries] == [True, True, False, False]
    assert [query["abstained"] for query in got.queries] == [False, True, True, False]
    generation = RAGEvaluator(conventions="squad").evaluate_dataset(got.dataset())["generation"]["summary"]
    assert generation["exact_match"] == generation["answer_f1"] == generation["abstention_accuracy"] == 0.5


def test_an_answer_that_does_not_stand_there(tmp_path: Path) -> None:
    got = imported(tmp_path, articles(asked("a", 3), asked("b", -1), asked("c", 10**9)))
    assert all("expected_evidence" not in query for query in got.queries)
    assert got.notices.texts() == [
        "answers that do not stand where answer_start says are no evidence: question a, b, c."
    ]


def test_bad_parts_cost_no_others(tmp_path: Path) -> None:
    value = articles(asked("a", 18), {"question": "no id"}, asked("a", 42))
    value["data"] += [{"title": "no paragraphs"}, *articles(asked("b", 18), title="Hours")["data"]]
    got = imported(tmp_path, value)
    assert [query["id"] for query in got.queries] == ["a", "b"]
    assert list(got.documents or ()) == ["Hours/0", "Hours/1/0"]
    text = " ".join(got.notices.texts())
    assert "qas[1].id: must be given" in text
    assert "data[1].paragraphs: must be given" in text
    assert "an id that came before was left out with its record: a." in text


def test_predictions_that_are_no_text(tmp_path: Path) -> None:
    got = imported(tmp_path, articles(asked("a", 18), asked("b", 18)), {"a": "seven", "b": ["seven"]})
    assert "answer" not in got.queries[1]
    assert got.notices.texts() == ["predictions that are no text were left out: b."]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([{"a": "seven"}], r"file0\.json: must come with the articles that it answers"),
        (["[]"], r"file0\.json: must be SQuAD's .* got a list of another kind"),
        ([{"data": []}], r"file0\.json: data: must be a list of articles, got an empty list"),
        ([{"data": [{"title": "x"}]}], r"data\[0\]\.paragraphs: must be given"),
        (['{"data": [{"paragraphs": [{"context": "The po'], r"file0\.json"),
        ([{"config": {}, "leaderboard": []}], "got an object of another kind"),
    ],
)
def test_broken_files(tmp_path: Path, values: list[Any], sentence: str) -> None:
    with pytest.raises(DatasetError, match=sentence) as caught:
        imported(tmp_path, *values)
    assert "\n" not in str(caught.value)
