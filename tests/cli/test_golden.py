"""`rag-titan golden` as a person uses it; `review` on a real terminal."""

from __future__ import annotations

import csv
import io
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest
from tests.cli.conftest import Run, Write
from tests.pipeline.loading.made_files import pdf, word

DOCUMENTS = {
    "leave.md": "# Leave\n\nOne gets 25 days\nof leave.\nAsk HR.\n",
    "sick.md": "Sick pay is full for 10 days.\nAsk HR.\n",
}
GOLDEN: list[dict[str, Any]] = [
    {
        "id": "g1", "question": "How long?", "expected_evidence": ["25 days\nof leave"], "expected_answer": "25 days",
        "required_facts": ["25"], "author": "me",
    },
    {"id": "g2", "question": "Sick?", "expected_evidence": ["sick pay  is full"], "expected_answer": "Full pay."},
    {"id": "g3", "question": "\x1b[2JPets?", "answerable": False},
    {"id": "g4", "question": "Done.", "expected_evidence": ["10 days"], "validated": True},
]  # fmt: skip
CHOICES = "[q]uit: "


@pytest.fixture
def golden(write: Write) -> Path:
    write(DOCUMENTS, "documents.json")
    return write({"about": "leave", "questions": GOLDEN}, "golden.json")


def questions(golden: Path) -> dict[str, dict[str, Any]]:
    return {question["id"]: question for question in json.loads(golden.read_text())["questions"]}


# --- check ----------------------------------------------------------------------------------------


def test_check_says_what_to_do_and_exits_with_1(run: Run, golden: Path) -> None:
    done = run("golden", "check", golden, "--documents", "documents.json")
    assert (done.code, done.err) == (1, "")
    assert done.lines == [
        "g2",
        "  quote 'sick pay  is full' is not found exactly once",
        '    It differs only in white space and case from sick.md:0, which says "Sick pay is full".',
        "golden.json: 4 questions, 1 of them validated, 1 problem. Not ready.",
    ]


