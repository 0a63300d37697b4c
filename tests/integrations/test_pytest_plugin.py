"""The pytest plugin, in a pytest of its own inside this one."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import RagTitanError, SettingsError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.integrations.pytest_plugin import Evaluation, assert_gates

pytest_plugins = ["pytester"]

MODULE = "rag_titan.integrations.pytest_plugin"
LOADED = () if any(point.value == MODULE for point in entry_points(group="pytest11")) else ("-p", MODULE)


def run_of(count: int, missed: set[int]) -> dict[str, Any]:
    """A dataset in which these questions missed their chunk."""
    found = {True: ["c2", "c3"], False: ["c1", "c2"]}
    return {
        "queries": [
            {"id": f"q{i:03}", "expected_chunk_ids": ["c1"], "retrieved_ids": found[i in missed]} for i in range(count)
        ]
    }


def report_of(count: int, missed: set[int]) -> dict[str, Any]:
    return RAGEvaluator().evaluate(**run_of(count, missed))


def failed(*arguments: Any, **options: Any) -> str:
    with pytest.raises(AssertionError) as error:
        assert_gates(*arguments, **options)
    return str(error.value)


def test_a_good_run_passes() -> None:
    assert_gates(report_of(60, set()), report_of(60, set()))


def test_a_broken_gate_says_value_limit_interval_and_questions() -> None:
    lines = failed(report_of(40, set(range(30)))).splitlines()
    assert lines[0] == "1 failed gate"
    assert lines[1] == "  gate: retrieval.recall_at_k is 0.250, must be at least 0.700"
    assert lines[2].startswith("    95% interval 0.1")
    assert lines[2].endswith("; 40 questions")
    assert lines[3] == "  30 questions failed:"
    assert lines[4].startswith("    q000 (retrieval): ")
    assert "c1" in lines[4]
    assert lines[-1] == "    and 25 more"


def test_an_undecided_gate_fails_only_by_its_value() -> None:
    report = report_of(10, {0, 1, 2, 3})
    assert_gates(report)
    assert "retrieval.recall_at_k is 0.600, must be at least 0.700" in failed(report, require_significant=False)


def test_a_real_drop_fails_and_noise_does_not() -> None:
    before = report_of(200, set(range(20)))
    assert "real regression" in failed(report_of(200, set(range(50))), before)
    assert_gates(report_of(30, {1, 2}), report_of(30, {3}))
    assert "regression" in failed(report_of(30, {1, 2}), report_of(30, {3}), require_significant=False)


def test_gates_of_the_test_stand_in_for_those_of_the_report_and_fail_unmeasured() -> None:
    report = report_of(40, set(range(30)))
    assert_gates(report, gates={"retrieval": {"recall_at_k": 0.1}})
    assert_gates(report, gates={"retrieval": {"recall_at_k": None}})
    said = failed(report, gates={"retrieval": {"recall_at_k": None}, "generation": {"answer_f1": 0.5}})
    assert "generation.answer_f1 is not measured, must be at least 0.500" in said


def test_a_run_without_values_fails() -> None:
    assert "Nothing could be measured" in failed(RAGEvaluator().evaluate(queries=[{"id": "q"}]))


def test_reports_that_cannot_be_compared_fail() -> None:
    other = RAGEvaluator(k=3).evaluate(**run_of(5, set()))
    assert "must have the same K" in failed(report_of(5, set()), other)


def test_a_hostile_question_stays_on_its_line() -> None:
    data = run_of(40, set(range(30)))
    data["queries"][0]["id"] = "q\n::error::\x1b[31m\u202e"
    said = failed(RAGEvaluator().evaluate(**data))
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert not [line for line in said.splitlines() if line.strip().startswith("::")]


def test_a_baseline_that_is_not_there_is_a_warning_or_a_failure(tmp_path: Path) -> None:
    report, missing = RAGEvaluator(k=3).evaluate(**run_of(5, set())), tmp_path / "none.json"
    with pytest.warns(pytest.PytestWarning, match=r"none\.json does not exist yet, so nothing was compared"):
        assert_gates(report, missing)
    for against in (missing, None):
        with pytest.raises(AssertionError, match="does not exist yet, so nothing was compared, and one is required"):
            assert_gates(report, against, require_baseline=True)
    assert_gates(report, report, require_baseline=True)


def test_the_config_file_requires_a_baseline_of_the_fixture(tmp_path: Path) -> None:
    (tmp_path / "rag-titan.toml").write_text("require_baseline = true\n")
    with pytest.raises(SettingsError, match="must be there, as the config file has require_baseline"):
        _ = Evaluation(tmp_path, baseline=tmp_path / "none.json").baseline


TEST = """
from rag_titan.errors import RagTitanError, SettingsError
from rag_titan.integrations.pytest_plugin import Evaluation, assert_gates

