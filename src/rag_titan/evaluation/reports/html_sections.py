"""What the sections of the HTML report say, as plain values for its templates; None or empty where nothing is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_titan.evaluation.catalogue import Rows, by_place, label_of, stage_names, stage_values, value_of, values_of
from rag_titan.evaluation.limits import finite
from rag_titan.evaluation.metric import Metric
from rag_titan.evaluation.reports import html_figures as figures
from rag_titan.evaluation.reports import stage_tables
from rag_titan.evaluation.reports.evidence import (
    alarms_text,
    begin_text,
    counts_of,
    evidence_line,
    failed_count,
    fix_first,
    funnel_steps,
    little_text,
    loss_words,
    place_text,
)
from rag_titan.evaluation.reports.figures import (
    NOTHING,
    convention_texts,
    count_text,
    limit_text,
    score_text,
    share_text,
    title_text,
    value_text,
)
from rag_titan.evaluation.reports.findings import gate_verdict, gates_verdict
from rag_titan.evaluation.reports.pairing import rows_by_id
from rag_titan.evaluation.reports.priorities import priorities
from rag_titan.evaluation.reports.ratings import caveats, coverage_text, rating_text
from rag_titan.evaluation.scoring.policy import default_weight

Report = Mapping[str, Any]
View = dict[str, Any]

PRIORITIES_SHOWN = 10
DRAWN_A_STAGE = 2  # the metrics of a stage with the most weight have a histogram
_SCENARIOS = {
    "A": "right, with its evidence",
    "B": "wrong, although the evidence was at hand",
    "C": "wrong, without the evidence",
    "D": "refused, without the evidence",
}
_COUNTED = {"queries": "question", "chunks": "chunk", "documents": "document", "vectors": "vector"}


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is a mapping, else an empty one: reports of other versions lack parts."""
    return value if isinstance(value, Mapping) else {}


