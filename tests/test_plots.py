"""Pictures of curves and heat maps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_titan.errors import SettingsError
from rag_titan.plots import Axis, Mark, check_kind, curves, heat_map, log_ticks, save

pytestmark = pytest.mark.lab
ROWS = [{"k": k, "recall": value, "by": name} for name in "ab" for k, value in ((3, 0.5), (5, 0.75), (10, None))]


@pytest.fixture
def curve() -> object:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    return curves(ROWS, Axis("k", "K"), Axis("recall", "recall"), title="Recall", by="by", knee=Mark(5, "knee"))


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
    axes = (Axis("size", "words"), Axis("overlap", "overlap"), Axis("f1", "F1"))
    heat = heat_map(rows, *axes, title="F1", span=(0, 1))
    save([heat], tmp_path / "x.svg", title="F1")
    assert ">0.500<" in (tmp_path / "x.svg").read_text()
    save([heat], tmp_path / "x.png", title="F1")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def drawn(pictures: list[object], folder: Path, kind: str = "svg") -> str:
    save(pictures, folder / f"x.{kind}", title="x")
    return (folder / f"x.{kind}").read_text()


def test_maps_side_by_side_have_one_scale_of_colours(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    axes = (Axis("size", "words"), Axis("overlap", "overlap"), Axis("f1", "F1"))
    rows = [[{"size": 50 * n, "overlap": 0, "f1": 0.1 * (n + more)} for n in (1, 2)] for more in (0, 1)]
    maps = [heat_map(some, *axes, title="F1", span=(0.1, 0.3)) for some in rows]
    for page in (drawn(maps, tmp_path), drawn(maps, tmp_path, "html")):
        # the cells of 0.2 in both maps have one colour, those of 0.1 and 0.3 another each
        fills = re.findall(r'aria-label="[^"]*F1: (0\.\d+)[^"]*"[^>]*role="graphics-symbol"[^>]*fill="([^"]+)"', page)
        by_value: dict[float, set[str]] = {}
        for value, fill in fills:
            by_value.setdefault(round(float(value), 3), set()).add(fill)
        assert [len(by_value[value] - {"white", "#222"}) for value in (0.1, 0.2, 0.3)] == [1, 1, 1]
        assert len(set.union(*by_value.values()) - {"white", "#222"}) == 3


def test_the_best_cell_has_a_frame(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    axes = (Axis("size", "words"), Axis("overlap", "overlap"), Axis("f1", "F1"))
    rows = [{"size": n, "overlap": 0, "f1": n / 10, "best": n == 2} for n in (1, 2, 3)]
    plain, framed = (heat_map(rows, *axes, title="F1", span=(0, 1), best=best) for best in ("", "best"))
    assert [drawn([one], tmp_path).count('stroke-width="4"') for one in (plain, framed)] == [0, 1]


def test_two_pictures_have_a_legend_each_in_the_order_of_the_rows(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    x, y = Axis("k", "K"), Axis("v", "v", log=True)
    rows = [{"k": k, "v": k * size, "by": f"{size:,}"} for size in (5_000, 20_000) for k in (1, 2)]
    other = [{"k": k, "v": k * size, "by": str(size)} for size in (8, 16, 128) for k in (1, 2)]
    pictures = [curves(rows, x, y, title="a", by="by", legend="vectors"), curves(other, x, y, title="b", by="by")]
    page = drawn(pictures, tmp_path)
    legends = re.findall(r"role-legend-label.*?</g>", page)
    assert [re.findall(r">([\d,]+)<", legend) for legend in legends] == [["5,000"], ["20,000"], ["8"], ["16"], ["128"]]
    assert ">vectors<" in page


def test_a_logarithmic_axis_ends_where_the_values_do(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    rows = [{"n": 5_000, "ms": 0.06}, {"n": 20_000, "ms": 0.4}]
    page = drawn([curves(rows, Axis("n", "n", log=True), Axis("ms", "ms", log=True), title="t")], tmp_path)
    labels = re.findall(r">([\d.,]+)</text>", page)
    assert labels == [*(f"{n},000" for n in (5, 7, 10, 15, 20)), *(f"{ms}" for ms in (0.07, 0.1, 0.15, 0.2, 0.3))]


def test_a_limit_is_drawn_though_no_value_reaches_it(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    rows = [{"rate": 1, "ms": 20}, {"rate": 2, "ms": 30}]
    x, y = Axis("rate", "rate", zero=True, ticked=True), Axis("ms", "ms", zero=True)
    page = drawn([curves(rows, x, y, title="t", limit=Mark(500, "SLA"))], tmp_path)
    assert re.findall(r">([\d.,]+|SLA)</text>", page) == ["0", "1", "2", *(f"{n}" for n in range(0, 501, 50)), "SLA"]


def test_an_interval_is_a_bar_from_its_low_to_its_high_end(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    rows = [{"k": 1, "v": 0.5, "low": 0.25, "high": 1.0}, {"k": 2, "v": 0.5, "low": None, "high": None}]
    page = drawn([curves(rows, Axis("k", "K"), Axis("v", "v", zero=True), title="t")], tmp_path)
    bars = re.findall(r'roledescription="rule mark" transform="translate\((\d+),(\d+)\)" x2="0" y2="(-?\d+)"', page)
    assert bars == [("0", "240", "-240")]  # 320 pixels are 1: from 0.25, 80 above the foot, up to the top


@pytest.mark.parametrize(
    ("values", "ticks"),
    [([], []), ([0], []), ([5, 5], [5]), ([100, 150], [100, 150]), ([120, 140], [100, 150]),
     ([0.08, 0.34], [0.07, 0.1, 0.15, 0.2, 0.3, 0.5]),
     ([10, 1000], [10, 20, 50, 100, 200, 500, 1000]), ([0, 0.02, 5000], [10.0**n for n in range(-2, 5)])],
)  # fmt: skip
def test_ticks_of_a_logarithmic_axis_are_round(values: list[float], ticks: list[float]) -> None:
    assert log_ticks(values) == ticks


def test_a_name_says_what_is_written() -> None:
    with pytest.raises(SettingsError, match=r"x\.pdf: must end with \.html, \.png or \.svg\."):
        check_kind("x.pdf")