@pytest.mark.pipeline
def test_check_reads_pdf_and_word_files_as_the_pipeline_does(run: Run, golden: Path, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    pytest.importorskip("docx")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.pdf").write_bytes(pdf([["One gets 25 days of leave.", "Sick pay is full for 10 days."]]))
    (folder / "pay.docx").write_bytes(word(lambda document: document.add_paragraph("All get sick pay  is full.")))
    (folder / "cut.pdf").write_bytes(b"%PDF-1.4 cut")
    (folder / "data.json").write_text("{}")
    found = json.loads(run("golden", "check", golden, "--documents", folder, "--format", "json").out)
    assert [problem["id"] for problem in found["problems"]] == ["g1"]  # its quote has a line break
    assert [text.partition(":")[0] for text in found["warnings"]] == [
        "cut.pdf",
        "files of the folder that are no documents by their names were left out",
    ]
    one = run("golden", "check", golden, "--documents", folder / "leave.pdf")
    assert (one.code, one.err) == (1, "")
    assert any("which says" in line for line in one.lines)
    broken = run("golden", "check", golden, "--documents", folder / "cut.pdf")
    assert (broken.code, broken.out) == (2, "")
    assert broken.err.startswith("rag-titan: cut.pdf: must be a whole PDF, got a truncated one")


def test_without_the_loaders_the_extra_is_named(
    run: Run, golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.pdf").write_bytes(pdf([["25 days"]]))
    said = 'pypdfium2 is not installed; install it with: pip install "rag-titan[pipeline]"'
    for command in ("check", "review"):
        for documents in ("docs", "docs/leave.pdf"):
            done = run("golden", command, golden, "--documents", documents)
            assert (done.code, done.out, done.err) == (2, "", f"rag-titan: {said}\n")
    (tmp_path / "docs" / "sick.md").write_text(DOCUMENTS["sick.md"])
    done = run("golden", "check", golden, "--documents", "docs")
    assert f"note: these files of the folder were not read: leave.pdf; {said}" in done.lines


def test_check_exits_with_0_when_all_is_ready(run: Run, golden: Path, write: Write) -> None:
    ready = write("id,question,expected_evidence,validated\ng1,How long?,25 days||10 days,yes\n", "ready.csv")
    done = run("golden", "check", ready, "--documents", "documents.json")
    assert (done.code, done.lines) == (0, ["ready.csv: 1 question, 1 of them validated, 0 problems. Ready."])
    done = run("golden", "check", ready, "--documents", "documents.json", "--separator", "##", "--format", "json")
    assert done.code == 1
    assert [problem["id"] for problem in json.loads(done.out)["problems"]] == ["g1"]


def test_check_looks_gold_chunk_ids_up(run: Run, write: Write) -> None:
    golden = write([{"id": "g1", "question": "x", "expected_chunk_ids": ["c9"], "validated": True}], "golden.json")
    chunks = write([{"id": "c8", "text": "x"}], "chunks.json")
    assert run("golden", "check", golden).code == 0
    done = run("golden", "check", golden, "--chunks", chunks)
    assert (done.code, done.lines[1]) == (1, "  gold chunk id 'c9' is not in the chunks")


@pytest.mark.parametrize(
    "arguments", [("none.json",), ("golden.json", "--documents", "none"), ("golden.json", "--separator", "")]
)
def test_bad_input_is_one_sentence_and_exits_with_2(run: Run, golden: Path, arguments: tuple[str, ...]) -> None:
    done = run("golden", "check", *arguments)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert "Traceback" not in done.err


def test_nothing_of_the_data_steers_the_terminal(run: Run, write: Write) -> None:
    bad = "\x1b[31m\u202e"
    golden = write([{"id": bad, "question": "x", "expected_evidence": [bad], "required_evidence_ids": [bad]}], "g.json")
    documents = write({f"{bad}.md": f"{bad.upper()} {bad}"}, "documents.json")
    done = run("golden", "check", golden, "--documents", documents)
    assert done.code == 1
    assert not any(character in done.out + done.err for character in bad if not character.isprintable())


# --- template -------------------------------------------------------------------------------------


def test_template_from_logs_and_without(run: Run, write: Write) -> None:
    logs = write([{"id": f"q{i}", "question": f"What about {i}?"} for i in range(9)], "logs.json")
    done = run("golden", "template", "--input", logs, "--size", 3, "--seed", 1, "--output", "new.csv")
    assert (done.code, done.out) == (0, "new.csv: 3 questions to fill in; then: rag-titan golden review new.csv\n")
    assert len(list(csv.reader(io.StringIO(Path("new.csv").read_text(encoding="utf-8-sig"))))) == 4
    assert run("golden", "template").code == 0
    assert list(json.loads(Path("golden.json").read_text())) == ["comment", "questions"]
    done = run("golden", "template")
    assert (done.code, "which is there" in done.err) == (2, True)


def test_template_reads_raw_logs_with_columns(run: Run, write: Write) -> None:
    write('{"input": "How long?"}\n', "logs.jsonl")
    write('[columns]\nquestion = "input"\n', "rag-titan.toml")
    write('[columns]\nid = "input"\nquestion = "input"\n', "other.toml")
    done = run("golden", "template", "--input", "logs.jsonl")
    assert (done.code, done.err) == (
        0, "rag-titan: note: no record has an id: they are called q1, q2, ... in their order.\n",
    )  # fmt: skip
    [question] = json.loads(Path("golden.json").read_text())
    assert (question["id"], question["question"]) == ("q1", "How long?")
    done = run("golden", "template", "--input", "logs.jsonl", "--config", "other.toml", "--output", "g.json")
    assert (done.code, done.err, json.loads(Path("g.json").read_text())[0]["id"]) == (0, "", "How long?")


# --- review ---------------------------------------------------------------------------------------


def terminal(golden: Path, *more: str) -> Any:
    """The review on a pseudo terminal of 100 columns, without colours."""
    command = [
        sys.executable,
        "-m",
        "rag_titan",
        "golden",
        "review",
        str(golden),
        "--documents",
        "documents.json",
        *more,
    ]
    return pexpect.spawn(
        command[0], command[1:], cwd=golden.parent, dimensions=(40, 100), timeout=60, encoding="utf-8",
        env={"PATH": "/usr/bin:/bin", "TERM": "dumb", "LANG": "C.UTF-8"},
    )  # fmt: skip


def shown(child: Any, until: str = CHOICES) -> str:
    """What is on the screen up to a prompt."""
    child.expect_exact(until)
    return str(child.before).replace("\r\n", "\n")


def ended(child: Any) -> str:
    child.expect(pexpect.EOF)
    return str(child.before)


def test_yes_edit_quit_and_resume(golden: Path) -> None:
    child = terminal(golden)
    assert shown(child) == (
        "\n--- Question 1 of 3: g1\nQuestion: How long?\nAnswer: 25 days\nFacts: 25\n"
        "Evidence in leave.md, line 3:\n"
        "      1 | # Leave\n"
        "      2 | \n"
        ">     3 | One gets >>>25 days\n"
        ">     4 | of leave<<<.\n"
        "      5 | Ask HR.\n"
        "\nIs all of it right? [y]es [n]o [e]dit [s]kip "
    )
    child.sendline("y")
    second = shown(child)
    assert questions(golden)["g1"] == {**GOLDEN[0], "validated": True}
    assert "! quote 'sick pay  is full' is not found exactly once" in second
    assert ">     1 | >>>Sick pay is full<<< for 10 days." in second
    child.sendline("e")
    shown(child, "New question: ")
    child.sendline("What is sick pay?")
    shown(child, "New answer: ")
    child.sendline("")
    shown(child, "New facts [divided by ||]: ")
    child.sendline("")
    shown(child, "[= takes the nearest text]: ")
    child.sendline("=")
    shown(child, "Another quote: ")
    child.sendline("Ask HR.\\nX")
    third = shown(child)
    edited = {
        "id": "g2", "question": "What is sick pay?", "expected_evidence": ["Sick pay is full", "Ask HR.\\nX"],
        "expected_answer": "Full pay.",
    }  # fmt: skip
    assert questions(golden)["g2"] == edited
    assert "--- Question 2 of 3: g2\nQuestion: What is sick pay?" in third
    child.sendline("perhaps")
    shown(child, "Please answer y, n, e, s or q.")
    child.sendline("quit")
    assert "golden.json: 2 validated, 0 rejected, 2 left. All answers are saved." in ended(child)
    child = terminal(golden)
    assert "--- Question 1 of 2: g2" in shown(child)
    child.sendline("no")
    shown(child, "Why? [Enter: no reason] ")
    child.sendline("two quotes")
    assert r"Question: \x1b[2JPets?" in shown(child)
    child.sendline("s")
    assert "2 validated, 1 rejected, 1 left" in ended(child)
    assert questions(golden)["g2"] == {**edited, "validated": False, "rejected": "two quotes"}
    assert questions(golden)["g3"] == GOLDEN[2]
    assert json.loads(golden.read_text())["about"] == "leave"


def test_an_interrupt_says_that_all_is_saved(golden: Path) -> None:
    child = terminal(golden)
    shown(child)
    child.sendline("y")
    shown(child)
    child.sendintr()
    assert "2 validated, 0 rejected, 2 left. All answers are saved." in ended(child)
    child.wait()
    assert child.exitstatus == 130
    assert questions(golden)["g1"]["validated"] is True


def test_killed_in_the_middle_the_file_is_whole_and_every_answer_is_there(golden: Path) -> None:
    many = [{"id": f"g{i}", "question": "x" * 2000, "expected_evidence": ["25 days"]} for i in range(300)]
    golden.write_text(json.dumps({"questions": many}))
    answered = 0
    for turn in range(3):
        child = terminal(golden)
        child.send("y\n" * 50)
        for _ in range(5 + 9 * turn):
            shown(child)
            answered += 1
        child.kill(signal.SIGKILL)
        child.wait()
        kept = questions(golden)
        assert len(kept) == 300
        validated = sum(question.get("validated") is True for question in kept.values())
        assert validated >= answered - 1 - turn  # the last prompt of each run is one without its answer
        answered = validated


def test_answers_from_a_pipe(run: Run, golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\nn\n\n"))
    done = run("golden", "review", golden, "--documents", "documents.json")
    assert done.code == 0
    assert done.lines[-1] == "golden.json: 2 validated, 1 rejected, 1 left. All answers are saved."
    assert questions(golden)["g2"]["rejected"] == "no reason given"
    monkeypatch.setattr("sys.stdin", io.StringIO("y\ny\n"))
    done = run("golden", "review", golden, "--documents", "documents.json", "--again")
    assert "Rejected: no reason given" in done.out
    assert "rejected" not in questions(golden)["g2"]


def test_a_quote_is_typed_with_its_line_breaks_as_backslash_n(
    run: Run, golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first question the quote is taken out and another is added, then all of it is right."""
    monkeypatch.setattr("sys.stdin", io.StringIO("edit\n\n-\n\n-\nof leave.\\nAsk HR\nyes\nquit\n"))
    assert run("golden", "review", golden, "--documents", "documents.json").code == 0
    kept = {key: value for key, value in GOLDEN[0].items() if key != "expected_answer"}
    assert questions(golden)["g1"] == {**kept, "expected_evidence": ["of leave.\nAsk HR"], "validated": True}


def reviewed(run: Run, monkeypatch: pytest.MonkeyPatch, golden: Path, *answers: str) -> Any:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{answer}\n" for answer in answers)))
    return run("golden", "review", golden, "--documents", "documents.json")


def test_equals_takes_the_nearest_text_and_never_spoils_a_good_quote(
    run: Run, write: Write, golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One quote is right, one is found twice, one is near a text and one near none."""
    quotes = ["25 days", "Ask HR.", "sick pay  is full", "about llamas in the office"]
    write([{"id": "g1", "question": "x", "expected_evidence": quotes}], "golden.json")
    answers = ("e", "", "", "", "=", "", "=", "", "=", "=", "", "=", "", "q")
    done = reviewed(run, monkeypatch, golden, *answers)
    assert done.out.count("No nearest text is shown for this quote") == 4
    [question] = json.loads(golden.read_text())
    assert question["expected_evidence"] == ["25 days", "Ask HR.", "Sick pay is full", "about llamas in the office"]


def test_yes_to_a_quote_that_is_not_found_is_asked_once_more(
    run: Run, golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = reviewed(run, monkeypatch, golden, "s", "y", "", "y", "no", "q")
    assert done.out.count("Is it right all the same? [y/N]") == 2
    assert "validated" not in questions(golden)["g2"]
    reviewed(run, monkeypatch, golden, "s", "y", "y", "q")
    assert questions(golden)["g2"]["validated"] is True
    done = reviewed(run, monkeypatch, golden, "s", "q")
    assert "Question 2 of 3: g2" in done.out
    assert "Validated before, but a quote is not found exactly once." in done.out
    assert "2 validated (1 with a quote that is not found), 0 rejected, 2 left." in done.lines[-1]


def test_facts_and_several_answers_are_edited_too(
    run: Run, write: Write, golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write([{"id": "g1", "question": "x", "expected_answers": ["a", "b"], "required_facts": ["a"]}], "golden.json")
    done = reviewed(run, monkeypatch, golden, "e", "", "25 days || 25 ", "25||days", "", "e", "", "", "-", "", "q")
    assert "New answers [divided by ||]: " in done.out
    assert json.loads(golden.read_text()) == [{"id": "g1", "question": "x", "expected_answers": ["25 days", "25"]}]


def test_an_interrupt_says_which_edit_is_lost(golden: Path) -> None:
    child = terminal(golden)
    shown(child)
    child.sendline("y")
    shown(child)
    child.sendline("e")
    shown(child, "New question: ")
    child.sendline("Something else?")
    shown(child, "New answer: ")
    child.sendintr()
    said = ended(child)
    assert "2 left. The edit of g2 is not saved; all answers before it are." in said
    assert "All answers are saved" not in said
    assert questions(golden)["g2"] == GOLDEN[1]


def test_a_workbook_is_refused_with_advice(run: Run, write: Write) -> None:
    done = run("golden", "review", write("x", "golden.xlsx"))
    assert (done.code, "Save it as CSV" in done.err) == (2, True)
