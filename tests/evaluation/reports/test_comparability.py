"""What cannot be held against what: other chunks under the gold ids, other settings."""

from __future__ import annotations

from typing import Any

import pytest

from rag_titan.evaluation.evaluator import RAGEvaluator
from rag_titan.evaluation.preparation.build import build_dataset
from rag_titan.evaluation.reports.compare import compare, trends
from rag_titan.evaluation.reports.diff import diff

TEXT = " ".join(f"Rule {i} of the handbook says what to do on day {i}." for i in range(60))
BY_IDS = {"retrieval.recall_at_k", "retrieval.mrr_at_k", "retrieval.ndcg_at_k", "retrieval.hit_at_k"}


def cut(size: int, prefix: str = "c") -> list[dict[str, Any]]:
    """The text in chunks of a size, with offsets."""
    starts = range(0, len(TEXT), size)
    return [{"id": f"{prefix}{i}", "text": TEXT[s : s + size], "start": s, "end": min(s + size, len(TEXT))} for i, s in
            enumerate(starts)]  # fmt: skip


def evaluated(chunks: list[dict[str, Any]], gold: str = "c", **more: Any) -> dict[str, Any]:
    """A run that retrieves the first chunks, on questions whose gold is a quote and the chunk of that number."""
    ids = [chunk["id"] for chunk in chunks]
    queries = [
        {
            "id": f"q{i}", "expected_evidence": [f"says what to do on day {i}."], "expected_chunk_ids": [f"{gold}{i}"],
            "retrieved_ids": ids[:10], "answer": "yes", "expected_answer": "yes", **more,
        }
        for i in range(20)
    ]  # fmt: skip
    return RAGEvaluator(k=5).evaluate(chunks=chunks, queries=queries, document_text=TEXT)


def test_rechunking_is_named_and_ids_are_no_regression() -> None:
    before, now = evaluated(cut(100)), evaluated(cut(333, "d"))
    result = compare(now, before)
    assert result["comparable"]
    assert result["rechunked"]
    assert result["notes"][0].startswith("Re-chunked: about 0% of the chunks are the same")
    left_out = {entry["metric"] for entry in result["not_compared"]}
    assert left_out >= BY_IDS
    listed = {entry["metric"] for name in ("regressions", "improved", "vanished", "appeared") for entry in result[name]}
    assert not listed & left_out
    assert "retrieval.token_recall" in listed, "quotes outlive the chunks"
    assert "0% of the chunks are the same" in result["not_compared"][0]["reason"]
    assert "retrieval.recall_at_k" not in result["primary"]


def test_positions_as_ids_do_not_hide_that_the_chunks_are_others() -> None:
    assert compare(evaluated(cut(333)), evaluated(cut(100)))["rechunked"]


def test_chunks_that_were_added_leave_stable_ids_comparable() -> None:
    before = evaluated(cut(100))
    more = [*cut(100), *({"id": f"new{i}", "text": f"New page {i}."} for i in range(300))]
    result = compare(evaluated(more), before)
    assert not result["rechunked"]
    assert not result["not_compared"]
    assert "The chunks changed since the baseline (about 100% are the same)" in result["notes"][0]


def test_other_texts_under_the_same_ids_are_said_and_compared() -> None:
    """Someone put a heading in front of every chunk."""
    chunks = [{"id": chunk["id"], "text": f"Handbook: {chunk['text']}"} for chunk in cut(100)]
    result = compare(evaluated(chunks), evaluated(cut(100)))
    assert not result["rechunked"]
    assert "(about 0% are the same): labels by chunk id may mean other texts now" in result["notes"][0]


BESIDE = "The gold chunk ids beside quotes changed since the baseline"


def test_ids_beside_quotes_that_changed_by_hand_are_said() -> None:
    """The chunks and the quotes are the same, so nothing that follows from them can be another."""
    before, now = evaluated(cut(100)), evaluated(cut(100), gold="e")
    assert before["meta"]["fingerprints"]["gold"] == now["meta"]["fingerprints"]["gold"]
    assert [note for note in compare(now, before)["notes"] if note.startswith(f"{BESIDE}: ")]
    assert not any(BESIDE in note for note in compare(before, before)["notes"])
    without_chunks = [RAGEvaluator().evaluate(queries=[
        {"id": "q", "expected_evidence": ["25 days"], "expected_chunk_ids": [gold], "retrieved_ids": ["c1"]}
    ]) for gold in ("c1", "c2")]  # fmt: skip
    assert any(note.startswith(f"{BESIDE}: ") for note in compare(*without_chunks)["notes"])


