"""A change of a metric in words and numbers: how much, how sure, and on what that stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rag_titan.evaluation.limits import finite
from rag_titan.evaluation.metric import Metric
from rag_titan.evaluation.reports.figures import NOTHING, count_text, relative_text, value_text

Entry = Mapping[str, Any]

_OTHER = 0.25  # by which share a mean over other questions is worth a word


def names_by_reason(entries: Iterable[Entry], name: Callable[[Entry], str]) -> dict[str, list[str]]:
    """{why it is not compared: the metrics}, so that what all scores of a judge share is said once.

    >>> left_out = [{"metric": "judge.faithfulness", "reason": "r"}, {"metric": "judge.claim_recall", "reason": "r"}]
    >>> names_by_reason(left_out, lambda entry: entry["metric"])
    {'r': ['judge.faithfulness', 'judge.claim_recall']}
    """
    found: dict[str, list[str]] = {}
    for entry in entries:
        found.setdefault(str(entry.get("reason")), []).append(name(entry))
    return found


def change_text(row: Metric | None, entry: Entry) -> str:
    """The change with its sign; of latency, cost and tokens in percent of the baseline.

    >>> change_text(None, {"metric": "retrieval.recall_at_k", "change": -0.15, "baseline": 0.9})
    '-0.150'
    >>> change_text(None, {"metric": "retrieval.p50_latency_ms", "change": 30.0, "baseline": 200.0})
    '+30 ms'
    >>> from rag_titan.evaluation.catalogue import find
    >>> slower = {"metric": "end_to_end.p50_latency_ms", "change": 30.0, "baseline": 200.0}
    >>> change_text(find("end_to_end.p50_latency_ms"), slower)
    '+15.0 %'
    """
    return _signed(row, entry, finite(entry.get("change")))


def interval_text(row: Metric | None, entry: Entry) -> str:
    """The 95 % interval of the change, in the unit of `change_text`; a dash where there is none.

    >>> interval_text(None, {"metric": "retrieval.recall_at_k", "ci95": [-0.21, 0.01], "baseline": 0.9})
    '-0.210 to +0.010'
    """
    ends = entry.get("ci95")
    if not isinstance(ends, list) or len(ends) != 2:
        return NOTHING
    return " to ".join(_signed(row, entry, finite(end)) for end in ends)


def p_text(p: Any) -> str:
    """A p-value with as many digits as say something.

    >>> p_text(0.00019), p_text(0.0312), p_text(0.44), p_text(None)
    ('<0.001', '0.031', '0.44', '–')
    """
    value = finite(p)
    if value is None:
        return NOTHING
    return "<0.001" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def corrected_text(entry: Entry) -> str:
    """Why a change is not sure although its interval leaves out 0; empty where there is nothing to explain.

    >>> entry = {"significant": False, "ci95": [-0.2, -0.01], "p_corrected": 0.24, "tested": 23}
    >>> corrected_text(entry)
    'p 0.24 (corrected) as one of 23 metrics tested, though the interval leaves out 0'
    """
    ends, tested = entry.get("ci95"), entry.get("tested")
    if entry.get("significant") is not False or not isinstance(ends, list) or len(ends) != 2:
        return ""
    low, high = (finite(end) for end in ends)
    if low is None or high is None or low <= 0 <= high:
        return ""
    among = f" as one of {tested:,} metrics tested" if isinstance(tested, int) and tested > 1 else ""
    return f"{p_corrected_text(entry)}{among}, though the interval leaves out 0"


def p_corrected_text(entry: Entry) -> str:
    """The p that the verdict goes by, with its name.

    >>> p_corrected_text({"p": 0.01, "p_corrected": 0.031})
    'p 0.031 (corrected)'
    """
    return f"p {p_text(entry.get('p_corrected'))} (corrected)"


def paired_text(row: Metric | None, entry: Entry) -> str:
    """What the questions that both runs measured say, where that is something else than the change of the mean.

    >>> entry = {"metric": "generation.answer_f1", "change": -0.1, "paired_change": 0.0, "n": 17}
    >>> paired_text(None, entry)
    '17 questions measured in both changed by 0.000'
    """
    change, of_pairs = finite(entry.get("change")), finite(entry.get("paired_change"))
    if change is None or of_pairs is None or abs(of_pairs - change) <= _OTHER * abs(change):
        return ""
    return f"{count_text(entry['n'], 'question')} measured in both changed by {_signed(row, entry, of_pairs)}"


def sides_text(entry: Entry) -> str:
    """How many questions got better, got worse and stayed; a dash where nobody knows.

    >>> sides_text({"wins": 5, "losses": 35, "ties": 160})
    '5 / 35 / 160'
    """
    sides = [entry.get(name) for name in ("wins", "losses", "ties")]
    return " / ".join(f"{n:,}" for n in sides) if all(isinstance(n, int) for n in sides) else NOTHING


def sure_text(entry: Entry) -> str:
    """Whether the change is more than chance, and else what it would take.

    >>> sure_text({"significant": False, "n": 10, "needed": 58})
    'not sure: about 58 questions would show it'
    >>> sure_text({"significant": None, "untested": "it is one value of the whole run, without an interval"})
    'not tested: it is one value of the whole run, without an interval'
    """
    significant, n, needed = entry.get("significant"), entry.get("n"), entry.get("needed")
    if significant is True:
        return "sure"
    if significant is None:
        return f"not tested: {entry['untested']}" if entry.get("untested") else "not tested"
    if isinstance(needed, int) and (not isinstance(n, int) or needed > n):
        return f"not sure: about {count_text(needed, 'question')} would show it"
    return "not sure"


def _signed(row: Metric | None, entry: Entry, value: float | None) -> str:
    if value is None:
        return NOTHING
    sign = "+" if value > 0 else "-" if value < 0 else ""
    base = finite(entry.get("baseline"))
    if row is not None and row.kind.relative and base:
        said = relative_text(math.copysign(abs(value / base), value))
        return said if value else said.lstrip("+-")
    key = str(entry.get("metric")).partition(".")[2]
    return sign + value_text(row, key, abs(value)).lstrip("<>")
