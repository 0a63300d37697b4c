"""RAGEvaluator: dataset -> report, a plain dict of plain Python values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import index
from pathlib import Path
from typing import Any

from rag_titan import __version__
from rag_titan.errors import SettingsError
from rag_titan.evaluation.catalogue import ROWS, by_place, known_stage
from rag_titan.evaluation.conventions import Conventions, conventions_of
from rag_titan.evaluation.data.columns import Columns
from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.dataset import Dataset, dataset_from
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.fingerprint import chunk_fingerprint
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.parquet import QueryWriter
from rag_titan.evaluation.data.queries import QuerySource
from rag_titan.evaluation.data.read import open_dataset
from rag_titan.evaluation.data.redaction import Redaction
from rag_titan.evaluation.data.sketch import chunk_sketch
from rag_titan.evaluation.data.tables import Settings
from rag_titan.evaluation.data.vectors import vector_table
from rag_titan.evaluation.diagnosis.root_cause import RootCauseAnalyzer
from rag_titan.evaluation.limits import callback, checked_path, count_text, listed, names, said, switch
from rag_titan.evaluation.metric import Metric, Stage
from rag_titan.evaluation.moment import moment
from rag_titan.evaluation.parallel import Job, Worker, processors, shared
from rag_titan.evaluation.partial import QUERY_STAGES, Partial, Plan, cut_rows, partials
from rag_titan.evaluation.plugins import installed_metrics
from rag_titan.evaluation.scoring.scorecard import ScoreAggregator
from rag_titan.evaluation.stages.chunking import EVIDENCE_KEYS, ChunkingInputs, chunking_evidence
from rag_titan.evaluation.stages.embedding import EmbeddingInputs
from rag_titan.evaluation.stages.own_metrics import own_rows
from rag_titan.evaluation.stages.stage import StageTally, item_keys, measure, per_query_rows

SCHEMA = 1
MOST_EXPLORED = 10_000  # questions in the explorer: a page of them still opens in two seconds
DEEPEST = 10**9  # far beyond every ranking, and still a number that arrays can hold
LEAST = 1 << 25  # bytes of a file that are worth a process of their own, which takes a third of a second to start
Progress = Callable[[int], None]


class RAGEvaluator:
    """Scores a logged RAG run at all seven stages (stages.txt).

    k            the cut-off of every @K metric
    also_at      further cut-offs; their summaries stand in report["retrieval"]["at"]
    scorer       ScoreAggregator with your weights, targets, gates and stages
    thresholds   for the root-cause hints and the judge's diagnosis: {"key" or "stage.key": limit}; None removes one
    conventions  a preset ("seed", "trec_eval", "squad"), a mapping of changes, or a Conventions
    metrics      rows of your own; their values appear beside the others
    stages       only these stages are computed; default: all
    by           tags ("language", "tenant") by whose values every query metric is sliced: report["slices"]
    explorer     True, or the most questions, for what the HTML report's explorer shows of them: report["explorer"]
    redact       texts of the data come out as their length and a hash, wherever the report would show them; ids and
                 tags stay. The hash is made with the key in the environment variable RAG_TITAN_REDACT_KEY, if there is
                 one

    Raises SettingsError for an option that breaks its rule.

    >>> queries = [{"id": "q", "expected_chunk_ids": ["a"], "retrieved_ids": ["b", "a"]}]
    >>> RAGEvaluator(k=3).evaluate(queries=queries)["retrieval"]["summary"]["mrr_at_k"]
    0.5
    """

    def __init__(
        self,
        k: int = 5,
        *,
        also_at: Iterable[int] = (),
        scorer: ScoreAggregator | None = None,
        thresholds: Mapping[str, float | None] | None = None,
        conventions: str | Mapping[str, Any] | Conventions | None = None,
        metrics: Sequence[Metric] = (),
        stages: Iterable[str] | None = None,
        by: Iterable[str] = (),
        explorer: bool | int = False,
        redact: bool = False,
    ) -> None:
        self.k = _cutoff(k, "k")
        further = listed(also_at, "also_at", "whole numbers")
        self.also_at = tuple(sorted({_cutoff(other, "also_at") for other in further} - {self.k}))
        self.conventions = conventions_of(conventions)
        self.rows = tuple(by_place([*ROWS, *own_rows(installed_metrics(ROWS)), *own_rows(metrics)]).values())
        named = list(map(str, Stage)) if stages is None else listed(stages, "stages", "stages")
        wanted = [known_stage(stage, self.rows) for stage in named]
        self.stages = tuple(stage for stage in Stage if stage in wanted)
        if not isinstance(scorer, ScoreAggregator | None):
            raise SettingsError(f"scorer: must be a ScoreAggregator, got {said(scorer)}.")
        self.scorer = scorer or ScoreAggregator(stages=None if stages is None else list(self.stages), rows=self.rows)
        self.analyzer = RootCauseAnalyzer(thresholds, rows=self.rows)
        self.by = tuple(dict.fromkeys(names(by, "by", "tags")))
        most = MOST_EXPLORED if explorer is True else explorer
        self.explorer = 0 if most in (False, None) else _cutoff(most, "explorer")
        self.redact = switch(redact, "redact")

    def evaluate(
        self, chunks: Any = None, queries: Any = None, *, per_query: str | Path | None = "report", **inputs: Any
    ) -> dict[str, Any]:
        """The report on data in memory.

        chunks, queries  lists of dicts (chunks also of texts), an Arrow table or a DataFrame
        per_query        "report": lists per query in the report; None: none; a path: written there as Parquet
        inputs           document_text or documents, embeddings, max_context_tokens, expected_chunks, expected_evidence,
                         structural_blocks, required_metadata, expected_metadata, size_limits, boundary_tolerance,
                         sentence_vectors, chunk_vectors (stages.txt, "The data")

        Raises DatasetError for data that break a rule.
        """
        return self.evaluate_dataset(dataset_from(chunks=chunks, queries=queries, **inputs), per_query=per_query)

    def evaluate_path(
        self,
        path: str | Path,
        *,
        chunks: str | Path | None = None,
        documents: str | Path | None = None,
        columns: Mapping[str, Any] | Columns | None = None,
        per_query: str | Path | None = "report",
        skip_bad_records: bool = False,
        progress: Progress | None = None,
        processes: int | None = None,
    ) -> dict[str, Any]:
        """The report on files: JSON, JSON Lines ("-" for standard input), Parquet, CSV, a folder of them, .gz of any.

        Queries are read in batches, so that memory does not grow with the file unless lists per query are kept.
        `progress(n)` is called with the number of queries done so far.

        columns    where the queries are not named as the format has it: {key: path in a record} (see `Columns`)
        processes  how many share the work, where lists per query are not wanted and the file is JSON Lines of some
                   size; the report does not depend on it. None: as many as there are processors, at most four

        Raises DatasetError with the place of the first bad record, unless `skip_bad_records`.
        """
        dataset = open_dataset(
            path, chunks=chunks, documents=documents, columns=columns, skip_bad_records=skip_bad_records
        )
        run = _Run(self, dataset, per_query)
        most = processors(processes)
        parts = dataset.queries.parts(most if self._plain and not run.plan.keep_rows else 1, LEAST)
        if len(parts) < 2:
            return run.done(partials(dataset.queries, run.plan), progress)
        where = {"path": path, "chunks": chunks, "documents": documents}
        workers = [Worker("rag_titan.evaluation.worker", Job(self._options, where, part)) for part in parts[1:]]
        try:
            return run.done(shared(dataset.queries, run.plan, parts, workers), progress)
        finally:
            for worker in workers:
                worker.stop()

    def evaluate_dataset(
        self, dataset: Dataset, *, per_query: str | Path | None = "report", progress: Progress | None = None
    ) -> dict[str, Any]:
        """The report on a validated dataset."""
        run = _Run(self, dataset, per_query)
        return run.done(partials(dataset.queries, run.plan), progress)

    def partials(self, dataset: Dataset, queries: QuerySource) -> Iterator[Partial]:
        """What some queries of a dataset contribute to its report, without lists per query."""
        return partials(queries, _Run(self, dataset, None).plan)

    @property
    def _options(self) -> dict[str, Any]:
        """How another process makes the same evaluator."""
        names = ("k", "also_at", "conventions", "stages", "by", "explorer", "redact")
        return {name: getattr(self, name) for name in names} | {"thresholds": self.analyzer.given}

    @property
    def _plain(self) -> bool:
        """True where another process can make the same evaluator: no metric and no tokenizer of somebody's own."""
        return self.rows == tuple(by_place(ROWS).values()) and isinstance(self.conventions.tokenizer, str)

    def unmeasured(self, stage: Stage) -> dict[str, Any]:
        """The part of a stage for which no data were given: every value None."""
        rows = tuple(row for row in self.rows if row.stage == stage)
        return _stage_part(stage, StageTally.unmeasured(rows, 0), rows, {}, [])


