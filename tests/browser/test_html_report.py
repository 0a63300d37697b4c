"""The HTML report in a browser: what is read, filtered, opened, and what stays inert."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.reports.explorer_rows import report_of, right, row, verdict

from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.reports.html import html

pytestmark = pytest.mark.browser

MOST_NODES = 12_000
HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a|b", "\u202egpj.exe", "\ud800x", "\x00x",
    "</script>", "__proto__", "constructor", "%zz", "x" * 100_000,
)  # fmt: skip


@pytest.fixture(scope="module")
def text() -> str:
    """Sixty failed questions of two stages and sixty that came out right."""
    rows = [row(f"bad{i:02}") for i in range(55)]
    lost = [
        row(f"gone{i}", of_verdict=verdict(f"gone{i}", lost_at="retrieval", tags={"language": "fr"}),
            tags={"language": "fr"}, question="Combien de jours?")
        for i in range(5)
    ]  # fmt: skip
    return html(report_of([*rows, *lost, *(right(f"good{i:02}") for i in range(60))]))


def count(page: Any) -> str:
    return str(page.inner_text("#count"))


def expect(locator: Any) -> Any:
    from playwright.sync_api import expect

    return expect(locator)


def test_a_question_is_found_and_opened_by_mouse(opened: Callable[..., Any], text: str) -> None:
    page = opened(text)
    assert count(page) == "60 of 120 questions"
    page.select_option("#filter-lost", label="Information search (5)")
    expect(page.locator("#count")).to_have_text("5 of 120 questions")
    page.click("#list a >> nth=1")
    expect(page.locator("#query h3")).to_have_text("gone1")
    assert page.url.endswith("#q=gone1")
    shown = page.inner_text("#query")
    for part in (
        "Combien de jours?",
        "a number that the context lacks",
        "missing 5 days",
        "from rank 1",
        "over the budget",
    ):
        assert part in shown
    assert page.inner_text("#query .chunk mark") == "within 5 days"
    assert page.locator("#query svg.budget rect").count() == 3
    page.click("#query .columns li >> nth=0 >> summary")
    expect(page.locator("#query .columns .opened mark")).to_have_text("within 5 days")


def test_a_question_is_found_and_opened_by_keyboard(opened: Callable[..., Any], text: str) -> None:
    page = opened(text)
    page.focus("#filter-text")
    page.keyboard.type("combien")
    expect(page.locator("#count")).to_have_text("5 of 120 questions")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('#list') !== null"):
            break
    page.keyboard.press("ArrowDown")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#query h3")).to_have_text("gone1")
    assert page.evaluate("document.activeElement.id") == "query"


def test_each_filter_narrows_the_list(opened: Callable[..., Any], text: str) -> None:
    page = opened(text)
    page.uncheck("#filter-failed")
    expect(page.locator("#count")).to_have_text("120 of 120 questions")
    page.select_option("#filter-slice", label="language = fr (5)")
    expect(page.locator("#count")).to_have_text("5 of 120 questions")
    page.click("button[type=reset]")
    expect(page.locator("#count")).to_have_text("120 of 120 questions")
    page.focus("#filter-metric")
    page.select_option("#filter-metric", label="Recall@2")
    page.fill("#filter-value", "0.75")
    expect(page.locator("#count")).to_have_text("60 of 120 questions")
    assert page.locator("#list a").count() == 50
    page.click("#next")
    assert page.locator("#list a").count() == 10
    page.click("a[data-lost]")
    expect(page.locator("#count")).to_have_text("55 of 120 questions")


def test_an_address_opens_its_question(opened: Callable[..., Any], text: str) -> None:
    page = opened(text, "#q=good07")
    expect(page.locator("#query h3")).to_have_text("good07")
    expect(page.locator("#query .verdict-line")).to_contain_text("Did not fail")


@pytest.mark.parametrize("width", [1280, 360])
def test_an_address_shows_its_question_on_the_screen(opened: Callable[..., Any], text: str, width: int) -> None:
    page = opened(text, "#q=gone1", viewport={"width": width, "height": 600})
    expect(page.locator("#query h3")).to_be_in_viewport()
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' }); location.hash = '#q=good07'")
    expect(page.locator("#query h3")).to_have_text("good07")
    expect(page.locator("#query h3")).to_be_in_viewport()


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_inert(opened: Callable[..., Any], hostile: str) -> None:
    entry = row(hostile, of_verdict=verdict(hostile, why=[hostile], tags={hostile: hostile}))
    entry |= {"question": hostile, "answer": hostile, "answer_marks": [], "tags": {hostile: hostile}}
    entry["evidence"][0] |= {"places": [{"chunk": hostile, "start": 0, "end": 1}], "whole_in": [hostile]}
    entry["retrieved"] = [{"id": hostile, "grade": 1.0, "score": 0.5}]
    chunks = {hostile: {"text": hostile, "document": hostile, "cut": False}}
    page = opened(html(report_of([row("q0"), entry], chunks)), viewport={"width": 360, "height": 700})
    page.click("#list a >> nth=1")
    expect(page.locator("#query .question")).to_contain_text(hostile[:1] if hostile.isascii() and hostile > " " else "")
    page.click("#query .columns li >> nth=0 >> summary")
    assert page.locator("#query img, #query script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_without_javascript_it_reads(opened: Callable[..., Any], text: str) -> None:
    page = opened(text, java_script_enabled=False)
    assert not page.is_visible("#explorer")
    assert not page.is_visible("#theme")
    page.click("details.page summary >> nth=0")
    assert page.is_visible("details.page[open] mark >> nth=0")


@pytest.fixture(scope="module")
def evaluated() -> str:
    """The page of the project's own sample, with every section but the baseline."""
    path = Path(__file__).parents[2] / "examples" / "rag_evaluation_sample.json"
    return html(RAGEvaluator(k=5, explorer=True, by=("topic",)).evaluate_path(path))


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_width_makes_the_page_scroll_sideways(
    opened: Callable[..., Any], evaluated: str, width: int, scheme: str
) -> None:
    page = opened(evaluated, "#q=q07", viewport={"width": width, "height": 800}, color_scheme=scheme)
    expect(page.locator("#query h3")).to_have_text("q07")
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != dark


def test_paper_shows_the_failed_questions_opened(opened: Callable[..., Any], text: str) -> None:
    page = opened(text)
    page.emulate_media(media="print")
    assert page.is_visible("#static .page >> nth=0")
    assert not page.is_visible("#explorer")
    assert page.is_visible("#static .page mark >> nth=0")


def test_ten_thousand_questions_keep_the_page_small(
    opened: Callable[..., Any], record_property: Callable[[str, object], None]
) -> None:
    rows = [row(f"q{i:05}") if i % 3 else right(f"q{i:05}") for i in range(10_000)]
    text = html(report_of(rows))
    start = time.perf_counter()
    page = opened(text)
    expect(page.locator("#list a >> nth=0")).to_be_visible()
    record_property("seconds to open 10,000 questions", round(time.perf_counter() - start, 2))
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    page.evaluate("location.hash = '#q=q09999'")
    expect(page.locator("#query h3")).to_have_text("q09999")
    page.fill("#filter-text", "wie lange")
    page.uncheck("#filter-failed")
    expect(page.locator("#count")).to_have_text("3,334 of 10,000 questions")
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
