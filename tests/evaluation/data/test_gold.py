"""Gold labels of two keys as one."""

from __future__ import annotations

import numpy as np

from rag_titan.evaluation.data.gold import Gold, labels_of


def test_grades_from_0_down_are_no_gold_and_leave_the_other_queries_alone() -> None:
    gold = Gold.of([{"a": 2.0, "b": 0.0}, {}, {"c": -1.0, "d": 1.0}], np.array([True, False, True]))
    assert gold.by_id == [{"a": 2.0}, {}, {"d": 1.0}]
    assert gold.grades.values.tolist() == [2.0, 1.0]
    assert gold.grades.lengths.tolist() == [1, 0, 1]


def test_the_best_order_of_all_gold() -> None:
    gold = Gold.of([{"a": 1.0, "b": 3.0, "c": 2.0}, {"d": 1.0}], np.array([True, True]))
    assert gold.ideal(2).tolist() == [[3.0, 2.0], [1.0, 0.0]]
    assert gold.relevant(2.0).tolist() == [2, 0]


def test_expected_ids_without_a_grade_have_1() -> None:
    assert labels_of(None, None) == labels_of({}, []) == {}
    assert labels_of(None, ["x", "x"]) == {"x": 1.0}
    assert labels_of({"x": 3.0}, ["x", "y"]) == {"x": 3.0, "y": 1.0}
