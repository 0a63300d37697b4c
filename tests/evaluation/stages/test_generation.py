"""The rows of the generation stage, each on a few queries worked by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.conventions import conventions_of
from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.records import Chunk, Claim, Query
from rag_titan.evaluation.data.tables import QueryTable, Settings
from rag_titan.evaluation.stages import generation
from rag_titan.evaluation.stages.generation import METRICS, GenerationInputs
from rag_titan.evaluation.stages.stage import measure

CHUNKS = Corpus(
    (Chunk(id="k1", text="The fee is"), Chunk(id="k2", text="40 euro and 2 weeks"), Chunk(id="k3")), given=True
)
SEEDS = [
    "exact_match",
    "answer_precision",
    "answer_recall",
    "answer_f1",
    "rouge_l_f1",
    "required_fact_coverage",
    "citation_precision",
    "citation_recall",
    "citation_f1",
    "annotated_claim_support",
    "abstention_accuracy",
    "context_grounding",
    "unsupported_number_rate",
    "task_success",
    "p95_latency_ms",
]


def inputs(*queries: dict[str, Any], corpus: Corpus | None = None, conventions: Any = None) -> GenerationInputs:
    records = [Query(id=f"q{i}", **query) for i, query in enumerate(queries)]
    return GenerationInputs(QueryTable(records, corpus, Settings(conventions=conventions_of(conventions))))


def values(*queries: dict[str, Any], **settings: Any) -> dict[str, list[float]]:
    return {key: column.tolist() for key, column in measure(METRICS, inputs(*queries, **settings)).items()}


def approx(*expected: float) -> Any:
    return pytest.approx(list(expected), nan_ok=True)


NAN = math.nan


def test_the_rows_of_the_seeds_come_first_and_in_their_order() -> None:
    assert [row.key for row in METRICS][: len(SEEDS)] == SEEDS


def test_without_any_input_nothing_is_measured() -> None:
    assert all(np.isnan(column).all() for column in values({}, {}).values())


def test_scores_against_the_reference() -> None:
    found = values(
        {"answer": "The Eiffel Tower!", "expected_answer": "eiffel tower"},
        {"answer": "In the year 1889.", "expected_answers": ["1889", "the year 1889"]},
        {"answer": None, "expected_answer": "x"},
        {"answer": "x"},
    )
    assert found["exact_match"] == approx(1, 0, NAN, NAN)
    assert found["answer_f1"] == approx(1, 0.8, NAN, NAN)
    assert found["answer_precision"] == approx(1, 2 / 3, NAN, NAN)
    assert found["answer_recall"] == approx(1, 1, NAN, NAN)
    assert found["rouge_l_f1"] == approx(0.8, 6 / 7, NAN, NAN)


def test_facts_count_each_and_an_empty_one_is_never_there() -> None:
    some = inputs(
        {"answer": "You get 25 DAYS of annual leave.", "required_facts": ["25 days", "annual leave", "unpaid"]},
        {"answer": "x", "required_facts": []},
        {"answer": "x"},
        {"required_facts": ["x"]},
        {"answer": "y", "required_facts": ["", "y"]},
    )
    assert some.fact_coverage().tolist() == approx(2 / 3, NAN, NAN, NAN, 0.5)
    assert some.missing_facts(0) == ["unpaid"]
    assert some.missing_facts(3) == []
    assert some.missing_facts(4) == [""]


def test_citations_are_sets() -> None:
    found = values(
        {"citations": ["d1", "d2", "d3"], "expected_citations": ["d2", "d9"]},
        {"citations": [], "expected_citations": ["d2"]},
        {"citations": ["d2", "d2", "zz"], "expected_citations": ["d2"]},
        {"answer": "a b", "expected_citations": ["d2"]},
        {"citations": ["d2"], "expected_citations": []},
        {"citations": ["d2"]},
    )
    assert found["citation_precision"] == approx(1 / 3, NAN, 0.5, NAN, NAN, NAN)
    assert found["citation_recall"] == approx(0.5, 0, 1, NAN, NAN, NAN)
    assert found["citation_f1"] == approx(0.4, 0, 2 / 3, NAN, NAN, NAN)


def test_markers_are_taken_out_and_read_where_no_citations_are_given() -> None:
    marked = {"answer": "40 euro [1][2].", "context_ids": ["k2", "k1"], "expected_answer": "40 euro"}
    found = values(
        marked | {"expected_citations": ["k2"]},
        marked | {"expected_citations": ["k2"], "citations": ["k2"]},
        {"answer": "40 euro [1]", "expected_answer": "40 euro", "expected_citations": ["k2"]},
    )
    assert found["exact_match"] == approx(1, 1, 0)
    assert found["citation_precision"] == approx(0.5, 1, NAN)
    assert values(marked, conventions="squad")["exact_match"] == approx(0)


def test_citations_outside_the_context_need_no_labels() -> None:
    found = values(
        {"citations": ["k1", "x", "x"], "context_ids": ["k1"]},
        {"citations": ["k1"], "context_ids": []},
        {"citations": [], "context_ids": ["k1"]},
        {"citations": ["k1"]},
        {"answer": "so [k2], and [1]", "context_ids": ["k1"]},
        corpus=CHUNKS,
    )
    assert found["citations_outside_context_rate"] == approx(0.5, 1, NAN, NAN, 0.5)


def test_claims_are_counted_per_query() -> None:
    found = values(
        {"verified_claims": [Claim(supported=True), Claim(supported=False)]}, {"verified_claims": []}, {"answer": "x"}
    )
    assert found["annotated_claim_support"] == approx(0.5, NAN, NAN)


def test_abstention_needs_both_labels_and_refusals_only_one() -> None:
    found = values(
        {"answerable": True, "abstained": False},
        {"answerable": True, "abstained": True},
        {"answerable": False, "abstained": True},
        {"answerable": False, "abstained": False},
        {"answerable": True},
        {"abstained": True},
    )
    assert found["abstention_accuracy"] == approx(1, 0, 1, 0, NAN, NAN)
    assert found["refusal_rate"] == approx(0, 1, 1, 0, NAN, 1)


def test_grounding_is_the_share_of_words_that_the_context_has() -> None:
    answer = {"answer": "fee is 40 euro maybe"}
    some = inputs(
        answer | {"context": "The fee is 40 euro and 2 weeks"},
        answer | {"context_ids": ["k2", "k1"]},
        answer | {"context_ids": ["k1", "k3"]},
        answer | {"context_ids": ["ghost"]},
        answer | {"context_ids": []},
        answer | {"context": ""},
        answer,
        {"answer": "", "context": "The fee"},
        {"context": "The fee"},
        corpus=CHUNKS,
    )
    assert some.grounding().tolist() == approx(0.8, 0.8, NAN, NAN, 0, 0, NAN, NAN, NAN)
    (notice,) = some.table.notices.texts()
    assert "query q2 (k3), q3 (ghost)." in notice


def test_without_a_chunk_table_context_ids_are_no_context_and_no_warning() -> None:
    some = inputs({"answer": "x", "context_ids": ["k1"]})
    assert some.grounding().tolist() == approx(NAN)
    assert some.table.notices.texts() == []


def test_numbers_are_compared_by_value_and_each_occurrence_counts() -> None:
    context = {"context": "The fee is 40 euro, 1000 units at 3.5, 20% off, 1.500 in all"}
    some = inputs(
        {"answer": "It costs 40 or 41 or 99 or 41"} | context,
        {"answer": "1,000 units at 3.50 and 1500, 1.5"} | context,
        {"answer": "It was 4"} | context,
        {"answer": "no digits"} | context,
        {"answer": "20 % but 20 or -40"} | context,
        {"answer": "4"},
    )
    assert some.unsupported_number_rate().tolist() == approx(0.75, 0, 1, NAN, 2 / 3, NAN)
    assert some.unsupported_numbers(0) == ["41", "99"]
    assert some.unsupported_numbers(4) == ["20", "-40"]
    assert some.unsupported_numbers(5) == []


def test_times_and_the_pace_of_a_stream() -> None:
    timed = {"generation_latency_ms": 500.0, "time_to_first_token_ms": 100.0, "output_tokens": 5.0}
    some = inputs(timed, timed | {"output_tokens": 1.0}, timed | {"time_to_first_token_ms": 600.0}, {}, timed)
    assert some.inter_token_time().tolist() == approx(100, NAN, NAN, NAN, 100)
    assert some.time().tolist() == approx(500, 500, 500, NAN, 500)
    (notice,) = some.table.notices.texts()
    assert "query q2;" in notice


def test_a_bad_time_is_left_out_with_a_warning() -> None:
    some = inputs({"generation_latency_ms": -1.0}, {"generation_latency_ms": math.inf}, {"generation_latency_ms": 7.0})
    assert some.time().tolist() == approx(NAN, NAN, 7)
    assert "q0, q1" in some.table.notices.texts()[0]


TEXTS = st.text(st.sampled_from("ab 1.,[]%-\n你"), max_size=12)
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "answer": TEXTS,
        "expected_answer": TEXTS,
        "expected_answers": st.lists(TEXTS, max_size=2),
        "required_facts": st.lists(TEXTS, max_size=3),
        "context": TEXTS,
        "context_ids": st.lists(st.sampled_from(["k1", "k2", "k3", "x"]), max_size=3),
        "citations": st.lists(st.sampled_from(["k1", "k2", "y"]), max_size=3),
        "expected_citations": st.lists(st.sampled_from(["k1", "k2", "y"]), max_size=3),
    },
)


@given(st.lists(QUERIES, max_size=5))
def test_a_query_has_the_same_values_alone_and_in_a_batch(queries: list[dict[str, Any]]) -> None:
    together = values(*queries, corpus=CHUNKS)
    for i, query in enumerate(queries):
        for key, column in values(query, corpus=CHUNKS).items():
            assert together[key][i] == pytest.approx(column[0], nan_ok=True), key


@given(st.lists(QUERIES, max_size=4))
def test_values_stay_inside_the_range_of_their_kind(queries: list[dict[str, Any]]) -> None:
    found = measure(METRICS, inputs(*queries, corpus=CHUNKS))
    for row in METRICS:
        column = found[row.key][~np.isnan(found[row.key])]
        assert ((column >= row.kind.low) & (column <= row.kind.high)).all(), row.key


def test_contexts_are_looked_through_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [{"answer": "a b c", "context": "a " * i + "c"} for i in range(5)]
    whole = values(*queries)["context_grounding"]
    monkeypatch.setattr(generation, "_BLOCK", 2)
    assert values(*queries)["context_grounding"] == whole == approx(1 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3)


def test_an_answer_to_what_cannot_be_answered_needs_a_word_on_whether_it_refused() -> None:
    some = inputs(
        {"answerable": False, "answer": "I do not know."},
        {"answerable": False, "answer": "x", "abstained": False},
        {"answerable": False, "answer": "x", "task_success": True},
        {"answerable": False},
        {"answerable": True, "answer": "x"},
        {"answerable": False, "answer": "Green."},
    )
    measure(METRICS, some)
    assert some.table.notices.texts() == [
        "query q0, q5: unanswerable and answered, but `abstained` is not given, so nobody can say whether that is "
        "right; log it."
    ]


def test_gold_labels_alone_do_not_make_a_question_answerable() -> None:
    refused = {"id": "q1", "expected_chunk_ids": ["c"], "answer": "I do not know.", "abstained": True}
    report = RAGEvaluator().evaluate(queries=[refused, {"id": "q2", "answerable": False, "abstained": True}])
    detail = report["generation"]["detail"]["abstention_accuracy"]
    assert detail["n"] == 1
    assert "measured for 1 of 2; the others do not have answerable and abstained together" in detail["reason"]
    report = RAGEvaluator().evaluate(queries=[{**refused, "answerable": True}])
    assert report["generation"]["summary"]["abstention_accuracy"] == 0.0
