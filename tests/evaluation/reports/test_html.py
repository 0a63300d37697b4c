from __future__ import annotations

import base64
import copy
import hashlib
import json
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.reports.explorer_rows import CHUNKS, report_of, right, row, verdict

from rag_titan.errors import SettingsError
from rag_titan.evaluation.reports.compare import compare
from rag_titan.evaluation.reports.html import html
from rag_titan.evaluation.reports.manager import ReportManager

HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a|b", "\u202egpj.exe", "\ud800", "\x00",
    "</script>", "__proto__", "<!--", "{{ 7 * 7 }}", "\u2028", "é" * 100_000,
)  # fmt: skip
VOID = {"meta", "input", "img", "link", "br", "hr"}


class Page(HTMLParser):
    """The start tags of a page with their attributes, and the text inside them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def inside(self, tag: str) -> list[str]:
        return [text for inner, text in self.texts if inner == tag]

    @property
    def said(self) -> str:
        return " ".join(" ".join(text for tag, text in self.texts if tag not in ("script", "style")).split())


def hostile_report(text: str) -> dict[str, Any]:
    """A report in which every text of the data is the same."""
    entry = row(f"{text}1", of_verdict=verdict(f"{text}1", why=[text], tags={text: text}))
    entry |= {"question": text, "answer": text, "references": [text], "error": text, "tags": {text: text}}
    entry["facts"] = [{"text": text, "found": False}]
    entry["answer_marks"] = [{"start": 0, "end": 1, "what": "number"}]
    entry["evidence"][0] |= {"quotes": [text], "places": [{"chunk": text, "start": 0, "end": 1}], "whole_in": [text]}
    entry["retrieved"] = [{"id": text, "grade": 1.0, "score": None}, {"id": f"{text}2", "grade": None, "score": None}]
    found = report_of([entry], {text: {"text": text, "document": text, "cut": True}})
    return {**found, "warnings": [text], "meta": {**found["meta"], "created_at": text, "conventions": {"gain": text}}}


def test_everything_of_the_sample_is_in_its_section(report: dict[str, Any]) -> None:
    page = Page(html(report))
    ids = [attributes["id"] for tag, attributes in page.tags if tag == "section"]
    order = ["verdict", "scorecard", "gates", "funnel", "causes", "baseline", "slices", "distributions", "times",
             "missing", "warnings", "about", "questions"]  # fmt: skip
    assert ids == [name for name in order if name in ids]
    assert set(order) - set(ids) == {"baseline", "slices"}
    assert "gold chunk c7 is at rank 9" in page.said


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row("q1"), row("q2"), right("q3")], "2 of 3 questions failed; most lost at Search ordering."),
        ([right("q1"), right("q2")], "None of 2 questions failed, as far as the labels can tell."),
        ([row("q1", of_verdict=verdict("q1", lost_at=None))], "1 of 1 question failed."),
    ],
)
def test_the_first_sentence_says_how_many_failed_and_where(rows: list[dict[str, Any]], said: str) -> None:
    assert Page(html(report_of(rows))).inside("h2")[0] == said


def test_without_verdicts_the_first_sentence_says_so() -> None:
    assert "What failed is not known" in Page(html({"retrieval": {"summary": {"recall_at_k": 0.5}}})).inside("h2")[0]


def test_nothing_points_outside_and_nothing_is_styled_or_run_in_place(report: dict[str, Any]) -> None:
    page = Page(html({**report, **report_of([row()])}))
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form" if "action" in attributes else "")
        assert attributes.get("href", "#").startswith("#")
        assert not {name for name in attributes if name in ("src", "style", "srcset") or name.startswith("on")}
    (style,) = page.inside("style")
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_names_the_style_and_the_script_by_their_hashes() -> None:
    page = Page(html(report_of([row()])))
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    scripts = [text for tag, text in page.texts if tag == "script" and text.startswith('"use strict"')]
    for kind, text in (("style", page.inside("style")[0]), ("script", scripts[0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_a_page_without_data_is_small() -> None:
    assert len(html({}).encode()) < 100_000


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_the_data_stays_text(text: str) -> None:
    shape = [(tag, sorted(attributes)) for tag, attributes in Page(html(hostile_report("plain"))).tags]
    written = html(hostile_report(text), title=text)
    assert [(tag, sorted(attributes)) for tag, attributes in Page(written).tags] == shape
    written.encode("utf-8")
    assert not set(written) & set("\x00\u202e")
    for data in Page(written).inside("script"):
        if not data.startswith('"use strict"'):
            assert not set(data) & set("<>&\u2028")
            assert [json.loads(line) for line in data.split("\n")]


def test_only_the_index_stands_before_the_script() -> None:
    page = Page(html(report_of([row()])))
    scripts = [attributes.get("id") or attributes.get("class") for tag, attributes in page.tags if tag == "script"]
    assert scripts == ["data-index", None, "data-values", "data-pages", "data-chunks"]


def test_the_data_of_the_script_come_back_as_they_were() -> None:
    index, *rest = (data for data in Page(html(hostile_report("</script>\u2028é"))).inside("script")
                    if not data.startswith('"use strict"'))  # fmt: skip
    words = json.loads(index)["words"]
    pages = [json.loads(line) for data in rest if data.startswith("[[") for line in data.split("\n")]
    question = next(block for _, *blocks in pages for block in blocks if words[block[1]] == "Question")
    assert question[2:] == ["</script>\u2028é"]


@pytest.mark.parametrize(
    "absent", ["meta", "scorecard", "diagnosis", "queries", "root_causes", "retrieval", "explorer"]
)
@pytest.mark.parametrize("value", ["gone", None])
def test_a_report_without_a_part_is_shown_without_it(report: dict[str, Any], absent: str, value: str | None) -> None:
    whole = copy.deepcopy({**report, "explorer": report_of([row()])["explorer"]})
    if value == "gone":
        del whole[absent]
    else:
        whole[absent] = None
    assert "Scorecard" in Page(html(whole)).said or absent == "scorecard"


def test_without_explorer_rows_the_verdicts_are_listed() -> None:
    found = report_of([row("q1"), right("q2")])
    page = Page(html({**found, "explorer": {}}))
    assert "not their texts" in page.said
    assert "gold chunk c1 went from rank 1 to rank 3, K is 2" in page.said
    assert Page(html({**found, "explorer": {}}, explorer=found["explorer"])).said == Page(html(found)).said


def test_fifty_failed_questions_are_read_without_a_script() -> None:
    page = Page(html(report_of([row(f"q{i}") for i in range(60)])))
    assert sum(a.get("class") == "page" for _, a in page.tags) == 50
    assert "50 of the 60 questions that failed" in page.said


def test_a_question_shows_its_marks_ranks_facts_and_budget() -> None:
    page = Page(html(report_of([row()])))
    assert page.inside("mark") == ["7", "[c9]", "within 5 days"]
    said = page.said
    for text in ("missing 5 days", "found refund", "from rank 1", "2 chunks, 21 of 20 tokens: 1 over the budget",
                 "retrieved at rank 1; reranked to rank 3; not in the context", "score 0.9"):  # fmt: skip
        assert text in said


def test_marks_stand_where_the_text_has_characters_beyond_the_first_plane() -> None:
    text = "\U0001f600\U0001f600 within 5 days"
    entry = row()
    entry["evidence"][0]["places"] = [{"chunk": "c1", "start": 3, "end": 16}]
    written = html(report_of([entry], {**CHUNKS, "c1": {"text": text, "document": None, "cut": False}}))
    assert "within 5 days" in Page(written).inside("mark")
    assert ",[5,18]]" in written  # a script counts each smiley twice


def test_gates_say_whether_the_interval_decides(report: dict[str, Any]) -> None:
    gate = {"stage": "retrieval", "metric": "recall_at_k", "minimum": 0.7, "value": 0.75, "status": "pass",
            "required": False, "ci95": [0.5, 0.9], "verdict": "undecided", "needed": 80}  # fmt: skip
    found = {**report, "scorecard": {**report["scorecard"], "gates": [gate]}}
    said = Page(html(found)).said
    assert "1 undecided" in said
    assert "by its value: pass ; about 80 questions would decide".replace(" ;", ";") in said.replace(" ;", ";")


@pytest.mark.parametrize(
    ("significant", "word"), [(True, "real"), (False, "could be noise"), (None, "cannot be tested")]
)
def test_a_change_says_whether_it_is_more_than_noise(significant: bool | None, word: str) -> None:
    now = {"retrieval": {"summary": {"recall_at_k": 0.5}}}
    before = {"retrieval": {"summary": {"recall_at_k": 0.75}}}
    found = compare(now, before)
    found["regressions"][0].update(significant=significant, ci95=[-0.4, -0.1], n=20, p=0.01, p_corrected=0.03, wins=1,
                                   losses=6, ties=13, untested=None, needed=90, tested=23)  # fmt: skip
    said = Page(html(now, found)).said
    assert word in said
    assert "-0.250 (-0.400 to -0.100)" in said
    assert "20 questions; 1 better, 6 worse, 13 same; p 0.030 (corrected)" in said
    explained = "p 0.030 (corrected) as one of 23 metrics tested, though the interval leaves out 0"
    assert (explained in said) is (significant is False)
    assert ("about 90 questions needed to tell" in said) is (significant is False)


def test_what_cannot_be_compared_says_why() -> None:
    now, before = ({"meta": {"k": k}, "retrieval": {"summary": {"recall_at_k": 0.5}}} for k in (5, 10))
    assert "Not comparable: baseline: must have the same K" in Page(html(now, compare(now, before))).said


def test_slices_stand_worst_first_with_their_metrics() -> None:
    measured = {"summary": {"recall_at_k": 0.25}, "detail": {"recall_at_k": {"n": 12, "ci95": [0.1, 0.5]}}}
    part = {"score": 40.0, "coverage": 1.0, "failed": 6, "failed_share": 0.5, "stages": {"retrieval": measured}}
    sliced = {"by": ["language"], "minimum": 10, "most": 20,
              "pooled": [{"tag": "language", "slices": 3, "n": 9, **part}],
              "slices": [{"tag": "language", "value": "<de>", "n": 12, **part}],
              "small": [{"tag": "language", "value": None, "n": 2}]}  # fmt: skip
    said = Page(html({**report_of([row()]), "slices": sliced})).said
    assert "language = <de>" in said
    assert "0.250 0.100 to 0.500 12 0.750" in said
    assert "language: 3 more together" in said
    assert "no language" in said


def test_headings_tables_and_names_are_in_order(report: dict[str, Any]) -> None:
    page = Page(html({**report, **report_of([row()])}))
    levels = [int(tag[1]) for tag, _ in page.tags if tag in ("h1", "h2", "h3", "h4", "h5")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.tags:
        assert tag != "th" or attributes["scope"] in ("row", "col")
        assert set(attributes.get("aria-labelledby", "").split()) <= set(ids)
        assert attributes.get("href", "#").removeprefix("#") in ("", *ids)


def test_the_same_report_makes_the_same_page(report: dict[str, Any]) -> None:
    assert html({**report, **report_of([row()])}) == html({**report, **report_of([row()])})


def test_redacted_and_left_out_questions_are_said() -> None:
    found = report_of([row()])
    found["explorer"] |= {"redacted": True, "left_out": 1200}
    said = Page(html(found)).said
    assert "Texts are replaced by their lengths and hashes" in said
    assert "1,200 more questions" in said


def test_the_page_is_written_whole(tmp_path: Path) -> None:
    found = report_of([row("\ud800")])
    ReportManager().save_html(found, tmp_path / "new" / "report.html")
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8") == html(found)
    with pytest.raises(SettingsError, match="must be a file that can be written"):
        ReportManager().save_html(found, tmp_path)
