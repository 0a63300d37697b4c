"""The HTML report in a browser: what is read, filtered, opened, and what stays inert."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread
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


@contextmanager
def served_in_two_parts(text: str, first: int) -> Iterator[tuple[str, Event]]:
    """The address of the page, of which the rest is sent when the event is set."""
    go_on = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(text[:first].encode())
            self.wfile.flush()
            go_on.wait()
            self.wfile.write(text[first:].encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", go_on
        finally:
            go_on.set()
            server.shutdown()
            thread.join()


def test_the_list_answers_before_the_rest_is_read(browser: Any, text: str) -> None:
    page = browser.new_page()
    with served_in_two_parts(text, text.index('<script type="application/json" class="data-')) as (address, go_on):
        page.goto(address, wait_until="commit")
        expect(page.locator("#count")).to_have_text("60 of 120 questions")
        page.select_option("#filter-lost", label="Information search (5)")
        expect(page.locator("#count")).to_have_text("5 of 120 questions")
        page.click("#list a >> nth=1")
        expect(page.locator("#query h3")).to_have_text("gone1")
        expect(page.locator("#query .note")).to_have_text("The page is still being read.")
        page.fill("#filter-text", "no such words")
        expect(page.locator("#count")).to_have_text("The page is still being read.")
        page.fill("#filter-text", "combien")
        page.select_option("#filter-metric", label="Recall@2")
        go_on.set()
        expect(page.locator("#count")).to_have_text("5 of 120 questions")
        expect(page.locator("#query h3")).to_have_text("gone1")
        expect(page.locator("#query .question")).to_have_text("Combien de jours?")
    page.close()


def test_all_values_of_a_question_are_there_to_open(opened: Callable[..., Any], text: str) -> None:
    page = opened(text, "#q=good07")
    page.click("#query > details > summary")
    expect(page.locator("#query > details tbody tr")).to_have_text(
        ["Recall@2Information search0.500", "MRR@2Search ordering1.000"]
    )


def test_ten_thousand_questions_keep_the_page_small(opened: Callable[..., Any]) -> None:
    rows = [row(f"q{i:05}") if i % 3 else right(f"q{i:05}") for i in range(10_000)]
    page = opened(html(report_of(rows)))
    expect(page.locator("#list a >> nth=0")).to_be_visible()
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    page.evaluate("location.hash = '#q=q09999'")
    expect(page.locator("#query h3")).to_have_text("q09999")
    page.fill("#filter-text", "wie lange")
    page.uncheck("#filter-failed")
    expect(page.locator("#count")).to_have_text("3,334 of 10,000 questions")
    page.fill("#filter-text", "")
    page.select_option("#filter-lost", label="Search ordering (6666)")
    expect(page.locator("#count")).to_have_text("6,666 of 10,000 questions")
    page.select_option("#filter-lost", label="any stage")
    page.select_option("#filter-slice", label="language = de (3334)")
    page.select_option("#filter-metric", label="Recall@2")
    page.fill("#filter-value", "0.4")
    expect(page.locator("#count")).to_have_text("0 of 10,000 questions")
    page.select_option("#filter-side", label="above")
    expect(page.locator("#count")).to_have_text("3,334 of 10,000 questions")
    page.focus("#list a >> nth=0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#query h3")).to_have_text("q00003")
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
