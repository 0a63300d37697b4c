from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rag_titan.errors import SettingsError, UnknownMetricError
from rag_titan.evaluation import catalogue
from rag_titan.evaluation.catalogue import CATALOGUE, ROWS
from rag_titan.evaluation.metric import Stage


def test_every_row_stands_under_its_stage_and_key() -> None:
    assert len(CATALOGUE) == len(ROWS)
    assert all((row.stage, row.key) == place for place, row in CATALOGUE.items())


def test_the_catalogue_is_in_pipeline_order() -> None:
    stages = [str(row.stage) for row in ROWS]
    assert list(dict.fromkeys(stages)) == [str(stage) for stage in Stage if stage in stages]


def test_two_rows_of_one_name_are_an_error_that_names_it() -> None:
    with pytest.raises(SettingsError, match=r"retrieval\.recall_at_k twice"):
        catalogue.by_place([*ROWS, CATALOGUE["retrieval", "recall_at_k"]])


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("recal_at_k", "recall_at_k"), ("retrieval.recal_at_k", "recall_at_k"), ("retreival.recall_at_k", "retrieval")],
)
def test_an_unknown_name_is_an_error_that_names_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(UnknownMetricError, match=f"the nearest is '{nearest}'"):
        catalogue.find(name)


def test_a_metric_of_ones_own_is_found_among_the_rows_given() -> None:
    mine = replace(CATALOGUE["retrieval", "recall_at_k"], key="mine")
    assert catalogue.find("mine", [*ROWS, mine]) is mine
    with pytest.raises(UnknownMetricError):
        catalogue.find("mine")


@pytest.mark.parametrize(
    ("report", "value"),
    [
        ({"retrieval": {"summary": {"recall_at_k": 1}}}, 1.0),
        ({"retrieval": {"summary": {"recall_at_k": np.float32(0.5)}}}, 0.5),
        ({"retrieval": {"summary": {"recall_at_k": None}}}, None),
        ({"retrieval": {"summary": {"recall_at_k": math.nan}}}, None),
        ({"retrieval": {"summary": {"recall_at_k": math.inf}}}, None),
        ({"retrieval": {"summary": {"recall_at_k": "0.5"}}}, None),
        ({"retrieval": {"summary": {"recall_at_k": True}}}, None),
        ({"retrieval": {"summary": {"recall_at_k": 10**400}}}, None),
        ({"retrieval": {"summary": {}}}, None),
        ({"retrieval": {"recall_at_k": 1.0}}, None),
        ({"retrieval": {"summary": [1]}}, None),
        ({"retrieval": None}, None),
        ({}, None),
    ],
)
def test_a_value_is_read_from_the_summary_and_anything_else_is_not_measured(report: dict, value: float | None) -> None:
    assert catalogue.value_of(report, "retrieval", "recall_at_k") == value


def test_flat_stages_keep_their_values_directly_and_stages_of_ones_own_as_they_are() -> None:
    assert catalogue.value_of({"chunking": {"coverage": 0.5}}, "chunking", "coverage") == 0.5
    assert catalogue.value_of({"red_team": {"summary": {"x": 0.5}}}, "red_team", "x") == 0.5
    assert catalogue.value_of({"red_team": {"x": 0.5}}, "red_team", "x") == 0.5


def test_all_values_are_named_in_pipeline_order() -> None:
    report = {
        "end_to_end": {"answer_f1": 0.5, "detail": {}},
        "retrieval": {"summary": {"mine": 2, "recall_at_k": None}},
    }
    assert list(catalogue.values_of(report).items()) == [("retrieval.mine", 2.0), ("end_to_end.answer_f1", 0.5)]


def test_where_no_name_is_near_the_list_of_all_is_named() -> None:
    error = UnknownMetricError("blue_sky", [key for _, key in CATALOGUE])
    assert str(error) == "unknown metric 'blue_sky'; `rag-titan metrics` lists them all."
