"""Rankings cut after so many words: equally much text for large and small chunks."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation import RAGEvaluator
from rag_titan.pipeline.equal_text import with_equal_text

TEXT = "One two three four. Five six seven eight. Nine ten."


def dataset(*ends: int, ranking: list[str]) -> dict[str, Any]:
    """TEXT cut at these places into chunks c0, c1, ..., and one question whose answer is "six seven"."""
    starts = [0, *ends]
    chunks = [
        {"id": f"c{i}", "text": TEXT[start:end], "start": start, "end": end, "doc_id": "d"}
        for i, (start, end) in enumerate(zip(starts, [*ends, len(TEXT)], strict=True))
    ]
    queries = [{"id": "q", "expected_evidence": ["six seven"], "retrieved_ids": ranking, "answer": "6"}]
    return {"chunks": chunks, "documents": {"d": TEXT}, "queries": queries}


def words_of(cut: dict[str, Any]) -> list[str]:
    texts = {chunk["id"]: chunk["text"] for chunk in cut["chunks"]}
    return " ".join(texts[name] for name in cut["queries"][0]["retrieved_ids"]).replace(".", "").lower().split()


def test_the_chunk_in_which_the_words_run_out_is_cut_at_its_place_in_the_document() -> None:
    cut, depth = with_equal_text(dataset(20, ranking=["c1", "c0"]), 3)
    assert words_of(cut) == ["five", "six", "seven"]
    [made] = cut["chunks"][2:]
    assert (made["start"], TEXT[made["start"] : made["end"]], depth) == (20, made["text"], 1)
    report = RAGEvaluator(k=depth).evaluate(**cut)
    assert report["retrieval"]["summary"]["token_recall"] == 1.0
    assert report["retrieval"]["summary"]["token_precision"] == 2 / 3
    half, _ = with_equal_text(dataset(20, ranking=["c1"]), 2)
    assert RAGEvaluator(k=1).evaluate(**half)["retrieval"]["summary"]["token_recall"] == 0.5


def test_a_ranking_that_holds_less_stays_as_it_is_and_a_chunk_that_fits_is_not_cut() -> None:
    given_ = dataset(20, 42, ranking=["c2", "c0"])
    cut, depth = with_equal_text(given_, 100)
    assert (cut["queries"][0]["retrieved_ids"], depth) == (["c2", "c0"], 2)
    assert cut["chunks"] == given_["chunks"]
    whole, _ = with_equal_text(given_, 6)
    assert whole["queries"][0]["retrieved_ids"] == ["c2", "c0"]


def test_what_was_found_twice_is_read_once_and_what_was_not_searched_stays_out() -> None:
    cut, _ = with_equal_text(dataset(20, ranking=["c0", "c0", "c1"]), 5)
    assert words_of(cut) == ["one", "two", "three", "four", "five"]
    other = dataset(20, ranking=[])
    del other["queries"][0]["retrieved_ids"]
    assert "retrieved_ids" not in with_equal_text(other, 5)[0]["queries"][0]


@given(st.lists(st.integers(1, 50), unique=True, max_size=6), st.integers(1, 12))
def test_however_the_text_is_chunked_equally_much_of_it_is_read(ends: list[int], words: int) -> None:
    spaces = sorted({TEXT.rfind(" ", 0, end) + 1 for end in ends} - {0})
    ranking = [f"c{i}" for i in range(len(spaces) + 1)]
    cut, _ = with_equal_text(dataset(*spaces, ranking=ranking), words)
    assert words_of(cut) == TEXT.replace(".", "").lower().split()[:words]
