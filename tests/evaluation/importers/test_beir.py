"""A BEIR folder: one split, the corpus as chunk table, a query's own document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import RAGEvaluator, import_run

CORPUS = [
    {"_id": "d1", "title": "Lamps", "text": "A lamp gives light.", "metadata": {"year": 1999}},
    {"_id": "d2", "title": "", "text": "Bread is baked."},
    {"_id": "q1", "title": "", "text": "The query itself."},
]
QUERIES = [{"_id": "q1", "text": "What gives light?"}, {"_id": "q2", "text": "What is baked?", "metadata": {"n": 1}},
           {"_id": "q9", "text": "Of another split?"}]  # fmt: skip
TEST = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t1\n"


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "beir"
    (place / "qrels").mkdir(parents=True)
    (place / "corpus.jsonl").write_text(lines(CORPUS))
    (place / "queries.jsonl").write_text(lines(QUERIES))
    (place / "qrels" / "test.tsv").write_text(TEST)
    return place


def run_file(folder: Path, scores: Any) -> Path:
    path = folder.parent / "run.json"
    path.write_text(scores if isinstance(scores, str) else json.dumps(scores))
    return path


def test_the_split_is_the_questions_and_the_corpus_the_chunks(folder: Path) -> None:
    imported = import_run("beir", folder)
    assert imported.queries == [
        {"id": "q1", "relevance": {"d1": 2.0}, "question": "What gives light?"},
        {"id": "q2", "relevance": {"d2": 1.0}, "question": "What is baked?", "metadata": {"n": 1}},
    ]
    assert imported.chunks == [
        {"id": "d1", "text": "A lamp gives light.", "metadata": {"year": 1999, "title": "Lamps"}},
        {"id": "d2", "text": "Bread is baked."},
        {"id": "q1", "text": "The query itself."},
    ]
    assert imported.notices.texts() == ["questions without qrels in this split were left out: q9."]


def test_a_querys_own_document_is_no_result(folder: Path) -> None:
    run = run_file(folder, {"q1": {"q1": 9.0, "d2": 0.5, "d1": 0.25}, "q2": {"d2": 1.0}})
    imported = import_run("beir", folder, run)
    assert imported.queries[0]["retrieved_ids"] == ["d2", "d1"]
    assert "a query's own document is no result in BEIR, and was taken out of the ranking: q1." in (
        imported.notices.texts()
    )
    summary = RAGEvaluator().evaluate_dataset(imported.dataset())["retrieval"]["summary"]
    assert (summary["mrr_at_k"], summary["recall_at_k"]) == (0.75, 1.0)


def test_a_run_of_six_columns_is_one_too(folder: Path) -> None:
    imported = import_run("beir", run_file(folder, "q1 Q0 q1 1 3 t\nq1 Q0 d1 2 2 t\n"), folder)
    assert imported.queries[0]["retrieved_ids"] == ["d1"]
    assert "error" in imported.queries[1]


def test_the_split_can_be_chosen(folder: Path) -> None:
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq9\td2\t1\n")
    assert [query["id"] for query in import_run("beir", folder, split="dev").queries] == ["q9"]
    assert [query["id"] for query in import_run("beir", folder).queries] == ["q1", "q2"]
    with pytest.raises(SettingsError, match=r"split: must be one of .*qrels \(dev, test\), got 'train'"):
        import_run("beir", folder, split="train")


def test_what_is_missing_is_told_and_the_rest_read(folder: Path) -> None:
    (folder / "corpus.jsonl").unlink()
    (folder / "qrels" / "test.tsv").unlink()
    imported = import_run("beir", folder)
    assert sorted(imported.queries[0]) == ["id", "question"]
    assert imported.chunks is None
    assert imported.notices.texts() == [
        "the folder has no corpus.jsonl, so that the documents have no text.",
        "the folder has no qrels/*.tsv, so that the questions have no gold labels.",
    ]


def test_broken_lines_are_named(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text(lines([*CORPUS, CORPUS[0], {"_id": "d4"}]) + '{"_id": "d5", "te')
    (folder / "qrels" / "test.tsv").write_text(TEST + "q1\td2\nq2\td1\tmuch\n")
    imported = import_run("beir", folder)
    assert [chunk["id"] for chunk in imported.chunks or ()] == ["d1", "d2", "q1"]
    said = "\n".join(imported.notices.texts())
    for part in (
        "records without an id and a text were left out: corpus.jsonl line 5.",
        "corpus: records that are there twice count once: d1.",
        "corpus.jsonl line 6 (",
        'were left out: test.tsv line 4 (2 columns), test.tsv line 5 (the text "much").',
    ):
        assert part in said


def test_qrels_without_names_and_with_a_byte_order_mark_are_read(folder: Path) -> None:
    (folder / "qrels" / "test.tsv").write_text("\ufeffq1\td1\t1\r\n", encoding="utf-8")
    [query] = import_run("beir", folder).queries
    assert (query["id"], query["relevance"]) == ("q1", {"d1": 1.0})


def test_half_a_character_can_be_written(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "cut \\ud83d", "metadata": {"a": NaN}}\n')
    imported = import_run("beir", folder)
    assert imported.chunks == [{"id": "d1", "text": "cut \ufffd", "metadata": {"a": None}}]
    assert imported.write(folder.parent / "out")


def test_two_texts_of_one_id_are_an_error(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text(lines([CORPUS[0], {**CORPUS[0], "text": "Another."}]))
    with pytest.raises(DatasetError, match=r'corpus\.jsonl line 2: must have an id of its own, got "d1"'):
        import_run("beir", folder)


def test_what_is_no_folder_of_beir_is_one_sentence(folder: Path) -> None:
    with pytest.raises(DatasetError, match=r"must be one folder with .* and qrels/, got a file"):
        import_run("beir", folder / "corpus.jsonl")
    with pytest.raises(DatasetError, match=r"must be a run beside the folder, got qrels"):
        import_run("beir", folder, run_file(folder, "q1 0 d1 1\n"))
    (folder / "qrels" / "test.tsv").write_text("q1 d1 1\n")
    with pytest.raises(DatasetError, match=r"must have the columns query-id, corpus-id and score, divided by tabs"):
        import_run("beir", folder)
    with pytest.raises(DatasetError, match=r"must hold queries\.jsonl or qrels"):
        import_run("beir", folder.parent)
