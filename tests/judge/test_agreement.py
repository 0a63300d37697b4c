"""Agreement of a judge with people: values worked by hand, what is paired with what, what is undefined."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_titan.errors import NothingMatchedError, SettingsError
from rag_titan.judge.agreement import agreement, correlations
from rag_titan.judge.agreement_statistics import Labels, Scores, estimates

YES, DENIED, NO = "supported", "contradicted", "not_supported"
Record = dict[str, Any]


def asked(name: str, **verdicts: Any) -> Record:
    return {"id": name, "verdicts": verdicts}


def claims(*labels: str | None, text: bool = True) -> list[Record]:
    return [{"context": v} | ({"text": f"statement {i}"} if text else {}) for i, v in enumerate(labels)]


def entry(judge: list[Record], human: list[Record], what: str = "answer_claims.context") -> Record:
    return next(e for e in agreement(judge, human)["labels"] if e["what"] == what)


def test_kappa_worked_by_hand() -> None:
    """20 both yes, 15 both no, 15 mixed: observed 35 / 50, by chance 25/50 * 30/50 + 25/50 * 20/50 = 0.5."""
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    judge = [asked(str(i), noncommittal=mine) for i, (mine, _) in enumerate(pairs)]
    human = [asked(str(i), noncommittal=other) for i, (_, other) in enumerate(pairs)]
    found = entry(judge, human, "noncommittal")
    assert (found["n"], found["questions"]) == (50, 50)
    assert found["agreement"]["value"] == pytest.approx(0.7, abs=1e-15)
    assert found["kappa"]["value"] == pytest.approx(0.4, abs=1e-15)
    yes, no = found["classes"]
    assert (yes["precision"]["value"], yes["recall"]["value"]) == (20 / 25, 20 / 30)
    assert (no["precision"]["value"], no["recall"]["value"]) == (15 / 25, 15 / 20)
    assert found["confusion"] == {
        "noncommittal": {"noncommittal": 20, "committal": 5},
        "committal": {"noncommittal": 10, "committal": 15},
    }
    low, high = found["kappa"]["ci95"]
    # Fleiss, Cohen and Everitt 1969: the standard error of this table is 0.128
    assert low == pytest.approx(0.4 - 1.96 * 0.128, abs=0.03)
    assert high == pytest.approx(0.4 + 1.96 * 0.128, abs=0.03)


def test_weighted_kappa_of_grades_worked_by_hand() -> None:
    """0, 1, 2, 2 against 0, 2, 2, 1: 0, 1, 0, 1 steps apart; all 16 pairs of both rows 14 steps, 22 squared."""
    judge = [asked("q", chunk_relevance=dict(zip("abcd", (0, 1, 2, 2), strict=True)))]
    human = [asked("q", chunk_relevance=dict(zip("abcd", (0, 2, 2, 1), strict=True)))]
    found = entry(judge, human, "chunk_relevance")
    steps = [abs(mine - other) for mine, other in product((0, 1, 2, 2), (0, 2, 2, 1))]
    assert found["kappa_linear"]["value"] == pytest.approx(1 - (2 / 4) / (sum(steps) / 16), abs=1e-15)
    squares = sum(step * step for step in steps)
    assert found["kappa_quadratic"]["value"] == pytest.approx(1 - (2 / 4) / (squares / 16), abs=1e-15)
    assert found["kappa"]["value"] == pytest.approx(1 - (2 / 4) / (10 / 16), abs=1e-15)
    assert found["kappa"]["ci95"] is None  # one question has no spread


def test_claims_are_paired_by_text_whatever_their_order() -> None:
    judge = [asked("q", answer_claims=[{"text": "A  b", "context": YES}, {"text": "c", "context": NO}])]
    human = [asked("q", answer_claims=[{"text": "C", "context": NO}, {"text": "a B", "context": YES}, {"text": "d"}])]
    found = entry(judge, human)
    assert (found["n"], found["agreement"]["value"]) == (2, 1.0)
    assert found["unmatched"] == {"judge": 0, "human": 1}


def test_a_statement_that_occurs_twice_is_paired_twice() -> None:
    twice = [{"text": "a", "context": YES}, {"text": "a", "context": NO}]
    assert entry([asked("q", answer_claims=twice)], [asked("q", answer_claims=twice)])["agreement"]["value"] == 1


@pytest.mark.parametrize(("labels", "n", "unmatched"), [((YES, NO), 2, 0), ((YES, NO, NO), 0, 2)])
def test_without_texts_places_pair_as_many(labels: tuple[str, ...], n: int, unmatched: int) -> None:
    judge = [asked("p", answer_claims=claims(YES)), asked("q", answer_claims=claims(YES, NO))]
    human = [asked("p", answer_claims=claims(YES)), asked("q", answer_claims=claims(*labels, text=False))]
    found = entry(judge, human)
    assert found["n"] == n + 1
    assert found["unmatched"]["judge"] == unmatched


def test_one_label_throughout_has_no_kappa() -> None:
    same = [asked(str(i), answer_claims=claims(YES)) for i in range(12)]
    found = entry(same, same)
    assert found["kappa"] == {"value": None, "n": 12, "ci95": None}
    assert found["agreement"]["value"] == 1
    assert found["agreement"]["ci95"] == pytest.approx([12 / (12 + 1.959964**2), 1.0], abs=1e-6)  # Wilson
    assert [one["label"] for one in found["classes"]] == [YES]


def test_a_label_that_only_one_side_gave_has_no_share_on_the_other() -> None:
    judge = [asked(str(i), answer_claims=claims(YES, DENIED)) for i in range(3)]
    human = [asked(str(i), answer_claims=claims(YES, NO)) for i in range(3)]
    by_label = {one["label"]: one for one in entry(judge, human)["classes"]}
    assert by_label[DENIED]["precision"]["value"] == 0
    assert by_label[DENIED]["recall"] == {"value": None, "n": 0, "ci95": None}
    assert by_label[NO]["precision"]["value"] is None


def test_verified_claims_stand_for_supported_or_not() -> None:
    judge = [asked("q", answer_claims=claims(YES, DENIED, NO))]
    labels = [{"text": f"statement {i}", "supported": said} for i, said in enumerate((True, False, True))]
    found = agreement(judge, [{"id": "q", "verified_claims": labels}])
    assert [e["what"] for e in found["labels"]] == ["answer_claims.verified"]
    assert found["labels"][0]["confusion"][NO] == {YES: 1, NO: 1}
    assert [(e["metric"], e["judge_mean"], e["human_mean"]) for e in found["scores"]] == [
        ("faithfulness", 1 / 3, 2 / 3)
    ]


def test_scores_stand_on_the_rankings_of_the_judged_file() -> None:
    judge = [
        asked(f"q{i}", useful_chunks={"a": True, "b": i > 1, "c": False}) | {"retrieved_ids": ["b", "a", "c"]}
        for i in range(4)
    ]
    human = [asked(f"q{i}", useful_chunks={"a": True, "b": i > 0, "c": False}) for i in range(5)]
    found = agreement(judge, human)
    assert found["questions"] == {"judge": 4, "human": 5, "shared": 4}
    (scores,) = found["scores"]
    assert scores["metric"] == "context_precision"
    assert scores["judge_mean"] == (0.5 + 0.5 + 1 + 1) / 4
    assert scores["human_mean"] == (0.5 + 1 + 1 + 1) / 4
    assert scores["pearson"]["value"] == pytest.approx(1 / 3**0.5, abs=1e-15)


def test_files_and_who_labelled(tmp_path: Path) -> None:
    paths = []
    for name in ("a-model@0f", "Ada"):
        paths.append(tmp_path / f"{name}.json")
        queries = [{"id": "q", "verdicts": {"answer_claims": claims(YES), "judge": name}}]
        paths[-1].write_text(json.dumps({"queries": queries}))
    found = agreement(*paths)
    assert (found["judges"], found["people"]) == ({"a-model@0f": 1}, {"Ada": 1})


def test_nothing_in_common_is_refused() -> None:
    with pytest.raises(NothingMatchedError, match="human: must have verdicts"):
        agreement([asked("p", noncommittal=True)], [asked("q", noncommittal=True)])
    with pytest.raises(SettingsError, match="got 1, 2 and 1"):
        correlations([1.0], [1.0, 2.0])


def test_one_seed_one_result_and_the_order_of_questions_is_kept() -> None:
    judge = [asked(str(i), answer_claims=claims(YES, NO, (YES, NO)[i % 2])) for i in range(20)]
    human = [asked(str(i), answer_claims=claims(YES, (NO, YES)[i % 3 == 0], NO)) for i in range(20)]
    assert json.dumps(agreement(judge, human)) == json.dumps(agreement(judge, human), allow_nan=False)
    assert agreement(judge, human, seed=1) != agreement(judge, human)


def test_a_row_without_spread_has_no_correlation() -> None:
    found = correlations([0.1, 0.1, 0.1], [1, 2, 3])
    assert found["pearson"] == found["spearman"] == {"value": None, "n": 3, "ci95": None}
    assert correlations([1e9, 1e9 + 1, 1e9 + 3], [1, 2, 4])["pearson"]["value"] == pytest.approx(1, abs=1e-9)
    assert correlations([], [])["pearson"] == {"value": None, "n": 0, "ci95": None}


def test_resamples_draw_whole_questions() -> None:
    """Ten labels of each of 8 questions, all alike: the interval is that of 8, not of 80."""
    rng = np.random.default_rng(5)
    right = rng.integers(0, 2, 8)
    question = np.repeat(np.arange(8), 10)
    clustered = Labels(question, np.repeat(right, 10), np.ones(80, dtype=np.int64), 2)
    single = Labels(np.arange(8), right, np.ones(8, dtype=np.int64), 2)
    assert estimates(clustered.agreed, 8, 4)[1].tolist() == estimates(single.agreed, 8, 4)[1].tolist()


def test_blocks_of_resamples_change_nothing_of_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resample weighs as often as it was drawn: the statistic of weights is that of the things, repeated."""
    rng = np.random.default_rng(3)
    judge, human = rng.integers(0, 4, 30) / 3, rng.integers(0, 3, 30).astype(float)
    question = np.sort(rng.integers(0, 9, 30))
    question = np.unique(question, return_inverse=True)[1]
    weights = rng.integers(0, 3, (5, int(question.max()) + 1)).astype(float)
    scores = Scores(question, judge, human)
    for row, pearson, spearman in zip(weights, scores.pearson(weights), scores.spearman(weights), strict=True):
        repeated = np.repeat(np.arange(30), row[question].astype(int))
        whole = Scores(np.arange(len(repeated)), judge[repeated], human[repeated])
        ones = np.ones((1, len(repeated)))
        assert pearson[0] == pytest.approx(whole.pearson(ones)[0, 0], abs=1e-12)
        assert spearman[0] == pytest.approx(whole.spearman(ones)[0, 0], abs=1e-12)


@pytest.mark.parametrize(("judge", "human"), [(["x", 1], [1, 2]), ([[1], 2], [1, 2]), ("ab", "cd"), ([1, {}], [1, 2])])
def test_what_is_no_number_is_a_sentence(judge: Any, human: Any) -> None:
    with pytest.raises(SettingsError, match="must be a"):
        correlations(judge, human)


def test_a_number_beyond_all_computing_is_left_out() -> None:
    assert correlations([10**400, 1, 2, float("inf")], [1, 2, 3, 4])["pearson"]["n"] == 2
