"""One stage at a time (stages.txt): the same evaluation, cut to one stage, with its warnings beside its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rag_titan.errors import DatasetError
from rag_titan.evaluation.conventions import Conventions
from rag_titan.evaluation.evaluator import RAGEvaluator
from rag_titan.evaluation.metric import Metric, Stage


class _StageEvaluator:
    """Computes the metrics of `stage` alone; the options are those of RAGEvaluator.

    k  the cut-off where `evaluate` is not given another
    """

    stage: ClassVar[Stage]

    def __init__(
        self,
        *,
        k: int = 5,
        conventions: str | Mapping[str, Any] | Conventions | None = None,
        metrics: Sequence[Metric] = (),
    ) -> None:
        self.k = k
        self.conventions = conventions
        self.metrics = metrics

    def _evaluate(self, k: int | None = None, also_at: Sequence[int] = (), **inputs: Any) -> dict[str, Any]:
        evaluator = RAGEvaluator(
            self.k if k is None else k,
            also_at=also_at,
            conventions=self.conventions,
            metrics=self.metrics,
            stages=[self.stage],
        )
        report = evaluator.evaluate(**inputs)
        values: dict[str, Any] = report[self.stage] or evaluator.unmeasured(self.stage)
        return {**values, "warnings": report["warnings"]}


def _asked(queries: Any) -> Any:
    if queries is None:
        raise DatasetError("queries", "must be passed, got none. Chunks come first: evaluate(chunks, queries).")
    return queries


class ChunkEvaluator(_StageEvaluator):
    """The chunks, right after the documents were split.

    >>> text = "Leave is 25 days. Sick pay is full."
    >>> scores = ChunkEvaluator().evaluate(["Leave is 25 days. ", "Sick pay is full."], document_text=text)
    >>> scores["coverage"], scores["mean_chunk_tokens"], scores["boundary_f1"]
    (1.0, 4.0, None)
    """

    stage = Stage.CHUNKING

    def evaluate(self, chunks: Any, **inputs: Any) -> dict[str, Any]:
        """{key: value, ..., "detail", "warnings"}; inputs as in RAGEvaluator.evaluate."""
        return self._evaluate(chunks=chunks, **inputs)


class EmbeddingEvaluator(_StageEvaluator):
    """Vectors, and what the vector index holds and returned.

    >>> EmbeddingEvaluator().evaluate({"a": [3.0, 4.0], "b": [0.0, 0.0]})["zero_norm_rate"]
    0.5
    """

    stage = Stage.EMBEDDING

    def evaluate(self, vectors: Any, *, k: int | None = None, queries: Any = None, **embeddings: Any) -> dict[str, Any]:
        """{key: value, ..., "per_query", "detail", "warnings"}.

        vectors     {chunk_id: vector}, or the whole `embeddings` mapping
        embeddings  query_vectors, relevant_ids, indexed_ids, index_results
        """
        whole = dict(vectors) if isinstance(vectors, Mapping) and "vectors" in vectors else {"vectors": vectors}
        return self._evaluate(k, embeddings={**whole, **embeddings}, queries=queries)


class RetrievalEvaluator(_StageEvaluator):
    """Ranked search results.

    >>> query = {"id": "q", "expected_chunk_ids": ["c2"], "retrieved_ids": ["c1", "c2"]}
    >>> RetrievalEvaluator().evaluate(queries=[query], k=2)["summary"]["mrr_at_k"]
    0.5
    """

    stage = Stage.RETRIEVAL

    def evaluate(
        self, chunks: Any = None, queries: Any = None, *, k: int | None = None, **inputs: Any
    ) -> dict[str, Any]:
        """{"summary", "per_query", "detail", "warnings"}; `also_at` gives "at" as well."""
        return self._evaluate(k, chunks=chunks, queries=_asked(queries), **inputs)


class RerankingEvaluator(_StageEvaluator):
    """The order after reranking, against the order before."""

    stage = Stage.RERANKING

    def evaluate(self, queries: Any, *, k: int | None = None, **inputs: Any) -> dict[str, Any]:
        """{"summary", "per_query", "detail", "warnings"}."""
        return self._evaluate(k, queries=_asked(queries), **inputs)


class AugmentationEvaluator(_StageEvaluator):
    """The context in the prompt."""

    stage = Stage.AUGMENTATION

    def evaluate(self, chunks: Any = None, queries: Any = None, **inputs: Any) -> dict[str, Any]:
        """{"summary", "per_query", "detail", "warnings"}."""
        return self._evaluate(chunks=chunks, queries=_asked(queries), **inputs)


class GenerationEvaluator(_StageEvaluator):
    """The answers."""

    stage = Stage.GENERATION

    def evaluate(self, queries: Any, **inputs: Any) -> dict[str, Any]:
        """{"summary", "per_query", "detail", "warnings"}; give `chunks` where the context is given by ids."""
        return self._evaluate(queries=_asked(queries), **inputs)


class EndToEndEvaluator(_StageEvaluator):
    """Correctness, success, latency and cost of whole requests."""

    stage = Stage.END_TO_END

    def evaluate(self, queries: Any, **inputs: Any) -> dict[str, Any]:
        """{key: value, ..., "per_query", "detail", "warnings"}."""
        return self._evaluate(queries=_asked(queries), **inputs)