class Sections:
    """The sections of one report; a method each."""

    def __init__(self, report: Report, rows: Rows) -> None:
        self.report = report
        self.rows = rows
        self.places = by_place(rows)
        self.meta = mapping(report.get("meta"))
        self.card = mapping(report.get("scorecard"))

    def name(self, stage: str, key: str) -> str:
        """The title of a metric, with its cut-off and conventions; the key where the catalogue does not know it."""
        row = self.places.get((stage, key))
        return title_text(row, self.meta) if row else key

    def value(self, stage: str, key: str, value: Any) -> str:
        """A value with its unit."""
        return value_text(self.places.get((stage, key)), key, finite(value))

    def interval(self, stage: str, key: str, ends: Any) -> str:
        """A 95 % interval in words; empty where there is none."""
        pair = figures.ends_of(ends)
        return "" if pair is None else f"{self.value(stage, key, pair[0])} to {self.value(stage, key, pair[1])}"

    def detail(self, stage: str, key: str) -> Mapping[str, Any]:
        """On what a value stands: {"n", "of", "reason", "ci95"}."""
        return mapping(mapping(mapping(self.report.get(stage)).get("detail")).get(key))

    def asked(self) -> int:
        """The number of questions, 0 where nothing says."""
        verdicts = self.report.get("queries")
        listed = len(verdicts) if isinstance(verdicts, list) else 0
        return counts_of(self.report).get("questions") or mapping(self.meta.get("counts")).get("queries") or listed

    def failed(self) -> int | None:
        """How many questions failed; None where nothing says."""
        failed = failed_count(self.report)
        if failed or counts_of(self.report).get("failed") is not None:
            return failed
        return 0 if isinstance(self.report.get("queries"), list) and self.asked() else None

    def lead(self) -> str:
        """The first sentence of the report."""
        failed, asked, first = self.failed(), self.asked(), fix_first(self.report)
        if failed is None:
            return "What failed is not known: the report has no verdict on any question."
        if not failed:
            return f"None of {count_text(asked, 'question')} failed, as far as the labels can tell."
        said = f"{failed:,} of {count_text(max(asked, failed), 'question')} failed"
        if first is None:
            return f"{said}."
        place, lost = label_of(first.stage), len(first.ids)
        return f"{said}; most lost at {place}." if 2 * lost > failed else f"{said}, {lost:,} of them at {place}."

    def head(self) -> View:
        """The verdict on the run: the facts, then what to know beside them."""
        overall = mapping(self.card.get("overall"))
        facts = []
        if overall:
            score = score_text(finite(overall.get("score")))
            facts += [
                ("Overall score", f"{score} / 100", overall.get("rating") or "not rated"),
                ("Status", str(overall.get("status") or NOTHING), ""),
                ("Measured", share_text(finite(overall.get("coverage"))), "of what counts"),
            ]
        counts = counts_of(self.report)
        if counts.get("questions"):
            answers = f"{counts.get('wrong', 0):,} wrong, {counts.get('unjudged', 0):,} not judged"
            facts.append(("Answers right", f"{counts.get('right', 0):,} of {counts['questions']:,}", answers))
        notes = [f"{first}."] if (first := fix_first(self.report)) else []
        if errors := counts.get("errors"):
            notes.append(f"{errors:,} of {count_text(self.asked(), 'question')} got no answer because of an error.")
        if alarms := alarms_text(self.report):
            notes.append(f"Should be 0: {alarms}.")
        if little := little_text(self.report):
            notes.append(f"{little[0].upper()}{little[1:]}.")
        return {"lead": self.lead(), "facts": facts, "notes": notes, "meta": self._about()}

    def _about(self) -> list[str]:
        counts = mapping(self.meta.get("counts"))
        known = {name: n for name, n in counts.items() if name in _COUNTED and isinstance(n, int) and n}
        facts = [count_text(n, _COUNTED[name]) for name, n in known.items()]
        facts += [f"K = {self.meta['k']}"] if self.meta.get("k") is not None else []
        facts += [f"rag-titan {self.meta['rag_titan']}"] if self.meta.get("rag_titan") else []
        return facts + ([str(self.meta["created_at"])] if self.meta.get("created_at") else [])

    def scorecard(self) -> list[View]:
        """A row for each stage, with the metrics that its score is made of."""
        return [self._stage(stage, of_stage) for stage, of_stage in mapping(self.card.get("stages")).items()]

    def _stage(self, stage: str, of_stage: Mapping[str, Any]) -> View:
        score, metrics = finite(of_stage.get("score")), mapping(of_stage.get("metrics"))
        rows = [self.metric(stage, key, mapping(metric)) for key, metric in metrics.items()]
        beyond = [
            self.metric(stage, name.partition(".")[2], {"value": value})
            for name, value in values_of(self.report, self.rows).items()
            if name.startswith(f"{stage}.") and name.partition(".")[2] not in metrics
            and not stage_tables.is_time(name.partition(".")[2])
        ]  # fmt: skip
        return {
            "label": str(of_stage.get("label") or label_of(stage)),
            "score": score_text(score),
            "bar": figures.scaled(score, 100),
            "rating": rating_text(of_stage) or self._unrated(stage, score),
            "beside": ", ".join(caveats(self.report, stage, of_stage)),
            "coverage": coverage_text(of_stage),
            "weight": _plain(of_stage.get("weight")),
            "rows": [row for row in rows if row["measured"]],
            "beyond": beyond,
        }

    def _unrated(self, stage: str, score: float | None) -> str:
        """Why a stage has no rating: that of a judge is measured, and counts where it is given weights."""
        if score is not None:
            return "not rated"
        return "not scored" if stage_values(self.report, stage) else "not measured"

    def metric(self, stage: str, key: str, metric: Mapping[str, Any]) -> View:
        """A metric with what it stands on and what it counts."""
        row, detail, value = self.places.get((stage, key)), self.detail(stage, key), finite(metric.get("value"))
        low, high = (row.kind.low, row.kind.high) if row else (0.0, 1.0)
        ends = detail.get("ci95")
        bounded = -2 <= low < high <= 2
        return {
            "title": self.name(stage, key),
            "key": key,
            "measured": value is not None,
            "value": self.value(stage, key, value),
            "interval": self.interval(stage, key, ends),
            "figure": figures.interval(value, ends, low, high) if bounded and figures.ends_of(ends) else None,
            "n": stage_tables.stands_on(row, detail) if row else NOTHING,
            "weight": _plain(metric.get("weight")),
            "score": "no target" if metric.get("needs_target") else score_text(finite(metric.get("score"))),
            "formula": row.formula if row else "",
            "advice": row.advice.replace("`", "") if row else "",
        }

    def gates(self) -> list[View]:
        """The gates, those that failed first, then the undecided ones."""
        order = ("fail", "undecided", "unmeasured", "pass")
        found = []
        for gate in self.card.get("gates") or []:
            stage, key = str(gate["stage"]), str(gate["metric"])
            verdict = gate_verdict(gate)
            needed = gate.get("needed")
            found.append({
                "stage": label_of(stage),
                "metric": self.name(stage, key),
                "limit": limit_text(self.places.get((stage, key)), gate),
                "value": self.value(stage, key, gate.get("value")),
                "interval": self.interval(stage, key, gate.get("ci95")) or NOTHING,
                "status": gate["status"],
                "verdict": verdict,
                "says": "not measured" if verdict == "unmeasured" else verdict,
                "needed": f"about {count_text(needed, 'question')}" if isinstance(needed, int) else "",
            })  # fmt: skip
        return sorted(found, key=lambda gate: (gate["status"] != "fail", order.index(gate["verdict"])))

    def gates_text(self) -> str:
        """How many gates came to what."""
        return gates_verdict(self.card.get("gates") or [])

    def funnel(self) -> View | None:
        """Where the evidence was lost, as a figure and as a table."""
        steps, counts = funnel_steps(self.report), counts_of(self.report)
        if not steps:
            return None
        words, labels = loss_words(steps, counts), {str(step["stage"]): label_of(str(step["stage"])) for step in steps}
        scenarios = mapping(mapping(self.report.get("diagnosis")).get("scenarios"))
        return {
            "figure": figures.funnel(steps, labels, counts.get("known") or 0),
            "says": evidence_line(self.report),
            "rows": [
                {"label": labels[s["stage"]], "stage": s["stage"], "how": words[s["stage"]], "lost": s["lost"],
                 "kept": NOTHING if s.get("kept") is None else f"{s['kept']:,}"}
                for s in steps
            ],
            "scenarios": [(name, text, scenarios[name]) for name, text in _SCENARIOS.items() if scenarios.get(name)],
        }  # fmt: skip

    def causes(self) -> View | None:
        """The limits that are broken and what to try."""
        causes = self.report.get("root_causes")
        if not isinstance(causes, Mapping):
            return None
        first = causes.get("first_failing_stage")
        rows = [
            {
                "stage": label_of(failure["stage"]),
                "metric": self.name(failure["stage"], failure["metric"]),
                "value": self.value(failure["stage"], failure["metric"], failure["observed"]),
                "limit": limit_text(self.places.get((failure["stage"], failure["metric"])), failure),
                "try": failure["suggestion"],
            }
            for failure in causes.get("failures") or []
        ]
        begin = begin_text(self.report, str(first))
        said = f"The first threshold missed is at {place_text(str(first))}. {begin}" if first else None
        return {"says": said or "Every threshold that could be checked is kept.", "rows": rows}

    def priorities(self) -> View | None:
        """The metrics by the points that they cost."""
        found = priorities(self.report)
        most = max((entry["points"] for entry in found), default=0.0)
        rows = [
            {
                "stage": label_of(entry["stage"]),
                "metric": self.name(entry["stage"], entry["metric"]),
                "value": self.value(entry["stage"], entry["metric"], entry["value"]),
                "points": f"{entry['points']:.1f}",
                "bar": figures.scaled(entry["points"], most),
                "advice": self.metric(entry["stage"], entry["metric"], entry)["advice"],
            }
            for entry in found[:PRIORITIES_SHOWN]
        ]
        return {"rows": rows, "more": max(0, len(found) - PRIORITIES_SHOWN)} if rows else None

    def distributions(self) -> list[View]:
        """Histograms of the values per question, for the weightiest metrics of each stage."""
        found = []
        for stage in stage_names(self.rows):
            items = rows_by_id(self.report, stage).values()
            weighed = [row for row in self.rows if row.stage == stage and row.per == "query"]
            weighed = [row for row in weighed if default_weight(stage, row.key) and row.kind.score is not None]
            weighed.sort(key=lambda row: -default_weight(stage, row.key))
            measured = [row for row in weighed if value_of(self.report, stage, row.key) is not None]
            found += [self._distribution(row, [i.get(row.item_key) for i in items]) for row in measured[:DRAWN_A_STAGE]]
        different: dict[Any, View] = {}  # what two stages measure alike is drawn once
        for view in found:
            if sum(view["figure"].counts):
                different.setdefault((view["title"], view["figure"]), view)
        return list(different.values())

    def _distribution(self, row: Metric, values: Sequence[Any]) -> View:
        numbers = [float(value) if isinstance(value, bool) else value for value in values]
        low, high = (row.kind.low, row.kind.high) if row.kind.high <= 1 else (None, None)
        figure = figures.histogram(numbers, low, high)
        stage = str(row.stage)
        texts = {edge: self.value(stage, row.key, edge) for edge in figure.edges}
        return {
            "stage": label_of(stage),
            "title": self.name(stage, row.key),
            "mean": self.value(stage, row.key, value_of(self.report, stage, row.key)),
            "n": figures.counted(figure),
            "low": texts[figure.edges[0]],
            "high": texts[figure.edges[-1]],
            "most": f"{max(figure.counts):,}",
            "figure": figure,
            "says": figure.says(texts),
        }

    def times(self) -> list[View]:
        """The parts of a request with their percentiles."""
        parts = stage_tables.time_parts(self.report, self.rows)
        names = ("p50", "p95", "p99")
        most = max((part[name] for part in parts for name in names if name in part), default=0.0)
        return [
            {
                "title": part["title"],
                "stage": label_of(part["stage"]),
                "n": NOTHING if part["n"] is None else f"{part['n']:,}",
                "bars": {name: figures.scaled(part.get(name), most) for name in names},
                **{name: value_text(None, "_ms", part.get(name)) for name in names},
            }
            for part in parts
        ]

    def missing(self) -> list[View]:
        """What is not measured, a stage at a time, and why."""
        found = []
        for stage in stage_names(self.rows):
            rows = [row for row in self.rows if row.stage == stage]
            if stage not in self.report or not rows:
                continue
            if not stage_values(self.report, stage):
                texts = [stage_tables.not_evaluated_text(rows)]
            else:
                unmeasured = [row for row in rows if value_of(self.report, stage, row.key) is None]
                details = mapping(mapping(self.report.get(stage)).get("detail"))
                texts = stage_tables.missing_texts(unmeasured, details, self.meta)
            if texts:
                found.append({"stage": label_of(stage), "texts": texts})
        return found

    def about(self) -> View:
        """Conventions and what else the report says of itself."""
        chosen = mapping(self.meta.get("conventions"))
        prints = mapping(self.meta.get("fingerprints"))
        return {
            "changed": list(convention_texts(self.meta).values()),
            "conventions": [(name.replace("_", " "), str(value)) for name, value in chosen.items()],
            "facts": [
                (name.replace("_", " "), str(self.meta[key]))
                for key, name in (("rag_titan", "rag-titan"), ("schema", "form"), ("k", "K"), ("created_at", "made"))
                if self.meta.get(key) is not None
            ]
            + [(f"fingerprint of {name}", str(value)) for name, value in prints.items() if value],
        }  # fmt: skip


def _plain(number: Any) -> str:
    value = finite(number)
    return NOTHING if value is None else f"{value:g}"
