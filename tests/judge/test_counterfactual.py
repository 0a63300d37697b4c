"""Counterfactual test sets: consistent, reversible, nothing changed that is not said; and what answers follow."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError, NothingMatchedError, SettingsError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.judge.counterfactual import Vocabulary, replacements
from rag_titan.judge.counterfactual_dataset import counterfactual, restored
from rag_titan.judge.counterfactual_score import counterfactual_score
from rag_titan.judge.facts import facts, rewritten

Record = dict[str, Any]

DOCUMENT = "In 2019 the firm of Ada Voss moved to Oslo. Leave is 25 days, at most 1,000 hours. We met on 12 March 2024."
QUERIES: list[Record] = [
    {"id": "q1", "question": "How long is leave?", "expected_answer": "25 days", "required_facts": ["25 days"],
     "expected_evidence": ["Leave is 25 days"], "retrieved_ids": ["a"], "context_ids": ["a"], "answer": "25 days",
     "latency_ms": 12},
    {"id": "q2", "question": "Where did the firm of Ada Voss move in 2019?", "expected_answer": "To Oslo, in 2019"},
    {"id": "q3", "question": "When did we meet?", "expected_answers": ["on 2024-03-12", "12 March 2024"]},
    {"id": "q4", "question": "Is there a canteen?", "expected_answer": "No."},
    {"id": "q5", "question": "What is 25?", "expected_answer": "Leave is 25 days"},
]  # fmt: skip


def data(**more: Any) -> Record:
    cut = DOCUMENT.index("Leave")
    chunks = [
        {"id": "a", "text": DOCUMENT[cut:], "start": cut, "end": len(DOCUMENT), "doc_id": "d"},
        {"id": "b", "text": DOCUMENT[:cut], "start": 0, "end": cut, "doc_id": "d"},
    ]
    return {"chunks": chunks, "documents": {"d": DOCUMENT}, "queries": QUERIES, **more}


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in texts(part)]


def test_facts_are_changed_everywhere_alike() -> None:
    made = counterfactual(data())
    new = made.facts
    assert set(new) == {
        ("numbers", "25"),
        ("names", "Oslo"),
        ("numbers", "2024"),
        ("dates", "March"),
        ("numbers", "12"),
    }
    first, second, third, *_ = made.inputs["queries"]
    days = f"{new['numbers', '25']} days"
    assert first["expected_answer"] == first["required_facts"][0] == days
    assert days in made.inputs["documents"]["d"]
    assert days in made.inputs["chunks"][0]["text"]
    assert second["expected_answer"] == f"To {new['names', 'Oslo']}, in 2019"  # the year is in the question
    iso, long = third["expected_answers"]
    day, month, year = new["numbers", "12"], new["dates", "March"], new["numbers", "2024"]
    assert long == f"{day} {month} {year}"
    assert iso.startswith(f"on {year}-")
    assert iso.endswith(f"-{int(day):02}")
    assert 1 <= int(day) <= 28


def test_nothing_is_changed_that_is_not_said() -> None:
    before = data()
    made = counterfactual(before)
    told = made.as_dict()
    assert told["unchanged"].keys() == {"q4", "q5"}
    assert told["left_out"] == ["answer", "latency_ms"]
    back = [restored(text, told) for text in texts({k: v for k, v in made.inputs.items() if k != "queries"})]
    assert back == texts({k: v for k, v in before.items() if k != "queries"})
    for query, old in zip(made.inputs["queries"], before["queries"], strict=True):
        kept = {key: value for key, value in query.items() if key != "counterfactual"}
        assert [restored(text, told) for text in texts(kept)] == texts({key: old[key] for key in kept})
        assert query.keys() - {"counterfactual"} == old.keys() - {"answer", "latency_ms"}
    assert made.inputs["queries"][0]["counterfactual"]["original"]["expected_answer"] == "25 days"


def test_offsets_stand_in_the_new_documents() -> None:
    made = counterfactual(data())
    document = made.inputs["documents"]["d"]
    for chunk in made.inputs["chunks"]:
        assert document[chunk["start"] : chunk["end"]] == chunk["text"]
    report = RAGEvaluator(k=3).evaluate(**made.inputs)
    assert report["chunking"]["coverage"] == 1
    assert report["augmentation"]["summary"]["context_sufficient"] == 1


def test_a_chunk_that_cuts_a_fact_stays_a_part_of_its_document() -> None:
    cut = DOCUMENT.index("25") + 1
    chunks = [{"id": "a", "text": DOCUMENT[:cut], "start": 0, "end": cut}, {"id": "b", "text": DOCUMENT[cut:]}]
    made = counterfactual(data(chunks=chunks))
    first = made.inputs["chunks"][0]
    assert made.inputs["documents"]["d"][first["start"] : first["end"]] == first["text"]


def test_offsets_without_a_document_are_left_out() -> None:
    given = {key: value for key, value in data().items() if key != "documents"}
    assert not any("start" in chunk for chunk in counterfactual(given).inputs["chunks"])


def test_one_seed_one_set_and_another_another() -> None:
    assert json.dumps(counterfactual(data()).inputs) == json.dumps(counterfactual(data()).inputs)
    assert counterfactual(data()).facts != counterfactual(data(), seed=1).facts


def test_only_the_kinds_that_are_asked_for() -> None:
    assert {kind for kind, _ in counterfactual(data(), kinds=["dates"]).facts} == {"dates"}
    with pytest.raises(SettingsError, match="kinds: must be some of numbers, dates, names, got number"):
        counterfactual(data(), kinds=["number"])
    with pytest.raises(DatasetError, match="queries: must be given"):
        counterfactual({"chunks": ["x"]})


def test_a_word_that_is_small_elsewhere_is_no_name() -> None:
    vocabulary = Vocabulary(["Then Ada Voss wrote. We saw Leave there.", "No leave."])
    assert vocabulary.is_proper("Ada")
    assert not vocabulary.is_proper("Leave")
    assert not vocabulary.is_proper("Then")  # it stands first in its sentence


def test_weekdays_change_places_where_all_are_taken() -> None:
    text = "Open on Monday, Tuesday, Wednesday, Thursday, Friday, Saturday and Sunday, at most 2 hours in March."
    query = {"id": "q", "question": "When?", "expected_answer": "on Monday"}
    made = counterfactual({"chunks": [text], "queries": [query]})
    assert len(set(made.facts.values())) == len(made.facts) == 7
    assert all(old != new for (_, old), new in made.facts.items())
    (chunk,) = made.inputs["chunks"]
    assert "in March" in chunk["text"]  # nobody asks for a month
    assert restored(chunk["text"], made.as_dict()) == text


def test_a_day_for_which_no_other_is_left() -> None:
    texts = [f"On {day} June we met." for day in range(1, 29)]
    query = {"id": "q", "question": "When in June?", "expected_answer": "on 12 June"}
    made = counterfactual({"chunks": texts, "queries": [query]})
    assert made.facts == {}
    assert made.unchanged == {"q": "no other fact is left to put in the place of its facts"}


@given(st.lists(st.one_of(st.integers(0, 10**6).map(str), st.decimals(0, 999, places=2).map(str)), max_size=30))
def test_replacements_are_new_and_different(numbers: list[str]) -> None:
    vocabulary = Vocabulary([f"It is {number} euros." for number in numbers])
    keys = [key for key in vocabulary.counts if key[0] == "numbers"]
    new = replacements(keys, vocabulary)
    assert len(set(new.values())) == len(new)
    assert not {("numbers", value) for value in new.values()} & set(vocabulary.counts)
    for (_, old), value in new.items():
        assert [fact.key for fact in facts(f"x {value} x")] == [value]
        assert ("." in old) == ("." in value)


def answered(**answers: str | None) -> Record:
    fact = {"kind": "numbers", "original": "1000", "replacement": "7300"}
    name = {"kind": "names", "original": "Oslo", "replacement": "Fenpell"}
    queries = [{"id": key, "counterfactual": {"facts": [fact, name]}} for key in answers]
    return counterfactual_score({"queries": [*queries, {"id": "unchanged"}]}, answers)


def test_what_answers_follow() -> None:
    found = answered(
        a="7,300 euros", b="1,000 euros in Oslo", c="7300, not 1000", d="I do not know.", e=None, f="to Fenpell [1000]"
    )
    assert (found["questions"], found["answered"]) == (6, 5)
    assert [row["follows"] for row in found["per_query"]] == ["context", "original", "both", "neither", "context"]
    assert found["context"] == {"value": 0.4, "n": 5, "count": 2, "ci95": pytest.approx([0.1176, 0.7693], abs=1e-4)}
    assert sum(found[name]["value"] for name in ("context", "original", "both", "neither")) == pytest.approx(1)
    assert found["per_query"][1]["of_original"] == ["1000", "Oslo"]


def test_answers_to_other_questions_are_refused() -> None:
    with pytest.raises(NothingMatchedError, match="answers: must answer questions of the test set"):
        answered(a=None)
    with pytest.raises(DatasetError, match="counterfactual"):
        counterfactual_score({"queries": [{"id": "q"}]}, {"q": "x"})


@pytest.mark.parametrize(
    "number",
    ["٢٥", "२,५००", "0.001", "0.250", "0.5", "1,234,567.89", "99999999999999999999", "3.50", "2024-05-12", "12 May"],
)
def test_what_was_changed_can_be_undone_to_the_letter(number: str) -> None:
    """Seen once: 0.001 became 2.053, which may be two thousand and fifty-three; and ٢٥ came back as 25."""
    text = f"It is {number} of the 7.125 kg, or 0.75 in May and {number}."
    data = {
        "chunks": [{"id": "a", "text": text}],
        "queries": [{"id": "q", "question": "How many?", "context_ids": ["a"], "expected_answer": number}],
    }
    for seed in range(20):
        made = counterfactual(data, seed=seed)
        new = made.inputs["chunks"][0]["text"]
        assert new != text
        assert restored(new, made.as_dict()) == text


def test_a_number_keeps_the_digits_of_its_script() -> None:
    assert rewritten("٢٥ يوما, 25", {("numbers", "25"): "61"}).text == "٦١ يوما, 61"


def test_a_year_becomes_an_earlier_one() -> None:
    query = {"id": "q", "question": "When?", "context_ids": ["a"], "expected_answer": "in 2011"}
    data = {"chunks": [{"id": "a", "text": "Founded in 2011."}], "queries": [query]}
    years = {int(counterfactual(data, seed=seed).facts["numbers", "2011"]) for seed in range(50)}
    assert max(years) < 2011
    assert min(years) > 1940


@pytest.mark.parametrize("told", [None, {}, {"facts": None}, {"facts": "x"}, {"facts": [{}]}, {"facts": [5]}])
def test_a_test_set_that_is_none_is_a_sentence(told: Any) -> None:
    with pytest.raises(DatasetError, match=r"must have an id and counterfactual\.facts"):
        counterfactual_score({"queries": [{"id": "q", "counterfactual": told}]}, {"q": "25"})
