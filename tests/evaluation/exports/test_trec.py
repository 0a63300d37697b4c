"""qrels.txt and run.txt of a dataset: what was imported comes back, what they cannot hold is told."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation import export_trec, import_run
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.importers.trec import records_of
from rag_titan.evaluation.importers.trec_files import Run

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters=" \ufeff"), min_size=1, max_size=6)
TOPICS = NAMES.filter(lambda name: not name.startswith("#"))
SCORES = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.5, 0.25]))
GRADES = st.integers(-3, 4).map(float)
QRELS = st.dictionaries(TOPICS, st.dictionaries(TOPICS, GRADES, min_size=1, max_size=5), min_size=1, max_size=4)


@st.composite
def imports(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Records as `import trec` makes them, of topics on either side or on both."""
    qrels = draw(QRELS)
    topics = st.one_of(st.sampled_from(sorted(qrels)), TOPICS)
    results = draw(st.dictionaries(topics, st.dictionaries(TOPICS, SCORES, min_size=1), min_size=1, max_size=4))
    run = Run()
    for topic, scores in results.items():
        for document, score in scores.items():
            run.add(topic, document, score, "tag")
    return records_of(qrels, run, "trec", Notices())


def exported(queries: list[dict[str, Any]], folder: Path) -> tuple[dict[str, str], list[str]]:
    done = export_trec(dataset_from(queries=queries), folder)
    return {file.name: file.read_text(encoding="utf-8") for file in done.files}, done.notices.texts()


@given(imports())
def test_what_was_imported_comes_back(records: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as folder:
        done = export_trec(dataset_from(queries=records), folder)
        assert done.notices.texts() == []
        back = import_run("trec", *done.files).queries
    assert {record["id"]: record for record in back} == {record["id"]: record for record in records}


def test_gold_ids_without_grades_have_grade_1(tmp_path: Path) -> None:
    query = {"id": "q1", "relevance": {"a": 2, "b": 0}, "expected_chunk_ids": ["a", "c"]}
    files, notices = exported([query], tmp_path)
    assert set(files["qrels.txt"].splitlines()) == {"q1 0 a 2", "q1 0 b 0", "q1 0 c 1"}
    assert (list(files), notices) == (["qrels.txt"], [])


def test_a_ranking_whose_scores_mislead_gets_others(tmp_path: Path) -> None:
    rising = {"id": "q1", "retrieved_ids": ["a", "b"], "retrieved_scores": [0.25, 0.5]}
    tied = {"id": "q2", "retrieved_ids": ["a", "b"], "retrieved_scores": [0.5, 0.5]}
    short = {"id": "q3", "retrieved_ids": ["a", "b"], "retrieved_scores": [0.5, None]}
    files, notices = exported([rising, tied, short], tmp_path)
    assert [line.split()[2:5] for line in files["run.txt"].splitlines()] == [["a", "1", "2.0"], ["b", "2", "1.0"]] * 3
    assert notices == [
        "scores that do not lead to the order of the ranking were replaced by ranks from its end: q1, q2, q3."
    ]


def test_what_the_files_cannot_hold_is_told(tmp_path: Path) -> None:
    queries = [
        {"id": "q 1", "relevance": {"a": 0.5, "#b": 1}, "retrieved_ids": ["c\td", "e", "e"]},
        {"id": "q2", "retrieved_ids": []},
        {"id": "q3", "retrieved_texts": ["a text"]},
    ]
    files, notices = exported(queries, tmp_path)
    assert files == {
        "qrels.txt": "q%201 0 %23b 1\n",
        "run.txt": "q%201 Q0 c%09d 1 2.0 rag-titan\nq%201 Q0 e 2 1.0 rag-titan\n",
    }
    assert notices == [
        "an empty ranking cannot stand in a run; trec_eval -c counts these topics as 0: q2.",
        "documents that stand in a ranking again were left out, as trec_eval refuses them: q 1.",
        "grades that are no whole number cannot stand in qrels and were left out: q 1.",
        "ids with white space or a leading # are written with % and hexadecimal digits: #b, c\td, q 1.",
        "rankings of texts without ids were left out: q3.",
    ]


def test_a_dataset_without_labels_and_rankings_writes_nothing(tmp_path: Path) -> None:
    assert exported([{"id": "q1", "answer": "yes"}], tmp_path / "out") == ({}, [])
    assert not (tmp_path / "out").exists()


def test_topics_are_counted_where_they_have_a_line(tmp_path: Path) -> None:
    queries = [
        {"id": "q1", "relevance": {"a": 1}, "retrieved_ids": ["a"]}, {"id": "q2", "retrieved_ids": ["b"]},
        {"id": "q3", "relevance": {"a": 0.5}, "retrieved_ids": []}, {"id": "q4", "relevance": {}},
    ]  # fmt: skip
    done = export_trec(dataset_from(queries=queries), tmp_path)
    assert done.topics == {"qrels": 1, "run": 2}


def test_a_document_that_comes_again_keeps_its_first_score(tmp_path: Path) -> None:
    query = {"id": "q1", "retrieved_ids": ["a", "b", "a"], "retrieved_scores": [0.9, 0.5, 0.1]}
    files, notices = exported([query], tmp_path)
    assert [line.split()[2:5] for line in files["run.txt"].splitlines()] == [["a", "1", "0.9"], ["b", "2", "0.5"]]
    assert [text.partition(" in a ranking again")[0] for text in notices] == ["documents that stand"]
