"""rag-titan collect: a running app or a Python function is asked, and a run that was killed goes on."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest
from tests.cli.conftest import Run, Write
from tests.evaluation.preparation.http_app import Asked, echo, golden, serving

MAP = ("--map", "answer=output.text", "--map", "retrieved_ids=docs[].id", "--map", "search_latency_ms=seconds * 1000")
APPS = """
import os
asked = []

def answer(question):
    return "re: " + question

async def later(question):
    return {"answer": "re: " + question, "retrieved_ids": [1]}

def invalid(question):
    return {"answer": 5, "retrieved_ids": "c1", "citations": {"a": 1}, "task_success": True}

def wrong_amounts(question):
    return {"answer": "25 days", "latency_ms": float("nan"), "total_tokens": -5, "cost_usd": 0.01}

def broken(question):
    raise OSError("index is\\x1b[31m down")

class Apps:
    @staticmethod
    def answer(question):
        return question
"""


@pytest.fixture
def apps(tmp_path: Path) -> Iterator[str]:
    """A module in the current folder; its name."""
    name = "apps_of_test_collect"
    (tmp_path / f"{name}.py").write_text(APPS)
    path = list(sys.path)
    yield name
    sys.path[:] = path
    sys.modules.pop(name, None)


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]


def test_a_running_app_is_asked_and_the_answers_can_be_evaluated(run: Run, write: Write, tmp_path: Path) -> None:
    questions = write(golden(3))
    with serving(echo) as app:
        done = run("collect", "--golden", questions, "--url", app.url, *MAP, "--output", "run", "--concurrency", 2)
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        f"Answers saved: {Path('run') / 'queries.jsonl'}",
        "Questions: 3 | Answered: 3 | Errors: 0",
        "Next: rag-titan evaluate --input run",
    ]
    assert [(r["id"], r["answer"], r["retrieved_ids"], r["search_latency_ms"]) for r in records(tmp_path / "run")] == [
        (f"g{i}", f"re: question {i}?", ["1", "c2"], 500.0) for i in (1, 2, 3)
    ]
    assert run("evaluate", "--input", "run").code == 0


def test_request_method_and_headers_are_sent_and_no_secret_is_printed_or_kept(
    run: Run, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3cr3t-t0ken")
    with serving(lambda asked: asked.say(asked.headers["authorization"].encode(), 403)) as app:
        done = run(
            "collect", "--golden", write(golden(1)), "--url", app.url, "--request", '{"q": ["{question}"], "k": 3}',
            "--method", "PUT", "--header", "Authorization: Bearer $TOKEN", "--output", "run",
        )  # fmt: skip
        [request] = app.requests
    assert (request.command, request.body) == ("PUT", {"q": ["question 1?"], "k": 3})
    assert request.headers["authorization"] == "Bearer s3cr3t-t0ken"
    kept = b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir())
    assert "s3cr3t" not in f"{done.out}{done.err}{kept!r}"
    assert "HTTP 403: ***" in done.out


@pytest.mark.parametrize("function", ["answer", "later", "Apps.answer"])
def test_a_python_function_is_asked(run: Run, write: Write, tmp_path: Path, apps: str, function: str) -> None:
    done = run("collect", "--golden", write(golden(2)), "--call", f"{apps}:{function}", "--output", "out/a.jsonl")
    assert (done.code, done.lines[0]) == (0, f"Answers saved: {Path('out') / 'a.jsonl'}")
    lines = (tmp_path / "out" / "a.jsonl").read_text().splitlines()
    assert [json.loads(line)["answer"].removeprefix("re: ") for line in lines] == ["question 1?", "question 2?"]


def test_when_nothing_was_answered_the_code_is_3(run: Run, write: Write, apps: str) -> None:
    done = run("collect", "--golden", write(golden(2)), "--call", f"{apps}:broken", "--output", "run",
               "--max-error-rate", 0)  # fmt: skip
    assert (done.code, done.err) == (3, "rag-titan: nothing was answered.\n")
    assert done.lines[1:] == [
        "Questions: 2 | Answered: 0 | Errors: 2",
        "Note: failed, OSError: index is\\x1b[31m down: g1, g2.",
        "Once the cause is gone: the same command with --retry-errors.",
    ]


def test_what_cannot_be_scored_is_no_answer(run: Run, write: Write, apps: str) -> None:
    done = run("collect", "--golden", write(golden(3)), "--call", f"{apps}:invalid", "--output", "run")
    assert (done.code, done.err) == (3, "rag-titan: nothing was answered.\n")
    assert done.lines[1] == "Questions: 3 | Answered: 0 | Errors: 3"


def test_a_time_or_a_count_that_cannot_be_is_left_out_and_named(
    run: Run, write: Write, tmp_path: Path, apps: str
) -> None:
    done = run("collect", "--golden", write(golden(2)), "--call", f"{apps}:wrong_amounts", "--output", "run")
    assert (done.code, done.lines[1]) == (0, "Questions: 2 | Answered: 2 | Errors: 0")
    for key in ("latency_ms", "total_tokens"):
        note = f"the app gave a {key} that is not finite or is below 0, which was left out: "
        assert any(line.startswith(f"Note: {note}") and "g1" in line and "g2" in line for line in done.lines)
    for record in records(tmp_path / "run"):
        assert record["latency_ms"] >= 0  # as measured
        assert record["cost_usd"] == 0.01
        assert "total_tokens" not in record


@pytest.mark.parametrize(("rate", "code"), [("0.2", 1), ("0.25", 0), (None, 0)])
def test_more_errors_than_allowed_are_code_1(run: Run, write: Write, rate: str | None, code: int) -> None:
    def moody(asked: Asked) -> None:
        asked.say(b"", 500) if asked.body["question"] == "question 3?" else echo(asked)

    with serving(moody) as app:
        limit = () if rate is None else ("--max-error-rate", rate)
        done = run("collect", "--golden", write(golden(4)), "--url", app.url, *MAP, "--output", "run", *limit)
    assert done.code == code
    assert "Questions: 4 | Answered: 3 | Errors: 1" in done.lines
    assert "Note: failed, HTTP 500: g3." in done.lines


def test_a_second_run_asks_what_is_missing_and_says_so(run: Run, write: Write) -> None:
    with serving(echo) as app:
        arguments = ("collect", "--golden", write(golden(4)), "--url", app.url, *MAP, "--output", "run")
        run(*arguments, "--limit", 3)
        done = run(*arguments)
        assert Counter(app.questions) == Counter(f"question {i}?" for i in range(1, 5))
    assert "Kept from an earlier run: 3; asked now: 1. --fresh asks everything anew." in done.lines


def test_many_different_failures_are_cut(run: Run, write: Write) -> None:
    with serving(lambda asked: asked.say(asked.body["question"].encode())) as app:
        done = run("collect", "--golden", write(golden(30)), "--url", app.url, "--output", "run")
    assert sum(line.startswith("Note: failed, not JSON: question") for line in done.lines) == 20
    assert "Note: and 10 more of this kind; `error` in the records says each." in done.lines


URL = ("--url", "http://127.0.0.1:9/ask")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--url, --call: must be given one of them, got neither. Say which app to ask."),
        ((*URL, "--call", "a:b"), "--url, --call: must be given one of them, got both. Say which app to ask."),
        (("--url", "http://10.0.0.1/"), "url: must be on this machine, got 10.0.0.1. Add --allow-remote to ask that."),
        (
            (*URL, "--request", "{"),
            '--request: must be JSON, got something else. Write it as {"question": "{question}"}.',
        ),
        ((*URL, "--request", "{}"), "request: must have {question} where the question goes, got none."),
        ((*URL, "--map", "answer"), "--map: must be KEY=PATH, got 'answer'. Write it as answer=output.text."),
        ((*URL, "--map", "a=b", "--map", "a=c"), "--map: must give each key once, got a twice. Take one out."),
        ((*URL, "--map", "awnser=a"), "map: unknown key \"awnser\"; the nearest is 'answer'."),
        ((*URL, "--header", "X: $NO_SUCH_ONE"), "header X: must name variables of the environment, got $NO_SUCH_ONE."),
        ((*URL, "--concurrency", "0"), "concurrency: must be a whole number from 1 to 256, got 0."),
        ((*URL, "--timeout", "nan"), "timeout: must be above 0 and at most 86400 seconds, got nan."),
        ((*URL, "--max-error-rate", "nan"), "--max-error-rate: must be a number from 0 to 1, got nan."),
        ((*URL, "--max-error-rate", "1.5"), "--max-error-rate: must be a number from 0 to 1, got 1.5."),
        (
            (*URL, "--output", "data.json"),
            "output: must be a folder, or a file that ends with .jsonl or .ndjson, got the file data.json.",
        ),
        (("--call", "apps"), "--call: must be MODULE:FUNCTION, got 'apps'. Write it as my_app:answer."),
        (("--call", "no.such:f"), "--call: must be a module that loads, got ModuleNotFoundError: No module named 'no'"),
        (("--call", "json:no_such"), "--call: must name a function of json, got no_such. Check its name."),
        (("--call", "json:__name__"), "--call: must name a function of json, got __name__. Check its name."),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(run: Run, write: Write, tmp_path: Path, options: Any, said: str) -> None:
    done = run("collect", "--golden", write(golden(1)), "--output", "run", *options)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"rag-titan: {said}")
    assert done.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_module_that_does_not_load_is_one_sentence(run: Run, write: Write, tmp_path: Path, apps: str) -> None:
    (tmp_path / f"{apps}.py").write_text("import sys\nsys.exit('no key')\n")
    done = run("collect", "--golden", write(golden(1)), "--output", "run", "--call", f"{apps}:answer")
    assert done.code == 2
    assert f"got SystemExit: no key from {apps}. Try it in Python." in done.err


def test_golden_questions_that_are_not_there_are_one_sentence(run: Run) -> None:
    done = run("collect", "--golden", "no.json", "--output", "run", *URL)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "no.json" in done.err


# --- killed in the middle -------------------------------------------------------------------------


class Gate:
    """An app that answers the first questions and holds those behind them."""

    def __init__(self, first: int, held: int) -> None:
        self.first = first
        self.open = threading.Event()
        self.holds = threading.Semaphore(0)
        self.held = held
        self.came = 0
        self.lock = threading.Lock()

    def __call__(self, asked: Asked) -> None:
        with self.lock:
            self.came += 1
            is_first = self.came <= self.first
        if not is_first and not self.open.is_set():
            self.holds.release()
            self.open.wait(60)
            asked.close_connection = True
            return
        echo(asked)

    def wait(self) -> None:
        """Until as many are held as are asked at a time: every answer before them has been written down."""
        for _ in range(self.held):
            assert self.holds.acquire(timeout=60)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_killed_goes_on_and_asks_only_what_is_missing(
    run: Run, write: Write, tmp_path: Path, how: signal.Signals
) -> None:
    gate, questions = Gate(first=4, held=2), write(golden(9))
    with serving(gate) as app:
        arguments = ["collect", "--golden", str(questions), "--url", app.url, *MAP, "--output", str(tmp_path / "run"),
                     "--concurrency", "2", "--timeout", "60"]  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "rag_titan", *arguments], cwd=tmp_path, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        try:
            gate.wait()
            process.send_signal(how)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
        assert process.returncode == {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}[how]
        assert "Traceback" not in said
        if how == signal.SIGINT:
            assert said == "rag-titan: stopped: 4 answers of 9 are kept; the same command goes on.\n"
        assert not (tmp_path / "run" / "queries.jsonl").exists()
        gate.open.set()
        done = run(*arguments)
        counts = Counter(app.questions)
    assert (done.code, done.lines[1]) == (0, "Questions: 9 | Answered: 9 | Errors: 0")
    assert "Kept from an earlier run: 4; asked now: 5. --fresh asks everything anew." in done.lines
    assert [record["id"] for record in records(tmp_path / "run")] == [f"g{i}" for i in range(1, 10)]
    assert sorted(counts.values()) == [1] * 7 + [2] * 2  # the two that were running are asked again
    assert set(counts) == {f"question {i}?" for i in range(1, 10)}


def test_on_a_terminal_the_run_is_seen_before_the_first_answer_and_ctrl_c_says_what_is_kept(
    write: Write, tmp_path: Path
) -> None:
    gate, questions = Gate(first=0, held=1), write(golden(3))
    with serving(gate) as app:
        child = pexpect.spawn(
            sys.executable,
            ["-m", "rag_titan", "collect", "--golden", str(questions), "--url", app.url, *MAP, "--output", "run",
             "--concurrency", "1", "--fresh"],
            cwd=tmp_path, dimensions=(40, 120), timeout=60, encoding="utf-8",
            env={"PATH": "/usr/bin:/bin", "TERM": "xterm", "LANG": "C.UTF-8"},
        )  # fmt: skip
        gate.wait()
        child.expect_exact("0 of 3 questions")
        child.sendintr()
        child.expect_exact("stopped: 0 answers of 3 are kept; the same command without --fresh goes on.")
        child.expect(pexpect.EOF)
        child.wait()
        gate.open.set()
    assert child.exitstatus == 130


def test_a_wrong_mapping_is_corrected_as_the_advice_says(run: Run, write: Write) -> None:
    with serving(echo) as app:
        arguments = ("collect", "--golden", write(golden(3)), "--url", app.url, "--output", "run")
        done = run(*arguments, "--map", "answer=text", "--limit", 1)
        advice = "The app answers otherwise than --map has it: correct --map; the same command asks again what failed."
        assert (done.code, done.lines[-1]) == (3, advice)
        done = run(*arguments, *MAP, "--limit", 1)
        assert (done.code, done.lines[1]) == (0, "Questions: 1 | Answered: 1 | Errors: 0")
        done = run(*arguments, "--map", "answer=output.text")
        assert (done.code, "with --fresh" in done.err) == (2, True)
        assert run(*arguments, "--map", "answer=output.text", "--fresh").code == 0


def test_a_mapping_that_some_answers_do_not_fit_has_other_advice(run: Run, write: Write) -> None:
    def moody(asked: Asked) -> None:
        asked.json({"text": "x"}) if asked.body["question"] == "question 2?" else echo(asked)

    with serving(moody) as app:
        arguments = ("collect", "--golden", write(golden(3)), "--url", app.url, "--output", "run", *MAP)
        done = run(*arguments)
    assert done.lines[-2].startswith("Some answers are not as --map has it: correct --map and add --fresh")
    assert done.lines[-1] == "Next: rag-titan evaluate --input run"


@pytest.mark.parametrize("gold", [{"expected_evidence": ["x"]}, {"required_evidence_ids": ["hr.pdf"]}])
def test_with_quotes_and_chunks_the_next_command_is_build_and_it_works(
    run: Run, write: Write, tmp_path: Path, gold: dict[str, Any]
) -> None:
    questions = write([{**question, **gold} for question in golden(2)], "my golden.json")
    with serving(echo) as app:
        arguments = ("collect", "--golden", "my golden.json", "--url", app.url, *MAP, "--output", "run")
        done = run(*arguments)
        assert done.lines[-2:] == [
            "With the chunks of your index, rag-titan build --chunks FILE finds the gold chunks of the quotes first;",
            "those of an index of rag-titan are written by rag-titan index FILES --output FOLDER.",
        ]
        assert done.lines[-3] == "Next: rag-titan evaluate --input run"
        write("".join(f'{{"id": "c{i}", "text": "x", "doc_id": "hr.pdf"}}\n' for i in (1, 2)), "chunks.jsonl")
        done = run(*arguments)
        write('{"id": "hr.pdf", "text": "x"}\n', "documents.jsonl")  # as `index --output` has it beside the chunks
        with_texts = run(*arguments)
    inputs = "--logs run/queries.jsonl --golden 'my golden.json' --chunks chunks.jsonl"
    assert done.lines[-1] == f"Next: rag-titan build {inputs} --output run-data"
    assert run(*shlex.split(done.lines[-1])[2:]).code == 0
    assert with_texts.lines[-1] == f"Next: rag-titan build {inputs} --documents documents.jsonl --output run-data"
    assert run(*shlex.split(with_texts.lines[-1])[2:]).code == 0
    write([{**question, "expected_chunk_ids": ["c1"]} for question in json.loads(questions.read_text())], "g.json")
    with serving(echo) as app:
        done = run("collect", "--golden", "g.json", "--url", app.url, *MAP, "--output", "run2")
    assert done.lines[-1] == "Next: rag-titan evaluate --input run2"


def test_a_line_that_was_cut_off_is_dropped_with_a_note(run: Run, write: Write, tmp_path: Path) -> None:
    with serving(echo) as app:
        arguments = ("collect", "--golden", write(golden(3)), "--url", app.url, *MAP, "--output", "run")
        run(*arguments, "--concurrency", 1)
        journal = tmp_path / "run" / "queries.jsonl.journal"
        journal.write_bytes(journal.read_bytes()[:-20])
        done = run(*arguments)
        assert Counter(app.questions) == {"question 1?": 1, "question 2?": 1, "question 3?": 2}
    assert "Note: the journal's last line was cut off and is dropped; its question is asked again." in done.lines
    assert "Questions: 3 | Answered: 3 | Errors: 0" in done.lines
