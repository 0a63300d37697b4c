"""rag-titan import: what it says, what it writes, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run, Write

from rag_titan.evaluation import IMPORT_FORMATS

QRELS = "q1 0 d1 1\nq2 0 d2 1\n"
RUN = "q1 Q0 d1 1 0.5 tag\nq1 Q0 d3 2 0.25 tag\n"


def test_it_says_what_was_read_what_was_odd_and_what_comes_next(run: Run, write: Write) -> None:
    write(QRELS, "qrels")
    write(RUN, "run")
    done = run("import", "trec", "qrels", "run", "--output", "out")
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        "Read as trec: 2 questions",
        "Questions have id, relevance, retrieved_ids (1), retrieved_scores (1), run_tag (1), error (1)",
        "What to know:",
        "  - topics of the qrels that the run lacks were kept, with an error: q2.",
        "Can be measured:",
        "  retrieval: precision_at_k, recall_at_k, f1_at_k, mrr_at_k, ndcg_at_k, hit_at_k, average_precision_at_k,",
        "    empty_rate, duplicate_rate_at_k",
        "Written: out/queries.jsonl",
        "Next: rag-titan evaluate --input out --conventions trec_eval",
    ]


def test_one_question_is_one_question(run: Run, write: Write) -> None:
    write("q1 0 d1 1\n", "qrels")
    write("q1 Q0 d1 1 0.5 tag\n", "run")
    done = run("import", "trec", "qrels", "run", "--output", "out")
    assert done.lines[0] == "Read as trec: 1 question"


def test_the_next_command_works(run: Run, write: Write, tmp_path: Path) -> None:
    write(QRELS, "qrels")
    write(RUN, "run")
    run("import", "trec", "qrels", "run", "--output", "a b")
    assert run("evaluate", "--input", "a b", "--conventions", "trec_eval").code == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["retrieval"]["summary"]["recall_at_k"] == 1.0
    assert report["end_to_end"]["error_rate"] == 0.5


def test_nothing_to_score_is_written_told_and_exits_3(run: Run, write: Write, tmp_path: Path) -> None:
    write(QRELS, "qrels")
    done = run("import", "trec", "qrels", "--output", "out")
    assert done.code == 3
    assert done.lines[2].startswith("Nothing in it can be scored")
    assert len((tmp_path / "out" / "queries.jsonl").read_text().splitlines()) == 2


def test_options_of_formats_are_options_of_the_command(run: Run, write: Write, tmp_path: Path) -> None:
    write("q1 0 a 1\n", "qrels")
    write("q1 Q0 a 1 0.5 t\nq1 Q0 b 2 0.5 t\n", "run")
    for ties, first in (("trec", "b"), ("given", "a")):
        assert run("import", "trec", "qrels", "run", "--ties", ties, "--output", "out").code == 0
        assert json.loads((tmp_path / "out" / "queries.jsonl").read_text())["retrieved_ids"][0] == first


def test_the_formats_are_listed_with_their_options(run: Run) -> None:
    done, help_page = run("import", "--list"), run("import", "--help")
    assert (done.code, help_page.code) == (0, 0)
    for row in IMPORT_FORMATS:
        assert f"    rag-titan import {row.name} {row.example} --output DIR" in done.lines
        for option in row.options:
            assert f"    --{option.name.replace('_', '-')}: {option.meaning}" in done.lines
            assert f"--{option.name.replace('_', '-')}" in help_page.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("trecs", "qrels"), "unknown format 'trecs'; the nearest is 'trec'."),
        (("trec", "absent"), "absent: must be a file or a folder, got nothing there. Check the path."),
        (("trec", "qrels", "--split", "dev"), "split: must be an option of the format trec; the nearest is 'ties'."),
        (("trec", "qrels", "--ties", "no"), "ties: must be trec or given, got 'no'."),
    ],
)
def test_what_is_wrong_is_one_sentence(run: Run, write: Write, arguments: tuple[str, ...], said: str) -> None:
    write(QRELS, "qrels")
    done = run("import", *arguments, "--output", "out")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"rag-titan: {said.partition(';')[0].rstrip('.')}")


def test_it_writes_over_no_source_and_mixes_no_two(run: Run, write: Write, tmp_path: Path) -> None:
    write(QRELS, "qrels")
    assert "must be a folder, got the file" in run("import", "trec", "qrels", "--output", "qrels").err
    write('[{"user_input": "Q?"}]', "queries.json")
    assert "must not hold the source" in run("import", "ragas", "queries.json", "--output", ".").err
    (tmp_path / "out").mkdir()
    write("{}", "out/chunks.jsonl")
    done = run("import", "trec", "qrels", "--output", "out")
    assert (done.code, "must hold no data of another source, got chunks.jsonl" in done.err) == (2, True)
    assert not (tmp_path / "out" / "queries.jsonl").exists()


def test_a_second_import_takes_the_place_of_the_first(run: Run, write: Write, tmp_path: Path) -> None:
    write(QRELS, "qrels")
    write("q9 0 d1 1\n", "others")
    for source in ("qrels", "others"):
        run("import", "trec", source, "--output", "out")
    assert json.loads((tmp_path / "out" / "queries.jsonl").read_text())["id"] == "q9"


def test_names_that_steer_a_terminal_are_escaped(run: Run, write: Write) -> None:
    write("\x1b[31mq 0 d1 1\n", "qrels")
    write("q1 Q0 d1 1 0.5 tag\n", "run")
    done = run("import", "trec", "qrels", "run", "--output", "out\x1b")
    assert "\x1b" not in done.out + done.err
    assert "\\x1b[31mq" in done.out
