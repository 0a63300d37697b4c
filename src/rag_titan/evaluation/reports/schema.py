"""The JSON Schema of a report: the metrics come from the catalogue, so that it cannot lag behind."""

from __future__ import annotations

import math
from typing import Any

from rag_titan.evaluation.catalogue import OPTIONAL, ROWS, Rows, label_of, stage_names
from rag_titan.evaluation.diagnosis.explorer_claims import SIDES, VERDICTS
from rag_titan.evaluation.diagnosis.judged import NAMES, SIGNS
from rag_titan.evaluation.metric import Metric, Stage
from rag_titan.evaluation.scoring.gates import FAIL, PASS, UNDECIDED, UNMEASURED
from rag_titan.evaluation.scoring.policy import (
    ACTION_REQUIRED,
    EVALUATED,
    NOT_EVALUATED,
    PROVISIONAL,
    RATINGS,
)

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NUMBER: Schema = {"type": ["number", "null"]}
TEXT: Schema = {"type": ["string", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
SCORE: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 100}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
RATING: Schema = {"enum": [*(word for _, word in RATINGS), None]}


def report_schema(rows: Rows = ROWS) -> Schema:
    """The schema of a report; null is "not measured" everywhere.

    >>> schema = report_schema()
    >>> summary = schema["properties"]["retrieval"]["properties"]["summary"]
    >>> summary["properties"]["recall_at_k"]["maximum"]
    1
    """
    stages = {stage: _stage(stage, [row for row in rows if row.stage == stage]) for stage in stage_names(rows)}
    parts = {
        "meta": _meta(),
        "warnings": {"type": "array", "items": {"type": "string"}},
        **stages,
        "queries": {"type": "array", "items": _verdict()},
        "diagnosis": _diagnosis(),
        "root_causes": _root_causes(),
        "scorecard": _scorecard(),
        "slices": _slices(),
        "explorer": _explorer(),
    }
    required = [key for key in parts if key not in ("queries", "slices", "explorer", *OPTIONAL)]
    return {"$schema": DIALECT, "title": "A report of rag-titan", **_object(parts, required)}


def comparison_schema() -> Schema:
    """The schema of what `compare` finds between two reports (see `reports.compare`)."""
    entry = {
        "metric": {"type": "string"},
        **dict.fromkeys(("baseline", "current", "change", "relative_change"), NUMBER),
        **dict.fromkeys(("p", "p_corrected", "paired_change", "resolvable", "weight"), NUMBER),
        **dict.fromkeys(("n", "wins", "losses", "ties", "needed", "tested"), _or_null(COUNT)),
        **dict.fromkeys(("untested", "note", "reason"), TEXT),
        **dict.fromkeys(("significant", "paired", "primary"), _or_null({"type": "boolean"})),
        "ci95": _ends(),
    }
    lists = ("regressions", "improved", "explained", "changed", "vanished", "appeared", "not_compared")
    return _object(
        {
            "comparable": {"type": "boolean"},
            "reason": TEXT,
            "tolerance": NUMBER,
            "rechunked": {"type": "boolean"},
            "primary": _list_of({"type": "string"}),
            "questions": _map_of(COUNT),
            "notes": _list_of({"type": "string"}),
            **dict.fromkeys(lists, _list_of(_object(entry, ["metric"]))),
        },
        ["comparable", *lists],
    )


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _map_of(schema: Schema) -> Schema:
    return {"type": "object", "additionalProperties": schema}


def _list_of(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _meta() -> Schema:
    given = {
        "rag_titan": {"type": "string", "description": "the version that made the report"},
        "schema": {"type": "integer", "description": "the version of this form"},
        "k": {"type": "integer", "minimum": 1},
        "conventions": _map_of({}),
        "fingerprints": _map_of(TEXT),
        "sketch": {
            "type": ["array", "null"],
            "items": {"type": "string"},
            "description": "hashes of a few chunks: how many of them two runs have in common",
        },
        "counts": _map_of(COUNT),
        "skipped": _object({"count": COUNT, "first": _list_of({"type": "string"})}),
        "per_query": {**TEXT, "description": "the file with the values of each question, where they are not in here"},
        "created_at": {"type": "string"},
    }
    judges = {**_map_of(COUNT), "description": "who gave the verdicts in the data, and on how many questions"}
    against = {"path": {"type": "string"}, "found": {"type": "boolean", "description": "false on a first run"}}
    named = {**_object(against), "description": "the baseline that `rag-titan evaluate` was given, where it was"}
    return _object({**given, "judges": judges, "baseline": named}, list(given))


def _value(row: Metric, title: str) -> Schema:
    limits = {"minimum": row.kind.low, "maximum": row.kind.high}
    return {**NUMBER, **{key: limit for key, limit in limits.items() if math.isfinite(limit)}, "description": title}


def _stage(stage: str, rows: list[Metric]) -> Schema:
    values = {row.key: _value(row, row.title) for row in rows}
    items = {row.item_key: _value(row, row.title) for row in rows if row.per == "query"}
    per_query = _list_of(_object({"id": {"type": "string"}, **items}, ["id"]))
    most = {**NUMBER, "description": "the most that the value can be by the labels; only where that can be below 1"}
    stood = {"n": COUNT, "of": COUNT, "reason": TEXT, "ci95": _ends()}
    detail = _map_of(_object({**stood, "attainable": most}, list(stood)))
    if stage in (Stage.CHUNKING, Stage.EMBEDDING, Stage.END_TO_END):
        known = _object({**values, "per_query": per_query, "detail": detail}, [*values, "detail"])
    else:
        summary = _object(values)
        parts = {"summary": summary, "per_query": per_query, "at": _map_of(_map_of(NUMBER)), "detail": detail}
        known = _object(parts | (_judged() if stage == Stage.JUDGE else {}), ["summary", "detail"])
    return {**_or_null(known), "description": f"{label_of(stage)}; null without any data of it"}


def _judged() -> Schema:
    """What the stage of a judge has beside its scores."""
    sign = _object({"low": COUNT, "measured": COUNT})
    table = {
        "limits": _map_of({"type": "number"}),
        "rows": {**_object(dict.fromkeys(NAMES, COUNT)), "description": "questions by what is wrong with them"},
        "signs": {**_object(dict.fromkeys(SIGNS, sign)), "description": "questions with a low score, and with any"},
        "funnel": _object({"agree": COUNT, "differ": COUNT}),
        "examples": _map_of(_list_of({"type": "string"})),
    }
    unjudged = {**_map_of(COUNT), "description": "questions that a metric has no verdict on, where the data say why"}
    return {"diagnosis": _object(table), "unjudged": unjudged}


def _verdict() -> Schema:
    places = [str(stage) for stage in Stage]
    judged = {
        "diagnosis": {"enum": list(NAMES), "description": "what is wrong by the scores of a judge"},
        "low": {**_map_of({"type": "number"}), "description": "the scores that say so"},
        "unmeasured": _list_of({"type": "string"}),
        "agrees_with_funnel": {"type": ["boolean", "null"], "description": "null: one of both says nothing"},
    }
    known = _verdict_of_the_labels(places)
    return _object({**known, "judge": _object(judged)}, list(known))


def _verdict_of_the_labels(places: list[str]) -> Schema:
    return {
        "id": {"type": "string"},
        "lost_at": {"enum": [*places, None], "description": "where its evidence, or the answer, was lost"},
        "correct": {"type": ["boolean", "null"], "description": "null: nothing says whether the answer is right"},
        "correct_by": {**TEXT, "description": "the rule that said so"},
        "scenario": {"enum": ["A", "B", "C", "D", None]},
        "why": _list_of({"type": "string"}),
        "tags": {"type": ["object", "null"]},
    }


def _diagnosis() -> Schema:
    step = _object({"stage": {"type": "string"}, "lost": COUNT, "kept": {"type": ["integer", "null"], "minimum": 0}})
    return _object(
        {
            "funnel": _list_of(step),
            "counts": _map_of(COUNT),
            "scenarios": _map_of(COUNT),
            "examples": _map_of(_list_of({"type": "string"})),
        }
    )


def _root_causes() -> Schema:
    failure = _object(
        {
            "stage": {"type": "string"},
            "metric": {"type": "string"},
            "observed": {"type": "number"},
            "minimum": NUMBER,
            "suggestion": {"type": "string"},
        }
    )
    return _object({"first_failing_stage": TEXT, "failures": _list_of(failure)})


def _scorecard() -> Schema:
    status = {"enum": [EVALUATED, PROVISIONAL, ACTION_REQUIRED, NOT_EVALUATED]}
    weight: Schema = {"type": "number", "minimum": 0}
    target = {"target": {"type": "object", "description": "the band with a full score, where one was set"}}
    lost = {"points_lost": {**NUMBER, "description": "how much the overall score would rise if it were perfect"}}
    values = {"value": NUMBER, "score": SCORE, "weight": weight}
    metric = _object({**values, "needs_target": {"type": "boolean"}, **lost, **target}, list(values))
    stage = {"label": {"type": "string"}, "score": SCORE, "rating": RATING, "weight": weight, "coverage": SHARE}
    gate = {
        "stage": {"type": "string"},
        "metric": {"type": "string"},
        "minimum": NUMBER,
        "value": NUMBER,
        "status": {"enum": [PASS, FAIL, UNMEASURED], "description": "from the value alone"},
        "ci95": _ends(),
        "verdict": {"enum": [PASS, FAIL, UNDECIDED, UNMEASURED], "description": "from the whole interval"},
        "needed": {**_or_null(COUNT), "description": "about how many questions would decide it"},
    }
    return _object(
        {
            "overall": _object({"score": SCORE, "rating": RATING, "status": status, "coverage": SHARE}),
            "stages": _map_of(_object({**stage, "metrics": _map_of(metric)})),
            "gates": _list_of(_object(gate)),
        }
    )


def _slices() -> Schema:
    value: Schema = {**TEXT, "description": "the value of the tag as text; null: the questions without the tag"}
    name = {"tag": {"type": "string"}}
    scores: Schema = {
        "n": {**COUNT, "description": "questions"},
        "score": SCORE,
        "coverage": _or_null(SHARE),
        "failed": _or_null(COUNT),
        "failed_share": _or_null(SHARE),
    }
    part = _object({"summary": _map_of(NUMBER), "detail": _map_of(_object({"n": COUNT, "ci95": _ends()}))})
    stages = {"stages": {**_or_null(_map_of(_or_null(part))), "description": "null in a pool of too few questions"}}
    pooled: Schema = {**_or_null(COUNT), "description": "how many slices; null: too many to be kept apart"}
    return _object(
        {
            "by": _list_of({"type": "string"}),
            "minimum": {**COUNT, "description": "the least questions of a slice that is reported"},
            "most": {**COUNT, "description": "the most slices that are reported"},
            "whole": {**_object(scores), "description": "all questions, by the same metrics as the slices"},
            "slices": {**_list_of(_object({**name, "value": value, **scores, **stages})), "description": "worst first"},
            "pooled": _list_of(_object({**name, "slices": pooled, **scores, **stages})),
            "small": _list_of(_object({**name, "value": value, "n": COUNT})),
        }
    )


def _ends() -> Schema:
    ends = {"items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    return {"type": ["array", "null"], **ends, "description": "95 % interval of a mean"}


def _explorer() -> Schema:
    chunk = {"text": TEXT, "document": TEXT, "cut": {"type": "boolean", "description": "its text is shown in part"}}
    parts = {"queries": _list_of(_explored()), "chunks": _map_of(_object(chunk)), "left_out": COUNT}
    given = _object({**parts, "redacted": {"type": "boolean"}})
    return {**given, "description": "texts and marks of the questions, the failed ones first; there when asked for"}


def _explored() -> Schema:
    text, truth, known = {"type": "string"}, {"type": "boolean"}, {"type": ["boolean", "null"]}
    rank, size = ({"type": ["integer", "null"], "minimum": least} for least in (1, 0))
    came = {"retrieved_rank": rank, "reranked_rank": rank, "in_context": known}
    span = {"start": COUNT, "end": COUNT}
    quotes = {
        "quotes": _list_of(text),
        "places": _list_of(_object({"chunk": text, **span})),
        "whole_in": _list_of(text),
    }
    ranked = _or_null(_list_of(_object({"id": text, "grade": NUMBER, "score": NUMBER})))
    parts = {
        "id": text,
        "question": TEXT,
        "tags": {"type": ["object", "null"]},
        "error": TEXT,
        "answer": TEXT,
        "references": _list_of(text),
        "abstained": known,
        "answerable": known,
        "facts": _list_of(_object({"text": text, "found": truth})),
        "answer_marks": _list_of(_object({**span, "what": {"enum": ["number", "citation"]}})),
        "gold": _list_of(_object({"id": text, "grade": NUMBER, **came})),
        "evidence": _list_of(_object({**quotes, **came})),
        "retrieved": ranked,
        "reranked": ranked,
        "context": _or_null(_list_of(_object({"id": text, "tokens": size}))),
        "budget": _or_null(_object({"used": size, "max": NUMBER})),
        "metrics": _map_of({"type": "number"}),
        "verdict": _verdict(),
    }
    return _object({**parts, "claims": _claims(_object({"chunk": text, **span}))}, list(parts))


def _claims(place: Schema) -> Schema:
    said: Schema = {"enum": [*VERDICTS, None]}
    by_chunk = {"type": ["object", "null"], "additionalProperties": {"enum": [*VERDICTS]}}
    verdicts = {"context": said, "chunks": by_chunk, "reference": said, "answer": said}
    claim = _object({"text": TEXT, **verdicts, "evidence": TEXT, "by": TEXT, "places": _list_of(place)})
    sides = dict.fromkeys(SIDES, _or_null(_list_of(claim)))
    return {**_object(sides), "description": "what a judge said of its statements; there with verdicts alone"}
