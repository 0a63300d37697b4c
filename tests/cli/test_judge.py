"""rag-titan judge on the command line: exit codes, a kill in the middle, Ctrl-C, what is shown and what is not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, Write
from tests.evaluation.preparation.http_app import Asked
from tests.judge.models import answering, completion, dataset, model_server, url_of

COMMAND = ("judge", "--input", "data.json", "--output", "judged.json", "--model", "tiny")


def verdicts(folder: Path, name: str = "judged.json") -> list[dict[str, Any]]:
    return [query["verdicts"] for query in json.loads((folder / name).read_text())["queries"]]


def on_office(office: int, text: str) -> Any:
    """A server that says something else on one question."""

    def answer(asked: Asked) -> None:
        other = f"office {office}" in asked.body["messages"][1]["content"]
        asked.json(completion(text)) if other else answering()(asked)

    return answer


def test_verdicts_are_stored_and_can_be_evaluated(run: Run, write: Write, tmp_path: Path) -> None:
    write(dataset(3))
    with model_server() as app:
        done = run(*COMMAND, "--base-url", url_of(app), "--price", "1,2", "--summary", "summary.json")
        assert (done.code, done.err) == (0, "")
        assert done.lines[1:] == [
            "3 questions: 3 verdicts | 0 errors (0.0%; at most 5.0% may fail)",
            "Calls: 6, 0 from the cache | Tokens: 600 sent, 120 answered | Cost: 0.0008 USD",
            "Verdicts saved: judged.json; summary: summary.json",
            "Next: rag-titan evaluate --input judged.json",
        ]
        again = run(*COMMAND, "--base-url", url_of(app))
        assert "Calls: 0, 6 from the cache | Tokens: 0 sent, 0 answered" in again.lines
        assert len(app.requests) == 6
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["calls"], summary["cost_usd"], summary["errors"]) == (6, 0.00084, 0)
    assert run("evaluate", "--input", "judged.json", "--output", "r.json").code == 0
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["judge"]["summary"]["faithfulness"] == 0.5
    assert list(report["meta"]["judges"]) == [summary["judge"]]


def test_too_many_errors_fail_the_run_and_all_is_kept(run: Run, write: Write, tmp_path: Path) -> None:
    write(dataset(4))
    with model_server(on_office(1, "I had rather not, \x1b[31m")) as app:
        done = run(*COMMAND, "--base-url", url_of(app))
        assert done.code == 1
        assert "4 questions: 3 verdicts | 1 error (25.0%; at most 5.0% may fail)" in done.lines
        assert "Failed: 1 x no JSON objects instead of one" in done.lines
        assert "For example: I had rather not, \\x1b[31m" in done.lines
        assert any("with --retry-errors" in line for line in done.lines)
        assert run(*COMMAND, "--base-url", url_of(app), "--max-error-rate", "0.25").code == 0
        hidden = run(*COMMAND, "--base-url", url_of(app), "--redact")
    assert "rather not" not in hidden.out
    assert ["unjudged" in each for each in verdicts(tmp_path)] == [False, True, False, False]


def test_a_dry_run_asks_nothing_and_writes_nothing(run: Run, write: Write, tmp_path: Path) -> None:
    write(dataset(3))
    with model_server() as app:
        done = run(*COMMAND, "--base-url", url_of(app), "--dry-run", "--price", "1,2")
        assert (done.code, app.requests) == (0, [])
    assert done.lines[0] == "Nothing was asked. A run on 3 questions would make about:"
    assert done.lines[1].startswith("6 calls (0 more are in the cache), ")
    assert [path.name for path in tmp_path.iterdir()] == ["data.json"]


def test_a_spent_budget_is_no_success_and_a_larger_one_goes_on(run: Run, write: Write, tmp_path: Path) -> None:
    write(dataset(5))
    with model_server() as app:
        done = run(*COMMAND, "--base-url", url_of(app), "--max-calls", "4", "--concurrency", "1")
        assert done.code == 1
        assert "Not asked: 3 x the budget of 4 calls is spent" in done.lines
        assert run(*COMMAND, "--base-url", url_of(app)).code == 0
        assert len(app.requests) == 10


def test_nothing_to_judge(run: Run, write: Write) -> None:
    write(dataset(2, answer=""))
    done = run(*COMMAND, "--base-url", "http://127.0.0.1:9/v1")
    assert done.code == 3
    assert "Nothing to judge: empty answer (2 questions)" in done.lines
    assert not any(line.startswith("Next") for line in done.lines)


def test_what_is_settled_is_counted_by_questions(run: Run, write: Write) -> None:
    """One empty answer leaves faithfulness and the claims without a verdict, and is one question all the same."""
    data = dataset(3)
    data["queries"][2]["answer"] = ""
    write(data)
    metrics = ("--metrics", "faithfulness,answer_claim_f1,hallucination")
    with model_server() as app:
        assert (
            "Nothing to judge: empty answer (1 question)"
            in run(*COMMAND, *metrics, "--base-url", url_of(app), "--dry-run").lines
        )
        assert "Nothing to judge: empty answer (1 question)" in run(*COMMAND, *metrics, "--base-url", url_of(app)).lines


def test_ids_without_chunks_say_where_chunks_are_read_from(run: Run, tmp_path: Path) -> None:
    """A log as JSON Lines names chunks; a folder holds them beside it."""
    data = dataset(2)
    lines = "".join(json.dumps(query) + "\n" for query in data["queries"])
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "log.jsonl").write_text(lines)
    (folder / "queries.jsonl").write_text(lines)
    (folder / "chunks.jsonl").write_text("".join(json.dumps(chunk) + "\n" for chunk in data["chunks"]))
    with model_server() as app:
        more = ("--model", "tiny", "--base-url", url_of(app))
        done = run("judge", "--input", "log.jsonl", "--output", "o.jsonl", *more)
        assert "Nothing to judge: a chunk without text (2 questions)" in done.lines
        assert any("a folder with queries.jsonl and chunks.jsonl" in line for line in done.lines)
        done = run("judge", "--input", "data", "--output", "o.json", *more)
        assert (done.code, "2 questions: 2 verdicts" in done.out) == (0, True)


def with_vectors(asked: Asked) -> None:
    """A server of both: chats, and vectors of two numbers."""
    if not asked.path.endswith("/embeddings"):
        answering()(asked)
        return
    texts = asked.body["input"]
    asked.json({"data": [{"index": k, "embedding": [1.0, float(len(texts[k]))]} for k in range(len(texts))]})


def test_a_server_makes_the_vectors(run: Run, write: Write, tmp_path: Path) -> None:
    write(dataset(2))
    relevance = ("--metrics", "answer_relevance", "--summary", "summary.json")
    with model_server(with_vectors) as app:
        served = ("--base-url", url_of(app), "--embedder", "server", "--embedding-model", "vectors")
        done = run(*COMMAND, *relevance, *served)
        assert (done.code, done.err) == (0, "")
        assert any(asked.path == "/v1/embeddings" for asked in app.requests)
    assert json.loads((tmp_path / "summary.json").read_text())["settings"]["embedder"] == "vectors"


@pytest.mark.pipeline
def test_wordllama_makes_the_vectors_where_nothing_else_is_said(run: Run, write: Write, tmp_path: Path) -> None:
    pytest.importorskip("wordllama")
    write(dataset(2))
    with model_server() as app:
        relevance = ("--base-url", url_of(app), "--metrics", "answer_relevance", "--summary", "summary.json")
        assert run(*COMMAND, *relevance).code == 0
    assert "wordllama" in json.loads((tmp_path / "summary.json").read_text())["settings"]["embedder"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("judge",), "--input, --output, --model, --base-url: must be given"),
        ((*COMMAND, "--base-url", "http://10.1.2.3/v1"), "base_url: must be on this machine"),
        ((*COMMAND, "--base-url", "http://127.0.0.1:9/v1", "--metrics", "faith"), "unknown metric of a judge 'faith'"),
        ((*COMMAND, "--base-url", "http://127.0.0.1:9/v1", "--metrics", ","), "metrics: must name at least one"),
        ((*COMMAND, "--base-url", "http://127.0.0.1:9/v1", "--output", "data.json"), "--output: must not be an input"),
        ((*COMMAND, "--base-url", "http://127.0.0.1:9/v1", "--output", "o.jsonl"), "output: must be a .json file"),
        ((*COMMAND, "--base-url", "http://127.0.0.1:9/v1", "--max-cost", "1"), "--max-cost: must come with --price"),
        (
            (*COMMAND, "--base-url", "http://127.0.0.1:9/v1", "--metrics", "answer_relevance", "--embedder", "server"),
            "--embedding-model: must be given with --embedder server",
        ),
        (
            (*COMMAND, "--base-url", "http://127.0.0.1:9/v1", "--metrics", "triad", "--embedding-model", "vectors"),
            "must come with --embedder server",
        ),
        ((*COMMAND, "--base-url", "http://127.0.0.1:9/v1", "--max-error-rate", "nan"), "must be a number from 0 to 1"),
        ((*COMMAND, "--base-url", "http://127.0.0.1:9/v1", "--price", "cheap"), "--price: must be two numbers"),
        ((*COMMAND, "--base-url", "http://127.0.0.1:9/v1", "--retries", "0"), "must be reachable, got no connection"),
    ],
)
def test_what_cannot_be_is_one_sentence(run: Run, write: Write, arguments: tuple[str, ...], said: str) -> None:
    write(dataset(1))
    done = run(*arguments)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err


def _started(folder: Path, url: str, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rag_titan", *COMMAND, "--base-url", url, *more]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended_goes_on_where_it_was(how: signal.Signals, run: Run, write: Write, tmp_path: Path) -> None:
    """With one call at a time, that of the end stays without an answer; no call that has one is made again."""
    write(dataset(6))
    asked: Counter[str] = Counter()
    answered, reached = set[str](), threading.Event()

    def answer(asked_: Asked) -> None:
        body = json.dumps(asked_.body)
        asked[body] += 1
        if len(asked) == 8 and not reached.is_set():
            reached.set()
            asked_.server.app.released.wait()  # type: ignore[attr-defined]  # what the fixture put there
            return
        answering()(asked_)
        answered.add(body)

    with model_server(answer) as app:
        process = _started(tmp_path, url_of(app), "--concurrency", "1")
        assert reached.wait(120)
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
        code = process.returncode
        if how == signal.SIGINT:
            assert (code, err) == (
                130,
                "rag-titan: stopped: what was judged by then is kept; the same command goes on.\n",
            )
            assert ["unjudged" in each for each in verdicts(tmp_path)] == [False] * 3 + [True] * 3
            assert "Not asked: 3 x stopped" in out
        else:
            assert code == (143 if how == signal.SIGTERM else -9)
            assert not (tmp_path / "judged.json").exists()
        kept = set(answered)
        assert len(kept) == 7
        assert run(*COMMAND, "--base-url", url_of(app)).code == 0
    assert {body: n for body, n in asked.items() if body in kept and n > 1} == {}
    assert (len(asked), sum(asked.values())) == (12, 13)
    assert not any("unjudged" in each for each in verdicts(tmp_path))
