"""Curves and heat maps as files: .svg, .png, or .html with the pictures inside and nothing from the network.

A picture is described by its rows and the names of their columns, so that what is drawn is what the JSON beside it
holds. Needs the extra `plots`.
"""

from __future__ import annotations

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
    """A column and how it is drawn: its title, and whether its scale is logarithmic."""

    column: str
    title: str
    log: bool = False


@dataclass(frozen=True)
class Mark:
    """A vertical line at `x` with a word beside it: a knee, a limit."""

    x: float
    text: str


def curves(
    rows: Sequence[Row], x: Axis, y: Axis, *, title: str, by: str | None = None, mark: Mark | None = None
) -> Any:
    """Points joined by lines, one line for each value of the column `by`; rows without a y leave a gap."""
    alt = _altair()
    base = alt.Chart(alt.Data(values=[dict(row) for row in rows]))
    shown = {"x": _scaled(alt.X, x), "y": _scaled(alt.Y, y)}
    if by is not None:
        shown["color"] = alt.Color(f"{by}:N", title=by)
    layers = [base.mark_line(point=True).encode(**shown)]
    if mark is not None:
        one = alt.Chart(alt.Data(values=[{"x": mark.x, "text": mark.text}])).encode(x="x:Q")
        layers += [
            one.mark_rule(strokeDash=[4, 4], color="#666"),
            one.mark_text(align="left", dx=4, y=8).encode(text="text:N"),
        ]
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=HEIGHT)


def heat_map(rows: Sequence[Row], x: Axis, y: Axis, value: Axis, *, title: str) -> Any:
    """One cell for each pair of `x` and `y`, coloured by and labelled with its value; what is not measured is blank."""
    alt = _altair()
    base = alt.Chart(alt.Data(values=[dict(row) for row in rows])).encode(
        x=alt.X(f"{x.column}:O", title=x.title, axis=alt.Axis(labelAngle=0)), y=alt.Y(f"{y.column}:O", title=y.title)
    )
    cells = base.mark_rect().encode(
        color=alt.Color(f"{value.column}:Q", title=value.title, scale=alt.Scale(scheme="blues"))
    )
    low, high = _range([row[value.column] for row in rows if row[value.column] is not None])
    dark = f"datum['{value.column}'] > {(low + high) / 2}"
    texts = base.mark_text().encode(
        text=alt.Text(f"{value.column}:Q", format=".3f"),
        color=alt.condition(dark, alt.value("white"), alt.value("#222")),
    )
    return (cells + texts).properties(title=title, width=WIDTH, height=HEIGHT)


def save(pictures: Sequence[Any], path: PathLike, *, title: str) -> None:
    """Write the pictures, one below the other. Raises SettingsError for a name of no known kind, and where the system
    refuses; MissingExtraError without the extra."""
    kind = Path(path).suffix.lower()
    check_kind(path)
    alt = _altair()
    whole = alt.vconcat(*pictures) if len(pictures) > 1 else pictures[0]
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


def _scaled(channel: Any, axis: Axis) -> Any:
    scale = {"type": "log"} if axis.log else {"zero": False}
    return channel(f"{axis.column}:Q", title=axis.title, scale=scale)


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
