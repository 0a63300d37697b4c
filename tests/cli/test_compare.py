"""rag-titan compare: the table, the files beside it, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, Write
from tests.cli.handbook import GOLDEN, folder, settings, without_model

from rag_titan.cli import compare, outputs
from rag_titan.errors import SettingsError
from rag_titan.pipeline import Comparison, Settings, comparing
from rag_titan.pipeline.chunking.chunkers import chunker_of
from rag_titan.pipeline.titan import RAGTitan


@pytest.fixture(autouse=True)
def _counting(monkeypatch: pytest.MonkeyPatch) -> None:
    without_model(monkeypatch)


@pytest.fixture
def given(write: Write, tmp_path: Path) -> list[object]:
    """The options of every run: documents, golden questions and settings."""
    folder(tmp_path / "docs")
    return ["--files", "docs", "--golden", write(GOLDEN, "golden.json"), *settings(reranker="none")]


def test_a_table_best_first_and_both_files_beside_it(run: Run, given: list[object], tmp_path: Path) -> None:
    done = run(
        "compare", *given, "--chunkers", "section,words", "--retrievers", "vectors,bm25,hybrid", "--sizes", "20,40",
        "--k", 2, "--words", 30, "--output", "out",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert " ".join(done.lines[:2]) == (  # so small are the documents
        "Recall in 30 words is 1.000 for all; best first by Token F1, then Context recall, then Answer F1; "
        "3 questions, 2 documents."
    )
    head = next(line for line in done.lines if line.startswith(" #"))
    assert head.split()[:5] == ["#", "Chunker", "Size", "Retriever", "Recall"]
    place = done.lines.index(head)
    rows = done.lines[place + 1 : place + 13]
    assert [row.split()[0] for row in rows] == [str(number) for number in range(1, 13)]
    recalls = [float(row.split()[4]) for row in rows]
    assert recalls == sorted(recalls, reverse=True)
    assert done.lines[-1] == f"Written: {Path('out') / 'comparison.json'}, {Path('out') / 'comparison.md'}"
    whole = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert (len(whole["rows"]), whole["k"], whole["words"]) == (12, 2, 30)
    assert (tmp_path / "out" / "comparison.md").read_text().startswith("# Comparison of pipelines\n")


def test_one_question_and_one_document_are_said_in_the_singular(run: Run, write: Write, tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    golden = write([{"id": "g", "question": "How many days?", "expected_evidence": ["days"]}], "g.json")
    done = run("compare", "--files", docs / "leave.md", "--golden", golden, *settings(reranker="none"))
    assert any(line.endswith("1 question, 1 document.") for line in done.lines)


def test_small_sizes_have_an_overlap_that_fits(run: Run, write: Write, tmp_path: Path) -> None:
    folder(tmp_path / "docs")
    done = run("compare", "--files", "docs", "--golden", write(GOLDEN, "golden.json"), "--sizes", "20,40")
    assert (done.code, done.err) == (0, "")
    whole = json.loads((tmp_path / "comparison" / "comparison.json").read_text())
    assert sorted((row["chunk_size"], row["chunk_overlap"]) for row in whole["rows"]) == [(20, 3), (40, 6)]


def test_a_table_wider_than_the_terminal_goes_on_below_with_the_same_names(
    run: Run, given: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["compare", *given, "--chunkers", "section,words"]
    whole = run(*command).lines
    place = next(number for number, line in enumerate(whole) if line.startswith("#"))
    monkeypatch.setattr(compare, "columns", lambda: 60)
    lines = run(*command).lines
    heads = [number for number, line in enumerate(lines) if line.startswith("#  Chunker")]
    assert len(heads) > 1
    blocks = [lines[head : head + 3] for head in heads]
    assert max(len(line) for block in blocks for line in block) <= 60
    for number, line in enumerate(whole[place : place + 3]):
        names = line.split()[:2]
        assert [block[number].split()[:2] for block in blocks] == [names] * len(blocks)
        found = names + [word for block in blocks for word in block[number].split()[2:]]
        assert line.split()[:-3] == found[:-3]  # without the time, which is another one


def test_the_table_is_not_lost_where_its_files_cannot_be_written(
    run: Run, given: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Comparison, folder: Path) -> list[Path]:
        raise SettingsError("comparison.json: must be a file that can be written.")

    monkeypatch.setattr(Comparison, "save", refused)
    done = run("compare", *given)
    assert (done.code, done.err) == (2, "rag-titan: comparison.json: must be a file that can be written.\n")
    assert any(line.startswith("#") for line in done.lines)


def test_files_may_stand_as_a_shell_writes_them_and_the_golden_file_is_no_document(
    run: Run, given: list[object], tmp_path: Path
) -> None:
    golden = given[3]
    files = [*sorted((tmp_path / "docs").iterdir()), golden]
    done = run("compare", "--golden", golden, *given[4:], "--files", *files)
    assert done.code == 0
    assert "2 documents" in done.lines[0]
    said = " ".join(done.lines).replace("   ", " ")
    assert f"Note: {golden}: holds the golden questions, and was not read as a document." in said


def test_every_step_is_written_where_so_wished(run: Run, given: list[object], tmp_path: Path) -> None:
    done = run("compare", *given, "--rag-types", "simple,adaptive", "--trace", "steps")
    assert done.code == 0
    assert len(list((tmp_path / "steps").iterdir())) == 2


def test_some_that_failed_are_named_with_an_exit_code_of_their_own(
    run: Run, given: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(settings: Settings) -> Any:
        if settings.chunker == "words":
            raise RuntimeError("no \x1b[31m words")
        return chunker_of(settings)

    monkeypatch.setattr(comparing, "chunker_of", broken)
    done = run("compare", *given, "--chunkers", "words,section")
    assert done.code == 1
    [failed] = [line for line in done.lines if line.startswith("Failed: ")]
    assert failed == r"Failed: words 20/0, hybrid, reranker none, simple: RuntimeError: no \x1b[31m words"
    all_failed = run("compare", *given, "--chunkers", "words")
    assert (all_failed.code, all_failed.err) == (3, "rag-titan: nothing was measured.\n")


def test_of_questions_that_failed_the_reason_is_said(
    run: Run, given: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: RAGTitan, question: str) -> Any:
        raise RuntimeError(f"no \x1b[31m answer to {question}")

    monkeypatch.setattr(RAGTitan, "ask", broken)
    done = run("compare", *given, "--output", "out")
    assert done.code == 3
    [errors] = [line for line in done.lines if line.startswith("Errors: ")]
    reason = f"RuntimeError: no \\x1b[31m answer to {GOLDEN[0]['question']}"
    assert errors == f"Errors: 3 of 3 questions with sentence 20/0, hybrid, reranker none, simple, the first: {reason}"
    [row] = json.loads((tmp_path / "out" / "comparison.json").read_text())["rows"]
    assert row["first_error"].startswith("RuntimeError: ")
    assert "## Questions that failed" in (tmp_path / "out" / "comparison.md").read_text()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--chunkers", "paragraf"], "chunker: must be one of"),
        (
            ["--chunkers", "nope"],
            "chunker: must be one of words, characters, tokens, recursive, sentence, paragraph, section, page, got "
            "'nope'.\n",
        ),
        (["--sizes", "10,x"], "--sizes: must be whole numbers, got '10,x'."),
        (["--by", "speed"], "by: must be a column of the table, got 'speed'"),
        (["--trace", "golden.json"], "--trace: must be a folder, got the file golden.json."),
        (["--output", "golden.json"], "--output: must be a folder, got the file golden.json."),
        (["--output", "docs"], "--output: must not lie in docs, whose files are read, got docs."),
        (["--output", "docs/out"], "--output: must not lie in docs, whose files are read, got docs/out."),
        (["--trace", "docs/../docs"], "--trace: must not lie in docs, whose files are read, got docs/../docs."),
        (["--chunkers", ""], "--chunkers: must be a list with commas and nothing empty in it, got ''."),
        (["--retrievers", "bm25,,"], "--retrievers: must be a list with commas and nothing empty in it, got 'bm25,,'."),
        (["--sizes", ","], "--sizes: must be a list with commas and nothing empty in it, got ','."),
    ],
)
def test_options_that_cannot_be_are_one_sentence(run: Run, given: list[object], more: list[str], said: str) -> None:
    done = run("compare", *given, *more)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"rag-titan: {said}")


@pytest.mark.parametrize("option", ["--output", "--trace"])
def test_places_that_cannot_be_written_are_refused_before_the_work(
    run: Run, given: list[object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str
) -> None:
    def never(*_: object, **__: object) -> Comparison:
        raise AssertionError("the work was begun")

    monkeypatch.setattr(comparing, "compare_pipelines", never)
    done = run("compare", *given, option, "golden.json/steps/deep")
    assert done.code == 2
    found = f"{tmp_path / 'golden.json'} is no folder"
    assert done.err == (
        f"rag-titan: {option}: golden.json/steps/deep: must be a folder that can be written ({found}). "
        "Choose another path.\n"
    )
    (tmp_path / "shut").mkdir()
    monkeypatch.setattr(outputs.os, "access", lambda path, _: path.name != "shut")  # root may write everywhere
    done = run("compare", *given, option, "shut/steps")
    assert f"{option}: shut/steps: must be a folder that can be written (no permission to write in " in done.err


def test_notes_are_no_wider_than_the_terminal_and_whole(
    run: Run, given: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run("compare", *given)
    assert max(map(len, whole.lines[: whole.lines.index("")])) <= 100
    monkeypatch.setattr(compare, "columns", lambda: 60)
    narrow = run("compare", *given)
    notes = narrow.lines[: narrow.lines.index("")]
    assert max(map(len, notes)) <= 60
    assert " ".join(notes) == " ".join(whole.lines[: whole.lines.index("")])


def test_documents_must_be_given(run: Run, write: Write) -> None:
    done = run("compare", "--golden", write(GOLDEN))
    assert (done.code, done.err) == (2, "rag-titan: --files: must be given, got none. Write it as --files docs/.\n")
