"""Whether two reports measure the same quantity on the same data, and what cannot be held against what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rag_titan.evaluation.catalogue import Rows, stage_names, values_of
from rag_titan.evaluation.conventions import SEED
from rag_titan.evaluation.evaluator import SCHEMA
from rag_titan.evaluation.limits import below
from rag_titan.evaluation.metric import Metric, Stage
from rag_titan.evaluation.reports.cells import shown
from rag_titan.evaluation.reports.figures import share_text
from rag_titan.evaluation.reports.overlap import Overlap, overlap
from rag_titan.evaluation.reports.pairing import Pair, Report, mapping, stored_at
from rag_titan.evaluation.scoring.policy import LEAST_SHARED, RECHUNKED

_GOLD_IDS = {"expected_chunk_ids", "relevant_ids"}
_CITED = ("generation.citation_precision", "generation.citation_recall", "generation.citation_f1")


def reason_against(current: Report, baseline: Report, pair: Pair, rows: Rows) -> str | None:
    """Why the two cannot be compared at all; None where they can."""
    return _unreadable(current, baseline, rows) or settings_differ(current, baseline) or _nothing_shared(pair)


def settings_differ(current: Report, baseline: Report) -> str | None:
    """Why the metrics of the two reports are not the same quantity; None where they are, or a report does not say."""
    now, before = mapping(current.get("meta")), mapping(baseline.get("meta"))
    if None not in (now.get("k"), before.get("k")) and now["k"] != before["k"]:
        return f"baseline: must have the same K, got {before['k']} against {now['k']}. Evaluate both with one K."
    default = SEED.as_dict()
    choices = [{**default, **mapping(meta["conventions"])} for meta in (now, before) if "conventions" in meta]
    if len(choices) < 2:
        return None
    differ = [key for key in {**choices[0], **choices[1]} if choices[0].get(key) != choices[1].get(key)]
    if not differ:
        return None
    said = "; ".join(f"{key} {choices[1].get(key)!r} against {choices[0].get(key)!r}" for key in differ)
    return f"baseline: must have the same conventions, got {said}. Evaluate both with one set."


def _unreadable(current: Report, baseline: Report, rows: Rows) -> str | None:
    """Why there is nothing to compare with: an empty comparison would read as "nothing got worse"."""
    form = mapping(baseline.get("meta")).get("schema")
    if form is not None and (isinstance(form, bool) or form not in range(1, SCHEMA + 1)):
        return f"baseline: must be a report of form {SCHEMA}, got form {form!r}. Make a new baseline."
    measured = values_of(current, rows)
    if not measured and current.keys().isdisjoint({*stage_names(rows), "scorecard"}):
        return "current report: must hold values of metrics, got none: nothing to compare. Evaluate the run again."
    known = {row.name for row in rows} | set(measured)
    if known.isdisjoint(values_of(baseline, rows)):
        return "baseline: must hold values of metrics, got none: nothing to compare with. Make a new baseline."
    return None


def _nothing_shared(pair: Pair) -> str | None:
    asked = pair.questions
    if not asked or asked["shared"]:
        return None
    return "baseline: must have a question in common with the current report, got none. Make a new baseline."


def too_few_shared(comparison: Mapping[str, Any]) -> str | None:
    """Why a rule about regressions cannot be judged by what `compare` or `diff` returned: most of the baseline's
    questions are gone. Regressions are looked for among the shared questions alone, and the lost ones may be those that
    got worse. None where enough are there, and where nothing says.

    >>> too_few_shared({"questions": {"shared": 2, "baseline": 5}})
    'baseline: at least 50% of its questions must be in the run, got 2 of 5. Ask them all, or make a new baseline.'
    >>> too_few_shared({"questions": {"shared": 3, "baseline": 5}}), too_few_shared({"questions": None})
    (None, None)
    """
    asked = comparison["questions"]
    if not (asked and asked["baseline"]) or not below(asked["shared"] / asked["baseline"], LEAST_SHARED.value):
        return None
    rule = f"at least {share_text(LEAST_SHARED.value)} of its questions must be in the run"
    return f"baseline: {rule}, got {asked['shared']} of {asked['baseline']}. Ask them all, or make a new baseline."


# --- what else changed ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Ground:
    """What changed beneath two runs, as far as both reports say.

    gold, chunks, asked  True where the labels, the chunks, the questions differ
    gold_ids             True where the gold chunk ids that stand beside quotes or pages differ
    counts_equal         as many chunks as before
    overlap              of the chunks, None where a report does not say
    """

    gold: bool
    chunks: bool
    asked: bool
    counts_equal: bool
    overlap: Overlap | None
    gold_ids: bool = False

    @property
    def same(self) -> float | None:
        """The share of chunks that are the same; chunks that were merely added, or removed, make none another."""
        return None if self.overlap is None else max(self.overlap.kept, self.overlap.old)

    @property
    def rechunked(self) -> bool:
        """True where most chunks are others than before, and not the same ids with other texts."""
        found, same = self.overlap, self.same
        if not self.chunks or found is None or same is None:
            return False
        return below(same, RECHUNKED.value) and not (found.same_ids and self.counts_equal)


def ground_of(current: Report, baseline: Report) -> Ground:
    """What changed beneath two runs, by the fingerprints in their `meta`."""
    metas = [mapping(report.get("meta")) for report in (current, baseline)]
    now, before = (mapping(meta.get("fingerprints")) for meta in metas)
    counts = [mapping(meta.get("counts")).get("chunks") for meta in metas]

    def differs(what: str) -> bool:
        return bool(now.get(what) and before.get(what) and now[what] != before[what])

    return Ground(
        differs("gold"), differs("chunks"), differs("queries"),
        counts[0] == counts[1], overlap(*metas), differs("gold_chunk_ids"),
    )  # fmt: skip


def notes_on(ground: Ground, pair: Pair) -> Iterator[str]:
    """What else changed between the runs, a sentence each."""
    if ground.gold and not pair.notes:  # where questions were added, their labels were too
        yield "The gold labels changed since the baseline: a difference can come from them alone."
    if ground.gold_ids and not pair.notes and not ground.rechunked:
        yield _other_gold_ids(ground)
    same = "" if ground.same is None else f" (about {share_text(ground.same)} are the same)"
    if ground.rechunked:
        yield (
            f"Re-chunked: about {share_text(ground.same or 0.0)} of the chunks are the same as in the baseline. "
            "Metrics that count gold chunks by their ids are not compared; those of quotes, tokens and answers are."
        )
        if any(name in values for name in _CITED for values in (pair.now, pair.before)):
            yield (
                "Citations are compared by their ids: where these are ids of chunks, a difference can come from the "
                "chunks alone."
            )
    elif ground.chunks:
        yield f"The chunks changed since the baseline{same}: labels by chunk id may mean other texts now."
    if ground.asked and not pair.questions:
        yield "The questions differ and a report has no lists per query: all of both are compared."
    elif ground.asked and pair.questions["current"] == pair.questions["baseline"] == pair.questions["shared"]:
        yield "Other questions were asked under the ids of the baseline: a difference can come from them alone."


def _other_gold_ids(ground: Ground) -> str:
    """With the same chunks and quotes, ids that follow from these are the same; others were changed by hand."""
    source = "" if not (ground.chunks or ground.gold) else ", by hand or with the quotes and chunks they follow from"
    return (
        f"The gold chunk ids beside quotes changed since the baseline{source}: a difference in metrics that count them "
        "can come from them alone."
    )


def notes_on_files(current: Report, baseline: Report, pair: Pair) -> Iterator[str]:
    """A sentence for each report that names a file with the values of its questions, which cannot be used."""
    for side, report, items in (("current report", current, pair.current), ("baseline", baseline, pair.baseline)):
        if items.missing and stored_at(report) is not None:
            yield f"Not paired by question: the {side} {items.missing}"


def left_out(current: Report, baseline: Report, pair: Pair, rows: Rows) -> list[dict[str, str]]:
    """[{"metric", "reason"}]: what no run can be held against, in pipeline order."""
    found = not_compared(ground_of(current, baseline), pair, rows)
    return [*found, *judged_by_others(current, baseline, pair)]


def not_compared(ground: Ground, pair: Pair, rows: Rows) -> list[dict[str, str]]:
    """[{"metric", "reason"}]: what a run measured and no run can be held against, in pipeline order."""
    if not ground.rechunked:
        return []
    reason = (
        f"it counts gold chunks by their ids, and about {share_text(ground.same or 0.0)} of the chunks are the same"
    )
    measured = {*pair.now, *pair.before}
    return [{"metric": row.name, "reason": reason} for row in rows if row.name in measured and _by_gold_ids(row)]


def judged_by_others(current: Report, baseline: Report, pair: Pair) -> list[dict[str, str]]:
    """[{"metric", "reason"}]: the scores of verdicts, where not the same judges gave them: a judge, its prompts or its
    settings changed, and the scores have another scale."""
    reason = judges_differ(current, baseline)
    if reason is None:
        return []
    measured = dict.fromkeys([*pair.now, *pair.before])
    return [{"metric": name, "reason": reason} for name in measured if name.startswith(f"{Stage.JUDGE}.")]


def judges_differ(current: Report, baseline: Report) -> str | None:
    """Why the scores of verdicts are not the same quantity in two reports; None where the same judges gave them, or a
    report does not say who did.

    >>> judges_differ({"meta": {"judges": {"m@2": 9}}}, {"meta": {"judges": {"m@1": 8}}})
    'it stands on the verdicts of m@2, and in the baseline on those of m@1'
    """
    now, before = (mapping(mapping(report.get("meta")).get("judges")) for report in (current, baseline))
    if not now or not before or set(now) == set(before):
        return None
    named = [" and ".join(shown(name, 80) for name in sorted(judges)) for judges in (now, before)]
    return f"it stands on the verdicts of {named[0]}, and in the baseline on those of {named[1]}"


def values_beside(report: Report, other: Report, rows: Rows) -> dict[str, float]:
    """{"stage.key": value} of a report, without what is another quantity in the other."""
    values = values_of(report, rows)
    if judges_differ(report, other) is None:
        return values
    return {name: value for name, value in values.items() if not name.startswith(f"{Stage.JUDGE}.")}


def _by_gold_ids(row: Metric) -> bool:
    """True for a metric that waits for gold chunk ids."""
    return any(_GOLD_IDS & set(need.split("|")) for need in row.needs)


def without(pair: Pair, names: Mapping[str, Any] | set[str]) -> None:
    """Takes what is not compared out of the values."""
    for values in (pair.now, pair.before):
        for name in names:
            values.pop(name, None)
