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

# What is not run: boto3 speaks to a bucket of somebody's. What the pages show on the command line needs data of the
# reader's, and with `--live` a model server; tests/cli and tests/examples run these commands on ours.
ELSEWHERE = "boto3"
OF_THE_PIPELINE = ("RAGTitan", "collect_dataset")

PAGES = ("metrics.txt", "stages.txt", "whitepaper.txt")
STAGES = ("chunking", "embedding", "retrieval", "reranking", "augmentation", "generation", "end_to_end")

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


def runnable(name: str, of_the_pipeline: bool = False) -> list[Program]:
    path = SEEDS / name
    found = programs(path.read_text(encoding="utf-8")) if path.exists() else []
    return [
        program
        for program in found
        if ELSEWHERE not in program.source
        and any(word in program.source for word in OF_THE_PIPELINE) == of_the_pipeline
    ]


@pytest.mark.skipif(not SEEDS.exists(), reason="the seed documents are not here")
def test_the_programs_of_the_page_on_stages_run_and_print_what_they_promise(names: dict[str, Any]) -> None:
    found = runnable("stages.txt")
    promised = [text for program in found for text in program.promises if text]
    assert promised == ["0.5", "0.5", "1.0", "1.0 1.0", "1.0 0.2857"]
    assert {program.source: faults for program in found if (faults := run(program, names))} == {}
    assert Path("reports/2026-11-12.md").exists()
    assert names["report"]["scorecard"]["overall"]["score"] is not None


@pytest.mark.skipif(not SEEDS.exists(), reason="the seed documents are not here")
def test_one_program_alone_is_left_to_the_reader() -> None:
    whole = {name: programs((SEEDS / name).read_text(encoding="utf-8")) for name in PAGES}
    run_here = {name: [*runnable(name), *runnable(name, of_the_pipeline=True)] for name in PAGES}
    left = [program for name in PAGES for program in whole[name] if program not in run_here[name]]
    assert [program.source.splitlines()[0] for program in left] == ["import boto3"]
    assert {name: len(run_here[name]) for name in PAGES if name != "stages.txt"} == {
        "metrics.txt": 0,
        "whitepaper.txt": 0,
    }


@pytest.fixture
def handbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that the page names, in the folder where its programs run; the names of the documents.

    The golden question is the page's own, the document that answers it is its expected answer among sentences of ours.
    """
    monkeypatch.chdir(tmp_path)
    golden = _golden_of((SEEDS / "stages.txt").read_text(encoding="utf-8"))
    Path("golden.json").write_text(json.dumps(golden), encoding="utf-8")
    texts = {
        "leave_policy.md": f"# Leave\n\n{golden[0]['expected_answer']} The team lead agrees to the dates.\n",
        "remote_work.md": "# Working from home\n\nThe desk at home is yours. The office stays open on Fridays.\n",
        "expenses.md": "# Expenses\n\nHand in receipts by the tenth. Trains are second class.\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    return list(texts)


def _golden_of(text: str) -> list[dict[str, Any]]:
    """The first JSON list of golden questions on a page."""
    golden: list[dict[str, Any]] = json.JSONDecoder().raw_decode(text, text.index('[{"id": "g_'))[0]
    return golden


@pytest.mark.pipeline
@pytest.mark.skipif(not SEEDS.exists(), reason="the seed documents are not here")
def test_the_programs_with_a_pipeline_run_offline_and_measure_every_stage(handbook: list[str]) -> None:
    for library in ("wordllama", "bm25s", "Stemmer", "markdown_it"):
        pytest.importorskip(library)
    one_call, two_calls = runnable("stages.txt", of_the_pipeline=True)
    names: dict[str, Any] = {"files": handbook}
    for program in (one_call, two_calls):
        assert run(program, names) == []
        report = names["report"]
        assert [stage for stage in STAGES if report["scorecard"]["stages"][stage]["score"] is None] == []
        assert report["meta"]["counts"]["queries"] == 1
        assert report["retrieval"]["summary"]["recall_at_k"] == 1.0
        assert [one["correct"] for one in report["queries"]] == [True]
        assert report["embedding"]["index_coverage"] == 1.0
    assert names["dataset"]["queries"][0]["route"]["by"] == "rules"
    assert Path("report.md").read_text(encoding="utf-8").startswith("# RAG evaluation report")
