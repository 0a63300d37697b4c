"""Qrels and runs as records: the order of trec_eval, topics on one side only, lines that cannot be read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import RAGEvaluator, import_run
from rag_titan.evaluation.importers.trec import ABSENT, Rankings

QRELS = "q1 0 d1 1\nq1 0 d2 0\nq1 0 d3 -1\nq2 0 d1 2\n"
RUN = "q1 Q0 d2 1 0.5 bm25\nq1 Q0 d1 2 0.75 bm25\nq3 Q0 d9 1 1 bm25\n"


def put(folder: Path, **texts: str | bytes) -> list[Path]:
    paths = [folder / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return paths


def test_every_topic_of_either_side_is_a_record(tmp_path: Path) -> None:
    imported = import_run("trec", *put(tmp_path, qrels=QRELS, run=RUN))
    assert imported.queries == [
        {"id": "q1", "relevance": {"d1": 1.0, "d2": 0.0, "d3": -1.0}, "retrieved_ids": ["d1", "d2"],
         "retrieved_scores": [0.75, 0.5], "run_tag": "bm25"},
        {"id": "q2", "relevance": {"d1": 2.0}, "error": ABSENT},
        {"id": "q3", "retrieved_ids": ["d9"], "retrieved_scores": [1.0], "run_tag": "bm25"},
    ]  # fmt: skip
    assert imported.notices.texts() == [
        "topics of the qrels that the run lacks were kept, with an error: q2.",
        "topics of the run without qrels were kept, without gold labels: q3.",
    ]


def test_the_order_of_the_files_does_not_matter(tmp_path: Path) -> None:
    qrels, run = put(tmp_path, qrels=QRELS, run=RUN)
    assert import_run("trec", qrels, run).queries == import_run("trec", run, qrels).queries


def test_an_absent_topic_is_in_the_mean_only_with_all_topics(tmp_path: Path) -> None:
    imported = import_run("trec", *put(tmp_path, qrels=QRELS, run=RUN))

    def recall(**changes: Any) -> float:
        evaluator = RAGEvaluator(conventions={"preset": "trec_eval", **changes})
        value: float = evaluator.evaluate_dataset(imported.dataset())["retrieval"]["summary"]["recall_at_k"]
        return value

    assert (recall(), recall(all_topics=True)) == (1.0, 0.5)


def test_qrels_alone_are_gold_without_errors(tmp_path: Path) -> None:
    imported = import_run("trec", *put(tmp_path, qrels=QRELS))
    assert [set(query) for query in imported.queries] == [{"id", "relevance"}] * 2


def test_several_qrels_are_joined_and_gzip_is_read(tmp_path: Path) -> None:
    paths = put(tmp_path, a=QRELS, b=gzip.compress(b"q9 0 d1 1\n"))
    assert [query["id"] for query in import_run("trec", *paths).queries] == ["q1", "q2", "q9"]


def test_json_is_first_the_qrels_then_the_run(tmp_path: Path) -> None:
    qrels, run = {"q1": {"d1": 1}, "q2": {}}, {"q1": {"d2": 3, "d1": 3}, "q2": {}}
    imported = import_run("trec", *put(tmp_path, a=json.dumps(qrels), b=json.dumps(run)))
    assert imported.queries == [
        {"id": "q1", "relevance": {"d1": 1.0}, "retrieved_ids": ["d2", "d1"], "retrieved_scores": [3.0, 3.0]},
        {"id": "q2", "retrieved_ids": [], "retrieved_scores": []},
    ]


# --- ties -------------------------------------------------------------------------------------------------------------


def test_equal_scores_are_ordered_by_document_descending_or_as_given(tmp_path: Path) -> None:
    run = "".join(f"q1 Q0 {name} {rank} 0.5 t\n" for rank, name in enumerate(("d10", "d9", "d91", "a"), 1))
    paths = put(tmp_path, qrels=QRELS, run=run)
    assert import_run("trec", *paths).queries[0]["retrieved_ids"] == ["d91", "d9", "d10", "a"]
    assert import_run("trec", *paths, ties="given").queries[0]["retrieved_ids"] == ["d10", "d9", "d91", "a"]
    with pytest.raises(SettingsError, match="ties: must be trec or given, got 'best'"):
        import_run("trec", *paths, ties="best")


def test_scores_that_differ_only_beyond_32_bits_are_equal_to_trec_eval() -> None:
    results = [(0.1234567891, "a"), (0.1234567890, "b")]
    assert Rankings("trec").of("q1", results)["retrieved_ids"] == ["b", "a"]
    assert Rankings("given").of("q1", results)["retrieved_ids"] == ["a", "b"]


@pytest.mark.oracle
@given(st.lists(st.sampled_from([0.1, 0.1 + 1e-10, 0.2, 3e38, -1.5, 1e-46, 0.0]), min_size=1, max_size=12))
def test_the_order_is_that_of_pytrec_eval(scores: list[float]) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    documents = [f"d{i}" for i in range(len(scores))]
    ranked = Rankings("trec").of("q1", list(zip(scores, documents, strict=True)))["retrieved_ids"]
    for document in documents:
        evaluator = pytrec_eval.RelevanceEvaluator({"q1": {document: 1}}, {"recip_rank"})
        found = evaluator.evaluate({"q1": dict(zip(documents, scores, strict=True))})["q1"]["recip_rank"]
        assert found == pytest.approx(1 / (1 + ranked.index(document)))


def test_ties_are_counted_and_those_at_a_cut_named(tmp_path: Path) -> None:
    scores = [9, 8, 7, 6, 5, 5, 4]
    run = "".join(f"q1 Q0 d{rank} {rank} {score} t\n" for rank, score in enumerate(scores))
    imported = import_run("trec", *put(tmp_path, qrels="q1 0 d0 1\n", run=run))
    assert imported.notices.texts() == [
        "2 documents share their score with another of their topic and stand in trec_eval's order, document id "
        "descending: q1.",
        "equal scores on both sides of the cut at 5, whose order decides: q1.",
    ]


def test_scores_that_are_no_number_come_last(tmp_path: Path) -> None:
    run = "q1 Q0 d1 1 nan t\nq1 Q0 d2 2 0.5 t\nq1 Q0 d3 3 -7 t\nq1 Q0 d4 4 inf t\n"
    imported = import_run("trec", *put(tmp_path, qrels="q1 0 d1 1\n", run=run))
    assert imported.queries[0]["retrieved_ids"] == ["d4", "d2", "d3", "d1"]
    assert imported.queries[0]["retrieved_scores"] == [None, 0.5, -7.0, None]
    assert imported.notices.texts() == ["topics with scores that are no finite number; these were left out: q1."]


# --- what is odd ------------------------------------------------------------------------------------------------------


def test_comments_blank_lines_a_byte_order_mark_and_tabs_are_read_over(tmp_path: Path) -> None:
    text = "\ufeffq1\t0\td1  1\n# a comment\n\n   # another one\n  q1 0 d#2 2\r\n"
    assert import_run("trec", *put(tmp_path, qrels=text)).queries == [{"id": "q1", "relevance": {"d1": 1, "d#2": 2}}]


def test_a_broken_line_is_named_and_the_rest_read(tmp_path: Path) -> None:
    qrels = "q1 0 d1 1\nq1 0 d2\nq1 0 d3 high\nq1 0 d4 1_0\nq2 0 d1 1\nq2 0 d2 1\n"
    run = "q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2 half t\nq2 Q0 d1 1 0.5 t and more\nq2 Q0"
    imported = import_run("trec", *put(tmp_path, qrels=qrels, run=run))
    assert [(q["relevance"], q["retrieved_ids"]) for q in imported.queries] == [
        ({"d1": 1.0}, ["d1"]),
        ({"d1": 1.0, "d2": 1.0}, ["d1"]),
    ]
    assert imported.notices.texts() == [
        "lines that are no qrels lines (topic, iteration, document, grade) were left out: qrels line 2 (3 columns), "
        'qrels line 3 (the grade "high"), qrels line 4 (the grade "1_0").',
        "lines that are no run lines (topic, Q0, document, rank, score, tag) were left out: run line 2 (the score "
        '"half"), run line 4 (2 columns).',
    ]


def test_a_line_that_is_no_utf8_is_read_as_latin_1(tmp_path: Path) -> None:
    imported = import_run("trec", *put(tmp_path, qrels=b"q1 0 caf\xe9 1\nq1 0 caf\xc3\xa9s 1\n"))
    assert list(imported.queries[0]["relevance"]) == ["café", "cafés"]
    assert imported.notices.texts() == ["lines that are no UTF-8 were read as Latin-1: qrels line 1."]


def test_the_same_grade_twice_counts_once_and_another_one_is_an_error(tmp_path: Path) -> None:
    imported = import_run("trec", *put(tmp_path, qrels="q1 0 d1 1\nq1 0 d1 1\n"))
    assert imported.queries == [{"id": "q1", "relevance": {"d1": 1.0}}]
    assert imported.notices.texts() == ["qrels that stand there twice count once: qrels line 2."]
    rule = 'qrels line 2: must agree with the qrels before it, got the grade 0 after 1 for topic "q1", document "d1".'
    with pytest.raises(DatasetError, match=rule):
        import_run("trec", *put(tmp_path, qrels="q1 0 d1 1\nq1 0 d1 0\n"))


def test_a_document_twice_is_kept_and_told(tmp_path: Path) -> None:
    imported = import_run("trec", *put(tmp_path, run="q1 Q0 d1 1 2 t\nq1 Q0 d1 2 1 t\n"))
    assert imported.queries[0]["retrieved_ids"] == ["d1", "d1"]
    assert "trec_eval refuses" in imported.notices.texts()[0]


def test_several_tags_are_told(tmp_path: Path) -> None:
    imported = import_run("trec", *put(tmp_path, run="q1 Q0 d1 1 2 a\nq2 Q0 d1 2 1 b\n"))
    assert imported.notices.texts() == ["run: the run has several tags, as several runs would: a, b."]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("q1 d1 1\n", r"file: must have 4 columns \(qrels: .*\) or 6 \(a run: .*\), got 3\."),
        ("1.EC.AB 0 0 d1 1\n", r"or 6 \(a run: .*\), got 5\."),
        ("", "must hold qrels or a run, got an empty file"),
        ("# only a comment\n", "must hold qrels or a run, got an empty file"),
        ("q1 0 d1 a\nq2 0 d1 1\nq3 0 d1 b\n", r"must be qrels lines .*got 1 such and 2 others; the first: file line 1"),
        ("q\x001 0 d1 1\n", "must be UTF-8 text, got zero bytes"),
        ('{"q1": {"d1": "1"}}', r'file\["q1"\]\["d1"\]: must be a number, got the text "1"'),
        ('{"q1": ["d1"]}', r'must be {topic: {document: number}}, got a list'),
        ('{"q1": {"d1": 1', "it ends in the middle"),
    ],
)  # fmt: skip
def test_what_is_neither_is_one_sentence(tmp_path: Path, text: str, rule: str) -> None:
    with pytest.raises(DatasetError, match=rule):
        import_run("trec", *put(tmp_path, file=text))


def test_two_runs_are_imported_one_at_a_time(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"must be the only run, got run before it\. Import one run at a time\."):
        import_run("trec", *put(tmp_path, run=RUN, other=RUN))


def test_a_folder_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="must be a file, got a folder"):
        import_run("trec", tmp_path)
