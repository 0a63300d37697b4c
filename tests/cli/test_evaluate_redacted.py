"""--redact: no text of the data in the reports, on the terminal, or in the sentence of an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, Write, dataset, query


@pytest.mark.parametrize("key", ["answer", "expected_evidence", "required_facts", "latency_ms", "abstained", "tags"])
@pytest.mark.parametrize("value", ["SECRET words", [{"quote": "SECRET", "occurrence": "SECRET"}]])
def test_redacted_nothing_quotes_a_text_of_the_data(
    run: Run, write: Write, tmp_path: Path, key: str, value: Any
) -> None:
    asked = query("q1", question="SECRET?", answer="SECRET 45", expected_evidence=["SECRET nowhere"], error="SECRET")
    write(dataset({**asked, "required_facts": ["SECRET"], "expected_answer": "SECRET", key: value}))
    files = ("--html", "r.html", "--junit", "j.xml", "--junit-per-query")
    done = run("evaluate", "--input", "data.json", "--output", "r.json", *files, "--redact")
    written = [tmp_path / name for name in ("r.json", "r.md", "r.html", "j.xml")]
    said = [done.out, done.err, *(path.read_text(encoding="utf-8") for path in written if path.exists())]
    assert not [text for text in said if "SECRET" in text]
    if done.code == 2 and "got " in done.err:
        assert f"queries[0].{key}" in done.err
