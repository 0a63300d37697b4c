"""What an app answered -> keys of a query record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_titan.errors import DatasetError, SettingsError, nearest
from rag_titan.evaluation.data.cleaning import clean_anything, cleaners_of, numbers_of
from rag_titan.evaluation.data.columns import Columns, SourcePath
from rag_titan.evaluation.data.plain import Place, keys_of, plain, quoted, shown, without_surrogates
from rag_titan.evaluation.data.records import GOLD, Query

Record = dict[str, Any]

ASKED = ("id", "question", "tags", "validated")
OUTPUTS = tuple(key for key in Query.__struct_fields__ if key not in GOLD and key not in ASKED)
"""The keys of a query that a run fills, not the author of the question."""

AMOUNTS = tuple(key for key in OUTPUTS if key in numbers_of(Query) and key != "timestamp")
"""The outputs that are times, costs and counts."""

_TELEMETRY = ("error", "timestamp", *AMOUNTS)
_RESULTS = tuple(key for key in OUTPUTS if key not in _TELEMETRY)
_ABOUT_ANSWERS = ("abstained", "task_success")

_NOWHERE, _UNNAMED = "leads nowhere, as", "; map them"


def is_unmapped(error: str) -> bool:
    """True for an error that says of a response that the mapping does not fit it."""
    return _NOWHERE in error or _UNNAMED in error


def is_answered(record: Mapping[str, Any]) -> bool:
    """True where something came back that can be scored, be it only a part of what was expected.

    What an app says about its answer counts only where nothing is wrong with the rest.

    >>> is_answered({"task_success": True}), is_answered({"task_success": True, "error": "answer must be text"})
    (True, False)
    """
    return any(key in record and ("error" not in record or key not in _ABOUT_ANSWERS) for key in _RESULTS)


def take_unmeasured(record: Record) -> list[str]:
    """Take the amounts out of a record that are not finite or below 0, which nothing can be; their keys.

    >>> record = {"answer": "25 days", "latency_ms": float("nan"), "total_tokens": -5, "cost_usd": 0}
    >>> take_unmeasured(record), record
    (['latency_ms', 'total_tokens'], {'answer': '25 days', 'cost_usd': 0})
    """
    wrong = [key for key in AMOUNTS if key in record and not 0 <= record[key] < math.inf]
    for key in wrong:
        del record[key]
    return wrong


@dataclass(frozen=True)
class Responses:
    """How the responses of an app become keys of a query record.

    paths  {key of the record: path in the response}, as in a column mapping. Without any a response is text, the
           answer, or an object that has keys of the dataset format, which are taken as they are

    >>> responses = Responses.of({"answer": "output.text", "retrieved_ids": "docs[].id"})
    >>> responses.outputs({"output": {"text": "25 days"}, "docs": [{"id": 7}, {"id": "c2"}]})
    {'answer': '25 days', 'retrieved_ids': ['7', 'c2']}
    >>> responses.outputs({"output": {"text": "25 days"}, "documents": []})["error"]
    'retrieved_ids is absent: docs[].id leads nowhere, as the response has the keys output, documents'
    """

    paths: Mapping[str, SourcePath]

    @classmethod
    def of(cls, mapping: Mapping[str, str] | None) -> Responses:
        """From {key: path}. Raises SettingsError for a key that no app fills, and for what is no path."""
        for key in mapping or ():
            if key in GOLD or key in ASKED:
                raise SettingsError(f"map: must name keys that an app fills, got {key!r}, which is in the golden file.")
            if key not in OUTPUTS:
                raise SettingsError(f"map: unknown key {quoted(key)}{nearest(key, OUTPUTS)}.")
        return cls(Columns.of(mapping, "map").paths)

    @property
    def spelled(self) -> str:
        """The mapping as text, whatever its order."""
        return "\n".join(sorted(f"{key}={path.text}" for key, path in self.paths.items()))

    def outputs(self, response: Any) -> Record:
        """The keys of the record. `error` is among them where a path leads nowhere or a value is not as it must be;
        what else the response gave stands beside it. Null is not given."""
        found, errors = self._mapped(response) if self.paths else _as_it_is(plain(response))
        outputs: Record = {}
        for key, value in found.items():
            try:
                outputs[key] = cleaners_of(Query).get(key, clean_anything)(value, Place(key))
            except DatasetError as error:
                errors.append(str(error).removesuffix("."))
            except RecursionError:
                errors.append(f"{key} is nested so deep that Python cannot follow")
        if errors:
            outputs["error"] = "; ".join([*([outputs["error"]] if "error" in outputs else []), *errors])
        return outputs

    def _mapped(self, response: Any) -> tuple[Record, list[str]]:
        response = plain(response)
        if not isinstance(response, dict):
            return {}, [f"the response must be an object, got {shown(response)}"]
        found, errors = {}, []
        for key, path in self.paths.items():
            value = path.value(response)
            if value is not None:
                found[key] = value
            elif key != "error" and not _is_null(response, path):
                there = path.nearest_keys(response).replace("the record", "the response", 1)
                errors.append(f"{key} is absent: {path.text} {_NOWHERE} {there}")
        return found, errors


def _is_null(response: Any, path: SourcePath) -> bool:
    """True where the path meets a null that the response gives, not a key that it has not."""
    for number, step in enumerate(path.steps):
        before = SourcePath("", path.steps[:number]).value(response) if number else response
        if not isinstance(step, str) or not isinstance(before, dict) or step not in before:
            return False
        if before[step] is None:
            return True
    return False


def _as_it_is(response: Any) -> tuple[Record, list[str]]:
    """The outputs of a response for which no paths were given."""
    if isinstance(response, str):
        return {"answer": response}, []
    if not isinstance(response, dict):
        return {}, [f"the response must be text or an object, got {shown(response)}"]
    own = {without_surrogates(key): v for key, v in response.items() if isinstance(key, str) and v is not None}
    found = {key: value for key, value in own.items() if key not in (*GOLD, *ASKED)}
    if any(key in OUTPUTS for key in response):
        return found, []
    return {}, [f"the response must have keys of the dataset, such as answer, got {keys_of(response)}{_UNNAMED}"]
