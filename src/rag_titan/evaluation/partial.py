"""What one batch of queries contributes to a report, and how two contributions become one.

Files, processes and machines all use this: a Partial can be pickled, and adding them up in any order gives the same
digits.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.fingerprint import Fingerprint, chunk_id_fingerprint, gold_fingerprint, query_fingerprint
from rag_titan.evaluation.data.forms import OF_CHUNKS, pairs_of
from rag_titan.evaluation.data.gathering import gathered
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.queries import QuerySource
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.data.redaction import Redaction
from rag_titan.evaluation.data.tables import QueryTable, Settings
from rag_titan.evaluation.data.verdicts import judges_of, tell_unjudged
from rag_titan.evaluation.diagnosis.correctness import F1_ENOUGH, Correctness
from rag_titan.evaluation.diagnosis.explorer import ExplorerRows
from rag_titan.evaluation.diagnosis.funnel import Funnel
from rag_titan.evaluation.diagnosis.judged import SIGNS, JudgedFaults, JudgedTally
from rag_titan.evaluation.diagnosis.reasons import reasons
from rag_titan.evaluation.diagnosis.verdicts import Verdicts, VerdictTally
from rag_titan.evaluation.metric import Metric, Stage
from rag_titan.evaluation.scoring.policy import JUDGED_LIMITS, ON_SCALE, USUAL_EMBEDDER
from rag_titan.evaluation.slices import SliceTallies
from rag_titan.evaluation.stages import augmentation, chunking, end_to_end, generation, judged, reranking, retrieval
from rag_titan.evaluation.stages.stage import StageTally, Values, bounds, measure, per_query_rows

Rows = tuple[Metric, ...]
Key = TypeVar("Key")


@dataclass(frozen=True)
class QueryStage:
    """A stage that is computed query by query: the keys of which one must be given, and its view of a table."""

    present: tuple[str, ...]
    inputs: Callable[[QueryTable], Any]

    def given(self, table: QueryTable) -> NDArray[np.bool_]:
        """(n,) True where a query carries one of the keys."""
        return np.asarray(np.logical_or.reduce([table.given(key) for key in self.present]), dtype=bool)


QUERY_STAGES: Mapping[Stage, QueryStage] = {
    Stage.RETRIEVAL: QueryStage(retrieval.PRESENT, lambda t: retrieval.RetrievalInputs(t, t.settings.k)),
    Stage.RERANKING: QueryStage(reranking.PRESENT, lambda t: reranking.RerankingInputs(t, t.settings.k)),
    Stage.AUGMENTATION: QueryStage(augmentation.PRESENT, augmentation.AugmentationInputs),
    Stage.GENERATION: QueryStage(generation.PRESENT, generation.GenerationInputs),
    Stage.END_TO_END: QueryStage(end_to_end.PRESENT, end_to_end.EndToEndInputs),
    Stage.JUDGE: QueryStage(judged.PRESENT, judged.JudgedInputs),
}


@dataclass(frozen=True)
class Plan:
    """What is computed for every batch.

    rows               the metrics of each stage that is wanted
    indexed            ids that are really in the vector index, None where nobody said
    evidence_of_chunks the quotes of the queries also judge the chunker (no evidence of its own was passed)
    keep_rows          lists per query are wanted
    vector_queries     ids of the queries that have a vector: their gold ids are kept for the embedding stage
    f1_enough          the F1 from which a short answer is right
    by                 the tags by whose values the run is sliced
    explorer           how many questions the explorer holds, 0 for none
    redaction          what stands in the place of the texts of the data, where these may not come out
    judged_limits      {key: below it a judge's score is low}, where not the usual; None: it never is
    """

    settings: Settings
    rows: Mapping[Stage, Rows]
    corpus: Corpus
    indexed: frozenset[str] | None = None
    evidence_of_chunks: bool = True
    keep_rows: bool = True
    vector_queries: frozenset[str] = frozenset()
    f1_enough: float = F1_ENOUGH
    by: tuple[str, ...] = ()
    explorer: int = 0
    redaction: Redaction | None = None
    judged_limits: Mapping[str, float | None] = field(default_factory=dict)


@dataclass
class Partial:
    """Everything that a report needs of some queries.

    queries, given  how many queries, and how many of them carry each key that a metric may wait for
    stages, at      tallies of the stages, and of the @K rows of retrieval at further cut-offs
    rows, verdicts  lists per query (empty when they are not wanted); a row of a stage of which a batch has no data
                    holds no more than the id and what needs no input
    gold_ids        gold chunk ids counted: all, and those that the chunk table has
    asked, gold     fingerprints of the questions, and of what a person wrote about them
    beside          fingerprint of the gold chunk ids that stand beside quotes or pages
    slices          tallies of the query metrics by the values of tags
    explorer        what the explorer shows of the questions
    judges          {who judged: on how many questions}
    judged          what is wrong by the scores of a judge
    """

    queries: int = 0
    given: Counter[str] = field(default_factory=Counter)
    stages: dict[Stage, StageTally] = field(default_factory=dict)
    at: dict[int, StageTally] = field(default_factory=dict)
    tally: VerdictTally = field(default_factory=VerdictTally)
    notices: Notices = field(default_factory=Notices)
    rows: dict[Stage, list[dict[str, Any]]] = field(default_factory=dict)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    gold_ids: Counter[str] = field(default_factory=Counter)
    vector_gold: dict[str, list[str]] = field(default_factory=dict)
    asked: Fingerprint = field(default_factory=Fingerprint)
    gold: Fingerprint = field(default_factory=Fingerprint)
    beside: Fingerprint = field(default_factory=Fingerprint)
    slices: SliceTallies = field(default_factory=SliceTallies)
    explorer: ExplorerRows = field(default_factory=ExplorerRows)
    judges: Counter[str] = field(default_factory=Counter)
    judged: JudgedTally = field(default_factory=JudgedTally)

    def add(self, other: Partial) -> None:
        """Take in what another batch contributes."""
        self.queries += other.queries
        self.given.update(other.given)
        _merge_tallies(self.stages, other.stages)
        _merge_tallies(self.at, other.at)
        self.tally = self.tally.merge(other.tally)
        self.notices = self.notices.merge(other.notices)
        for stage, rows in other.rows.items():
            self.rows.setdefault(stage, []).extend(rows)
        self.verdicts.extend(other.verdicts)
        self.gold_ids.update(other.gold_ids)
        self.vector_gold.update(other.vector_gold)
        self.asked, self.gold = self.asked.merge(other.asked), self.gold.merge(other.gold)
        self.beside = self.beside.merge(other.beside)
        self.slices = self.slices.merge(other.slices)
        self.explorer = self.explorer.merge(other.explorer)
        self.judges.update(other.judges)
        self.judged = self.judged.merge(other.judged)


def _merge_tallies(mine: dict[Key, StageTally], new: Mapping[Key, StageTally]) -> None:
    for key, tally in new.items():
        mine[key] = mine[key].merge(tally) if key in mine else tally


def partials(queries: QuerySource, plan: Plan) -> Iterator[Partial]:
    """What each batch of the queries contributes, as they are read."""
    with _no_garbage_collection():
        for table in gathered(queries, plan.corpus, plan.settings, slim=not (plan.keep_rows or plan.explorer)):
            yield partial_of_table(table, plan)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Records make many lists and no circles; to look through them again and again takes a quarter of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def partial_of(queries: Sequence[Query], plan: Plan) -> Partial:
    """What one batch contributes."""
    return partial_of_table(QueryTable(queries, plan.corpus, plan.settings), plan)


def partial_of_table(table: QueryTable, plan: Plan) -> Partial:
    """The same, of columns that are made already."""
    partial = Partial(queries=len(table), notices=table.notices)
    inputs = {stage: kind.inputs(table) for stage, kind in QUERY_STAGES.items()}
    measured = {
        stage: _add_stage(partial, stage, rows, inputs[stage], plan)
        for stage, rows in plan.rows.items()
        if stage in QUERY_STAGES
    }
    if (
        Stage.CHUNKING in plan.rows
        and plan.evidence_of_chunks
        and plan.corpus.given
        and table.given("expected_evidence").any()
    ):
        _add_chunk_evidence(partial, plan.rows[Stage.CHUNKING], table, plan)
    judged = _judged(table, measured.get(Stage.JUDGE), plan.judged_limits)
    verdicts = _add_verdicts(partial, table, inputs[Stage.GENERATION], plan, judged)
    if plan.by:
        present = {stage: QUERY_STAGES[stage].given(table) for stage in measured}
        partial.slices = SliceTallies.of(verdicts, measured, plan.rows, present, plan.by)
    if plan.explorer:
        partial.explorer = ExplorerRows.of(verdicts, measured, plan.rows, plan.explorer)
    if table.given("verdicts").any():
        partial.judges = judges_of(table.column("verdicts"))
        tell_unjudged(table.column("verdicts"), table.ids, partial.notices)
    _count_given(partial, table, plan)
    _count_gold(partial, table, plan)
    partial.asked = query_fingerprint(table.ids, table.column("question"))
    partial.gold = gold_fingerprint(table.ids, table.column)
    partial.beside = chunk_id_fingerprint(table.ids, table.column)
    return partial


def _add_stage(partial: Partial, stage: Stage, rows: Rows, inputs: Any, plan: Plan) -> Values:
    """Adds what the queries say of a stage; returns the values, of the rows that could be measured."""
    table: QueryTable = inputs.table
    cut = cut_rows(rows) if stage is Stage.RETRIEVAL else ()
    if not QUERY_STAGES[stage].given(table).any():
        free = tuple(row for row in rows if not row.needs)  # another batch may have what makes the stage present
        values = measure(free, inputs)
        partial.stages[stage] = StageTally.unmeasured([row for row in rows if row.needs], len(table)).merge(
            StageTally.tally(free, values, present=False)
        )
        partial.at.update((k, StageTally.unmeasured(cut, len(table))) for k in plan.settings.also_at if cut)
        if plan.keep_rows:
            partial.rows[stage] = per_query_rows(free, values, table.ids)
        return values
    values = measure(rows, inputs)
    partial.stages[stage] = StageTally.tally(rows, values, bounds=bounds(rows, inputs, values))
    partial.at.update((k, StageTally.tally(cut, measure(cut, inputs.at(k)))) for k in plan.settings.also_at if cut)
    if plan.keep_rows:
        partial.rows[stage] = per_query_rows(rows, values, table.ids)
    return values


def cut_rows(rows: Rows) -> Rows:
    """The rows that depend on K, and are computed at further cut-offs as well."""
    return tuple(row for row in rows if row.key.endswith("_at_k"))


def _add_chunk_evidence(partial: Partial, rows: Rows, table: QueryTable, plan: Plan) -> None:
    """The rows of the chunking stage that ask what stays whole, over the quotes of these queries."""
    asked = tuple(row for row in rows if row.key in chunking.EVIDENCE_KEYS)
    inputs = chunking.ChunkingInputs(plan.corpus.layout, evidence=table.spans.evidence, strict=False)
    partial.stages[Stage.CHUNKING] = StageTally.tally(asked, measure(asked, inputs), reasons=inputs.reasons())


def _judged(table: QueryTable, values: Values | None, given: Mapping[str, float | None]) -> JudgedFaults | None:
    """What is wrong by the scores of a judge; None without verdicts, and where they are not asked for."""
    if values is None or not all(sign in values for sign in SIGNS):
        return None
    limits = {sign: usual.value for sign, usual in JUDGED_LIMITS.items()}
    limits |= {sign: limit for sign, limit in given.items() if sign in SIGNS and limit is not None}
    scores = {sign: np.full(len(table), np.nan) if given.get(sign, 0) is None else values[sign] for sign in SIGNS}
    if ON_SCALE not in given:
        others = [v is not None and v.embedder not in (None, USUAL_EMBEDDER) for v in table.column("verdicts")]
        scores[ON_SCALE] = np.where(others, np.nan, scores[ON_SCALE])
    return JudgedFaults(scores, limits, table.given("verdicts"))


def _add_verdicts(
    partial: Partial,
    table: QueryTable,
    inputs: generation.GenerationInputs,
    plan: Plan,
    judged: JudgedFaults | None,
) -> Verdicts:
    answers = Correctness(inputs, plan.f1_enough)
    verdicts = Verdicts(Funnel(table, plan.indexed), answers, plan.redaction, judged)
    partial.tally = VerdictTally.of(verdicts)
    if judged is not None:
        partial.judged = JudgedTally.of(judged, verdicts.agrees, table.ids, table.column("verdicts"))
    if plan.keep_rows:
        partial.verdicts = verdicts.rows(reasons(verdicts))
    return verdicts


def _count_given(partial: Partial, table: QueryTable, plan: Plan) -> None:
    waited = {name for rows in plan.rows.values() for row in rows for need in row.needs for name in need.split("|")}
    for name in waited & set(Query.__struct_fields__):
        if count := int(table.given(name).sum()):
            partial.given[name] = count


def _count_gold(partial: Partial, table: QueryTable, plan: Plan) -> None:
    if plan.corpus.given and plan.corpus.chunks:
        gold = table.codes([list(ids) for ids in table.gold.by_id])
        unknown = gold.sums((gold.values < 0) | (gold.values >= table.indexed_chunks)).astype(np.int64)
        partial.gold_ids.update(all=len(gold.values), known=len(gold.values) - int(unknown.sum()))
        labels = [(table.ids[i], chunk) for i in np.flatnonzero(unknown).tolist() for chunk in table.gold.by_id[i]]
        strange = [(query, chunk) for query, chunk in labels if chunk not in plan.corpus.codes]
        partial.notices.add("no chunk has the gold id {ids}.", [f"{chunk} (query {query})" for query, chunk in strange])
        partial.notices.add(OF_CHUNKS, pairs_of(strange, lambda: plan.corpus.composed))
    if plan.vector_queries:
        for query_id, gold_of in zip(table.ids, table.gold.by_id, strict=True):
            if query_id in plan.vector_queries and gold_of:
                partial.vector_gold[query_id] = list(gold_of)
