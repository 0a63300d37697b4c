"""The programs that the seed documents print, run as they stand, where the documents are at hand."""

from __future__ import annotations

import copy
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from tests.contract.keys import SEEDS
from tests.contract.rich_dataset import rich_dataset
from tests.seeds.programs import Program, programs

from rag_titan.evaluation import RAGEvaluator, ReportManager

# What a later part brings, and what the documents themselves leave to the reader.
LATER = ("RAGTitan", "collect_dataset", "boto3")

OURS = """
Some prose, with words = and numbers.

x = 2
print(x + 1)    # 3: a sum
for i in range(2):
    print(i)

More prose here.

y = [
    x,
]
print(y)        # 0 to 100

print(1.0, 0.28571)   # 1.0 0.2857...
The end.
"""


def test_programs_are_found_between_the_prose() -> None:
    first, second = programs(OURS)
    assert first.source.splitlines() == ["x = 2", "print(x + 1)    # 3: a sum", "for i in range(2):", "    print(i)"]
    assert first.promises == ["3"]
    assert second.promises == [None, "1.0 0.2857"]


def test_a_program_that_prints_something_else_is_noticed() -> None:
    assert run(Program("print(2)  # 2: two"), {}) == []
    assert run(Program("print(3)  # 2: two"), {}) == ["printed 3, promised 2"]


def run(program: Program, names: dict[str, Any]) -> list[str]:
    """Run it in these names; what it printed and should not have."""
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(program.source, "seed", "exec"), names)
    printed = out.getvalue().splitlines()
    promised = list(zip(program.promises, printed, strict=False))
    return [f"printed {line}, promised {text}" for text, line in promised if text and not line.startswith(text)]


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the programs take for granted: a dataset, reports of earlier weeks, a folder."""
    monkeypatch.chdir(tmp_path)
    dataset = rich_dataset()
    weeks = [RAGEvaluator(k=5).evaluate(**copy.deepcopy(dataset)) for _ in range(3)]
    ReportManager().save_json(weeks[0], "reports/2026-11-05.json")
    golden = [{"id": "g_007", "question": "How long?", "expected_evidence": ["up to 5 days"], "validated": True}]
    Path("golden.json").write_text(json.dumps(golden), encoding="utf-8")
    return {"dataset": dataset, **{f"week{i}": report for i, report in enumerate(weeks, 1)}}


def runnable(name: str) -> list[Program]:
    path = SEEDS / name
    found = programs(path.read_text(encoding="utf-8")) if path.exists() else []
    return [program for program in found if not any(word in program.source for word in LATER)]


@pytest.mark.skipif(not SEEDS.exists(), reason="the seed documents are not here")
def test_the_programs_of_the_page_on_stages_run_and_print_what_they_promise(names: dict[str, Any]) -> None:
    found = runnable("stages.txt")
    promised = [text for program in found for text in program.promises if text]
    assert promised == ["0.5", "0.5", "1.0", "1.0 1.0", "1.0 0.2857"]
    assert {program.source: faults for program in found if (faults := run(program, names))} == {}
    assert Path("reports/2026-11-12.md").exists()
    assert names["report"]["scorecard"]["overall"]["score"] is not None
