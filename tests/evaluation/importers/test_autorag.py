"""AutoRAG's projects, trials and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.importers.autorag import read
from rag_titan.evaluation.importers.imported import Imported

pytestmark = pytest.mark.parquet

TEXTS = {"d1": "The pool opens at seven.", "d2": "The gym closes at nine.", "d3": "Sauna: mixed.", "d4": "No dogs."}
ASKED: dict[str, list[Any]] = {
    "qid": ["q1", "q2"],
    "query": ["When does the pool open?", "When does the gym close?"],
    "generation_gt": [["At seven.", "7 o'clock"], ["At nine."]],
    "retrieval_gt": [[["d1"]], [["d2"], ["d4"]]],
}
FOUND = [["d3", "d1", "d1"], ["d2", "d3"]]
RERANKED = [["d1", "d3"], ["d2", "d3"]]


def write(path: Path, columns: dict[str, Any]) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(arrow.table(columns), path)


def returned(lists: list[list[str]], **figures: list[float]) -> dict[str, Any]:
    return {
        "retrieved_ids": lists,
        "retrieved_contents": [[TEXTS[name] for name in some] for some in lists],
        "retrieve_scores": [[1.0 / place for place in range(1, len(some) + 1)] for some in lists],
        **figures,
    }


def prompts(lists: list[list[str]]) -> list[str]:
    return [f"Read:\n{' '.join(TEXTS[name] for name in some)}\nand answer." for some in lists]


def project(folder: Path, number: str = "0") -> Path:
    """A project of one trial, as AutoRAG leaves it; every best_*.parquet repeats the columns before it."""
    trial, rows = folder / number, dict(ASKED)
    nodes: list[tuple[str, str, dict[str, Any]]] = [
        ("search", "lexical_retrieval", returned(FOUND[::-1], retrieval_recall=[0.0, 0.0])),
        ("search", "hybrid_retrieval", returned(FOUND, retrieval_recall=[1.0, 0.5])),
        ("search", "passage_reranker", returned(RERANKED, passage_reranker_retrieval_recall=[1.0, 0.5])),
        ("answer", "prompt_maker", {"prompts": prompts(RERANKED)}),
        ("answer", "generator", {"generated_texts": ["At seven.", "At ten."], "generated_tokens": [[1, 2], [1, 2, 3]]}),
    ]
    for line, kind, columns in nodes:
        write(trial / line / kind / "0.parquet", columns)
        own = {f"{key}_lexical": value for key, value in columns.items()} if kind.startswith("lexical") else columns
        rows = rows | own
        write(trial / line / kind / "best_0.parquet", rows)
    (trial / "summary.csv").write_text("node_line_name,node_type\nsearch,hybrid_retrieval\nanswer,generator\n")
    write(folder / "data" / "qa.parquet", ASKED)
    write(folder / "data" / "corpus.parquet", {"doc_id": list(TEXTS), "contents": list(TEXTS.values())})
    return folder


def test_a_project(tmp_path: Path) -> None:
    got = read([project(tmp_path)])
    first = got.queries[0]
    assert first == {
        "id": "q1",
        "question": "When does the pool open?",
        "expected_chunk_ids": ["d1"],
        "expected_answers": ["At seven.", "7 o'clock"],
        "retrieved_ids": ["d3", "d1", "d1"],
        "retrieved_scores": [1.0, 0.5, 1 / 3],
        "reranked_ids": ["d1", "d3"],
        "reranked_scores": [1.0, 0.5],
        "context_ids": ["d1", "d3"],
        "prompt": prompts(RERANKED)[0],
        "answer": "At seven.",
        "output_tokens": 2,
        "autorag": {
            "retrieval_recall_lexical": 0.0, "retrieval_recall": 1.0, "passage_reranker_retrieval_recall": 1.0,
        },
    }  # fmt: skip
    assert got.queries[1]["expected_chunk_ids"] == ["d2", "d4"]
    assert [chunk["id"] for chunk in got.chunks or ()] == list(TEXTS)
    text = " ".join(got.notices.texts())
    assert "the retriever is hybrid_retrieval" in text
    assert "the corpus was found beside the trial: corpus.parquet." in text
    assert "columns that are in no record: retrieve_scores_lexical" in text


def test_recall_is_that_of_autorag(tmp_path: Path) -> None:
    got = read([project(tmp_path)])
    report = RAGEvaluator(k=3).evaluate_dataset(got.dataset())
    figures = [query["autorag"]["retrieval_recall"] for query in got.queries]
    assert [row["recall_at_k"] for row in report["retrieval"]["per_query"]] == figures
    assert report["generation"]["summary"]["exact_match"] == 0.5


@pytest.mark.parametrize(("number", "source"), [("0", ""), ("0", "0"), ("result", ""), ("result", "result")])
def test_a_trial_is_found_from_above_and_within(tmp_path: Path, number: str, source: str) -> None:
    got = read([project(tmp_path, number) / source])
    assert len(got.queries) == 2
    assert len(got.chunks or ()) == 4


def test_the_latest_trial_counts(tmp_path: Path) -> None:
    project(tmp_path, "9")
    project(tmp_path, "10")
    write(tmp_path / "10" / "answer" / "generator" / "best_0.parquet", ASKED | {"generated_texts": ["new", "new"]})
    assert read([tmp_path]).queries[0]["answer"] == "new"


def test_another_retriever_and_module(tmp_path: Path) -> None:
    project(tmp_path)
    write(
        tmp_path / "0" / "search" / "passage_reranker" / "1.parquet",
        returned([["d3"], ["d3"]], retrieval_recall=[0, 0.0]),
    )
    got = read([tmp_path], retrieval="lexical_retrieval", module=["passage_reranker=1"])
    assert [query["retrieved_ids"] for query in got.queries] == FOUND[::-1]
    assert [query["reranked_ids"] for query in got.queries] == [["d3"], ["d3"]]
    assert got.queries[0]["autorag"]["passage_reranker.retrieval_recall"] == 0.0


def test_one_node_line(tmp_path: Path) -> None:
    query = read([project(tmp_path)], node_line="search").queries[0]
    assert "reranked_ids" in query
    assert "answer" not in query


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"node_line": ["search", "serch"]}, "node_line: 'serch' is no node line of 0; the nearest is 'search'"),
        ({"retrieval": "hybrid"}, "retrieval: 'hybrid' is no retrieval node of the chosen lines"),
        ({"module": ["passage_reranker"]}, "module: must be NODE=FILE"),
        ({"module": ["passage_reranker=7"]}, r"module: passage_reranker has no 7\.parquet; there are 0, best_0\."),
        ({"module": ["ranker=0"]}, "module: 'ranker' is no node of the chosen lines"),
    ],
)
def test_options_that_name_what_is_not_there(tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        read([project(tmp_path)], **options)


def test_a_prompt_of_other_texts_is_the_context(tmp_path: Path) -> None:
    """As after a compressor: the ids stand for longer texts than the model read."""
    project(tmp_path)
    write(tmp_path / "0" / "answer" / "prompt_maker" / "best_0.parquet", ASKED | {"prompts": ["Seven.", "Nine."]})
    query = read([tmp_path]).queries[0]
    assert query["context"] == "Seven."
    assert query.keys() & {"context_ids", "prompt"} == set()


def test_chunks_of_a_prompt_stand_in_its_order(tmp_path: Path) -> None:
    project(tmp_path)
    turned = prompts([some[::-1] for some in RERANKED])
    write(tmp_path / "0" / "answer" / "prompt_maker" / "best_0.parquet", ASKED | {"prompts": turned})
    assert read([tmp_path]).queries[0]["context_ids"] == ["d3", "d1"]


def test_a_group_of_several_ids_is_told(tmp_path: Path) -> None:
    write(tmp_path / "qa.parquet", ASKED | {"retrieval_gt": [[["d1", "d3"]], [[""]]]})
    got = read([tmp_path / "qa.parquet"])
    assert [query["expected_chunk_ids"] for query in got.queries] == [["d1", "d3"], []]
    assert got.queries[0]["retrieval_gt"] == [["d1", "d3"]]
    assert any(
        "a group of `retrieval_gt` has several ids" in text and "query q1." in text for text in got.notices.texts()
    )


def test_older_tables_have_texts_and_flat_lists(tmp_path: Path) -> None:
    write(
        tmp_path / "qa.parquet", ASKED | {"generation_gt": ["At seven.", "At nine."], "retrieval_gt": [["d1"], ["d2"]]}
    )
    got = read([tmp_path / "qa.parquet"])
    assert got.queries[1]["expected_answers"] == ["At nine."]
    assert got.queries[1]["expected_chunk_ids"] == ["d2"]


def test_a_corpus_with_places_and_metadata(tmp_path: Path) -> None:
    columns = {
        "doc_id": ["d1"],
        "contents": ["Pool."],
        "path": ["a.pdf"],
        "start_end_idx": [[0, 4]],
        "metadata": [{"page": 3}],
    }
    write(tmp_path / "corpus.parquet", columns)
    write(tmp_path / "qa.parquet", ASKED)
    got = read([tmp_path / "qa.parquet", tmp_path / "corpus.parquet"])
    assert got.chunks == [
        {"id": "d1", "text": "Pool.", "doc_id": "a.pdf", "metadata": {"page": 3, "start_end_idx": [0, 4]}}
    ]


def test_a_question_without_a_row_in_the_trial(tmp_path: Path) -> None:
    project(tmp_path)
    more = {key: [*values, values[0]] for key, values in ASKED.items()} | {"qid": ["q1", "q2", "q3"]}
    write(tmp_path / "more.parquet", more)
    got = read([tmp_path / "0", tmp_path / "more.parquet"])
    assert [query.get("error") for query in got.queries] == [None, None, "the trial has no row of this question"]


def test_without_a_corpus_the_returned_passages_are_the_chunks(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "data" / "corpus.parquet").unlink()
    got = read([tmp_path])
    assert {chunk["id"] for chunk in got.chunks or ()} == {"d1", "d2", "d3"}
    assert any("no corpus was found" in text for text in got.notices.texts())


def test_the_corpus_that_knows_most_passages_is_taken(tmp_path: Path) -> None:
    project(tmp_path)
    write(tmp_path / "data" / "another.parquet", {"doc_id": ["d1", "x"], "contents": ["Other.", "Strange."]})
    got = read([tmp_path])
    assert [chunk["text"] for chunk in got.chunks or ()] == list(TEXTS.values())


def test_what_is_broken_beside_the_run_costs_nothing_else(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "data" / "qa.parquet").write_bytes(b"PAR1 cut off")
    (tmp_path / "0" / "summary.csv").write_bytes(b"\xff\xfe\0broken")
    write(tmp_path / "0" / "search" / "passage_reranker" / "best_0.parquet", returned([["d1"]]))
    (tmp_path / "0" / "search" / "lexical_retrieval" / "best_0.parquet").unlink()
    got = read([tmp_path])
    assert [query["answer"] for query in got.queries] == ["At seven.", "At ten."]
    assert "reranked_ids" not in got.queries[0]
    text = " ".join(got.notices.texts())
    assert "qa.parquet: must be a Parquet file" in text
    assert "passage_reranker/best_0.parquet (1 row, 2 questions)" in text
    assert "nodes without a best_*.parquet were left out (say which module with module): lexical_retrieval." in text


def test_a_node_of_wrong_types_or_cut_off_costs_no_other(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "0" / "answer" / "generator" / "best_0.parquet").write_bytes(b"PAR1 cut off")
    write(tmp_path / "0" / "answer" / "prompt_maker" / "best_0.parquet", ASKED | {"prompts": [1, 2]})
    query = read([tmp_path]).queries[0]
    assert "reranked_ids" in query
    assert query.keys() & {"answer", "context", "context_ids"} == set()
    text = " ".join(read([tmp_path]).notices.texts())
    assert "prompt_maker/best_0.parquet row 1.prompts: must be text, got the number 1" in text
    assert "generator/best_0.parquet: must be a Parquet file" in text


def test_a_row_of_a_wrong_type_costs_no_other(tmp_path: Path) -> None:
    project(tmp_path)
    lists = returned(RERANKED) | {"retrieve_scores": [["high", "low"], ["0.5", "0.1"]]}
    write(tmp_path / "0" / "search" / "passage_reranker" / "best_0.parquet", ASKED | lists)
    got = read([tmp_path])
    assert "reranked_ids" not in got.queries[0]
    assert got.queries[0]["answer"] == "At seven."


def broken(folder: Path, what: str) -> Imported:
    if what == "empty":
        return read([folder])
    if what == "two":
        return read([project(folder / "a"), project(folder / "b")])
    if what == "strange":
        write(folder / "strange.parquet", {"a": [1]})
    elif what == "text":
        pytest.importorskip("pyarrow")
        (folder / "strange.parquet").write_text("a,b\n1,2\n")
    else:
        write(folder / "strange.parquet", {"doc_id": ["d1"], "contents": ["Pool."]})
    return read([folder / "strange.parquet"])


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("empty", "must be an AutoRAG project or trial, got a folder without its tables"),
        ("two", "must be the only trial, got two"),
        ("strange", r"strange\.parquet: must be a qa table .* or a corpus .*, got a\."),
        ("text", r"strange\.parquet: must be a Parquet file"),
        ("corpus alone", r"qa\.parquet: must say what was asked"),
    ],
)
def test_broken_sources(tmp_path: Path, what: str, sentence: str) -> None:
    with pytest.raises(DatasetError, match=sentence) as caught:
        broken(tmp_path, what)
    assert "\n" not in str(caught.value)
