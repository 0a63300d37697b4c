"""The site of the pages: built without warnings, whole, and asking nothing of the network."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from tests.docs.blocks import DOCS, PAGES, ROOT

pytestmark = pytest.mark.site
LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("form", "action")}


class Links(HTMLParser):
    """What a page links to and loads, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            if (tag, name) in LOADED:
                self.loaded.append(value)
            if name in ("href", "src"):
                self.links.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    return {path: Links(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def test_every_page_is_in_it_and_nothing_else_of_the_folder(site: Path, pages: dict[Path, Links]) -> None:
    written = {path.relative_to(DOCS).with_suffix("").as_posix() for path in PAGES[1:]}
    built = {path.parent.relative_to(site).as_posix() for path in pages if path.name == "index.html"}
    assert {"." if name == "index" else name.removesuffix("/index") for name in written} == built
    assert not list(site.rglob("*.py"))


def test_every_link_leads_to_a_page_and_an_anchor_that_is_there(site: Path, pages: dict[Path, Links]) -> None:
    broken = []
    for path, found in pages.items():
        for link in found.links:
            address, anchor = urldefrag(link)
            if urlsplit(address).scheme or address.startswith("//"):
                continue
            start = site if address.startswith("/") else path.parent
            target = (start / unquote(urlsplit(address).path).lstrip("/")).resolve() if address else path
            target = target / "index.html" if target.is_dir() else target
            anchored = not anchor or target.suffix != ".html" or unquote(anchor) in pages[target].anchors
            if not target.is_file() or not anchored:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_no_page_loads_anything_from_elsewhere(pages: dict[Path, Links]) -> None:
    strange = [link for found in pages.values() for link in found.loaded if urlsplit(link).netloc]
    assert strange == []


def test_no_style_or_program_of_it_names_a_font_or_a_counter(site: Path) -> None:
    names = ("fonts.googleapis", "fonts.gstatic", "google-analytics", "googletagmanager")
    found = [
        f"{path.relative_to(site)}: {name}"
        for path in site.rglob("*")
        if path.suffix in (".html", ".css")
        for name in names
        if name in path.read_text(encoding="utf-8")
    ]
    assert found == []
