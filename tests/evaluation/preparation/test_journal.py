"""The journal: every entry is there at once, a cut line costs one question, and no two runs get mixed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.preparation.journal import Entry, Journal

RUN = {"url": "http://user:pass-word@127.0.0.1/ask", "map": ""}
ONE, TWO = Entry("g1", "one?", {"answer": "1"}), Entry("g2", "two?\n", {"error": "HTTP 500"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a journal will be."""
    return tmp_path / "new" / "queries.jsonl.journal"


def written(path: Path, *entries: Entry) -> bytes:
    """A journal of these entries."""
    with Journal(path, RUN) as journal:
        for entry in entries:
            journal.add(entry)
    return path.read_bytes()


def read(path: Path) -> tuple[dict[str, Entry], list[str]]:
    with Journal(path, RUN) as journal:
        return journal.entries, journal.notices.texts()


def test_what_was_added_is_read_by_the_next_run_and_the_latest_counts(path: Path) -> None:
    written(path, ONE, TWO)
    written(path, Entry("g2", "two?\n", {"answer": "2"}))
    assert read(path) == ({"g1": ONE, "g2": Entry("g2", "two?\n", {"answer": "2"})}, [])


def test_an_entry_is_in_the_file_as_soon_as_it_was_added(path: Path) -> None:
    with Journal(path, RUN) as journal:
        journal.add(ONE)
        assert path.read_bytes().count(b"\n") == 2


def test_nothing_secret_is_in_the_file(path: Path) -> None:
    assert b"pass-word" not in written(path, ONE)


@given(st.data())
def test_a_file_cut_anywhere_loses_the_cut_line_alone(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("cut") / "j"
    whole = written(path, ONE, TWO)
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    ends = [whole.index(b'"g2"') - len(b'\n{"id":'), len(whole) - 1]  # where the line of each entry is complete
    entries, notices = read(path)
    assert list(entries) == [name for name, end in zip(("g1", "g2"), ends, strict=True) if cut >= end]
    torn = cut > whole.index(b"\n") + 1 and cut not in (ends[0], ends[0] + 1, ends[1], len(whole))
    assert (len(notices) == 1) == torn
    written(path, TWO)
    assert (list(read(path)[0])[-1], read(path)[1]) == ("g2", [])


def test_a_line_broken_in_the_middle_is_named_and_dropped(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(written(path, ONE, TWO).replace(b'{"id":"g1"', b'{"id":"g1\x00"', 1))
    entries, [notice] = read(path)
    assert (list(entries), "line 2" in notice) == (["g2"], True)


def test_a_fresh_run_forgets(path: Path) -> None:
    written(path, ONE)
    with Journal(path, {"url": "other"}, fresh=True) as journal:
        assert journal.entries == {}
        journal.add(TWO)
    assert path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("content", [b'{"id": "q1"}\n', b"text", b"\x00\x01"])
def test_a_file_that_is_no_journal_is_left_alone(path: Path, content: bytes, fresh: bool) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(SettingsError, match="must be the journal of an earlier run, got another file"):
        Journal(path, RUN, fresh=fresh)
    assert path.read_bytes() == content


def test_a_run_with_other_settings_is_refused_and_they_are_named(path: Path) -> None:
    before = written(path, ONE)
    with pytest.raises(SettingsError, match="settings of its first run, got another request and another url"):
        Journal(path, {"url": "http://127.0.0.1/other", "map": "", "request": "{}"})
    assert path.read_bytes() == before


def test_a_broken_first_line_is_one_sentence(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"journal":"rag-titan collect 1",\n')
    with pytest.raises(DatasetError, match=r"must begin with the line .+ Remove the file\.$"):
        Journal(path, RUN)


def test_two_runs_at_once_are_refused(path: Path) -> None:
    pytest.importorskip("fcntl")
    with Journal(path, RUN), pytest.raises(SettingsError, match="must be written by one run at a time"):
        Journal(path, RUN)
    Journal(path, RUN).close()


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "x"):
        with pytest.raises(SettingsError, match="must be a file that can be written"):
            Journal(path, RUN)
