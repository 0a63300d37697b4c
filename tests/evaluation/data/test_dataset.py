"""The inputs of an evaluation: what is filled in, what is refused, and with which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import hostile_records, json_values

from rag_titan.errors import DatasetError, RagTitanError
from rag_titan.evaluation.data.dataset import Dataset, Options, assembled, dataset_from
from rag_titan.evaluation.data.records import Chunk, Evidence, Query
from rag_titan.evaluation.evaluator import RAGEvaluator

CHUNKS = [{"id": "c1", "text": "Leave is 25 days."}, {"id": 2, "text": "Sick pay is full."}]


def queries_of(dataset: Dataset) -> list[Query]:
    return [query for batch in dataset.queries.batches(3) for query in batch]


def refused(**inputs: Any) -> str:
    with pytest.raises(DatasetError) as caught:
        queries_of(dataset_from(**inputs))
    return str(caught.value)


def test_nothing_given_is_none_and_empty_lists_are_empty() -> None:
    nothing = dataset_from(chunks=None, queries=None)
    assert (nothing.chunks, nothing.documents, nothing.document_text, nothing.embeddings) == (None, None, None, None)
    assert nothing.options == Options()
    assert not nothing.queries.given
    assert queries_of(nothing) == []
    empty = dataset_from(chunks=[], queries=[], documents={})
    assert (empty.chunks, empty.documents, empty.queries.given) == ((), {}, True)


def test_chunks_get_ids_by_their_place() -> None:
    dataset = dataset_from(chunks=["a", {"id": 7, "text": "b"}, {"text": "c"}, Chunk(id="x", text="d")])
    assert dataset.chunks is not None
    assert [chunk.id for chunk in dataset.chunks] == ["chunk_1", "7", "chunk_3", "x"]
    assert dataset_from(chunks=np.array(["a", "b"])).chunks == (
        Chunk(id="chunk_1", text="a"),
        Chunk(id="chunk_2", text="b"),
    )
    assert dataset_from(chunks=(text for text in "ab")).chunks is not None


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        (
            ["a", {"id": "chunk_1", "text": "b"}],
            'chunks[1].id: duplicate id "chunk_1": chunks[0] gets it by default. Give it an id.',
        ),
        (
            [{"id": "chunk_2", "text": "b"}, "a"],
            'chunks[1].id: duplicate id "chunk_2": chunks[1] gets it by default. Give it an id.',
        ),
        (
            [{"id": 1, "text": "a"}, "x", {"id": "1", "text": "b"}],
            'chunks[2].id: duplicate id "1", as in chunks[0]. Chunk ids must be unique.',
        ),
        ("abc", 'chunks: must be a list, got the text "abc"; write [text, ...].'),
        ({"c1": "abc"}, "chunks: must be a list, got an object; write [text, ...]."),
        (3, "chunks: must be a list, got the number 3; write [text, ...]."),
        (["a", None], "chunks[1]: must be text or an object (a chunk), got null."),
        ([["a"]], "chunks[0]: must be text or an object (a chunk), got a list."),
        ([{"id": True, "text": "a"}], "chunks[0].id: must be an id (text or whole number), got true."),
        ([{"text": 5}], 'chunks[0].text: must be text, got the number 5. Write "5".'),
        ([{"text": "a", "start": 0.5}], "chunks[0].start: must be a whole number, got the number 0.5."),
        ([{"text": "a", "metadata": "x"}], 'chunks[0].metadata: must be an object, got the text "x".'),
    ],
)
def test_chunks_that_are_refused(chunks: Any, text: str) -> None:
    assert refused(chunks=chunks) == text


def test_chunks_without_text_are_noticed_and_offsets_are_left_to_the_layout() -> None:
    dataset = dataset_from(
        chunks=[{"id": "a", "txt": "x"}, {"id": "b", "start": -1, "end": 99}, {"id": "c", "text": ""}]
    )
    assert dataset.chunks is not None
    assert (dataset.chunks[1].start, dataset.chunks[1].end) == (-1, 99)
    assert dataset.notices.texts() == [
        "the key 'txt' is not known and was not read; did you mean 'text'? It stands in a.",
        "these chunks have no text, and no start and end: a.",
    ]


def test_ids_of_all_kinds_meet_as_text() -> None:
    query = {"id": 7, "expected_chunk_ids": ["2"], "retrieved_ids": [2, np.int32(5)], "relevance": {2: 1}}
    dataset = dataset_from(chunks=CHUNKS, queries=[query])
    assert queries_of(dataset) == [
        Query(id="7", expected_chunk_ids=["2"], retrieved_ids=["2", "5"], relevance={"2": 1.0})
    ]


@pytest.mark.parametrize(
    ("queries", "text"),
    [
        ({"id": "q1"}, "queries: must be a list, got an object; write [{...}]."),
        ("q1", 'queries: must be a list, got the text "q1"; write [{...}].'),
        ([{"id": 1}, "q2"], 'queries[1]: must be an object (a query), got the text "q2".'),
        (
            [{"id": 1}, {"id": "2", "retrieved_ids": ["a", None]}],
            "queries[1].retrieved_ids[1]: must be an id (text or whole number), got null. Remove it.",
        ),
        ([{"question": "Who?"}], 'queries[0].id: must be given; the object has the key question. Add "id".'),
        ([{"id": 1}, {"id": "1"}], 'queries[1].id: duplicate id "1", as in queries[0]. Query ids must be unique.'),
        (
            [{"id": 1, "relevance": {"c": 0}, "expected_chunk_ids": ["c"]}],
            'queries[0].relevance["c"]: must be above 0, got 0 although expected_chunk_ids has the id. '
            "Remove one of them.",
        ),
    ],
)
def test_queries_that_are_refused(queries: Any, text: str) -> None:
    assert refused(queries=queries) == text


def test_documents_in_all_forms() -> None:
    for documents in (
        {"a": "one", 7: "two"},
        [{"id": "a", "text": "one"}, {"source": 7, "text": "two", "category": "x"}],
        [{"id": "a", "source": "z", "text": "one", "title": "t"}, {"id": "7", "text": "two"}],
    ):
        assert dataset_from(documents=documents).documents == {"a": "one", "7": "two"}
    dataset = dataset_from(document_text="one two")
    assert dataset.document_text == "one two"
    assert dataset.documents == {"document": "one two"}


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"documents": "abc"}, 'documents: must be a list, got the text "abc"; write [{"id": ..., "text": ...}].'),
        ({"documents": ["abc"]}, 'documents[0]: must be an object (a document), got the text "abc".'),
        ({"documents": {"a": None}}, 'documents["a"]: must be text, got null.'),
        (
            {"documents": {1: "a", "1": "b"}},
            'documents["1"]: must stand there once; the whole number and the text are the same id.',
        ),
        ({"documents": [{"text": "a"}]}, 'documents[0].id: must be given (or "source"), got neither. Add one of them.'),
        ({"documents": [{"id": "a"}]}, 'documents[0].text: must be given; the object has the key id. Add "text".'),
        (
            {"documents": [{"id": "a", "text": ""}, {"source": "a", "text": ""}]},
            'documents[1].id: duplicate id "a", as in documents[0]. Document ids must be unique.',
        ),
        (
            {"documents": {}, "document_text": ""},
            "document_text: must not be passed together with documents. Pass one of them.",
        ),
        ({"document_text": ["a"]}, "document_text: must be text, got a list."),
        ({"querys": []}, "querys: must be the name of an input; the nearest is 'queries'."),
        ({"size_limits": (300, 20)}, "size_limits: must be (least, most), got 300 before 20. Swap them."),
        ({"size_limits": 20}, "size_limits: must be a list, got the number 20; write [20]."),
        ({"max_context_tokens": -1}, "max_context_tokens: must be a number from 0, got the number -1."),
        ({"max_context_tokens": True}, "max_context_tokens: must be a number, got true."),
        (
            {"boundary_tolerance": float("inf")},
            "boundary_tolerance: must be a number from 0, got a number of more than 40 digits.",
        ),
        (
            {"expected_evidence": "25 days"},
            'expected_evidence: must be a list, got the text "25 days"; write ["25 days"].',
        ),
        ({"required_metadata": ["page", 3]}, 'required_metadata[1]: must be text, got the number 3. Write "3".'),
        ({"expected_metadata": {"c1": "x"}}, 'expected_metadata["c1"]: must be an object, got the text "x".'),
        ({"expected_chunks": [None]}, "expected_chunks[0]: must be text or an object, got null."),
    ],
)
def test_other_inputs_that_are_refused(inputs: dict[str, Any], text: str) -> None:
    assert refused(**inputs) == text


def test_an_unknown_name_that_is_near_nothing_lists_the_inputs() -> None:
    assert refused(zzz=1).startswith("zzz: must be the name of an input; there are chunks, queries, document_text,")


def test_options_are_cleaned() -> None:
    options = dataset_from(
        max_context_tokens=np.int64(50),
        size_limits=np.array([3, 50]),
        boundary_tolerance=2.5,
        expected_chunks=["a", {"start": 0, "end": 2}],
        expected_evidence=["25 days", {"start": 1, "end": 2}],
        structural_blocks=[{"quote": "x"}],
        required_metadata=["page"],
        expected_metadata={7: {"page": np.int64(4)}},
        sentence_vectors={"c1": [[1.0]]},
    ).options
    assert options.max_context_tokens == 50
    assert options.size_limits == (3.0, 50.0)
    assert options.expected_chunks == ("a", Chunk(start=0, end=2))
    assert options.expected_evidence == ("25 days", Evidence(start=1, end=2))
    assert options.structural_blocks == (Evidence(quote="x"),)
    assert options.expected_metadata == {"7": {"page": 4}}
    assert set(options.given()) == {
        "max_context_tokens", "size_limits", "boundary_tolerance", "expected_chunks", "expected_evidence",
        "structural_blocks", "required_metadata", "expected_metadata", "sentence_vectors",
    }  # fmt: skip
    chunking = options.chunking({"vectors": {"c1": [1.0]}})
    assert (chunking.boundary_tolerance, chunking.chunk_vectors) == (2, {"c1": [1.0]})
    assert chunking.required_metadata == ("page",)


def test_chunk_vectors_come_from_the_embeddings_unless_given() -> None:
    matrix = np.eye(2)
    assert Options().chunking(None).chunk_vectors is None
    assert Options().chunking({"ids": ["a", "b"], "vectors": matrix}).chunk_vectors == {
        "ids": ["a", "b"],
        "vectors": matrix,
    }
    assert Options(chunk_vectors={"c": [1]}).chunking({"vectors": {}}).chunk_vectors == {"c": [1]}


def test_a_dataset_is_the_inputs_that_were_given() -> None:
    inputs = {
        "chunks": CHUNKS, "queries": [{"id": 1, "retrieved_ids": [2]}], "document_text": "one",
        "embeddings": {"vectors": {"c1": [1.0]}}, "size_limits": (1, 5),
    }  # fmt: skip
    dataset = dataset_from(**inputs)
    assert set(dataset.keys()) == set(inputs)
    again = dataset_from(**dataset)
    assert (again.chunks, again.options, again.document_text) == (dataset.chunks, dataset.options, "one")
    assert queries_of(again) == queries_of(dataset)
    assert again.embeddings is inputs["embeddings"]


def test_records_that_somebody_built_are_checked_like_others() -> None:
    built = Query(id=3, retrieved_ids=["a"])  # type: ignore[arg-type]  # what a caller may get wrong
    assert queries_of(dataset_from(queries=[built])) == [Query(id="3", retrieved_ids=["a"])]
    wrong = Query(id="a", retrieved_ids="c1")  # type: ignore[arg-type]  # what a caller may get wrong
    assert refused(queries=[wrong]) == 'queries[0].retrieved_ids: must be a list, got the text "c1"; write ["c1"].'


def test_bad_chunks_and_documents_can_be_left_out_too() -> None:
    inputs = {
        "chunks": ["a", {"id": "chunk_1", "text": "b"}, None, {"text": "d"}],
        "documents": [{"text": "x"}, {"id": "d", "text": "y"}, {"id": "d", "text": "z"}],
        "queries": [{"id": 1}, {}],
    }
    dataset = assembled(inputs, skip_bad_records=True)
    assert [chunk.id for chunk in dataset.chunks or ()] == ["chunk_1", "chunk_4"], "ids do not move up"
    assert dataset.documents == {"d": "y"}
    assert len(queries_of(dataset)) == 1
    assert dataset.skipped.count == 5
    assert [text.partition(":")[0] for text in dataset.skipped.first] == [
        "chunks[2]", "chunks[1].id", "documents[0].id", "documents[2].id", "queries[1].id",
    ]  # fmt: skip


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "chunks": st.lists(hostile_records(), max_size=3),
            "queries": st.lists(hostile_records(), max_size=3),
            **{
                name: json_values()
                for name in (
                    "documents",
                    "document_text",
                    "max_context_tokens",
                    "expected_chunks",
                    "expected_evidence",
                    "structural_blocks",
                    "required_metadata",
                    "expected_metadata",
                    "size_limits",
                    "boundary_tolerance",
                )
            },
        },
    )
)
def test_no_input_raises_anything_else(inputs: dict[str, Any]) -> None:
    told = ""
    try:
        queries_of(dataset_from(**inputs))
    except RagTitanError as error:
        told = str(error)
    told.encode()
    dataset = None
    try:
        dataset = assembled(inputs, skip_bad_records=True)
        queries_of(dataset)
    except RagTitanError:
        return
    assert dataset.skipped.count == 0 or told


@pytest.mark.parametrize("name", ["chunks", "queries", "documents"])
def test_an_array_without_a_dimension_is_no_list(name: str) -> None:
    assert refused(**{name: np.array(3)}).startswith(f"{name}: must be a list, got the number 3; write [")


@pytest.mark.parametrize("tolerance", [1e308, 10**30])
def test_a_tolerance_longer_than_any_document_is_as_good_as_one_of_its_length(tolerance: float) -> None:
    inputs: dict[str, Any] = {
        "chunks": ["abcd ", "ef"], "document_text": "abcd ef", "expected_chunks": ["ab", "cd ef"],
    }  # fmt: skip
    report = RAGEvaluator().evaluate(**inputs, boundary_tolerance=tolerance)
    assert report["chunking"]["boundary_f1"] == 1.0
    assert report["chunking"] == RAGEvaluator().evaluate(**inputs, boundary_tolerance=7)["chunking"]
