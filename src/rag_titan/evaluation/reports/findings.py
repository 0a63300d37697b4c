"""A regression or a gate in words, the same on the terminal, in JUnit, on GitHub and in a failed test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_titan.evaluation.catalogue import ROWS, by_place
from rag_titan.evaluation.reports.cells import shown
from rag_titan.evaluation.reports.changes import corrected_text
from rag_titan.evaluation.reports.figures import count_text, limit_text, value_text

Entry = Mapping[str, Any]
Lines = tuple[str, ...]

REAL, NOISE, UNTESTED = "real", "could be noise", "not tested"
TITLES = {REAL: "Regression", NOISE: "Could be noise", UNTESTED: "Worse, not tested"}
_UNDECIDED = "A gate is undecided where its 95 % interval holds the limit: more questions would decide it."
_GATES = {"fail": "failed", "undecided": "undecided", "pass": "passed", "unmeasured": "not measured"}
_ITEMS = {"query": "question"}  # what a report calls the items of a metric; others by their own name


def verdict_text(entry: Entry) -> str:
    """Whether a change is more than chance, as far as somebody tested it.

    >>> verdict_text({"significant": True}), verdict_text({"significant": False}), verdict_text({"significant": None})
    ('real', 'could be noise', 'not tested')
    """
    significant = entry.get("significant")
    return UNTESTED if significant is None else REAL if significant else NOISE


def titled_lines(entry: Entry) -> Lines:
    """The same lines with a title that says what a metric that got worse is, as far as somebody tested it.

    >>> worse = {"metric": "retrieval.recall_at_k", "baseline": 0.9, "current": 0.8, "change": -0.1}
    >>> titled_lines({**worse, "n": 10, "significant": False})
    ('Could be noise: retrieval.recall_at_k 0.900 -> 0.800', '-0.100; 10 questions')
    >>> titled_lines(worse)
    ('Regression: retrieval.recall_at_k 0.900 -> 0.800',)
    """
    verdict = verdict_text(entry)
    title = TITLES[verdict] if "significant" in entry else TITLES[REAL]
    first, *rest = change_lines(entry)
    return f"{title}: {first if verdict == REAL else first.removesuffix(f' ({verdict})')}", *rest


def change_lines(entry: Entry) -> Lines:
    """An entry of a comparison: what it was and is, and on what the verdict stands.

    >>> tested = {"n": 10, "ci95": [-0.287, 0.087], "significant": False, "needed": 90}
    >>> worse = {"metric": "retrieval.recall_at_k", "baseline": 0.9, "current": 0.8, "change": -0.1}
    >>> print(*change_lines({**worse, **tested}), sep="\\n")
    retrieval.recall_at_k 0.900 -> 0.800 (could be noise)
    -0.100, 95% interval -0.287 to +0.087; 10 questions, about 90 needed
    >>> change_lines(worse)  # nobody tested it
    ('retrieval.recall_at_k 0.900 -> 0.800',)
    """
    name = shown(entry["metric"])
    key = name.partition(".")[2]
    moved = f"{name} {value_text(None, key, entry['baseline'])} -> {value_text(None, key, entry['current'])}"
    if "significant" not in entry:
        return (moved,)
    verdict = verdict_text(entry)
    change = _signed(key, entry["change"])
    if ends := entry.get("ci95"):
        change += f", 95% interval {_signed(key, ends[0])} to {_signed(key, ends[1])}"
    basis = shown(entry.get("untested") or "", 200) if verdict == UNTESTED and entry.get("untested") else _basis(entry)
    return f"{moved} ({verdict})", "; ".join(filter(None, (change, basis)))


def _basis(entry: Entry) -> str:
    """On how many questions a verdict stands: what noise would need, which way the questions of a real change went."""
    n, wins, losses = entry.get("n"), entry.get("wins"), entry.get("losses")
    if not n:
        return ""
    if entry.get("significant") is True and None not in (wins, losses):
        return f"{losses:,} worse, {wins:,} better of {count_text(n, 'question')}"
    needed = entry.get("needed")
    few = count_text(n, "question") + (f", about {needed:,} needed" if needed and needed > n else "")
    return "; ".join(filter(None, (few, corrected_text(entry))))


def _signed(key: str, value: float) -> str:
    """A difference with its sign.

    >>> _signed("recall_at_k", 0.5), _signed("mean_cost_usd", -0.002), _signed("recall_at_k", 0.0)
    ('+0.500', '-$0.0020', '0.000')
    """
    sign = "+" if value > 0 else "-" if value < 0 else ""
    return sign + value_text(None, key, abs(value)).lstrip("<>")


def gate_lines(gate: Entry, report: Mapping[str, Any]) -> Lines:
    """A gate of a scorecard: what it is and must be, and, where an interval is known, on what its verdict stands.

    >>> gate = {"stage": "retrieval", "metric": "recall_at_k", "minimum": 0.7, "value": 0.65}
    >>> report = {"retrieval": {"detail": {"recall_at_k": {"n": 20}}}}
    >>> print(*gate_lines({**gate, "ci95": [0.43, 0.82], "verdict": "undecided", "needed": 350}, report), sep="\\n")
    retrieval.recall_at_k is 0.650, must be at least 0.700
    95% interval 0.430 to 0.820; 20 questions, about 350 needed
    """
    stage, key, value = str(gate["stage"]), str(gate["metric"]), gate["value"]
    is_now = "is not measured" if value is None else f"is {value_text(None, key, value)}"
    said = f"{shown(f'{stage}.{key}')} {is_now}, must be {limit_text(None, gate)}"
    ends = gate.get("ci95")
    if value is None or not ends:
        return (said,)
    interval = f"95% interval {value_text(None, key, ends[0])} to {value_text(None, key, ends[1])}"
    return said, "; ".join(filter(None, (interval, _measured_on(gate, report))))


def gate_verdict(gate: Entry) -> str:
    """What a gate came to: fail, pass, unmeasured, or undecided, where its interval holds the limit.

    >>> gate_verdict({"status": "pass", "verdict": "undecided"}), gate_verdict({"status": "pass"})
    ('undecided', 'pass')
    """
    return str(gate.get("verdict") or gate["status"])


def gates_text(gates: Sequence[Entry]) -> str:
    """How many gates came to what; each is counted once, and of the undecided ones it is said how they look.

    >>> print(gates_text([{"status": "pass", "verdict": "undecided"}, {"status": "fail", "verdict": "fail"}]))
    1 failed, 1 undecided (by the value 1 passed), 0 passed
    """
    said = []
    for verdict, words in _GATES.items():
        found = [str(gate["status"]) for gate in gates if gate_verdict(gate) == verdict]
        looks = [f"{found.count(status):,} {_GATES[status]}" for status in _GATES if status in found]
        beside = f" (by the value {' and '.join(looks)})" if verdict == "undecided" else ""
        if found or verdict in ("fail", "pass"):
            said.append(f"{len(found):,} {words}{beside}")
    return ", ".join(said)


def gates_verdict(gates: Sequence[Entry]) -> str:
    """The same as sentences, with what an undecided gate is where there is one."""
    undecided = any(gate_verdict(gate) == "undecided" for gate in gates)
    return f"{gates_text(gates)}." + (f" {_UNDECIDED}" if undecided else "")


def _measured_on(gate: Entry, report: Mapping[str, Any]) -> str:
    stage, key = str(gate["stage"]), str(gate["metric"])
    n = (((report.get(stage) or {}).get("detail") or {}).get(key) or {}).get("n")
    if not n:
        return ""
    row = by_place(ROWS).get((stage, key))
    items = "question" if row is None else _ITEMS.get(row.per, row.per)
    needed = gate.get("needed")
    more = f", about {needed:,} needed" if gate.get("verdict") == "undecided" and needed and needed > n else ""
    return count_text(n, items) + more
