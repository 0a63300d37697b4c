"""Generation (metrics.txt, section 6): the answer against the reference, the facts, the citations and the context."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.numerals import NUMBERS, facts, written
from rag_titan.evaluation.data.strangers import tell_contexts
from rag_titan.evaluation.data.tables import QueryTable
from rag_titan.evaluation.measures import text
from rag_titan.evaluation.measures.latency import inter_token_ms
from rag_titan.evaluation.measures.ragged import Ragged, offsets_of
from rag_titan.evaluation.metric import (
    FAULT_RATE,
    P50,
    P95,
    P99,
    RATE,
    Floats,
    Kind,
    Metric,
    Reduce,
    Stage,
    quantile_rows,
)

PRESENT = (
    "answer",
    "citations",
    "verified_claims",
    "task_success",
    "abstained",
    "generation_latency_ms",
    "time_to_first_token_ms",
)
SHARE = Kind("not scored (a share)", None, None, 0, 1)

_BLOCK = 1 << 18  # white-space pieces of contexts that are looked through at once


@dataclass(frozen=True)
class GenerationInputs:
    """The answers of n queries and what they are held against; each method that a row names gives one value a query."""

    table: QueryTable

    def exact_match(self) -> Floats:
        return self.table.answers.exact_match

    def precision(self) -> Floats:
        return self.table.answers.precision

    def recall(self) -> Floats:
        return self.table.answers.recall

    def f1(self) -> Floats:
        return self.table.answers.f1

    def rouge_l(self) -> Floats:
        return self.table.answers.rouge_l

    def short_answer_scores(self, most: int) -> Floats:
        """(n,) answer F1 over the references of at most `most` tokens; NaN where there is none."""
        return self.table.answers.short_f1(most)

    def meets_short_reference(self, most: int, enough: float) -> NDArray[np.bool_]:
        """(n,) True where the answer has a reference of at most `most` tokens in it, or nearly is one (F1 `enough`)."""
        phrases = facts(self.table.settings.conventions.tokenizer)
        return self.table.answers.short(most).met(enough, phrases, NUMBERS)

    @cached_property
    def _facts(self) -> tuple[Ragged, NDArray[np.bool_]]:
        """The required facts as (n lists) their places in one list, and for each whether the answer has it."""
        column, answered = self.table.column("required_facts"), self.table.answers.given
        lists = [wanted if wanted and has else [] for wanted, has in zip(column, answered.tolist(), strict=True)]
        offsets = offsets_of([len(wanted) for wanted in lists])
        phrases = [fact for wanted in lists for fact in wanted]
        places = Ragged(np.arange(len(phrases)), offsets)
        if not phrases:
            return places, np.zeros(0, dtype=bool)
        splits = facts(self.table.settings.conventions.tokenizer)
        return places, self.table.answers.found(phrases, places.rows, splits)

    def fact_coverage(self) -> Floats:
        places, found = self._facts
        return text.shares(places, found)

    def missing_facts(self, row: int) -> list[str]:
        """The required facts that the answer of one query does not have."""
        return [fact for fact, there in self.facts_found(row) if not there] if self.table.answers.given[row] else []

    def facts_found(self, row: int) -> list[tuple[str, bool]]:
        """The required facts of one query, and whether its answer has them; without an answer it has none."""
        places, found = self._facts
        wanted = self.table.column("required_facts")[row] or []
        there = found[places.offsets[row] : places.offsets[row + 1]].tolist() or [False] * len(wanted)
        return list(zip(wanted, there, strict=True))

    @cached_property
    def _cited(self) -> tuple[Ragged, Ragged, Ragged]:
        """Cited, expected and context ids of each query that cites, as codes, every id once; not given is empty."""
        codes: dict[str, int] = {}
        columns = (self.table.citations, self.table.column("expected_citations"), self.table.lists("context"))
        cited, expected, context = (text.distinct(_coded(lists, self._cites, codes)) for lists in columns)
        return cited, expected, context

    @cached_property
    def _cites(self) -> NDArray[np.bool_]:
        """(n,) True where it is known what the answer cites."""
        return np.array([ids is not None for ids in self.table.citations], dtype=bool)

    def _citation_share(self, of: int | None) -> Floats:
        """Correct citations over the cited (0) or the expected ones (1), or twice them over both (None: F1)."""
        if not self._cites.any():
            return np.full(len(self.table), np.nan)
        cited, expected, _ = self._cited
        correct = cited.sums(text.contained(cited, expected))
        shares = text.ratio(2 * correct, cited.lengths + expected.lengths)
        if of is not None:
            shares = text.ratio(correct, self._cited[of].lengths)
        return np.where(self._cites & (expected.lengths > 0), shares, np.nan)

    def citation_precision(self) -> Floats:
        return self._citation_share(0)

    def citation_recall(self) -> Floats:
        return self._citation_share(1)

    def citation_f1(self) -> Floats:
        return self._citation_share(None)

    def citations_outside(self) -> Floats:
        if not self._cites.any():
            return np.full(len(self.table), np.nan)
        cited, _, context = self._cited
        shares = text.shares(cited, ~text.contained(cited, context))
        return np.where(self._cites & self.table.has_list("context"), shares, np.nan)

    def claim_support(self) -> Floats:
        claims = self.table.column("verified_claims")
        return np.array([sum(c.supported for c in some) / len(some) if some else np.nan for some in claims])

    def abstention(self) -> Floats:
        answerable, abstained = self.table.flags("answerable"), self.table.flags("abstained")
        told = self.table.given("abstained") | self.table.given("task_success")
        unsure = np.flatnonzero((answerable == 0) & self.table.given("answer") & ~told).tolist()
        sentence = (
            "query {ids}: unanswerable and answered, but `abstained` is not given, so nobody can say whether that is "
            "right; log it."
        )
        self.table.notices.add(sentence, [self.table.ids[i] for i in unsure])
        return np.where(np.isnan(answerable + abstained), np.nan, answerable != abstained)

    def refused(self) -> Floats:
        return self.table.flags("abstained")

    def _over_context(self) -> Iterator[NDArray[np.int64]]:
        """The queries that have an answer and a known context, a block of them at a time."""
        contexts = self.table.contexts
        rows = np.flatnonzero(self.table.answers.given & contexts.known)
        if len(rows):
            yield from (rows[start:stop] for start, stop in text.blocks(contexts.sizes(rows), _BLOCK))

    def _tell_contexts(self) -> None:
        if self.table.contexts.wordless.any():
            tell_contexts(self.table)

    def grounding(self) -> Floats:
        self._tell_contexts()
        values, answers, contexts = np.full(len(self.table), np.nan), self.table.answers, self.table.contexts
        for rows in self._over_context():
            tokens = answers.coded.tokens(answers.words, rows)
            values[rows] = text.shares(tokens, text.contained(tokens, contexts.tokens(answers.words, rows)))
        return values

    @cached_property
    def _lacking(self) -> Ragged:
        """For each number of an answer whether the context lacks it in every reading; (n lists), none where there is no
        answer or its context is not known."""
        lengths, blocks = np.zeros(len(self.table), dtype=np.int64), [np.zeros(0, dtype=bool)]
        for rows in self._over_context():
            answers = [self.table.answers.coded.tokens(split, rows) for split in NUMBERS]
            contexts = [self.table.contexts.tokens(split, rows) for split in NUMBERS]
            there = [text.contained(mine, theirs) for mine in answers for theirs in contexts]
            lengths[rows] = answers[0].lengths
            blocks.append(~np.logical_or.reduce(there))
        return Ragged(np.concatenate(blocks), offsets_of(lengths))

    def unsupported_number_rate(self) -> Floats:
        self._tell_contexts()
        return text.shares(self._lacking, self._lacking.values)

    def unsupported_numbers(self, row: int) -> list[str]:
        """The numbers in the answer of one query that its context lacks, as they are written, each once."""
        numbers = written(self.table.answers.coded.texts[row])
        return list(dict.fromkeys(n for n, lacks in zip(numbers, self.numbers_lacking(row), strict=False) if lacks))

    def numbers_lacking(self, row: int) -> list[bool]:
        """For each number in the answer of one query whether its context lacks it; nothing where that is not known."""
        lacking: list[bool] = self._lacking.values[slice(*self._lacking.offsets[row : row + 2])].tolist()
        return lacking

    def task_success(self) -> Floats:
        return self.table.flags("task_success")

    def time(self) -> Floats:
        return self.table.amounts("generation_latency_ms")

    def first_token_time(self) -> Floats:
        return self.table.amounts("time_to_first_token_ms")

    def inter_token_time(self) -> Floats:
        late = np.flatnonzero(self.first_token_time() > self.time()).tolist()
        sentence = (
            "the first token came after the end of the generation in query {ids}; inter-token time left out there."
        )
        self.table.notices.add(sentence, [self.table.ids[i] for i in late])
        return inter_token_ms(self.time(), self.first_token_time(), self.table.amounts("output_tokens"))


def _coded(lists: Sequence[Sequence[str] | None], wanted: NDArray[np.bool_], codes: dict[str, int]) -> Ragged:
    """Lists of ids as codes, those not wanted as empty ones; new ids are added to `codes`."""
    kept = [ids if ids and want else () for ids, want in zip(lists, wanted.tolist(), strict=True)]
    flat = (codes.setdefault(i, len(codes)) for ids in kept for i in ids)
    offsets = offsets_of([len(ids) for ids in kept])
    return Ragged(np.fromiter(flat, np.int64, int(offsets[-1])), offsets)


Compute = Callable[[GenerationInputs], Floats]
REFERENCE = ("answer", "expected_answer|expected_answers")
CITED = "citations|answer"
CONTEXT = ("answer", "context|context_ids", "context|chunks")


def _row(
    key: str,
    title: str,
    compute: Compute,
    formula: str,
    advice: str,
    kind: Kind = RATE,
    needs: tuple[str, ...] = REFERENCE,
) -> Metric:
    return Metric(key, Stage.GENERATION, title, formula, advice, kind, "query", needs, compute)


def _whole(advice: str, *quantiles: Reduce) -> tuple[Metric, ...]:
    return quantile_rows(
        Stage.GENERATION, "Generation", GenerationInputs.time, advice, quantiles, item="latency_ms",
        needs=("generation_latency_ms",),
    )  # fmt: skip


METRICS: tuple[Metric, ...] = (
    _row(
        "exact_match", "Exact Match (EM)", GenerationInputs.exact_match, "1 if norm(A) = norm(Y), else 0",
        "For names, dates, ids and numbers. Free text fails it without fault.",
    ),
    _row(
        "answer_precision", "Answer Token Precision", GenerationInputs.precision, "#matched token occurrences / |t(A)|",
        "How much of what the answer says stands in the reference; low for wordy answers.",
    ),
    _row(
        "answer_recall", "Answer Token Recall", GenerationInputs.recall, "#matched token occurrences / |t(Y)|",
        "How much of the reference the answer says; low for answers that leave something out.",
    ),
    _row(
        "answer_f1", "Answer F1", GenerationInputs.f1, "2PR / (P + R)",
        "Answer precision and recall in one number, as SQuAD counts them. Right answers in other words score low.",
    ),
    _row(
        "rouge_l_f1", "ROUGE-L F1", GenerationInputs.rouge_l, "2PR / (P + R), P = LCS / |t(A)|, R = LCS / |t(Y)|",
        "For longer answers: the longest common subsequence of tokens, so that their order counts.",
    ),
    _row(
        "required_fact_coverage", "Required Fact Coverage", GenerationInputs.fact_coverage,
        "#required facts in the answer / #required facts",
        "Whether what must be said is said: each fact as a run of whole tokens, whatever the case; numbers by value.",
        needs=("answer", "required_facts"),
    ),
    _row(
        "citation_precision", "Citation Precision", GenerationInputs.citation_precision,
        "#correct cited ids / #cited ids",
        "Whether the citations lead to the right sources. An id counts once.", needs=(CITED, "expected_citations"),
    ),
    _row(
        "citation_recall", "Citation Recall", GenerationInputs.citation_recall, "#correct cited ids / #expected ids",
        "Whether every source that should be cited is.", needs=(CITED, "expected_citations"),
    ),
    _row(
        "citation_f1", "Citation F1", GenerationInputs.citation_f1, "2PR / (P + R)",
        "Citation precision and recall in one number.", needs=(CITED, "expected_citations"),
    ),
    _row(
        "annotated_claim_support", "Claim Support", GenerationInputs.claim_support,
        "#claims marked supported / #annotated claims",
        "Faithfulness by the word of a person: your labels in `verified_claims`.", needs=("verified_claims",),
    ),
    _row(
        "abstention_accuracy", "Abstention Accuracy", GenerationInputs.abstention,
        "#right decisions to answer or to refuse / Q",
        "Whether the system refuses what cannot be answered, and only that. A question counts only with both labels: "
        "`answerable: true` where the documents have the answer, too.", needs=("answerable", "abstained"),
    ),
    _row(
        "context_grounding", "Context Grounding", GenerationInputs.grounding,
        "#(w in t(A) that the context has) / |t(A)|",
        "A hint: words that the context lacks may be invented. No proof: its words can be put together wrongly.",
        needs=CONTEXT,
    ),
    _row(
        "unsupported_number_rate", "Unsupported Number Rate", GenerationInputs.unsupported_number_rate,
        "#numbers in A that the context lacks / #numbers in A",
        "A hint: invented numbers are the hallucination that is easiest to see. By value: 1,000 is 1000.",
        FAULT_RATE, CONTEXT,
    ),
    _row(
        "task_success", "Task Success", GenerationInputs.task_success, "#successful tasks / #labelled tasks",
        "Your own verdict on each answer.", needs=("task_success",),
    ),
    *_whole("The model's time alone, of the slow requests.", P95),
    _row(
        "citations_outside_context_rate", "Citations Outside the Context", GenerationInputs.citations_outside,
        "#cited ids that are not in the context / #cited ids",
        "Needs no labels. What was not in the prompt cannot be the source of the answer.",
        FAULT_RATE, (CITED, "context_ids"),
    ),
    _row(
        "refusal_rate", "Refusal Rate", GenerationInputs.refused, "#answers that refuse / Q",
        "Needs no labels. How often the system declines; whether rightly, abstention accuracy says.",
        SHARE, ("abstained",),
    ),
    *_whole("The model's time alone.", P50, P99),
    *quantile_rows(
        Stage.GENERATION, "Time to First Token", GenerationInputs.first_token_time,
        "How long a reader of a streamed answer sees nothing; it grows with the context.",
        (P50, P95, P99), item="time_to_first_token_ms", prefix="time_to_first_token_",
    ),
    *quantile_rows(
        Stage.GENERATION, "Inter-Token", GenerationInputs.inter_token_time,
        "(generation - first token) / (output tokens - 1): how fast a streamed answer runs.",
        (P50, P95), item="inter_token_latency_ms", prefix="inter_token_",
        needs=("generation_latency_ms", "time_to_first_token_ms", "output_tokens"),
    ),
)  # fmt: skip
