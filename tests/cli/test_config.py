"""The config file: what it sets, what it refuses, and that the command line beats it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run, Write, dataset, query

from rag_titan.cli.config import Config, read_config
from rag_titan.errors import SettingsError

FULL = """
k = 10
also_at = [5, 100]
stages = ["retrieval", "generation", "end_to_end"]
required = ["recall_at_k"]
max_error_rate = 0.05
by = ["language", "tenant"]
primary = ["recall_at_k", "generation.answer_f1"]
tolerance = 0.03
require_significant = true

[conventions]
preset = "trec_eval"
relevance_level = 2

[weights.stage]
retrieval = 40

[weights.generation]
exact_match = 0

[targets.end_to_end]
p95_latency_ms = 2000
mean_total_tokens = {min = 10, max = 500}

[gates.retrieval]
recall_at_k = 0.85
mrr_at_k = false

[thresholds]
recall_at_k = 0.9
generation.answer_f1 = false
"""


def test_every_key_is_read(tmp_path: Path) -> None:
    (tmp_path / "rag-titan.toml").write_text(FULL)
    assert read_config(None, tmp_path) == Config(
        file="rag-titan.toml",
        by=("language", "tenant"),
        primary=("recall_at_k", "generation.answer_f1"),
        tolerance=0.03,
        require_significant=True,
        k=10,
        also_at=(5, 100),
        conventions={"preset": "trec_eval", "relevance_level": 2},
        stages=("retrieval", "generation", "end_to_end"),
        stage_weights={"retrieval": 40},
        metric_weights={"generation": {"exact_match": 0}},
        targets={"end_to_end": {"p95_latency_ms": 2000, "mean_total_tokens": {"min": 10, "max": 500}}},
        gates={"retrieval": {"recall_at_k": 0.85, "mrr_at_k": None}},
        thresholds={"recall_at_k": 0.9, "generation.answer_f1": None},
        required=("recall_at_k",),
        max_error_rate=0.05,
    )


def test_the_own_file_comes_before_the_table_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.rag-titan]\nk = 3\n")
    assert read_config(None, tmp_path).k == 3
    (tmp_path / "rag-titan.toml").write_text("k = 4\n")
    assert read_config(None, tmp_path).k == 4
    assert read_config(tmp_path / "pyproject.toml", tmp_path).k == 3


@pytest.mark.parametrize("text", ["", "[project]\nname = 'rag-titan'\n", "[tool.other]\nk = 3\n"])
def test_a_project_without_the_table_sets_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert (read_config(None, tmp_path).k, read_config(None, tmp_path).required) == (None, ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gate = 1", "unknown key 'gate'; the nearest is 'gates'."),
        ("max-error-rate = 0.1", "unknown key 'max-error-rate'; the nearest is 'max_error_rate'."),
        ("k = 0", "k: must be a whole number from 1 to 1000000000, got 0."),
        ("k = true", "k: must be a whole number from 1 to 1000000000, got True."),
        ("also_at = 5", "also_at: must be a list, got 5. Write [5]."),
        ("also_at = [5, 0]", "also_at[1]: must be a whole number from 1 to 1000000000, got 0."),
        ("stages = 'retrieval'", "stages: must be a list, got 'retrieval'. Write ['retrieval']."),
        ("max_error_rate = 5", "max_error_rate: must be a number from 0 to 1, got 5."),
        ("by = 'language'", "by: must be a list, got 'language'. Write ['language']."),
        ("primary = [1]", "primary[0]: must be text, got 1."),
        ("tolerance = -1", "tolerance: must be a number from 0, such as 0.02, got -1."),
        ("tolerance = nan", "tolerance: must be a number from 0, such as 0.02, got nan."),
        ("tolerance = true", "tolerance: must be a number from 0, such as 0.02, got True."),
        ("require_significant = 1", "require_significant: must be true or false, got 1."),
        ("conventions = 1", "conventions: must be text, got 1."),
        ("gates = 1", "gates: must be a table, got 1."),
        ("[gates]\nrecall_at_k = 0.9", "gates.recall_at_k: must be a table, got 0.9."),
        (f"k = {2**63}", "k: must be a whole number from 1 to 1000000000, got 9223372036854775808."),
        (f"k = {'9' * 5000}", "must be TOML as a config file has it"),
        ("x = " + "[" * 50_000, "must be TOML as a config file has it"),
        ("thresholds." + "a." * 5000 + "b = 1", "must be TOML as a config file has it"),
        ("k = ", "must be TOML, got something else: "),
    ],
)
def test_what_has_no_meaning_is_one_sentence_with_the_file(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rag-titan.toml").write_text(text)
    with pytest.raises(SettingsError) as error:
        read_config(None, tmp_path)
    assert str(error.value).startswith(f"{'' if 'TOML' not in said else tmp_path}")
    assert said in str(error.value)
    assert "rag-titan.toml: " in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[weights.retreival]\nrecall_at_k = 1", "unknown stage 'retreival'; the nearest is 'retrieval'."),
        ("[gates.retrieval]\nrecal_at_k = 1", "unknown metric 'recal_at_k'; the nearest is 'recall_at_k'."),
        ("[thresholds]\nrecal_at_k = 1", "unknown metric 'recal_at_k'; the nearest is 'recall_at_k'."),
        ("required = ['recal_at_k']", "unknown metric 'recal_at_k'; the nearest is 'recall_at_k'."),
        ("primary = ['recal_at_k']", "unknown metric 'recal_at_k'; the nearest is 'recall_at_k'."),
        ("conventions = 'trec'", "unknown preset 'trec'; the nearest is 'trec_eval'."),
        ("stages = ['retreival']", "unknown stage 'retreival'; the nearest is 'retrieval'."),
        ("[weights.stage]\nretrieval = -1", "rag-titan.toml: weights.stage.retrieval: must be a finite number from 0"),
        ("[weights.retrieval]\nrecall_at_k = -1", "rag-titan.toml: weights.retrieval.recall_at_k: must be"),
        ("[gates.retrieval]\nrecall_at_k = 'a'", "rag-titan.toml: gates.retrieval.recall_at_k: must be"),
        ("[targets.retrieval]\nrecall_at_k = 1", "must be a latency, a cost or a size"),
    ],
)
def test_an_unknown_name_in_the_file_is_said_with_the_file(run: Run, write: Write, text: str, said: str) -> None:
    write(text, "rag-titan.toml")
    done = run("evaluate", "--input", write(dataset()))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("rag-titan: rag-titan.toml: ")
    assert said in done.err


def test_a_project_whose_tool_is_no_table_is_one_sentence(run: Run, write: Write) -> None:
    write("tool = 3  # rag-titan\n", "pyproject.toml")
    done = run("evaluate", "--input", write(dataset()))
    assert (done.code, done.err) == (2, "rag-titan: pyproject.toml: tool: must be a table, got 3.\n")


def test_the_command_line_beats_the_file(run: Run, write: Write) -> None:
    write("k = 10\nconventions = 'squad'\nstages = ['generation']\n", "rag-titan.toml")
    run("evaluate", "--input", write(dataset()), "--k", "3", "--conventions", "trec_eval", "--stages", "retrieval")
    report = json.loads(Path("report.json").read_text())
    assert report["meta"]["k"] == 3
    assert report["meta"]["conventions"]["gain"] == "linear"
    assert list(report["scorecard"]["stages"]) == ["retrieval"]


def test_a_gate_of_the_file_fails_the_run_below_its_minimum(run: Run, write: Write) -> None:
    path = write(dataset(query(), query("q2", retrieved_ids=["c2"])))
    write("[gates.retrieval]\nrecall_at_k = 0.5\n", "rag-titan.toml")
    assert run("evaluate", "--input", path).code == 0
    write("[gates.retrieval]\nrecall_at_k = 0.6\n", "rag-titan.toml")
    done = run("evaluate", "--input", path)
    assert done.code == 1
    assert done.lines[-3:] == [
        "Gate failed: retrieval.recall_at_k is 0.500, must be at least 0.600",
        "  95% interval 0.095 to 0.905; 2 questions, about 93 needed",
        "Failed: 1 failed gate",
    ]


def test_a_gate_of_the_file_fails_on_what_is_not_measured(run: Run, write: Write) -> None:
    write("[gates.generation]\nanswer_f1 = 0.1\n", "gates.toml")
    done = run("evaluate", "--input", write(dataset()), "--config", "gates.toml")
    assert done.code == 1
    assert "Gate failed: generation.answer_f1 is not measured, must be at least 0.100" in done.lines


def test_a_gate_can_be_taken_away(run: Run, write: Write) -> None:
    path = write(dataset(query(retrieved_ids=["c2"])))
    assert run("evaluate", "--input", path, "--fail-on-gate").code == 1
    write("[gates.retrieval]\nrecall_at_k = false\n", "rag-titan.toml")
    assert run("evaluate", "--input", path, "--fail-on-gate").code == 0


def test_required_metrics_of_the_file_and_of_the_command_line_add_up(run: Run, write: Write) -> None:
    write("required = ['answer_precision']\n", "rag-titan.toml")
    done = run("evaluate", "--input", write(dataset()), "--require", "rouge_l_f1")
    assert [line for line in done.lines if line.startswith("Required")] == [
        "Required, but not measured: generation.answer_precision",
        "Required, but not measured: generation.rouge_l_f1",
    ]


def test_the_error_rate_of_the_file_holds(run: Run, write: Write) -> None:
    write("max_error_rate = 0.1\n", "rag-titan.toml")
    path = write(dataset(query(), {"id": "q2", "error": "timeout"}))
    assert run("evaluate", "--input", path).code == 1
    assert run("evaluate", "--input", path, "--max-error-rate", "1").code == 0


COLUMNS = '[columns]\nid = "request.id"\nretrieved_ids = "docs[].id"\nexpected_chunk_ids = "gold"\n'


def test_a_mapping_of_columns_is_used(run: Run, write: Write) -> None:
    write(COLUMNS, "rag-titan.toml")
    write('{"request": {"id": 1}, "docs": [{"id": "c1"}], "gold": ["c1"]}\n', "log.jsonl")
    assert run("evaluate", "--input", "log.jsonl", "--per-query", "none").code == 0
    report = json.loads(Path("report.json").read_text())
    assert report["retrieval"]["summary"]["recall_at_k"] == 1.0


def test_a_mapping_is_not_for_a_folder_which_has_the_names_of_the_format(run: Run, write: Write) -> None:
    write(COLUMNS, "rag-titan.toml")
    Path("run").mkdir()
    write(json.dumps(query()) + "\n", "run/queries.jsonl")
    assert run("evaluate", "--input", "run").code == 0
    assert json.loads(Path("report.json").read_text())["retrieval"]["summary"]["recall_at_k"] == 1.0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("columns = 3", "rag-titan.toml: columns: must be a table, got 3."),
        (
            '[columns]\nretrieved_id = "a"',
            "rag-titan.toml: columns: unknown key 'retrieved_id'; the nearest is 'retrieved_ids'.",
        ),
        ("[columns]\nanswer = 3", "rag-titan.toml: columns.answer: must be a path, got 3. "),
    ],
)
def test_a_mapping_that_is_none_is_said_with_the_file(text: str, told: str, run: Run, write: Write) -> None:
    write(text, "rag-titan.toml")
    write(dataset(query()))
    done = run("evaluate", "--input", "data.json")
    assert (done.code, done.err.startswith(f"rag-titan: {told}")) == (2, True), done.err


def test_the_settings_of_the_pipeline_may_stand_in_the_same_file(run: Run, write: Write) -> None:
    write('k = 3\n[pipeline]\nchunker = "paragraph"\n', "rag-titan.toml")
    assert run("evaluate", "--input", write(dataset(query()))).code == 0
    write("pipeline = 3\n", "rag-titan.toml")
    done = run("evaluate", "--input", "data.json")
    assert (done.code, done.err) == (2, "rag-titan: rag-titan.toml: pipeline: must be a table, got 3.\n")
