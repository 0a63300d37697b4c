"""Where the questions were lost, in a sentence: for the terminal and for the head of the Markdown report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_titan.evaluation.catalogue import ROWS, by_place, label_of, value_of
from rag_titan.evaluation.limits import below
from rag_titan.evaluation.metric import Stage
from rag_titan.evaluation.reports.cells import shown
from rag_titan.evaluation.reports.failures import NOT_KNOWN, failed_queries
from rag_titan.evaluation.reports.figures import count_text, share_text, value_text
from rag_titan.evaluation.scoring.policy import LITTLE_MEASURED

Report = Mapping[str, Any]

_NAMED = 5
_CAPPED = 100  # ids a stage that a report without lists per query has
_AFTER_THE_EVIDENCE = (Stage.GENERATION, Stage.END_TO_END)
_ALARMS: tuple[tuple[Stage, str, str], ...] = (
    (Stage.END_TO_END, "error_rate", "errors"),
    (Stage.RETRIEVAL, "empty_rate", "empty results"),
    (Stage.GENERATION, "unsupported_number_rate", "invented numbers"),
    (Stage.GENERATION, "citations_outside_context_rate", "citations outside the context"),
)
_LOSSES: Mapping[str, str] = {
    Stage.CHUNKING: "cut by the chunker",
    Stage.EMBEDDING: "not in the index",
    Stage.RETRIEVAL: "not in the top K",
    Stage.RERANKING: "dropped by the reranker",
    Stage.AUGMENTATION: "left out of the prompt",
    Stage.GENERATION: "in the prompt, answered wrong",
    Stage.END_TO_END: "ended in an error",
}


def place_text(stage: str) -> str:
    """A stage by the name that reports show and the name that options and JSON have.

    >>> place_text("retrieval"), place_text("unknown")
    ('Information search (retrieval)', 'not known')
    """
    return "not known" if stage == NOT_KNOWN else f"{label_of(stage)} ({stage})"


def funnel_steps(report: Report) -> list[Mapping[str, Any]]:
    """The steps of the diagnosis' funnel that can be read."""
    diagnosis = report.get("diagnosis")
    funnel = diagnosis.get("funnel") if isinstance(diagnosis, Mapping) else None
    return [step for step in funnel or [] if isinstance(step.get("lost"), int)]


def loss_words(steps: Sequence[Mapping[str, Any]], counts: Mapping[str, int]) -> dict[str, str]:
    """{stage: what happened to the questions that were lost there} for the steps and the counts of a diagnosis.

    >>> loss_words([{"stage": "generation", "lost": 1}], {})  # no context was logged
    {'generation': 'evidence at hand, answered wrong'}
    >>> loss_words([{"stage": "generation", "lost": 5}], {"unanswerable_answered": 3})
    {'generation': 'evidence at hand, answered wrong; 3 should have been refused'}
    """
    words = {str(step["stage"]): _LOSSES.get(step["stage"], "") for step in steps}
    if Stage.GENERATION in words and Stage.AUGMENTATION not in words:
        words[Stage.GENERATION] = "evidence at hand, answered wrong"
    if Stage.GENERATION in words and (refusable := counts.get("unanswerable_answered")):
        words[Stage.GENERATION] += f"; {refusable:,} should have been refused"
    return words


def counts_of(report: Report) -> Mapping[str, int]:
    """{"questions", "known", "right", "wrong", "unjudged", ...} of the diagnosis; empty in an older report."""
    diagnosis = report.get("diagnosis")
    counts = diagnosis.get("counts") if isinstance(diagnosis, Mapping) else None
    return counts if isinstance(counts, Mapping) else {}


def evidence_line(report: Report) -> str | None:
    """Where the evidence of how many of how many questions was lost; None where nothing says.

    >>> funnel = [{"stage": "retrieval", "lost": 2, "kept": 10}, {"stage": "generation", "lost": 1, "kept": 9}]
    >>> evidence_line({"diagnosis": {"funnel": funnel}})
    'Evidence lost for 2 of 12 questions: Information search (retrieval) 2'
    """
    steps = [step for step in funnel_steps(report) if step["stage"] not in _AFTER_THE_EVIDENCE]
    known = counts_of(report).get("known") or max((step["lost"] + (step["kept"] or 0) for step in steps), default=0)
    if not known:
        return None
    losses = [(place_text(str(step["stage"])), step["lost"]) for step in steps if step["lost"]]
    where = ", ".join(f"{place} {count}" for place, count in losses)
    said = f"Evidence lost for {sum(count for _, count in losses)} of {count_text(known, 'question')}"
    return f"{said}: {where}" if where else said


@dataclass(frozen=True)
class FixFirst:
    """The stage at which most failed questions were lost; the earliest where several lost as many.

    failed  questions that failed, those lost at an unknown place included
    ids     those that were lost at the stage, in the order of the report
    """

    stage: str
    ids: tuple[str, ...]
    failed: int
    capped: bool

    def __str__(self) -> str:
        names = ", ".join(shown(name, 40) for name in self.ids[:_NAMED])
        more = len(self.ids) - _NAMED
        rest = f" and {more} more" if more > 0 else ""
        return f"Fix first: {place_text(self.stage)}, {self._did(self._count)}: {names}{rest}"

    @property
    def counted(self) -> str:
        """How many of the failed questions were lost there, and the verb that goes with it."""
        return f"{self._count} {'was' if len(self.ids) == 1 else 'were'}"

    @property
    def _count(self) -> str:
        return f"{'at least ' if self.capped else ''}{len(self.ids)} of {count_text(self.failed, 'failed question')}"

    def _did(self, counted: str) -> str:
        if self.stage == Stage.GENERATION:
            return f"which gave the wrong answer to {counted}"
        if self.stage == Stage.END_TO_END:
            return f"where an error ended {counted}"
        return f"which lost the evidence of {counted}"


