"""A cache that breaks, before a run or in its middle: a sentence, and nothing that was answered is lost."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.judge.models import answering
from tests.judge.test_server import asked_of

from rag_titan.errors import SettingsError
from rag_titan.judge.cache import AnswerCache, CacheError
from rag_titan.judge.server import Heard


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A file of answers as a run leaves it."""
    asked_of(answering(), n=3, cache=tmp_path / "c.db")
    return tmp_path / "c.db"


def change(path: Path, *statements: str) -> None:
    file = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        file.execute(statement)
    file.close()


@pytest.mark.parametrize("seed", range(12))
def test_a_broken_file_is_a_sentence_or_is_read_as_far_as_it_goes(seed: int, cache: Path) -> None:
    """Seen once: the words of SQLite's error were broken, too, and no UTF-8."""
    data, drawn = bytearray(cache.read_bytes()), random.Random(seed)
    for _ in range(300):
        data[drawn.randrange(100, len(data))] = drawn.randrange(256)
    cache.write_bytes(data)
    said = ""
    try:
        judged, _ = asked_of(answering(), n=3, cache=cache)
        assert judged.done + sum(judged.unasked.values()) == 3
    except SettingsError as error:
        said = str(error)
    assert not said or said.startswith("cache: must be a cache of answers, got ")


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP TABLE answers", "CREATE TABLE answers (k, v)"),
        ("PRAGMA application_id = 42",),
        ("ALTER TABLE answers RENAME TO others", "CREATE VIEW answers AS SELECT key FROM others"),
    ],
)
def test_another_table_is_not_taken_for_one(statements: tuple[str, ...], cache: Path) -> None:
    change(cache, *statements)
    with pytest.raises(SettingsError, match="cache: must be a cache of answers"):
        asked_of(answering(), n=1, cache=cache)


@pytest.mark.parametrize(
    "answer", ["'text'", "zeroblob(0)", "zeroblob(50)", "5", "(SELECT answer FROM answers LIMIT 1)"]
)
def test_an_answer_that_somebody_changed_is_asked_for_again(answer: str, cache: Path) -> None:
    change(cache, f"UPDATE answers SET answer = {answer}")
    judged, requests = asked_of(answering(), n=3, cache=cache)
    assert (judged.done, judged.failures) == (3, [])
    assert requests >= 5


def test_a_full_disk_ends_the_run_and_keeps_what_was_answered(cache: Path) -> None:
    change(
        cache,
        "CREATE TRIGGER full BEFORE INSERT ON answers WHEN (SELECT count(*) FROM answers) >= 9"
        " BEGIN SELECT RAISE(FAIL, 'disk is full'); END",
    )
    judged, requests = asked_of(answering(), n=20, cache=cache, concurrency=1)
    assert (judged.done, judged.failures, requests) == (5, [], 4)  # 3 of before, one and a half of now
    assert judged.unasked == {"not asked: the cache cannot be written (disk is full)": 15}
    change(cache, "DROP TRIGGER full")
    judged, requests = asked_of(answering(), n=20, cache=cache)
    assert (judged.done, requests) == (20, 31)


def test_a_file_that_breaks_in_the_middle_is_told(cache: Path) -> None:
    answers = AnswerCache(cache)
    change(cache, "DROP TABLE answers")
    calls: list[Callable[[], object]] = [lambda: answers.get(b"x"), lambda: answers.put(b"x", Heard("y"))]
    for call, what in zip(calls, ("read", "written"), strict=True):
        with pytest.raises(CacheError, match=f"the cache cannot be {what}"):
            call()
    answers.close()


def test_an_estimate_writes_nothing_into_the_cache(cache: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in cache.parent.iterdir()}
    reading = AnswerCache(cache, only_read=True)
    reading.put(b"x", Heard("y"))
    assert reading.get(b"x") is None
    reading.close()
    assert {path: path.stat().st_mtime_ns for path in before} == before
