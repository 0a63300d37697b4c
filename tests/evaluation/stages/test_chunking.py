"""Every metric of the chunking stage, on chunks small enough to be counted by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.chunking_options import ChunkingOptions
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.evidence import evidence_of
from rag_titan.evaluation.data.layout import Layout
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Chunk, Evidence
from rag_titan.evaluation.evaluator import RAGEvaluator
from rag_titan.evaluation.stages.chunking import EVIDENCE_KEYS, METRICS, ChunkingInputs, chunking_evidence
from rag_titan.evaluation.stages.stage import StageTally, measure

TEXT = "Ships sail at dawn. Fees are due in May. Dogs stay outside."
PARTS = ["Ships sail at dawn. ", "Fees are due in May. ", "Dogs stay outside."]
Chunks = list[Any]


def inputs_of(
    chunks: Chunks,
    text: str | None = TEXT,
    evidence: Any = None,
    documents: dict[str, str] | None = None,
    **options: Any,
) -> ChunkingInputs:
    rows = [
        Chunk(**{"id": f"c{i}", **(chunk if isinstance(chunk, dict) else {"text": chunk})})
        for i, chunk in enumerate(chunks)
    ]
    notices = Notices()
    layout = Layout.of(rows, Documents.of(documents, None if documents else text), notices)
    table = None if evidence is None else chunking_evidence(evidence, layout, notices)
    return ChunkingInputs(layout, ChunkingOptions(**options), table, notices=notices)


def summary(inputs: ChunkingInputs) -> dict[str, float | None]:
    return StageTally.tally(METRICS, measure(METRICS, inputs)).summary(METRICS)


def value(key: str, *args: Any, **options: Any) -> float | None:
    return summary(inputs_of(*args, **options))[key]


def test_the_keys_are_those_of_the_seed_in_its_order() -> None:
    assert [row.key for row in METRICS] == [
        "coverage", "size_compliance", "mean_chunk_tokens", "min_chunk_tokens", "max_chunk_tokens", "size_cv",
        "overlap_ratio", "evidence_completeness", "evidence_fragmentation", "structural_integrity", "boundary_f1",
        "semantic_cohesion", "semantic_boundary_clarity", "semantic_chunk_stickiness", "metadata_completeness",
        "metadata_accuracy", "lexical_cohesion", "lexical_boundary_clarity", "lexical_chunk_stickiness",
    ]  # fmt: skip


def test_only_what_was_passed_is_measured() -> None:
    measured = {key for key, number in summary(inputs_of(PARTS, None)).items() if number is not None}
    sizes = {"mean_chunk_tokens", "min_chunk_tokens", "max_chunk_tokens", "size_cv"}
    assert measured == sizes | {"lexical_boundary_clarity", "lexical_chunk_stickiness"}


def test_no_chunks() -> None:
    got = summary(inputs_of([]))
    assert got.pop("coverage") == 0.0
    assert set(got.values()) == {None}


def test_sizes_of_the_text_and_redundancy_of_the_source() -> None:
    got = summary(inputs_of([{"start": 0, "end": 40}, {"start": 20, "end": 59}], size_limits=(8, 9)))
    assert (got["min_chunk_tokens"], got["max_chunk_tokens"], got["mean_chunk_tokens"]) == (8.0, 9.0, 8.5)
    assert got["size_cv"] == pytest.approx(0.5 / 8.5)
    assert got["size_compliance"] == 1.0
    assert got["coverage"] == 1.0
    assert got["overlap_ratio"] == pytest.approx(5 / 12)


def test_coverage_pools_the_documents() -> None:
    assert value("coverage", [{"text": "a b c", "doc_id": "x"}], documents={"x": "a b c d", "y": "e f"}) == 3 / 6


def test_a_document_without_words_has_no_coverage() -> None:
    assert value("coverage", [], "...") is None


@pytest.mark.parametrize(
    ("evidence", "completeness", "fragmentation"),
    [
        (["sail at dawn", "due in May"], 1.0, 1.0),
        (["dawn. Fees", "due in May"], 0.5, 1.5),
        ([Evidence(any_of=["dawn. Fees", "Dogs stay"])], 1.0, 1.0),
        ([Evidence(start=0, end=59)], 0.0, 3.0),
        ([], None, None),
        (["sail at dawn", "no such words"], None, None),
    ],
)
def test_evidence(evidence: Any, completeness: float | None, fragmentation: float | None) -> None:
    got = summary(inputs_of(PARTS, evidence=evidence))
    assert [got[key] for key in EVIDENCE_KEYS] == [completeness, fragmentation]


def test_of_the_quotes_of_queries_only_the_wrong_one_is_left_out() -> None:
    layout = inputs_of(PARTS).layout
    table = evidence_of([["sail at dawn"], ["no such words"], ["dawn. Fees"]], layout.documents, ["a", "b", "c"])
    inputs = ChunkingInputs(layout, evidence=table, strict=False)
    np.testing.assert_array_equal(inputs.evidence_completeness(), [1.0, math.nan, 0.0])
    np.testing.assert_array_equal(inputs.evidence_fragmentation(), [1.0, math.nan, 2.0])
    assert inputs.reasons() == {}


def test_structural_blocks() -> None:
    assert value("structural_integrity", PARTS, structural_blocks=["at dawn", "in May. Dogs"]) == 0.5
    assert value("structural_integrity", PARTS, structural_blocks=["at dawn", "not there"]) is None


def test_lost_chunks_leave_lower_bounds() -> None:
    inputs = inputs_of([*PARTS[:2], "Dogs? Outside!"], evidence=["at dawn", "Dogs stay"], structural_blocks=["due in"])
    got, reasons = summary(inputs), inputs.reasons()
    assert {got[key] for key in ("coverage", "overlap_ratio", *EVIDENCE_KEYS, "structural_integrity")} == {None}
    why = "not measured, because 1 of 3 chunks have no sure place in the documents"
    assert reasons == {
        "coverage": f"{why}; it is at least 0.75",
        "overlap_ratio": why,
        "evidence_completeness": f"{why}; it is at least 0.5",
        "evidence_fragmentation": f"{why}; it is at least 0.5",
        "structural_integrity": f"{why}; it is at least 1",
        "boundary_f1": why,
    }
    assert got["mean_chunk_tokens"] == 11 / 3


def test_reasons_name_the_gold_that_has_no_place() -> None:
    reasons = inputs_of(
        PARTS, evidence=["nowhere"], structural_blocks=["nowhere"], expected_chunks=["nowhere"]
    ).reasons()
    assert {key: why.split(" of ")[-1].split(" ")[0] for key, why in reasons.items()} == {
        "evidence_completeness": "expected_evidence",
        "evidence_fragmentation": "expected_evidence",
        "structural_integrity": "structural_blocks",
        "boundary_f1": "expected_chunks",
    }


@pytest.mark.parametrize(
    ("expected", "tolerance", "f1"),
    [
        (PARTS, 0, 1.0),
        ([TEXT[:41], TEXT[41:]], 0, 2 / 3),
        ([TEXT[:40], TEXT[40:]], 0, 0.0),
        ([TEXT[:40], TEXT[40:]], 1, 2 / 3),
        ([TEXT], 0, 0.0),
        (["elsewhere", TEXT[41:]], 0, None),
        ([{"start": 0, "end": 20}, {"start": 20, "end": 59}], 0, 2 / 3),
    ],
)
def test_boundary_f1(expected: Any, tolerance: int, f1: float | None) -> None:
    rows = [Chunk(**chunk) if isinstance(chunk, dict) else chunk for chunk in expected]
    assert value("boundary_f1", PARTS, expected_chunks=rows, boundary_tolerance=tolerance) == f1


def test_without_any_boundary_there_is_no_f1() -> None:
    assert value("boundary_f1", [TEXT], expected_chunks=[TEXT]) is None


def test_cuts_of_two_documents_are_never_near() -> None:
    chunks = [{"text": t, "doc_id": d} for t, d in (("aa ", "x"), ("bb", "x"), ("cc", "y"), (" dd", "y"))]
    expected = [Chunk(text=t, doc_id=d) for t, d in (("aa bb", "x"), ("cc", "y"), (" dd", "y"))]
    documents = {"x": "aa bb", "y": "cc dd"}
    got = value("boundary_f1", chunks, documents=documents, expected_chunks=expected, boundary_tolerance=4)
    assert got == 2 * 0.5 * 1 / 1.5


SENTENCES = {"c0": [[1, 0], [0, 1], [0, 0]], "c1": [[0, 2], [0, 3]], "c2": []}


def test_semantic_metrics() -> None:
    inputs = inputs_of(
        PARTS, sentence_vectors={**SENTENCES, "zz": [[1, 0]]}, chunk_vectors={"c0": [1, 0], "c1": [1, 1]}
    )
    np.testing.assert_allclose(inputs.semantic_cohesion(), [0.0, 1.0, math.nan])
    np.testing.assert_allclose(inputs.semantic_clarity(), [math.nan, math.nan])  # a zero vector, and none
    np.testing.assert_allclose(inputs.semantic_stickiness(), [math.sqrt(0.5), math.nan])
    assert inputs.notices.texts() == ["sentence_vectors names chunks that are not there: zz."]


def test_semantic_clarity_is_of_the_sentences_at_the_cut() -> None:
    inputs = inputs_of(PARTS[:2], sentence_vectors={"c1": [[0, 2], [1, 0]], "c0": [[1, 0], [0, 1]]})
    np.testing.assert_allclose(inputs.semantic_clarity(), [0.0])


def test_vectors_of_two_lengths_are_an_error_with_its_place() -> None:
    inputs = inputs_of(PARTS, sentence_vectors={"c0": [[1, 0], [1, 0]], "c1": [[1, 0, 0]]})
    with pytest.raises(DatasetError, match="c1"):
        inputs.semantic_cohesion()


def test_neighbours_are_of_one_document_in_its_order() -> None:
    chunks = [{"text": t, "doc_id": d} for t, d in (("two", "x"), ("two", "y"), ("one ", "x"), ("three", "y"))]
    inputs = inputs_of(chunks, documents={"x": "one two", "y": "two three"})
    assert [x.tolist() for x in inputs.neighbours] == [[2, 1], [0, 3]]


def test_lexical_metrics() -> None:
    inputs = inputs_of(["A b. A c. Dots... ", "a d d", "", {"text": None}], None)
    np.testing.assert_allclose(inputs.lexical_cohesion(), [1 / 9, math.nan, math.nan, math.nan])
    np.testing.assert_allclose(inputs.lexical_stickiness(), [1 / 5, 0.0, math.nan])
    np.testing.assert_allclose(inputs.lexical_clarity(), [4 / 5, 1.0, math.nan])


def test_lexical_clarity_compares_twelve_words() -> None:
    left, right = "z " + "a b c d e f g h i j k l", "l k j i h g f e d c b y z"
    np.testing.assert_allclose(inputs_of([left, right], None).lexical_clarity(), [1 - 11 / 13])


def test_metadata() -> None:
    chunks = [
        {"text": "a", "metadata": {"source": "x", "page": 4}},
        {"text": "b", "metadata": {"source": "x", "page": None}},
        {"text": "c"},
    ]
    expected = {"c0": {"source": "x", "page": 4.0}, "c1": {"page": True, "source": "y"}, "zz": {"page": None}}
    inputs = inputs_of(chunks, None, required_metadata=["source", "page"], expected_metadata=expected)
    assert inputs.metadata_completeness().tolist() == [1.0, 0.0, 0.0]
    assert inputs.metadata_accuracy().tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert inputs.notices.texts() == ["expected_metadata names chunks that are not there: zz."]
    assert (
        inputs_of([{"text": "a", "metadata": {"p": 1}}], expected_metadata={"c0": {"p": True}}).metadata_accuracy() == 0
    )


def test_the_order_of_the_chunks_changes_nothing() -> None:
    options: dict[str, Any] = {"evidence": ["dawn. Fees"], "expected_chunks": [TEXT[:41], TEXT[41:]]}
    chunks = [{"id": str(i), "text": part} for i, part in enumerate(PARTS)]
    assert summary(inputs_of(chunks, **options)) == summary(inputs_of(chunks[::-1], **options))


@pytest.mark.parametrize("name", ["sentence_vectors", "chunk_vectors"])
@pytest.mark.parametrize("vectors", [np.array([]), np.eye(2), []])
def test_vectors_without_ids_are_refused(name: str, vectors: Any) -> None:
    with pytest.raises(DatasetError, match=rf"^{name}: must be {{id: "):
        RAGEvaluator().evaluate(["a", "b"], **{name: vectors})