class _Run:
    """One evaluation: the plan, what the batches added up to so far, and the report made of it."""

    def __init__(self, evaluator: RAGEvaluator, dataset: Dataset, per_query: str | Path | None) -> None:
        if not isinstance(dataset, Dataset):
            raise SettingsError(f"dataset: must be a Dataset, as read_dataset returns, got {said(dataset)}.")
        self.evaluator = evaluator
        self.dataset = dataset
        self.notices = Notices()
        self.partial = Partial()
        moment()  # a wrong one is refused here, before the work is done
        if not isinstance(per_query, str | os.PathLike | None):
            raise SettingsError(f"per_query: must be 'report', None or a file, got {said(per_query)}.")
        self.keep_rows = per_query == "report"
        self.to_file = not (self.keep_rows or per_query is None)
        if self.to_file:
            checked_path(per_query, "per_query")
        self.vectors = None if dataset.embeddings is None else vector_table(dataset.embeddings, self.notices)
        self.plan = self._plan()
        self.writer = QueryWriter(Path(str(per_query)), self._columns()) if self.to_file else None

    def _columns(self) -> list[str]:
        per_query = {stage: item_keys(rows) for stage, rows in self.plan.rows.items() if stage in QUERY_STAGES}
        return [f"{stage}.{key}" for stage, keys in per_query.items() for key in keys]

    def discard(self) -> None:
        """The evaluation failed: leave no half-written file."""
        if self.writer is not None:
            self.writer.discard()

    def _plan(self) -> Plan:
        evaluator, dataset = self.evaluator, self.dataset
        options, chunks, text = dataset.options, dataset.chunks, dataset.document_text
        documents = Documents.of(dataset.documents if text is None else None, text, evaluator.conventions.tokenizer)
        return Plan(
            settings=Settings(evaluator.k, evaluator.also_at, evaluator.conventions, options.max_context_tokens),
            rows={stage: tuple(row for row in evaluator.rows if row.stage == stage) for stage in evaluator.stages},
            corpus=Corpus(chunks or (), documents, chunks is not None, self.notices),
            indexed=None if self.vectors is None else self.vectors.indexed,
            evidence_of_chunks=options.expected_evidence is None,
            keep_rows=self.keep_rows or self.to_file,
            vector_queries=frozenset(() if self.vectors is None else self.vectors.query_ids),
            by=evaluator.by,
            judged_limits=evaluator.analyzer.of_judge,
            explorer=evaluator.explorer,
            redaction=Redaction.from_environment() if evaluator.redact else None,
        )

    def done(self, parts: Iterable[Partial], progress: Progress | None) -> dict[str, Any]:
        """The report of all batches; nothing half-written is left behind where one fails."""
        try:
            callback(progress, "progress")
            for partial in parts:
                self.add(partial)
                if progress is not None:
                    progress(self.partial.queries)
            return self.report()
        except BaseException:
            self.discard()
            raise

    def add(self, partial: Partial) -> None:
        """Take in one batch."""
        if self.writer is not None:
            self.writer.write(partial.rows, partial.verdicts)
            partial.rows, partial.verdicts = {}, []
        self.partial.add(partial)

    def report(self) -> dict[str, Any]:
        """The report of all batches."""
        if self.writer is not None:
            self.writer.close()
        self._add_chunking()
        per_query_vectors = self._add_embedding()
        self._tell_strange_gold()
        report: dict[str, Any] = {"meta": self._meta(), "warnings": self._warnings()}
        for stage in Stage:
            rows = self.plan.rows.get(stage, ())
            tally = self.partial.stages.get(stage, StageTally())
            lists = per_query_vectors if stage is Stage.EMBEDDING else self.partial.rows.get(stage, [])
            if rows and tally.present:
                report[stage] = _stage_part(stage, tally, rows, self._given(), lists if self.keep_rows else None)
            elif not stage.optional:
                report[stage] = None
        self._add_cutoffs(report)
        self.partial.judged.add_to(report)
        if self.keep_rows:
            report["queries"] = self.partial.verdicts
        report["diagnosis"] = self.partial.tally.report()
        report["root_causes"] = self.evaluator.analyzer.analyze(report)
        report["scorecard"] = self.evaluator.scorer.aggregate(report)
        if self.plan.by:
            report["slices"] = self.partial.slices.report(self.plan.by, self.plan.rows, self.evaluator.scorer)
        if self.plan.explorer:
            report["explorer"] = self.partial.explorer.report(self.plan.corpus, self.plan.redaction)
        return {str(key): value for key, value in report.items()}

    def _add_chunking(self) -> None:
        """The chunks, once; what the quotes of the queries said of them was added up batch by batch."""
        rows = self.plan.rows.get(Stage.CHUNKING, ())
        if not (rows and self.plan.corpus.given):
            return
        options, layout = self.dataset.options, self.plan.corpus.layout
        own = options.expected_evidence
        evidence = None if own is None else chunking_evidence(own, layout, self.notices)
        inputs = ChunkingInputs(layout, options.chunking(self.dataset.embeddings), evidence, notices=self.notices)
        of_queries = self.partial.stages.pop(Stage.CHUNKING, None)
        rest = rows if of_queries is None else tuple(row for row in rows if row.key not in EVIDENCE_KEYS)
        tally = StageTally.tally(rest, measure(rest, inputs), reasons=inputs.reasons())
        self.partial.stages[Stage.CHUNKING] = tally if of_queries is None else tally.merge(of_queries)

    def _add_embedding(self) -> list[dict[str, Any]]:
        rows = self.plan.rows.get(Stage.EMBEDDING, ())
        if not rows or self.vectors is None:
            return []
        self.vectors = self.vectors.with_gold(self.partial.vector_gold, self.notices)
        inputs = EmbeddingInputs(self.vectors, self.evaluator.k)
        values = measure(rows, inputs)
        self.partial.stages[Stage.EMBEDDING] = StageTally.tally(rows, values, reasons=inputs.reasons)
        return per_query_rows(rows, values, self.vectors.query_ids) if self.keep_rows else []

    def _add_cutoffs(self, report: dict[str, Any]) -> None:
        retrieval = report[Stage.RETRIEVAL]
        if retrieval is not None and self.partial.at:
            rows = cut_rows(self.plan.rows[Stage.RETRIEVAL])
            retrieval["at"] = {str(k): tally.summary(rows) for k, tally in sorted(self.partial.at.items())}

    def _given(self) -> dict[str, int]:
        """How many queries carry each key, and 1 for each input of the whole dataset that was passed."""
        dataset = self.dataset
        whole: dict[str, Any] = {
            "chunks": dataset.chunks, "documents": dataset.documents, "document_text": dataset.documents,
            "vectors": dataset.embeddings, **dataset.options.given(),
        }  # fmt: skip
        vectors = {} if self.vectors is None else self.vectors.given
        passed = {name: 1 for name, value in whole.items() if value is not None}
        return {**passed, **{name: n for name, n in vectors.items() if n}, **self.partial.given}

    def _tell_strange_gold(self) -> None:
        counts = self.partial.gold_ids
        if counts["all"] and not counts["known"]:
            example = next(iter(self.plan.corpus.codes), "")
            self.notices.add(
                f"none of the {counts['all']} gold chunk ids is among the chunks, whose ids look like {example!r}; "
                "the chunk metrics compare ids as they are."
            )

    def _warnings(self) -> list[str]:
        skipped = self._skipped()
        if skipped["count"]:
            first = skipped["first"][0]
            left = f"{count_text(skipped['count'], 'record')} {'was' if skipped['count'] == 1 else 'were'} left out"
            self.notices.add(f"{left}, as each breaks a rule; the first: {first}")
        for sentence in self.partial.slices.warnings(self.plan.by):
            self.notices.add(sentence)
        return self.dataset.notices.merge(self.notices).merge(self.partial.notices).texts(self.plan.redaction)

    def _skipped(self) -> dict[str, Any]:
        skipped = self.dataset.skipped
        return {"count": skipped.count, "first": skipped.told(redacted=self.plan.redaction is not None)}

    def _fingerprints(self) -> dict[str, str | None]:
        """What the data are, whatever their order, 16 hexadecimal digits each; None where nothing was given."""
        chunks, given = self.dataset.chunks, self.dataset.queries.given
        return {
            "chunks": None if chunks is None else chunk_fingerprint(chunks).text,
            "gold": self.partial.gold.text if given else None,
            "gold_chunk_ids": self.partial.beside.text if given else None,
            "queries": self.partial.asked.text if given else None,
        }

    def _meta(self) -> dict[str, Any]:
        dataset, evaluator = self.dataset, self.evaluator
        return {
            "rag_titan": __version__,
            "schema": SCHEMA,
            "k": evaluator.k,
            "conventions": evaluator.conventions.as_dict(),
            "fingerprints": self._fingerprints(),
            "sketch": None if dataset.chunks is None else chunk_sketch(dataset.chunks),
            "counts": {
                "queries": self.partial.queries,
                "chunks": len(dataset.chunks or ()),
                "documents": len(dataset.documents or ()),
                "vectors": 0 if self.vectors is None else len(self.vectors.ids),
            },
            "skipped": self._skipped(),
            **({"judges": dict(sorted(self.partial.judges.items()))} if self.partial.judges else {}),
            "per_query": None if self.writer is None else str(self.writer.path),
            "created_at": moment().isoformat(timespec="seconds"),
        }


def _stage_part(
    stage: Stage, tally: StageTally, rows: Sequence[Metric], given: Mapping[str, int], lists: list[Any] | None
) -> dict[str, Any]:
    summary, detail = tally.summary(rows), tally.detail(rows, given)
    blank = {"id": None, **dict.fromkeys(item_keys(rows))}
    per_query = (
        {} if lists is None or stage is Stage.CHUNKING
        else {"per_query": [row if len(row) == len(blank) else {**blank, **row} for row in lists]}
    )  # fmt: skip
    if stage.flat:
        return {**summary, **per_query, "detail": detail}
    return {"summary": summary, **per_query, "detail": detail}


def _cutoff(value: Any, name: str) -> int:
    try:
        k = index(value)
    except TypeError:
        k = 0
    if not 1 <= k <= DEEPEST or isinstance(value, bool):
        shown = value if not isinstance(value, int) or abs(value) < 10**20 else "one of too many digits"
        raise SettingsError(f"{name}: must be a whole number from 1 to {DEEPEST:,}, got {shown!r}.")
    return k
