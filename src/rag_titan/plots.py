"""Curves and heat maps as files: .svg, .png, or .html with the pictures inside and nothing from the network.

A picture is described by its rows and the names of their columns, so that what is drawn is what the JSON beside it
holds. Needs the extra `plots`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from rag_titan.errors import MissingExtraError, SettingsError
from rag_titan.evaluation.writing import PathLike, write

KINDS = (".html", ".png", ".svg")
WIDTH, HEIGHT = 560, 320  # of the drawn area, in pixels
PIXELS = 2.0  # of a .png for each of these

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 16px system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; background: #fff; color: #222 }}
figure {{ margin: 2rem 0 }}
svg {{ max-width: 100%; height: auto }}
</style>
</head>
<body>
<h1>{title}</h1>
{figures}
</body>
</html>
"""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Axis:
    """A column and how it is drawn.

    log     on a logarithmic scale, which ends where the values do and not at the next power of ten
    zero    a linear scale begins at 0, so that heights can be compared
    ticked  its ticks are the values themselves: a few numbers that were chosen
    """

    column: str
    title: str
    log: bool = False
    zero: bool = False
    ticked: bool = False


@dataclass(frozen=True)
class Mark:
    """A line across at a value, with a word beside it: a knee, a limit."""

    at: float
    text: str


def curves(
    rows: Sequence[Row],
    x: Axis,
    y: Axis,
    *,
    title: str,
    by: str | None = None,
    legend: str = "",
    knee: Mark | None = None,
    limit: Mark | None = None,
) -> Any:
    """Points joined by lines; rows without a y leave a gap. A row that has a "low" and a "high" has a bar from the one
    to the other: the interval of its y.

    by      a column: one line for each of its values, in the order of the rows
    legend  what the values of `by` are of
    knee    a value of x, drawn upright
    limit   a value of y, drawn level
    """
    alt = _altair()
    base = alt.Chart(alt.Data(values=[dict(row) for row in rows]))
    shown = {"x": _scaled(alt.X, x, rows), "y": _scaled(alt.Y, y, rows)}
    if by is not None:
        order = list(dict.fromkeys(row[by] for row in rows))
        shown["color"] = alt.Color(f"{by}:N", title=legend or None, sort=order)
    layers = [base.mark_line(point=True).encode(**shown)]
    if any(row.get("low") is not None for row in rows):
        ends = shown | {"y": shown["y"].copy(), "y2": "high:Q"}
        ends["y"].shorthand = "low:Q"
        layers.append(base.mark_rule(opacity=0.5).encode(**ends))
    if knee is not None:
        layers += _line(alt, "x", knee, left=_is_late(knee.at, [row[x.column] for row in rows]))
    if limit is not None:
        layers += _line(alt, "y", limit)
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=HEIGHT)


def _line(alt: Any, across: str, mark: Mark, left: bool = False) -> list[Any]:
    one = alt.Chart(alt.Data(values=[{"at": mark.at, "text": mark.text}])).encode(**{across: "at:Q"})
    place = {"y": 8, "align": "right" if left else "left", "dx": -4 if left else 4}
    if across == "y":
        place = {"x": 4, "align": "left", "dy": -6}
    return [one.mark_rule(strokeDash=[4, 4], color="#666"), one.mark_text(**place).encode(text="text:N")]


def _is_late(at: float, values: Sequence[float]) -> bool:
    """Whether a word to the right of it would leave the picture."""
    low, high = _range(values)
    return at > low + 0.8 * (high - low)


