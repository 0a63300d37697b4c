"""What a new set of golden questions begins with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag_titan.errors import SettingsError
from rag_titan.evaluation.preparation.golden import check_golden
from rag_titan.evaluation.preparation.golden_files import read_golden
from rag_titan.evaluation.preparation.golden_template import write_template

LOGS = [{"id": f"q{i}", "question": f"Why, “{i}”?", "tags": {"lang": "en" if i % 2 else "de"}} for i in range(10)]


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "tsv"])
def test_the_example_is_a_sound_question(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"golden.{form}"
    assert write_template(path) == (1, [])
    result = check_golden(path, {"d": "An employee gets 20 paid leave days per calendar year."})
    assert (result["problems"], result["validated_share"], result["ready"]) == ([], 0.0, False)


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_questions_of_logs(tmp_path: Path, form: str) -> None:
    (tmp_path / "logs.json").write_text(json.dumps(LOGS))
    path = tmp_path / f"golden.{form}"
    assert write_template(path, tmp_path / "logs.json", size=4, by="lang", seed=3)[0] == 4
    drawn = read_golden(path)
    assert [query.question for query in drawn] == [f"Why, “{query.id[1:]}”?" for query in drawn]
    assert sorted(query.tags["lang"] for query in drawn if query.tags) == ["de", "de", "en", "en"]


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "golden.json").write_text("mine")
    with pytest.raises(SettingsError, match="must be a new file"):
        write_template(tmp_path / "golden.json")
    assert (tmp_path / "golden.json").read_text() == "mine"
    with pytest.raises(SettingsError, match="must end in"):
        write_template(tmp_path / "golden.xlsx")
