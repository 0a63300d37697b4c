"""Pictures of curves and heat maps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_titan.errors import SettingsError
from rag_titan.plots import Axis, Mark, check_kind, curves, heat_map, save

pytestmark = pytest.mark.lab
ROWS = [{"k": k, "recall": value, "by": name} for name in "ab" for k, value in ((3, 0.5), (5, 0.75), (10, None))]


@pytest.fixture
def curve() -> object:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    return curves(ROWS, Axis("k", "K"), Axis("recall", "recall"), title="Recall", by="by", mark=Mark(5, "knee"))


def test_a_page_holds_the_pictures_and_asks_for_nothing(curve: object, tmp_path: Path) -> None:
    save([curve, curve], tmp_path / "x.html", title="<b>K</b>")
    page = (tmp_path / "x.html").read_text()
    assert page.count("<svg") == 2
    assert "<b>" not in page
    assert "<script" not in page
    assert not re.findall(r"""(?:src|href)=["']?(?!#)""", page.replace("xlink:href", "href"))
    assert ">knee<" in page


def test_the_same_rows_give_the_same_bytes(curve: object, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        save([curve], tmp_path / name, title="x")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_heat_map_says_its_values(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    rows = [{"size": 100, "overlap": 0, "f1": 0.5}, {"size": 100, "overlap": 10, "f1": None}]
    heat = heat_map(rows, Axis("size", "words"), Axis("overlap", "overlap"), Axis("f1", "F1"), title="F1")
    save([heat], tmp_path / "x.svg", title="F1")
    assert ">0.500<" in (tmp_path / "x.svg").read_text()
    save([heat], tmp_path / "x.png", title="F1")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_a_name_says_what_is_written() -> None:
    with pytest.raises(SettingsError, match=r"x\.pdf: must end with \.html, \.png or \.svg\."):
        check_kind("x.pdf")