def built(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """A run whose gold ids follow from its quotes, as `rag-titan build` finds them."""
    golden = [{"id": f"q{i}", "question": f"Day {i}?", "expected_evidence": [f"on day {i}."]} for i in range(20)]
    ids = [chunk["id"] for chunk in chunks]
    log = [{"id": asked["id"], "retrieved_ids": ids[:10]} for asked in golden]
    return RAGEvaluator(k=5).evaluate(**build_dataset(log, golden, chunks, {"d": TEXT}))


def placed(size: int, prefix: str) -> list[dict[str, Any]]:
    return [{**chunk, "doc_id": "d"} for chunk in cut(size, prefix)]


def test_ids_that_follow_from_quotes_are_no_other_gold_for_another_chunker() -> None:
    before, now = built(placed(200, "c")), built(placed(333, "d"))
    prints = [report["meta"]["fingerprints"] for report in (before, now)]
    assert prints[0]["gold"] == prints[1]["gold"]
    assert prints[0]["gold_chunk_ids"] != prints[1]["gold_chunk_ids"]
    result = compare(now, before)
    assert result["rechunked"]
    assert not any("gold" in note and "changed" in note for note in result["notes"])


def test_ids_that_follow_from_chunks_that_were_added_are_said_with_their_cause() -> None:
    """The added page holds a quote as well, so one more chunk is gold."""
    before = built(placed(200, "c"))
    now = built([*placed(200, "c"), {"id": "new", "text": "What is due on day 3. And more."}])
    notes = [note for note in compare(now, before)["notes"] if BESIDE in note]
    assert len(notes) == 1
    assert "by hand or with the quotes and chunks they follow from" in notes[0]


def test_citations_are_compared_with_a_word_of_care() -> None:
    cited = {"citations": ["c0"], "expected_citations": ["c0"]}
    result = compare(evaluated(cut(333, "d"), **cited), evaluated(cut(100), **cited))
    assert any(note.startswith("Citations are compared by their ids") for note in result["notes"])


@pytest.mark.parametrize("meta", [None, [], {"sketch": 3, "fingerprints": "x", "counts": []}, {"fingerprints": {}}])
def test_a_report_that_does_not_say_is_compared(meta: Any) -> None:
    values = {"retrieval": {"summary": {"recall_at_k": 0.5}}}
    result = compare({**values, "meta": meta}, {**values, "meta": evaluated(cut(100))["meta"]})
    assert result["comparable"]
    assert not result["rechunked"]


def test_other_questions_under_the_same_ids_are_said() -> None:
    before, now = (evaluated(cut(40), question=asked) for asked in ("What is due?", "What colour is the sky?"))
    assert any("Other questions were asked" in note for note in compare(now, before)["notes"])
    assert not any("Other questions" in note for note in compare(now, now)["notes"])


def judged(judge: str | None, faithful: bool, **more: Any) -> dict[str, Any]:
    claims = [{"context": "supported" if faithful else "contradicted"}]
    verdicts = {"answer_claims": claims} | ({} if judge is None else {"judge": judge})
    queries = [{"id": f"q{i}", "answer": "x", "expected_answer": "x", "verdicts": verdicts, **more} for i in range(3)]
    return RAGEvaluator().evaluate(queries=queries)


def test_scores_of_other_judges_are_not_compared() -> None:
    """A judge with another prompt has another scale; everything else is compared as ever."""
    before, now = judged("m@1", True), judged("m@2", False, expected_answer="y")
    found = compare(now, before)
    assert found["comparable"]
    assert {entry["metric"] for entry in found["not_compared"]} == {
        "judge.faithfulness",
        "judge.contradicted_claim_rate",
    }
    reason = "it stands on the verdicts of m@2, and in the baseline on those of m@1"
    assert {entry["reason"] for entry in found["not_compared"]} == {reason}
    everywhere = [
        entry["metric"] for name in ("regressions", "vanished", "appeared", "changed") for entry in found[name]
    ]
    assert not [name for name in everywhere if name.startswith("judge.")]
    assert "generation.answer_f1" in everywhere


@pytest.mark.parametrize(("before", "now"), [("m@1", "m@1"), (None, None)])
def test_scores_of_the_same_judge_are_compared(before: str | None, now: str | None) -> None:
    found = compare(judged(now, False), judged(before, True))
    assert "judge.faithfulness" in [entry["metric"] for entry in found["regressions"]]
    assert found["not_compared"] == []


def test_a_judge_that_comes_first_is_no_other_one() -> None:
    plain = {key: value for key, value in judged("m@1", True).items() if key != "judge"}
    plain["meta"] = {key: value for key, value in plain["meta"].items() if key != "judges"}
    found = compare(judged("m@1", True), plain)
    assert "judge.faithfulness" in [entry["metric"] for entry in found["appeared"]]


def test_trends_and_diff_leave_another_judge_out() -> None:
    week = [judged("m@1", True), judged("m@2", False), judged("m@1", False)]
    assert trends(week)["judge.faithfulness"] == -1
    assert "judge.faithfulness" not in trends(week[:2])
    entries = {entry["metric"]: entry for entry in diff(week)["metrics"]}
    assert entries["judge.faithfulness"]["values"] == [1, None, 0]
    assert diff(week[:2])["metrics"][0]["verdict"] == "not comparable"
