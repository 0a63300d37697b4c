"""rag-titan ask: the answer, where it stands, and what documents must not do to a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.handbook import folder, settings, without_model

from rag_titan.pipeline.stores.sqlite import SqliteStore

QUESTION = "What is the limit for a hotel?"
OPTIONS = ["--store", "i.db", *settings(retriever="bm25")]


@pytest.fixture(autouse=True)
def _counting(monkeypatch: pytest.MonkeyPatch) -> None:
    without_model(monkeypatch)


@pytest.fixture
def index(run: Run, tmp_path: Path) -> Path:
    """An index of the handbook, i.db."""
    docs = folder(tmp_path / "docs")
    run("index", "docs", *OPTIONS)
    return docs


@pytest.mark.usefixtures("index")
def test_an_answer_has_its_sources_with_the_heading_and_the_passage(run: Run) -> None:
    done = run("ask", QUESTION, *OPTIONS)
    assert (done.code, done.err) == (0, "")
    assert done.lines[0].startswith("The limit for a hotel is 95 euros per night.")
    place = done.lines.index("[1] travel.md, Travelling for Tidewater Ferries > Hotels")
    assert done.lines[place + 1] == '    "The limit for a hotel is 95 euros per night"'
    assert done.lines[-1].startswith("Total ")
    assert "retrieval" in done.lines[-1]


def test_every_quote_is_shown_below_its_source_though_its_line_was_broken_or_bold(run: Run, tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    (docs / "bike.md").write_text(
        "# Bikes\n\nThe **bike shed** opens\nat 7 in the morning. The bike key is in the hall.\n"
    )
    run("index", "docs", *OPTIONS)
    done = run("ask", "When opens the bike shed and where is the bike key?", *OPTIONS)
    place = done.lines.index("[1] bike.md, Bikes")
    assert done.lines[place + 1 : place + 4] == [
        '    "The bike shed opens at 7 in the morning"', '    "The bike key is in the hall"', "",
    ]  # fmt: skip


def test_of_a_table_the_row_is_quoted_that_the_answer_says(run: Run, tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    table = "| Laptop | Days |\n|--------|------|\n| stolen | 3 |\n| broken | 9 |\n"
    (docs / "lost.md").write_text(f"# Laptops\n\n{table}")
    run("index", "docs", *OPTIONS)
    done = run("ask", "After how many days is a stolen laptop replaced?", *OPTIONS)
    assert done.lines[0] == "Laptop: stolen; Days: 3 [1]"
    place = done.lines.index("[1] lost.md, Laptops")
    assert done.lines[place + 1 : place + 3] == ['    "| stolen | 3 |"', ""]


@pytest.mark.usefixtures("index")
def test_as_json_it_is_the_record_with_the_passages(run: Run) -> None:
    record = json.loads(run("ask", QUESTION, *OPTIONS, "--format", "json", "--trace").out)
    assert record["question"] == QUESTION
    [source] = [one for one in record["sources"] if one["number"] == 1]
    assert (source["source"], source["headings"][-1]) == ("travel.md", "Hotels")
    assert "95 euros" in source["text"]
    assert source["chunk_id"] in record["citations"]
    assert [step["step"] for step in record["steps"]] == ["retrieve", "rerank", "generate"]


@pytest.mark.usefixtures("index")
def test_a_trace_shows_every_step(run: Run) -> None:
    lines = run("ask", QUESTION, *OPTIONS, "--trace", "--type", "adaptive").lines
    start = lines.index("Route: one step, decided by rules")
    heads = [line.partition(" (")[0] for line in lines[start + 1 :] if line[:1].isdigit()]
    assert heads == [f"{i}. {step}: {QUESTION}" for i, step in enumerate(("retrieve", "rerank", "generate"), 1)]


@pytest.mark.usefixtures("index")
def test_small_talk_and_what_is_not_there_have_no_sources(run: Run) -> None:
    talk = run("ask", "Thank you!", *OPTIONS, "--type", "adaptive", "--trace")
    assert (talk.code, talk.lines[-1]) == (0, "Route: no retrieval, decided by rules")
    absent = run("ask", "Zebra?", *OPTIONS, "--format", "json")
    assert (absent.code, json.loads(absent.out)["sources"]) == (0, [])
    assert json.loads(absent.out)["abstained"] is True


def test_documents_do_not_steer_the_terminal(run: Run, tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    (docs / "trick\x1b[2J.md").write_text("# Bi\x1b[31mke\n\nThe bike shed\x1b]0;owned\x07 opens at 7.\u202e\n")
    run("index", "docs", *OPTIONS)
    done = run("ask", "When opens the bike shed?", *OPTIONS, "--trace", "--set", "reranker=none")
    assert "bike shed" in done.out
    assert not {"\x1b", "\x07", "\u202e"} & set(done.out)
    as_json = run("ask", "When opens the bike shed?", *OPTIONS, "--format", "json").out
    assert not {"\x1b", "\x07", "\u202e"} & set(as_json)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x?", "--store", "no.db"], "--store: must be an index, got nothing at no.db. Make it with: rag-titan index"),
        (["x?"], "--store: must be the file of the index, got none."),
        (["  ", "--store", "i.db"], "QUESTION: must be a question, got none."),
        (["x?", "--store", "i.db", "--type", "agentic"], "rag_type: must be simple or adaptive, got 'agentic'.\n"),
    ],
)
@pytest.mark.usefixtures("index")
def test_what_cannot_be_asked_is_one_sentence(run: Run, tmp_path: Path, arguments: list[str], said: str) -> None:
    done = run("ask", *arguments)
    assert done.code == 2
    assert done.err.startswith(f"rag-titan: {said}")
    assert not (tmp_path / "no.db").exists()


@pytest.mark.usefixtures("index")
def test_an_index_of_another_model_and_a_file_that_is_none_are_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text.db").write_text("no index")
    assert run("ask", QUESTION, "--store", "text.db").code == 2
    without_model(monkeypatch, "another")
    done = run("ask", QUESTION, *OPTIONS)
    assert (done.code, done.out) == (2, "")
    assert "counts" in done.err


def test_of_an_index_without_chunks_nothing_is_said_about_the_documents(run: Run, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert run("index", "none", *OPTIONS).code == 3
    SqliteStore(tmp_path / "i.db", "counts").close()
    done = run("ask", QUESTION, *OPTIONS)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("rag-titan: --store: i.db: must be an index with chunks, got an empty one.")
    assert run("ask", "Thank you!", *OPTIONS, "--type", "adaptive").code == 0
