"""The one place that writes text of the data into Markdown: whatever it holds, it stays text in its line and cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LONGEST = 160
WIDEST_PADDING = 48

_SPACE = re.compile(r"\s+")
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_UNSHOWABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)  # controls, bidi, lone surrogates
_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MARKUP = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        "\\": "&#92;",  # no backslash of the data's own, so that each one in the output is an escape of ours
        **{sign: f"\\{sign}" for sign in "|`*[]~$"},
    }
)
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")  # inside a word it is no markup
_ADDRESS = re.compile(r":(?=//)|(?<=\bwww)\.", re.IGNORECASE)  # what viewers turn into a link by themselves
_LINE_START = re.compile(r"^(\d*)([-+=#.)])")


def shown(text: object, longest: int = LONGEST) -> str:
    """The text as a reader may see it: one line, nothing invisible, at most `longest` characters.

    >>> shown("two\\nlines\\u202e!"), shown("a" * 9, longest=5)
    ('two lines\ufffd!', 'aaaa…')
    """
    line = _SPACE.sub(" ", str(text))
    line = _UNSHOWABLE.sub("\ufffd", _INVISIBLE.sub("", line)).strip()
    if len(line) > longest:
        line = line[: longest - 1].rstrip() + "…"
    return line or "(empty)"


def visible(text: str) -> str:
    """The text with a sign in the place of each character that nobody may see: controls, changes of the writing
    direction, lone surrogates. Its length, its line ends and tabs stay.

    >>> visible("one\\ntwo\\x00\\u202e")
    'one\\ntwo��'
    """
    return _HIDDEN.sub("\ufffd", text)


def cell(text: object, longest: int = LONGEST) -> str:
    """Text from anywhere as a Markdown cell that shows it literally: no markup, no HTML, no link, no second cell.

    >>> print(cell("c|1 <img src=x> [a](http://b) *c* snake_case"))
    c\\|1 &lt;img src=x&gt; \\[a\\](http\\://b) \\*c\\* snake_case
    """
    escaped = shown(text, longest).translate(_MARKUP)
    return _ADDRESS.sub(r"\\\g<0>", _UNDERSCORE.sub(r"\\_", escaped))


def line(text: object, longest: int = 1000) -> str:
    """The same for a paragraph or the text of a list item: its start is no heading, list or rule either.

    >>> print(line("# 1"), line("1. x"))
    \\# 1 1\\. x
    """
    return _LINE_START.sub(r"\1\\\2", cell(text, longest))


def table(header: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[int] = ()) -> list[str]:
    """The lines of a Markdown table; every cell is escaped here, None is shown as a dash.

    `right` are the columns that are set to the right; the columns are padded, so that the plain text reads well too.

    >>> print(*table(["Stage", "Score"], [["a|b", None]], right=[1]), sep="\\n")
    | Stage | Score |
    |-------|------:|
    | a\\|b  |     – |
    """
    cells = [[cell("–" if value is None else value) for value in row] for row in [header, *rows]]
    widths = [max(3, *(min(len(row[i]), WIDEST_PADDING) for row in cells)) for i in range(len(header))]
    to_right = set(right)
    lines = []
    for row in cells:
        padded = [
            text.rjust(w) if i in to_right else text.ljust(w)
            for i, (text, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"| {' | '.join(padded)} |")
    rule = "|".join("-" * (w + 1) + (":" if i in to_right else "-") for i, w in enumerate(widths))
    return [lines[0], f"|{rule}|", *lines[1:]]