def heat_map(
    rows: Sequence[Row], x: Axis, y: Axis, value: Axis, *, title: str, span: tuple[float, float], best: str = ""
) -> Any:
    """One cell for each pair of `x` and `y`, coloured by and labelled with its value; what is not measured is blank.

    span  the values of the lightest and the darkest colour: one for all maps that stand side by side
    best  a column: where it is true, the cell has a frame
    """
    alt = _altair()
    base = alt.Chart(alt.Data(values=[dict(row) for row in rows])).encode(
        x=alt.X(f"{x.column}:O", title=x.title, axis=alt.Axis(labelAngle=0)), y=alt.Y(f"{y.column}:O", title=y.title)
    )
    cells = base.mark_rect().encode(
        color=alt.Color(f"{value.column}:Q", title=value.title, scale=alt.Scale(scheme="blues", domain=list(span)))
    )
    dark = f"datum['{value.column}'] > {sum(span) / 2}"
    texts = base.mark_text().encode(
        text=alt.Text(f"{value.column}:Q", format=".3f"),
        color=alt.condition(dark, alt.value("white"), alt.value("#222")),
    )
    layers = [cells, texts]
    if best:
        chosen = base.transform_filter(f"datum['{best}']")
        layers.append(chosen.mark_rect(filled=False, stroke="#d95f02", strokeWidth=4))
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=HEIGHT)


def save(pictures: Sequence[Any], path: PathLike, *, title: str) -> None:
    """Write the pictures, one below the other. Raises SettingsError for a name of no known kind, and where the system
    refuses; MissingExtraError without the extra."""
    kind = Path(path).suffix.lower()
    check_kind(path)
    alt = _altair()
    whole = pictures[0]
    if len(pictures) > 1:  # each has a legend of its own, as in .html
        whole = alt.vconcat(*pictures).resolve_scale(color="independent")
    if kind == ".png":
        write(path, _converter().vegalite_to_png(whole.to_dict(), scale=PIXELS))
        return
    drawings = [
        _converter().vegalite_to_svg(picture.to_dict()) for picture in (pictures if kind == ".html" else [whole])
    ]
    write(path, drawings[0] if kind == ".svg" else _page(drawings, title))


def check_kind(path: PathLike) -> None:
    """Raises SettingsError for a name whose end says no kind of picture."""
    if Path(path).suffix.lower() not in KINDS:
        raise SettingsError(f"{path}: must end with {', '.join(KINDS[:-1])} or {KINDS[-1]}. Choose another name.")


def _scaled(channel: Any, axis: Axis, rows: Sequence[Row]) -> Any:
    ticks: dict[str, Any] = {"labelFlush": False}
    known = [row[axis.column] for row in rows if row[axis.column] is not None]
    scale: dict[str, Any] = {"zero": axis.zero}
    if axis.ticked:
        ticks |= {"values": sorted({*known, *([0] if axis.zero else [])}), "format": ",~g"}
    if axis.log:
        scale = {"type": "log", "nice": False, "padding": 12}
        ticks["values"] = log_ticks(known)
    return channel(f"{axis.column}:Q", title=axis.title, scale=scale, axis=ticks)


def log_ticks(values: Sequence[float]) -> list[float]:
    """Round numbers from below the least to above the greatest: 1, 2 and 5 of each power of ten, fewer where there are
    many powers, more where there are none between.

    >>> log_ticks([187, 3000])
    [100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0]
    >>> log_ticks([0.02, 5000])
    [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0]
    """
    low, high = _range([value for value in values if value > 0])
    if not low:
        return []
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps: tuple[float, ...] = (1,) if last - first > 4 else (1, 2, 5)
    if math.log10(high / low) < 1:
        steps = (1, 1.5, 2, 3, 5, 7)
    every = [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps]
    below, above = [tick for tick in every if tick <= low][-1:], [tick for tick in every if tick >= high][:1]
    return sorted({*below, *(tick for tick in every if low < tick < high), *above})


def _range(values: Sequence[float]) -> tuple[float, float]:
    return (min(values), max(values)) if values else (0.0, 0.0)


def _page(drawings: Sequence[str], title: str) -> str:
    figures = "\n".join(f"<figure>{drawing}</figure>" for drawing in drawings)
    return _PAGE.format(title=escape(title), figures=figures)


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise MissingExtraError("altair", "plots") from None
    return altair


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("vl-convert-python", "plots") from None
    return vl_convert
