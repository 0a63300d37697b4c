"""The beginning of a set of golden questions: drawn from logs, or one example that says what belongs where."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_titan.errors import SettingsError
from rag_titan.evaluation.data.columns import Columns
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.preparation.golden_files import SEPARATOR
from rag_titan.evaluation.preparation.sample import sample_queries
from rag_titan.evaluation.writing import write

_EXAMPLE = {
    "id": "g_001",
    "question": "How many paid leave days does an employee get each year?",
    "expected_evidence": ["gets 20 paid leave days per calendar year"],
    "expected_answer": "Every full-time employee gets 20 paid leave days per calendar year.",
    "required_facts": ["20"],
    "validated": False,
}
_COMMENT = {
    "id": "unique; reports and problems name it",
    "question": "as a user would ask it",
    "expected_evidence": "the exact words of a document that hold the answer; enough of them to stand there only once",
    "expected_answer": "what a good answer says",
    "required_facts": "words and numbers that an answer must have",
    "answerable": "false, without evidence, for a question that the documents do not answer",
    "validated": "true once a person has checked all of it: rag-titan golden review",
}

_LINES, _SHEETS = (".jsonl", ".ndjson"), {".csv": ",", ".tsv": "\t"}


def write_template(
    output: Path,
    logs: Any = None,
    *,
    size: int = 50,
    by: str | None = None,
    seed: int = 0,
    columns: Mapping[str, Any] | Columns | None = None,
) -> tuple[int, list[str]]:
    """Write golden questions to fill in: how many, and what there is to say about the logs.

    output  a new file; JSON, JSON Lines or CSV by its name. In JSON the example stands beside a comment on every key
    logs    what `sample_queries` draws from, with `size`, `by`, `seed` and `columns`; None for one example

    Raises SettingsError for a file that is there already or has another ending, and what `sample_queries` raises.
    """
    suffix = output.suffix.lower()
    if suffix not in (".json", *_LINES, *_SHEETS):
        raise SettingsError(f"output: must end in .json, .jsonl or .csv, got {str(output)!r}. Choose such a name.")
    if output.exists():
        raise SettingsError(f"output: must be a new file, got {output}, which is there. Choose another name.")
    notices = Notices()
    questions = [_EXAMPLE]
    if logs is not None:
        questions = sample_queries(logs, size=size, by=by, seed=seed, notices=notices, columns=columns)
    if suffix in _LINES:
        text = "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)
    elif suffix in _SHEETS:
        text = _sheet(questions, _SHEETS[suffix])
    else:
        whole = {"comment": _COMMENT, "questions": questions} if logs is None else questions
        text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    write(output, text)
    return len(questions), notices.texts()


def _sheet(questions: Sequence[Mapping[str, Any]], delimiter: str) -> str:
    """A byte order mark tells spreadsheet programs that it is UTF-8."""
    names = list(dict.fromkeys(key for question in questions for key in question))
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(question.get(name)) for name in names] for question in questions)
    return "\ufeff" + written.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(piece, str) for piece in value):
        return SEPARATOR.join(value)
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(value, ensure_ascii=False)