def failed_count(report: Report) -> int:
    """How many questions failed: more than are named, where a report without lists per query names examples alone.

    >>> failed_count({"diagnosis": {"counts": {"failed": 536}, "examples": {"retrieval": ["q1", "q2"]}}})
    536
    """
    named = len(failed_queries(report))
    counted = counts_of(report).get("failed")
    return named if isinstance(report.get("queries"), list) or not isinstance(counted, int) else max(named, counted)


def fix_first(report: Report) -> FixFirst | None:
    """What to mend first; None where no question failed, or where nobody knows where any was lost.

    >>> verdicts = [{"id": "b03", "lost_at": "retrieval", "correct": False}, {"id": "b04", "correct": False}]
    >>> print(fix_first({"queries": verdicts}))
    Fix first: Information search (retrieval), which lost the evidence of 1 of 2 failed questions: b03
    """
    failed = failed_queries(report)
    places: dict[str, list[str]] = {str(stage): [] for stage in Stage}
    for row in failed:
        places.setdefault(row["stage"], []).append(str(row["query_id"]))
    places.pop(NOT_KNOWN, None)
    stage = max(places, key=lambda name: len(places[name]))
    if not places[stage]:
        return None
    capped = not isinstance(report.get("queries"), list) and len(places[stage]) >= _CAPPED
    return FixFirst(stage, tuple(places[stage]), failed_count(report), capped)


def first_missed_text(report: Report) -> str:
    """The first stage, in pipeline order, of which a metric misses its threshold; where another lost more questions,
    that too, since the mending begins there.

    >>> verdicts = [{"id": "b03", "lost_at": "retrieval", "correct": False}]
    >>> first_missed_text({"root_causes": {"first_failing_stage": "chunking"}, "queries": verdicts})
    'chunking (the first to miss a threshold; fix retrieval first, where 1 of 1 failed question was lost)'
    >>> first_missed_text({"root_causes": {"first_failing_stage": None}, "queries": verdicts})
    'none (by the thresholds of the root-cause hints)'
    """
    causes = report.get("root_causes")
    first = causes.get("first_failing_stage") if isinstance(causes, Mapping) else None
    lost = fix_first(report)
    if lost is None or lost.stage == first:
        return str(first or "none")
    if not first:
        return "none (by the thresholds of the root-cause hints)"
    return f"{first} (the first to miss a threshold; fix {lost.stage} first, where {lost.counted} lost)"


def begin_text(report: Report, first_missed: str) -> str:
    """Where to begin, beside the first threshold that was missed."""
    lost = fix_first(report)
    if lost is None or lost.stage == first_missed:
        return "An early failure explains later ones, so begin there."
    return f"But begin with {place_text(lost.stage)}, where {lost.counted} lost."


def loss_text(report: Report) -> str | None:
    """Both of the above in one line; None where neither is known."""
    said = [str(part) for part in (evidence_line(report), fix_first(report)) if part is not None]
    return ". ".join(said) or None


def asked_text(report: Report, stage: str, noun: str = "") -> str:
    """On how many questions the score of a stage stands, where that is not all of them; empty where it is.

    The metrics of a stage can stand on different questions: then it is the fewest and the most.

    >>> detail = {"recall_at_k": {"n": 4, "of": 30}, "ndcg_at_k": {"n": 4, "of": 30}}
    >>> metric = {"score": 95.0, "weight": 1.0}
    >>> card = {"stages": {"retrieval": {"metrics": {"recall_at_k": metric, "ndcg_at_k": metric}}}}
    >>> asked_text({"scorecard": card, "retrieval": {"detail": detail}}, "retrieval")
    '4 of 30'
    >>> asked_text({"scorecard": card, "retrieval": {"detail": detail}}, "retrieval", "question")
    '4 of 30 questions'
    """
    scored = (((report.get("scorecard") or {}).get("stages") or {}).get(stage) or {}).get("metrics") or {}
    places, details = by_place(ROWS), (report.get(stage) or {}).get("detail") or {}
    counts = []
    for key, metric in scored.items():
        row, detail = places.get((stage, key)), details.get(key) or {}
        if metric.get("score") is not None and row is not None and row.per == "query":
            counts.append((detail.get("n"), detail.get("of")))
    known = [(n, of) for n, of in counts if isinstance(n, int) and isinstance(of, int) and of]
    if not known or all(n >= of for n, of in known):
        return ""
    fewest, most, of = min(n for n, _ in known), max(n for n, _ in known), max(of for _, of in known)
    return f"{fewest:,}{f' to {most:,}' if most > fewest else ''} of {count_text(of, noun) if noun else f'{of:,}'}"


def little_text(report: Report) -> str | None:
    """What to say beside a rating that stands on little; None where it stands on enough.

    >>> little_text({"scorecard": {"overall": {"score": 90.0, "coverage": 0.12}}})
    'the rating stands on 12% of what counts'
    """
    overall = (report.get("scorecard") or {}).get("overall") or {}
    coverage = overall.get("coverage")
    if overall.get("score") is None or coverage is None or not below(coverage, LITTLE_MEASURED.value):
        return None
    return f"the rating stands on {share_text(coverage)} of what counts"


def alarms_text(report: Report) -> str | None:
    """What needs no labels and should be 0, where it is measured and is not; None without any.

    >>> alarms_text({"end_to_end": {"error_rate": 0.25}, "retrieval": {"summary": {"empty_rate": 0.0}}})
    'errors 0.250'
    """
    values = [(name, key, value_of(report, stage, key)) for stage, key, name in _ALARMS]
    return ", ".join(f"{name} {value_text(None, key, value)}" for name, key, value in values if value) or None
