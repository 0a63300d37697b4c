"""How many chunks? Recall, precision, nDCG and context at each K, against the answers that each K gave."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import Conventions, RAGEvaluator
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.evaluation.measures.draws import picks
from rag_titan.lab.answer_quality import AnswerQuality, answer_quality
from rag_titan.lab.estimates import Data, estimate, floats, inputs_of, per_question
from rag_titan.lab.k_sweep import Knee, KRow, KSweep
from rag_titan.lab.knee import LEAST, knee_of
from rag_titan.lab.options import whole_numbers

KS = (3, 5, 8, 10, 15)
RANKINGS = ("retrieved", "reranked")
METRICS = ("recall_at_k", "precision_at_k", "f1_at_k", "ndcg_at_k")
OF_KNEE = "recall_at_k"
RESAMPLES = 200
_BATCH = 4096


def sweep_k(
    data: Data,
    *,
    ks: Iterable[int] = KS,
    runs: Mapping[int, Data] | None = None,
    ranking: str = "retrieved",
    conventions: str | Mapping[str, Any] | Conventions | None = None,
) -> KSweep:
    """Evaluate one run at several cut-offs, and find where recall stops rising.

    data     a path of a dataset, or the inputs of `RAGEvaluator.evaluate`; its rankings should be as deep as the
             largest K
    ks       the cut-offs
    runs     {K: a run of the same questions whose answers were made from K chunks}
    ranking  "retrieved", or "reranked" where the prompt gets what the reranker put first

    Raises SettingsError for options, DatasetError for data, MissingExtraError without the extra `lab`.
    """
    if ranking not in RANKINGS:
        raise SettingsError(f"ranking: must be retrieved or reranked, got {ranking!r}.")
    cutoffs = sorted(set(whole_numbers("ks", ks, 1)))
    if not cutoffs:
        raise SettingsError("ks: must be at least one cut-off, got none.")
    if not isinstance(runs, Mapping | None):
        raise SettingsError(f"runs: must be {{K: a run}}, got {type(runs).__name__}. Write {{5: 'run5.jsonl'}}.")
    run = _Run(data, ranking, conventions)
    rows, recalls = [], []
    for k in cutoffs:
        row, recall = run.at(k)
        rows.append(row)
        recalls.append(recall)
    if not runs and not any(row.retrieval[OF_KNEE].n for row in rows):
        rule = "must have retrieved_ids and expected_chunk_ids (or relevance) for some question, got none with both."
        raise DatasetError("queries", rule.replace("retrieved", ranking))
    answers = answer_quality(runs or {}, conventions)
    return KSweep(rows, run.count, ranking, _knee(rows, recalls), answers, [*run.warnings, *_warnings(rows, answers)])


class _Run:
    """The dataset, read once, and evaluated at each cut-off."""

    def __init__(self, data: Data, ranking: str, conventions: Any) -> None:
        dataset = dataset_from(**inputs_of(data))
        texts = {"chunks", "documents", "document_text"}
        self._inputs = {name: dataset[name] for name in texts.intersection(dataset.keys())}
        self._queries = [copy.copy(query) for batch in dataset.queries.batches(_BATCH) for query in batch]
        self._conventions = conventions
        self.warnings: list[str] = []
        if ranking == "reranked":
            for query in self._queries:
                query.retrieved_ids, query.retrieved_texts = query.reranked_ids, query.reranked_texts

    @property
    def count(self) -> int:
        """How many questions there are."""
        return len(self._queries)

    def at(self, k: int) -> tuple[KRow, dict[str, float | None]]:
        """What is measured at k, and the recall of each question."""
        evaluator = RAGEvaluator(k=k, stages=["retrieval", "augmentation"], conventions=self._conventions)
        report = evaluator.evaluate(queries=[_with_context(query, k) for query in self._queries], **self._inputs)
        self.warnings += [text for text in report["warnings"] if text not in self.warnings]
        shorter = sum(1 for query in self._queries if 0 < len(_ranking(query)) < k)
        found = {key: estimate(report, "retrieval", key) for key in METRICS}
        context = estimate(report, "augmentation", "mean_context_tokens")
        return KRow(k, found, context, shorter), per_question(report, "retrieval", OF_KNEE)


def _ranking(query: Any) -> list[Any]:
    """The different chunks of its ranking, best first."""
    given = query.retrieved_ids if query.retrieved_ids is not None else query.retrieved_texts
    return list(dict.fromkeys(given or ()))


def _with_context(query: Any, k: int) -> Any:
    """The question with the first k chunks of its ranking as its prompt, and without an answer to judge."""
    changed = copy.copy(query)
    changed.context_ids = None if query.retrieved_ids is None else _ranking(query)[:k]
    return changed


def _knee(rows: list[KRow], recalls: list[dict[str, float | None]]) -> Knee:
    """The knee of recall among the cut-offs that the rankings reach."""
    deep = [i for i, row in enumerate(rows) if not row.beyond]
    left_out = [row.k for row in rows if row.beyond]
    ks = [rows[i].k for i in deep]
    ids = [name for name, value in (recalls[0] if recalls else {}).items() if value is not None]
    if len(ks) < LEAST or not ids:
        return Knee.without(ks, left_out, len(ids))
    table = np.stack([floats(recalls[i], ids) for i in deep], axis=1)
    means = table.mean(axis=0).tolist()
    drawn = picks(0, RESAMPLES, len(ids)) @ table / len(ids)
    again = [knee_of(ks, row) for row in drawn.tolist()]
    return Knee.of(ks, means, knee_of(ks, means), again, left_out)


def _warnings(rows: list[KRow], answers: AnswerQuality | None) -> list[str]:
    said = []
    short = [row for row in rows if row.shorter]
    if short:
        counts = ", ".join(f"K = {row.k}: {row.shorter}" for row in short)
        said.append(f"rankings shorter than K ({counts} questions), which see no more at that K; log deeper ones.")
    few = max((row.retrieval[OF_KNEE].n for row in rows), default=0)
    if 0 < few < 20:
        said.append(f"questions are few ({few}): at fewer than 20 a knee is mostly chance.")
    if not any(row.context_tokens.n for row in rows):
        said.append("no context tokens, since the texts of the chunks are not known: give the chunks (--chunks).")
    if answers is None:
        said.append("no answers for each K: give runs that were made with them to see what they gain and lose.")
    return said
