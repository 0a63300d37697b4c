"""rag-titan load: what it prints, writes and ends with."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.preparation.http_app import serving

from rag_titan.cli.main import main

pytestmark = pytest.mark.load
pytest.importorskip("hdrh")
QUICK = ("--rates", "20", "--duration", "0.5", "--warm-up", "0", "--trials", "1", "--max-lag-ms", "100000")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def once(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rag-titan", "load", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return once


def test_a_server_that_keeps_up(run: Run, tmp_path: Path) -> None:
    golden = tmp_path / "golden.json"
    golden.write_text(json.dumps([{"id": n, "question": f"Q{n}?", "expected_answer": "x"} for n in range(3)]))
    with serving(lambda request: request.json({"answer": "x", "search_latency_ms": 1})) as app:
        code, out, _ = run(app.url, *QUICK, "--questions", golden, "--output", "load.json", "--markdown", "load.md")
        questions = set(app.questions)
    assert code == 0
    assert questions == {"Q0?", "Q1?", "Q2?"}
    header, row, below, *_ = out.splitlines()
    assert header.split()[:2] == ["rate", "sent"]
    assert row.split()[0] == "20"
    assert below.startswith("Times in ms; latencies count from")
    assert "Max sustainable rate: at least 20 requests a second (p99 within 2000 ms)." in out
    record = json.loads((tmp_path / "load.json").read_text())
    assert (record["valid"], record["max_sustainable_rate"]["rate"]) == (True, 20)
    assert record["steps"][0]["parts_ms"]["search"]["mean"] == 1
    assert (tmp_path / "load.md").read_text().startswith("# Load test\n")


def test_all_figures_as_json(run: Run) -> None:
    with serving(lambda request: request.json({"answer": "x"})) as app:
        code, out, _ = run(app.url, *QUICK, "--json")
    assert (code, json.loads(out)["stopped"]) == (0, False)


def test_a_terminal_is_told_how_long_it_takes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_titan.cli.load.watched", lambda: True)
    with serving(lambda request: request.json({"answer": "x"})) as app:
        _, _, err = run(app.url, *QUICK, "--duration", 0.4, "--warm-up", 0.2, "--rates", "20,30")
    assert err.startswith("2 rates of 0.6 s, 1 trial: up to 0.0 minutes, and some for the rates between;")
    assert "trial 1 of 1: 20 requests a second" in err


def test_a_rate_that_must_be_sustained(run: Run) -> None:
    def half(request: Any) -> None:
        with app.lock:
            broken = len(app.requests) % 2
        request.json({}, 500 if broken else 200)

    with serving(half) as app:
        code, out, err = run(app.url, *QUICK, "--min-rate", "30")
    assert code == 1
    assert err == "rag-titan: 30 requests a second were not sustained.\n"
    assert "x HTTP 500." in out


def test_nothing_was_answered(run: Run) -> None:
    with serving(lambda request: request.say(b"", 503)) as app:
        code, out, err = run(app.url, *QUICK)
    assert (code, err) == (3, "rag-titan: nothing was answered.\n")
    assert "failed" in out


def test_a_generator_that_is_late_is_no_result(run: Run, tmp_path: Path) -> None:
    (tmp_path / "busy_app.py").write_text("def answer(question):\n    return {'answer': 'x'}\n")
    words = [word if word != "100000" else "0" for word in QUICK]
    code, out, err = run("busy_app:answer", *words)
    assert (code, err) == (3, "rag-titan: the run is invalid.\n")
    assert "INVALID: At 20 requests a second the generator itself was late" in out
    assert "Max sustainable" not in out


def test_what_a_function_prints_is_no_part_of_the_result(run: Run, tmp_path: Path) -> None:
    (tmp_path / "loud_app.py").write_text(
        "print('loaded')\ndef answer(question):\n    print('asked')\n    return 'x'\n"
    )
    code, out, err = run("loud_app:answer", *QUICK, "--json")
    assert (code, json.loads(out)["valid"]) == (0, True)
    assert err.count("loaded") == 1
    assert "asked" in err


@pytest.mark.parametrize(
    ("number", "interrupt", "code"),
    [
        (signal.SIGINT, "default_int_handler", 130),
        (signal.SIGTERM, "default_int_handler", 143),
        (signal.SIGTERM, "SIG_IGN", 143),  # as in the background of a script
    ],
)
def test_what_was_measured_is_written_when_the_run_is_stopped(
    tmp_path: Path, number: int, interrupt: str, code: int
) -> None:
    """The app has got the tenth request when the signal is sent, so that there is something to write."""
    came = threading.Event()

    def answer(request: Any) -> None:
        request.json({"answer": "x"})
        if len(app.requests) == 10:
            came.set()

    words = ["--rates", "20", "--duration", "3000", "--warm-up", "0", "--output", "load.json"]
    with serving(answer) as app:
        begin = f"import signal; signal.signal(signal.SIGINT, signal.{interrupt}); from rag_titan.cli.main import main"
        command = [sys.executable, "-c", f"{begin}; main()", "load", app.url, *words]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            came.wait(120)
            run.send_signal(number)
            out, err = run.communicate(timeout=120)
    assert (run.returncode, err) == (code, "" if code == 130 else "rag-titan: stopped.\n")
    assert "Stopped: these are the figures so far." in out
    record = json.loads((tmp_path / "load.json").read_text())
    assert record["stopped"] is True
    assert record["steps"][0]["latency_ms"]["answered"] > 0


def test_two_files_are_merged(run: Run, tmp_path: Path) -> None:
    with serving(lambda request: request.json({"answer": "x"})) as app:
        for name in "ab":
            run(app.url, *QUICK, "--output", f"{name}.json")
    code, out, _ = run("--merge", "a.json", "--merge", "b.json")
    assert code == 0
    assert "at least 40 requests a second" in out
    assert run("app:x", "--merge", "a.json")[0] == 2
    assert run("--merge", "a.json", "--merge", "./a.json")[2].startswith("rag-titan: --merge: must be other files each")
    assert run("--merge", "a.json", "--min-rate", "nan")[0] == 2


def test_pictures(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    with serving(lambda request: request.json({"answer": "x"})) as app:
        assert run(app.url, *QUICK, "--plot", "load.html")[0] == 0
    page = (tmp_path / "load.html").read_text()
    assert page.count("<svg") == 2
    assert ">sustained: at least 20<" in page
    assert ">SLA of p99: 2000 ms<" in page


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "target: must be given, got none. Write it as http://127.0.0.1:8000/ask or my_app:answer."),
        (("http://example.org/",), "url: must be on this machine, got example.org. Add --allow-remote to ask that."),
        (("app",), "target: must be MODULE:FUNCTION, got 'app'. Write it as my_app:answer."),
        (("no_such_app:answer",), "target: must be a module that loads, got ModuleNotFoundError"),
        (("http://127.0.0.1/", "--rates", "fast"), "--rates: must be numbers, got 'fast'. Write them as 1,2,5."),
        (("http://127.0.0.1/", "--request", "{"), "--request: must be JSON"),
        (("json:dump",), "target: must be a function of one question, got dump(obj, fp, "),
        (
            ("http://127.0.0.1/", "--output", "x.json", "--markdown", "./x.json"),
            "--markdown: must be a file of its own, got x.json twice. Choose another name.",
        ),
        (("http://127.0.0.1/", "--plot", "x.gif"), "x.gif: must end with .html, .png or .svg."),
        (("http://127.0.0.1/", "--questions", "none.json"), "none.json: "),
        (("http://127.0.0.1/", "--header", "x: $NOT_EXPORTED"), "header x: must name variables of the environment"),
        (("--merge", "none.json"), "none.json: must be a file that can be read"),
    ],
)
def test_what_cannot_be_is_one_sentence(run: Run, words: tuple[str, ...], sentence: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"rag-titan: {sentence}")
    assert err.count("\n") == 1