def test_run(rag_titan):
    report = rag_titan("data.json", k=3)
    assert report["meta"]["k"] == 3
    assert_gates(report, rag_titan.baseline)
"""


def test_the_fixture_takes_the_baseline_of_the_command_line(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("data.json").write_text(json.dumps(run_of(200, set(range(50)))))
    base = RAGEvaluator(k=3).evaluate(**run_of(200, set(range(20))))
    pytester.path.joinpath("base.json").write_text(json.dumps(base))
    pytester.makepyfile(TEST)
    pytester.runpytest(*LOADED).assert_outcomes(passed=1)
    done = pytester.runpytest(*LOADED, "--rag-titan-baseline", "base.json")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E * real regression*", "E *retrieval.recall_at_k 0.900 -> 0.750 (real)*"])
    assert "pytest_plugin.py" not in done.stdout.str()  # the lines of assert_gates itself are not shown


def test_the_ini_file_names_the_baseline_and_the_config_file_is_read(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("rag-titan.toml").write_text("k = 2\n[gates.generation]\nanswer_f1 = 0.5\n")
    pytester.path.joinpath("data.json").write_text(json.dumps(run_of(5, set())))
    pytester.makeini("[pytest]\nrag_titan_baseline = not-there.json\n")
    pytester.makepyfile(
        """
        import pytest
        from rag_titan.integrations.pytest_plugin import assert_gates

        def test_run(rag_titan):
            with pytest.warns(pytest.PytestWarning, match="not-there.json does not exist yet, so nothing was compared"):
                assert rag_titan.baseline is None
            report = rag_titan({"queries": [{"id": "q", "expected_chunk_ids": ["c"], "retrieved_ids": ["c"]}]})
            assert report["meta"]["k"] == 2
            assert rag_titan("data.json", per_query=None)["meta"]["counts"]["queries"] == 5
            with pytest.raises(AssertionError, match="answer_f1 is not measured"):
                assert_gates(report)
        """
    )
    pytester.runpytest(*LOADED).assert_outcomes(passed=1)


def test_a_pytest_that_does_not_use_it_loads_nothing_of_it() -> None:
    code = (
        f"import pytest, sys\nimport {MODULE}\n"
        "print(sorted(m for m in sys.modules if m.startswith(('rag_titan.', 'numpy', 'msgspec', 'typer'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(["rag_titan.integrations", MODULE])


@pytest.mark.parametrize("option", ["require_significant", "require_baseline"])
def test_a_word_is_no_switch(option: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{option}: must be True or False, got 'no'\.$"):
        assert_gates(report_of(10, set()), **{option: "no"})  # type: ignore[arg-type]  # wrong on purpose


def test_an_option_of_no_evaluation_is_refused_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"queries": [{"id": "q"}]}')
    evaluate = Evaluation(tmp_path)
    with pytest.raises(
        SettingsError, match=r"^document: must be an option of an evaluation; the nearest is 'documents'"
    ):
        evaluate(tmp_path / "s.json", document="d.json")
    with pytest.raises(SettingsError, match=r"^chunks: must be the path of a file or folder, got 5\.$"):
        evaluate(tmp_path / "s.json", chunks=5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"gates": 5}, "gates: must be a mapping {stage: {metric: limit}}, got 5."),
        ({"gates": {"retrieval": 5}}, "gates.retrieval: must be a mapping of metrics to minimums, got 5."),
        ({"gates": {"retrieval": {"recall_at_k": "a"}}}, "gates.retrieval.recall_at_k: must be a finite number, got"),
        ({"gates": {"retrieval": {"recal_at_k": 1}}}, "unknown metric 'recal_at_k'; the nearest is 'recall_at_k'."),
        ({"baseline": "x" * 5000}, "baseline: must be the path of a file or folder, got 'xxx"),
        ({"baseline": "a\0b"}, "baseline: must be the path of a file or folder, got 'a\\x00b'."),
        ({"baseline": 5}, "baseline: must be a report, got 5."),
    ],
)
def test_what_is_of_the_wrong_type_is_a_sentence(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(RagTitanError) as found:
        assert_gates({"retrieval": {"summary": {"recall_at_k": 0.9}}}, **arguments)
    assert str(found.value).startswith(said)
