"""Every problem that a golden question can have, one by one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.evaluation.evaluator import RAGEvaluator
from rag_titan.evaluation.preparation.golden import check_golden

DOCUMENTS = {
    "leave.md": "Leave is 25 days. Carry over 5 days.\nAsk HR.",
    "hr/sick.md": "Sick pay is full for 10 days. Ask HR.",
}


def question(name: str = "g1", **more: Any) -> dict[str, Any]:
    return {"id": name, "question": f"What about {name}?", "validated": True, **more}


def problems(*questions: Any, documents: Any = DOCUMENTS, **more: Any) -> list[tuple[str, str]]:
    found = check_golden(list(questions), documents, **more)["problems"]
    return [(problem["id"], problem["problem"]) for problem in found]


def only(*questions: Any, **more: Any) -> dict[str, Any]:
    found = check_golden(list(questions), DOCUMENTS, **more)["problems"]
    assert len(found) == 1, found
    return dict(found[0])


def test_a_sound_set_is_ready() -> None:
    sound = question(
        expected_evidence=["25 days", {"quote": "Ask HR", "occurrence": 2}, {"any_of": ["over 5 days", "10 days"]}],
        expected_answer="It is 25 days.",
        required_facts=["25 DAYS"],
        required_evidence_ids=["hr/sick.md#p4"],
        expected_chunk_ids=["c1"],
    )
    assert check_golden([sound], DOCUMENTS, [{"id": "c1", "text": "x"}]) == {
        "question_count": 1,
        "validated_share": 1.0,
        "ready": True,
        "problems": [],
        "warnings": [],
    }


@pytest.mark.parametrize("validated", [False, None, "yes", 1])
def test_a_set_that_nobody_validated_is_not_ready(validated: object) -> None:
    result = check_golden([question(expected_evidence=["25 days"], validated=validated)], DOCUMENTS)
    assert (result["validated_share"], result["ready"]) == (0.0, False)


def test_no_questions() -> None:
    result = check_golden([], DOCUMENTS)
    assert (result["question_count"], result["validated_share"], result["ready"]) == (0, None, False)


def test_a_quote_that_occurs_several_times_is_named_with_its_places() -> None:
    problem = only(question(expected_evidence=["Ask HR"]))
    assert problem == {
        "id": "g1",
        "problem": "quote 'Ask HR' is not found exactly once",
        "detail": "It stands at leave.md:37, hr/sick.md:30. Quote more of it, or say which is meant: "
        '{"quote": "Ask HR", "occurrence": 1} is the first.',
        "places": [{"doc_id": "leave.md", "start": 37}, {"doc_id": "hr/sick.md", "start": 30}],
    }
    for name, text in DOCUMENTS.items():
        place = next(p["start"] for p in problem["places"] if p["doc_id"] == name)
        assert text[place:].startswith("Ask HR")


def test_many_places_are_cut_and_one_document_stays_one() -> None:
    problem = only(question(expected_evidence=[{"quote": "a", "doc_id": "hr/sick.md"}]))
    assert len(problem["places"]) == 2
    assert '"doc_id": "hr/sick.md"' in problem["detail"]
    many = check_golden([question(expected_evidence=["x"])], {"d": "x " * 40})["problems"][0]
    assert [place["start"] for place in many["places"]] == [0, 2, 4, 6, 8]
    assert "d:8 and more." in many["detail"]


def test_an_occurrence_that_is_not_there() -> None:
    problem = only(question(expected_evidence=[{"quote": "Ask HR", "occurrence": 3}]))
    assert problem["problem"] == "quote 'Ask HR' has no occurrence 3"
    assert problem["detail"].startswith("It stands at leave.md:37, hr/sick.md:30.")


def test_a_quote_that_differs_in_form_is_named_with_the_text_of_the_document() -> None:
    problem = only(question(expected_evidence=["carry over  5 days"]))
    assert problem["problem"] == "quote 'carry over  5 days' is not found exactly once"
    assert problem["detail"] == (
        'It differs only in white space and case from leave.md:18, which says "Carry over 5 days".'
    )
    assert problem["nearest"] == {"doc_id": "leave.md", "start": 18, "end": 35, "text": "Carry over 5 days"}


def test_a_quote_in_other_words_and_one_that_is_nowhere() -> None:
    near = only(question(expected_evidence=["Sick pay is really full for 10 days"]))
    assert near["nearest"]["text"] == "Sick pay is full for 10 days"
    assert only(question(expected_evidence=["zebra crossing"]))["detail"] == (
        "It is in no document, and no passage near it was found."
    )


def test_what_is_no_evidence_is_a_problem_and_the_rest_is_looked_for() -> None:
    spans = [{"start": 3, "end": 900, "doc_id": "leave.md"}, {"start": 0, "end": 2}, "", {"any_of": []}, "nowhere"]
    found = problems(question(expected_evidence=spans))
    assert [text.partition(":")[0] for _, text in found] == [
        "expected_evidence[0].end",
        "expected_evidence[1].doc_id",
        "expected_evidence[2]",
        "expected_evidence[3]",
        "quote 'nowhere' is not found exactly once",
    ]


def test_a_fact_is_looked_for_as_the_metric_does() -> None:
    answer = question(expected_evidence=["25 days"], expected_answer="In 2020 it was 1,000 days.")
    assert problems({**answer, "required_facts": ["1000 days", "IT WAS"]}) == []
    assert problems({**answer, "required_facts": ["20", "20"]}) == [
        ("g1", "required fact '20' is not in the expected_answer")
    ]
    several = {**answer, "expected_answers": ["HR decides."], "required_facts": ["HR", "2020", "boss"]}
    assert problems(several) == [("g1", "required fact 'boss' is not in the expected_answers")]


def test_the_facts_rule_agrees_with_required_fact_coverage() -> None:
    """A twin: the reference as the answer of a system, scored by the evaluator."""
    rng = random.Random(5)
    words = ["20", "2020", "3.5", "days", "5", "five", "HR's", "20%", "a"]
    golden = [
        question(f"g{i}", expected_evidence=["25 days"], expected_answer=" ".join(rng.choices(words, k=5)),
                 required_facts=[" ".join(rng.choices(words, k=rng.randint(1, 2)))])
        for i in range(60)
    ]  # fmt: skip
    logs = [{"id": q["id"], "answer": q["expected_answer"], "required_facts": q["required_facts"]} for q in golden]
    scores = RAGEvaluator().evaluate(queries=logs)["generation"]["per_query"]
    missed = {score["id"] for score in scores if score["required_fact_coverage"] < 1}
    assert {name for name, _ in problems(*golden)} == missed
    assert 0 < len(missed) < 60


def test_the_quote_rule_agrees_with_the_evaluation() -> None:
    """A twin: the quotes that the evaluation cannot place are those that are problems."""
    quotes = ["25 days", "Ask HR", " over 5 days. ", "days.\r\nAsk", "nowhere", "Leave"]
    golden = [question(f"g{i}", expected_evidence=[quote]) for i, quote in enumerate(quotes)]
    report = RAGEvaluator().evaluate(
        documents=DOCUMENTS, chunks=[{"id": n, "text": t, "doc_id": n} for n, t in DOCUMENTS.items()],
        queries=[{**q, "retrieved_ids": ["leave.md"]} for q in golden],
    )  # fmt: skip
    unplaced = {row["id"] for row in report["retrieval"]["per_query"] if row["token_recall"] is None}
    assert {name for name, _ in problems(*golden)} == unplaced == {"g1", "g4"}


def test_answers_without_evidence_and_evidence_for_the_unanswerable() -> None:
    assert problems(question(expected_answer="25", expected_evidence=[])) == [
        ("g1", "there is an expected answer, but no evidence for it")
    ]
    assert problems(question(expected_answer="25", expected_chunk_ids=["c1"])) == []
    assert problems(question(expected_answer="I cannot say.", answerable=False)) == []
    assert problems(question(answerable=False, expected_evidence=["25 days"], relevance={"c1": 1})) == [
        ("g1", "answerable is false, but there is expected_evidence and relevance")
    ]


def test_ids_and_questions_that_come_twice() -> None:
    first = question("1", expected_evidence=["25 days"])
    found = problems(first, {**first, "id": 1}, {**first, "id": "g3", "question": "WHAT  about\n1?"})
    assert found == [
        ("1", "duplicate id '1'"),
        ("1", "duplicate question, asked by '1' already"),
        ("g3", "duplicate question, asked by '1' already"),
    ]


def test_labels_that_name_nothing() -> None:
    labels = ["hr/sick.md", "leave.md#p3", "leave.pdf"]
    assert only(question(required_evidence_ids=labels)) == {
        "id": "g1",
        "problem": "required_evidence_ids: 'leave.pdf' names no document",
        "detail": "The nearest is 'leave.md'.",
    }
    chunks = [{"id": "c1", "text": "x", "metadata": {"source": "leave.pdf"}}]
    assert problems(question(required_evidence_ids=labels), chunks=chunks) == []
    assert problems(question(expected_chunk_ids=["c1", "c9"], relevance={"c9": 1, "c8": 0}), chunks=chunks) == [
        ("g1", "gold chunk id 'c9' is not in the chunks"),
        ("g1", "gold chunk id 'c8' is not in the chunks"),
    ]


def test_keys_that_are_nearly_known() -> None:
    found = problems(question(expected_answr="25", author="me", expected_evidence=[{"quote": "is 25", "occurence": 1}]))
    assert found == [
        (
            "g1",
            "the key 'occurence' is not known and was not read; did you mean 'occurrence'? "
            "It stands in golden[0].expected_evidence[0].",
        ),
        ("g1", "unknown key 'expected_answr'; did you mean 'expected_answer'?"),
    ]


def test_what_cannot_be_read_is_a_problem_of_its_question() -> None:
    found = problems({"question": "x"}, "text", question(expected_evidence="25 days"), question("g4", id=""))
    assert [name for name, _ in found] == ["golden[0]", "golden[1]", "g1", "golden[3]"]
    assert [text.partition(",")[0] for _, text in found] == [
        'id: must be given; the object has the key question. Add "id".',
        "must be an object",
        "expected_evidence: must be a list",
        "id: must be an id (text or whole number)",
    ]


def test_without_documents_nothing_is_ready_that_has_quotes() -> None:
    result = check_golden([question(expected_evidence=["25 days"])])
    assert (result["ready"], result["problems"]) == (False, [])
    assert result["warnings"] == ["the documents were not passed, so that no quote was looked for."]
    assert check_golden([question(expected_chunk_ids=["c1"])])["ready"]


def test_warnings_about_what_measures_nothing() -> None:
    result = check_golden([{"id": "g1", "validated": True}], DOCUMENTS)
    assert result["ready"]
    assert result["warnings"] == [
        "nothing is measured of questions without any gold label: g1.",
        "questions without a `question` cannot be asked: g1.",
    ]


def test_files_everywhere(tmp_path: Path) -> None:
    for name, text in DOCUMENTS.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(text)
    (tmp_path / "golden.csv").write_text("id,question,expected_evidence,validated\ng1,x?,25 days||nowhere,true,extra\n")
    (tmp_path / "chunks.jsonl").write_text('{"id": "c1", "text": "25 days"}\n')
    result = check_golden(tmp_path / "golden.csv", tmp_path / "docs", str(tmp_path / "chunks.jsonl"))
    assert [problem["problem"] for problem in result["problems"]] == ["quote 'nowhere' is not found exactly once"]
    assert result["warnings"] == [
        'golden.csv: cells beyond the last name of the first row were not read: row 2 ("extra").'
    ]
    with pytest.raises(DatasetError):
        check_golden(tmp_path / "none.json", DOCUMENTS)


def test_documents_as_a_list_and_as_read() -> None:
    listed = [{"source": name, "text": text} for name, text in DOCUMENTS.items()]
    assert problems(question(expected_evidence=["25 days"]), documents=listed) == []
    read = dataset_from(documents=DOCUMENTS).documents
    assert problems(question(expected_evidence=["25 days"]), documents=read) == []


def test_the_order_of_the_questions_is_the_order_of_the_problems() -> None:
    golden = [question(f"g{i}", expected_evidence=["nowhere at all"]) for i in range(30)]
    names = [name for name, _ in problems(*golden)]
    assert names == [f"g{i}" for i in range(30)]
    assert [name for name, _ in problems(*reversed(golden))] == names[::-1]


def test_quotes_that_the_chunker_cut_are_a_warning() -> None:
    chunks = [{"id": "c1", "text": "Leave is 25 "}, {"id": "c2", "text": "days. Sick pay."}]
    golden = [
        {"id": "g1", "question": "a", "expected_evidence": ["25 days"], "validated": True},
        {"id": "g2", "question": "b", "expected_evidence": ["Sick pay"], "validated": True},
    ]
    cut = (
        "a quote of these queries is in a document but whole in no chunk (the chunker cut it), "
        "and has no gold chunk: g1."
    )
    result = check_golden(golden, {"d": "Leave is 25 days. Sick pay."}, chunks)
    assert (result["ready"], result["problems"], result["warnings"]) == (True, [], [cut])
    broken = [*golden, {"id": "g3", "question": "c", "expected_evidence": [{"start": 90, "end": 99}]}]
    assert check_golden(broken, {"d": "Leave is 25 days. Sick pay."}, chunks)["warnings"] == [cut]
