"""Golden questions put to an app: every question once, in golden order, with its gold."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.preparation.http_app import Asked, echo, golden, serving

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import HttpApp, Pace, RAGEvaluator, collect_answers, read_dataset

MAP = {"answer": "output.text", "retrieved_ids": "docs[].id", "search_latency_ms": "seconds * 1000"}
QUICK = Pace(pause=0.0)


class Counting:
    """An app that answers with its question, but for those that fail; remembers what it was asked."""

    def __init__(self, *failing: str) -> None:
        self.failing = set(failing)
        self.asked: list[str] = []

    def __call__(self, question: str) -> Any:
        self.asked.append(question)
        if question in self.failing:
            raise OSError("index is down")
        return {"answer": f"re: {question}", "retrieved_ids": ["c1"]}


def asked_of(app: Any, n: int, folder: Path, **more: Any) -> Any:
    return collect_answers(golden(n), app, output=folder, pace=QUICK, **more)


def test_a_run_over_http_can_be_evaluated(tmp_path: Path) -> None:
    with serving(echo) as app:
        collected = collect_answers(golden(5), HttpApp(app.url), map=MAP, output=tmp_path / "run")
        assert sorted(app.questions) == [f"question {i}?" for i in range(1, 6)]
    assert (collected.asked, collected.kept, collected.answered, collected.errors) == (5, 0, 5, 0)
    first = collected.queries[0]
    assert first["latency_ms"] > 0
    assert {key: value for key, value in first.items() if key != "latency_ms"} == {
        "id": "g1", "question": "question 1?", "expected_answer": "re: question 1?", "answer": "re: question 1?",
        "retrieved_ids": ["1", "c2"], "search_latency_ms": 500.0,
    }  # fmt: skip
    report = RAGEvaluator(k=2).evaluate(**read_dataset(tmp_path / "run"))
    assert report["generation"]["summary"]["exact_match"] == 1.0
    assert report["end_to_end"]["error_rate"] == 0.0


def test_the_records_stand_in_the_order_of_the_golden_questions_whatever_comes_first(tmp_path: Path) -> None:
    """Each answer but the last waits until the one behind it was given."""
    done = [threading.Event() for _ in range(5)]
    done[4].set()

    def ask(question: str) -> str:
        number = int(question.split()[1].strip("?")) - 1
        if number < 3:
            assert done[number + 1].wait(20)
        done[number].set()
        return question

    collected = collect_answers(golden(4), ask, output=tmp_path)
    assert [record["answer"] for record in collected.queries] == [f"question {i}?" for i in range(1, 5)]
    lines = (tmp_path / "queries.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["g1", "g2", "g3", "g4"]


def test_what_fails_is_a_record_with_the_reason_and_is_named(tmp_path: Path) -> None:
    collected = asked_of(Counting("question 2?", "question 3?"), 3, tmp_path)
    assert (collected.answered, collected.errors) == (1, 2)
    assert collected.queries[1] == {**golden(3)[1], "error": "OSError: index is down"}
    assert collected.notices.texts() == ["failed, OSError: index is down: g2, g3."]
    report = RAGEvaluator().evaluate(**read_dataset(tmp_path))
    assert report["end_to_end"]["error_rate"] == pytest.approx(2 / 3)


def test_a_later_run_asks_only_what_is_missing(tmp_path: Path) -> None:
    app = Counting("question 2?")
    asked_of(app, 3, tmp_path)
    app.asked.clear()
    again = asked_of(app, 5, tmp_path)
    assert sorted(app.asked) == ["question 4?", "question 5?"]
    assert (again.asked, again.kept, again.errors) == (2, 3, 1)
    app.asked.clear()
    app.failing.clear()
    last = asked_of(app, 5, tmp_path, retry_errors=True)
    assert (app.asked, last.asked, last.kept, last.errors) == (["question 2?"], 1, 4, 0)
    assert [record["id"] for record in last.queries] == ["g1", "g2", "g3", "g4", "g5"]
    app.asked.clear()
    assert asked_of(app, 5, tmp_path, fresh=True).asked == len(app.asked) == 5


def test_the_order_of_the_golden_questions_may_change_between_runs(tmp_path: Path) -> None:
    app, questions = Counting(), golden(6)
    asked_of(app, 3, tmp_path)
    random.Random(3).shuffle(questions)
    collected = collect_answers(questions, app, output=tmp_path)
    assert [record["id"] for record in collected.queries] == [record["id"] for record in questions]
    assert sorted(app.asked) == [f"question {i}?" for i in range(1, 7)]


def test_gold_is_that_of_the_latest_run_and_a_changed_question_is_asked_again(tmp_path: Path) -> None:
    app, [first, second] = Counting(), golden(2)
    asked_of(app, 2, tmp_path)
    app.asked.clear()
    changed = [{**first, "expected_answer": "new"}, {**second, "question": "other?"}]
    collected = collect_answers(changed, app, output=tmp_path)
    assert app.asked == ["other?"]
    assert [(r["expected_answer"], r["answer"]) for r in collected.queries] == [
        ("new", "re: question 1?"), ("re: question 2?", "re: other?"),
    ]  # fmt: skip
    rule = "these questions read otherwise than in the earlier run and were asked again: g2."
    assert collected.notices.texts() == [rule]


def test_a_mapping_with_which_all_failed_is_corrected_by_the_same_command(tmp_path: Path) -> None:
    wrong = asked_of(Counting(), 1, tmp_path, map={"answer": "text"})
    assert (wrong.answered, wrong.errors, wrong.unmapped) == (0, 1, 1)
    app = Counting()
    right = asked_of(app, 2, tmp_path, map={"answer": "answer"})
    assert (right.answered, right.errors, right.kept, len(app.asked)) == (2, 0, 0, 2)
    rule = "the earlier run had other settings (map); all its questions had failed and are asked again."
    assert right.notices.texts() == [rule]
    assert asked_of(app, 2, tmp_path, map={"answer": "answer"}).kept == 2


def test_one_answer_is_enough_to_keep_a_mapping(tmp_path: Path) -> None:
    app = Counting("question 1?")
    asked_of(app, 2, tmp_path, map={"answer": "answer"})
    with pytest.raises(SettingsError, match=r"got another map. .+ with --fresh \(fresh=True\)\.$"):
        asked_of(app, 2, tmp_path, map={"answer": "text"})
    assert asked_of(Counting(), 2, tmp_path, map={"answer": "text"}, fresh=True).unmapped == 2


def test_a_fresh_run_of_fewer_questions_keeps_the_earlier_one_beside(tmp_path: Path) -> None:
    asked_of(Counting(), 3, tmp_path)
    earlier = {name: (tmp_path / name).read_bytes() for name in ("queries.jsonl", "queries.jsonl.journal")}
    again = asked_of(Counting(), 3, tmp_path, fresh=True)
    assert (again.notices.texts(), len(list(tmp_path.iterdir()))) == ([], 2)
    earlier = {name: (tmp_path / name).read_bytes() for name in earlier}
    told = asked_of(Counting(), 1, tmp_path, fresh=True).notices.texts()
    kept = "queries.jsonl.before, queries.jsonl.journal.before"
    assert told == [f"the earlier run had more questions than this one and is kept beside it: {kept}."]
    asked_of(Counting(), 2, tmp_path, fresh=False)
    asked_of(Counting(), 1, tmp_path, fresh=True)
    for name, content in earlier.items():
        assert (tmp_path / f"{name}.before").read_bytes() == content
        assert (tmp_path / f"{name}.before2").is_file()


def test_another_app_or_mapping_is_not_mixed_into_a_run(tmp_path: Path) -> None:
    asked_of(Counting(), 2, tmp_path)
    with pytest.raises(SettingsError, match="got another map"):
        asked_of(Counting(), 2, tmp_path, map={"answer": "text"})
    with pytest.raises(SettingsError, match="got another function"):
        asked_of(lambda question: question, 2, tmp_path)


def test_only_the_first_questions_are_asked_when_so_wished(tmp_path: Path) -> None:
    app = Counting()
    assert len(asked_of(app, 5, tmp_path, limit=2).queries) == 2
    assert len(asked_of(app, 5, tmp_path, limit=9).queries) == 5
    assert sorted(app.asked) == [f"question {i}?" for i in range(1, 6)]
    for limit in (0, -1, True, 1.5):
        with pytest.raises(SettingsError, match=r"^limit: must be a whole number from 1, got"):
            asked_of(app, 5, tmp_path, limit=limit)


def test_what_the_golden_file_holds_of_an_earlier_run_is_left_out() -> None:
    old = {**golden(1)[0], "answer": "old", "citations": ["c9"], "task_success": True, "tags": {"lang": "en"}}
    collected = collect_answers([old], lambda question: "new")
    record = collected.queries[0]
    assert (record["answer"], record["tags"], "citations" in record, "task_success" in record) == (
        "new", {"lang": "en"}, False, False,
    )  # fmt: skip
    assert collected.notices.texts() == [
        "what the golden file holds of an earlier run was left out, as it is asked anew: g1."
    ]


def test_times_that_the_app_gives_stand_beside_the_measured_one_or_in_its_place() -> None:
    own = {"answer": "a", "generation_latency_ms": 12.5}
    record = collect_answers(golden(1), lambda question: own).queries[0]
    assert (record["generation_latency_ms"], record["latency_ms"] >= 0) == (12.5, True)
    record = collect_answers(golden(1), lambda question: {**own, "latency_ms": 9.0}).queries[0]
    assert record["latency_ms"] == 9.0


def test_an_app_that_says_it_failed_has_no_time() -> None:
    record = collect_answers(golden(1), lambda question: {"error": "index is down"}).queries[0]
    assert (record["error"], "latency_ms" in record) == ("index is down", False)


def test_progress_counts_what_is_through(tmp_path: Path) -> None:
    counts: list[int] = []
    asked_of(Counting(), 2, tmp_path)
    asked_of(Counting(), 5, tmp_path, progress=counts.append)
    assert counts == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("questions", "where"),
    [
        ([], "golden: must hold at least one question, got none."),
        ([{"id": "g1"}], "golden question g1: question: must be given, so that it can be asked, got none."),
        ([{"id": "g1", "question": " \n"}], "golden question g1: question: must be given"),
        ([{"id": "g1", "question": "a"}, {"id": "g1", "question": "b"}], 'golden[1].id: duplicate id "g1"'),
    ],
)
def test_golden_questions_that_cannot_be_asked_are_refused_before_any_is(questions: Any, where: str) -> None:
    app = Counting()
    with pytest.raises(DatasetError) as refused:
        collect_answers(questions, app)
    assert str(refused.value).startswith(where)
    assert app.asked == []


def test_an_output_that_cannot_be_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    app, file = Counting(), tmp_path / "queries.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in golden(2)))
    before = file.read_bytes()
    with pytest.raises(SettingsError, match="output: must not be the golden file"):
        collect_answers(file, app, output=tmp_path)
    (tmp_path / "folder" / "queries.jsonl").mkdir(parents=True)
    with pytest.raises(SettingsError, match="output: must be a file, got the folder"):
        collect_answers(file, app, output=tmp_path / "folder")
    with pytest.raises(SettingsError, match=r"must be a folder, or a file that ends with .*, got the file "):
        collect_answers(file, app, output=file / "x.jsonl")
    for fresh in (False, True):
        with pytest.raises(
            SettingsError, match="output: must not take the place of records that another command wrote"
        ):
            collect_answers(golden(2), app, output=tmp_path, fresh=fresh)
    assert (app.asked, file.read_bytes()) == ([], before)


def test_a_slow_app_that_fails_in_every_way_leaves_a_record_for_each_question(tmp_path: Path) -> None:
    def moody(asked: Asked) -> None:
        number = int(asked.body["question"].split()[1].strip("?"))
        if number == 1:
            asked.server.app.released.wait()  # type: ignore[attr-defined]  # set by App
        elif number == 2:
            asked.say(b"no index", 500)
        elif number == 3:
            asked.say(b"<html>")
        elif number == 4:
            asked.close_connection = True
        elif number == 5:
            asked.say(b"", 307, {"location": "http://example.org/"})
        elif number == 6:
            asked.json({"output": {}, "docs": [{"id": 1}], "seconds": 1})
        else:
            echo(asked)

    with serving(moody) as app:
        collected = collect_answers(
            golden(8), HttpApp(app.url), map=MAP, output=tmp_path, pace=Pace(concurrency=3, timeout=2.0)
        )
        assert sorted(app.questions) == [f"question {i}?" for i in range(1, 9)]
    errors = [record.get("error", "") for record in collected.queries]
    starts = (
        "time-out after 2 s", "HTTP 500: no index", "not JSON: a page without words", "the app cut the connection",
        "HTTP 307: a redirect to another place (example.org)", "answer is absent: output.text leads nowhere", "", "",
    )  # fmt: skip
    assert [error[: len(start)] for error, start in zip(errors, starts, strict=True)] == list(starts)
    assert errors[6:] == ["", ""]
    assert collected.queries[5]["retrieved_ids"] == ["1"]
    assert (collected.answered, collected.errors) == (3, 6)
