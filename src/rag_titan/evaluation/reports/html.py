"""The report as one HTML file that needs nothing else: no network, no fonts, no server; without JavaScript it reads.

The sections come from `html_sections` and `html_changes`, the figures from `html_figures`, the questions from
`html_explorer`; the markup, the style sheet and the script stand in `templates/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from rag_titan.evaluation.catalogue import ROWS, Rows
from rag_titan.evaluation.reports import html_changes, html_judged
from rag_titan.evaluation.reports.cells import shown, visible
from rag_titan.evaluation.reports.html_explorer import Explorer
from rag_titan.evaluation.reports.html_pages import excerpt
from rag_titan.evaluation.reports.html_sections import Sections, mapping
from rag_titan.evaluation.reports.markdown import HOW_TO_READ, WARNINGS_SHOWN

if TYPE_CHECKING:
    from jinja2 import Environment

TITLE = "RAG evaluation report"
LONGEST_TEXT = 2000  # of a text that is read without JavaScript


def html(
    report: Mapping[str, Any],
    comparison: Mapping[str, Any] | None = None,
    *,
    explorer: Mapping[str, Any] | None = None,
    rows: Rows | None = None,
    title: str | None = None,
    verdict: Mapping[str, Any] | None = None,
) -> str:
    """The report as one HTML page (UTF-8), whatever its texts hold.

    comparison  what `compare` found against a baseline; it gets a section of its own
    explorer    the rows of the query explorer; default: those in the report. Without any the questions are listed
                with their verdicts alone
    rows        the metrics there are; default: the catalogue
    title       the heading; default: "RAG evaluation report"
    verdict     {"passed", "text"}: how the run ended by the rules it was given; it is the first line

    A part that the report lacks (an older report, a single stage, no lists per question) is left out. Its policy
    (CSP) allows the page's own style and script and nothing else, so that no text of the data can load or run
    anything. Of 10,000 questions the list is there before all are read, and one is unpacked only when it is opened.

    >>> page = html({"retrieval": {"summary": {"recall_at_k": 0.5}}}, title="<Search>")
    >>> "<h1>&lt;Search&gt;</h1>" in page
    True
    """
    sections = Sections(report, ROWS if rows is None else rows)
    questions = Explorer(sections, mapping(report.get("explorer")) if explorer is None else explorer)
    compared, sliced = html_changes.baseline(sections, comparison), html_changes.slices(sections)
    said = {"baseline": compared, "slices": sliced, "explorer": questions.view(), "chunk": _Chunks(questions)}
    top = {"title": shown(TITLE if title is None else title, 200), "ended": verdict}
    return _environment().get_template("report.html.j2").render(**top, **_frame(), **_said(sections), **said)


def _frame() -> dict[str, str]:
    return {"style": _source("report.css"), "script": _script(), "policy": _policy()}


def _said(sections: Sections) -> dict[str, Any]:
    """The sections that the report alone fills."""
    warnings = [str(text) for text in sections.report.get("warnings") or []]
    return {
        "head": sections.head(),
        "scorecard": sections.scorecard(),
        "gates": sections.gates(),
        "gates_text": sections.gates_text(),
        "funnel": sections.funnel(),
        "judged": html_judged.judged(sections),
        "causes": sections.causes(),
        "priorities": sections.priorities(),
        "distributions": sections.distributions(),
        "times": sections.times(),
        "missing": sections.missing(),
        "warnings": warnings[:WARNINGS_SHOWN],
        "more_warnings": max(0, len(warnings) - WARNINGS_SHOWN),
        "about": sections.about(),
        "reading": HOW_TO_READ,
    }


class _Chunks:
    """How a template shows a chunk of a question's page."""

    def __init__(self, explorer: Explorer) -> None:
        self.chunks = list(explorer.pages.chunks.items())

    def name(self, reference: int | str) -> str:
        return self.chunks[reference][0] if isinstance(reference, int) else reference

    def excerpt(self, item: Mapping[str, Any]) -> list[tuple[str, str]]:
        reference = item["chunk"]
        return excerpt(self.chunks[reference][1], item["places"]) if isinstance(reference, int) else []


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("rag_titan.evaluation.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    environment.filters["cut"] = _cut
    return environment


def _finalized(value: Any) -> Any:
    """Everything that a template prints goes through here: nothing invisible, nothing that UTF-8 has no form for."""
    return visible(value) if type(value) is str else value


def _cut(text: str) -> str:
    more = len(text) - LONGEST_TEXT
    return text if more <= 0 else f"{text[:LONGEST_TEXT]}… ({more:,} more characters)"


@cache
def _source(name: str) -> str:
    """The style sheet or a part of the script, as it stands in its file."""
    from importlib.resources import files

    return files("rag_titan.evaluation.reports").joinpath("templates", name).read_text(encoding="utf-8")


def _script() -> str:
    return _source("data.js") + _source("report.js")


@cache
def _policy() -> str:
    """The content security policy: this style and this script by their hashes, and nothing from anywhere."""
    import hashlib
    from base64 import b64encode

    style, script = (
        b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (_source("report.css"), _script())
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "base-uri 'none'; form-action 'none'"
    )
