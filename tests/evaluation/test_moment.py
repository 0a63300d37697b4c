"""SOURCE_DATE_EPOCH: a fixed moment, or a sentence; never another moment than the one that was asked for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rag_titan.evaluation import RAGEvaluator, SettingsError
from rag_titan.evaluation.moment import VARIABLE, moment


@pytest.mark.parametrize(
    ("epoch", "said"),
    [
        ("0", "1970-01-01T00:00:00+00:00"),
        ("1700000000", "2023-11-14T22:13:20+00:00"),
        ("253402300799", "9999-12-31T23:59:59+00:00"),
    ],
)
def test_the_moment_is_the_one_that_was_asked_for(epoch: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, epoch)
    assert moment().isoformat() == said


def test_without_one_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    before = datetime.now(UTC)
    assert before <= moment() <= datetime.now(UTC)


@pytest.mark.parametrize(
    "epoch", ["abc", "-1", "1e3", "12.5", "253402300800", "9" * 20, "9" * 5000, "٣", " 5", "1_000"]
)
def test_what_is_no_moment_is_refused_before_the_questions_are_read(
    epoch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, epoch)
    with pytest.raises(
        SettingsError, match=r"^SOURCE_DATE_EPOCH: must be whole seconds since 1970, from 0 to \d+, got"
    ):
        RAGEvaluator().evaluate(queries=[{"id": "a"}, {"id": "a"}])  # whose ids would be refused
