"""Debian's Chromium, and pages in it that may ask nobody for anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One browser for all tests."""
    api = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM.exists():
        pytest.skip(f"could not import a browser: there is no {CHROMIUM}")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens an HTML text in a page of its own; at the end nothing was asked for and nothing went wrong."""
    contexts, asked, wrong = [], [], []

    def open_page(text: str, address: str = "", **options: Any) -> Any:
        file = tmp_path / "report.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(file.as_uri() + address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    file = (tmp_path / "report.html").as_uri()
    assert [url for url in asked if not url.startswith(file)] == []
    assert wrong == []
