"""Gold chunk ids out of quotes, files and pages, against a slow twin and cases worked by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.normal import normal_text
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Chunk
from rag_titan.evaluation.preparation.gold_chunks import with_gold_chunks

TEXT = "Leave is 25 days. Sick pay is full. Leave is short."
CHUNKS = (
    Chunk(id="c1", start=0, end=18, metadata={"source": "docs/hr.pdf", "page": 1}),
    Chunk(id="c2", start=9, end=35, metadata={"source": "docs/hr.pdf", "page": 4.0}),
    Chunk(id="c3", start=36, end=51, doc_id="document", metadata={"file_name": "it.pdf", "page_label": "iv"}),
)
PLACED = Corpus(CHUNKS, Documents.of({"document": TEXT}), given=True)
TEXTS = Corpus(
    (
        Chunk(id="c1", text="Leave is\n25 days."),
        Chunk(id="c2", text="25 days. Sick pay is full."),
        Chunk(id="c3", text="Leave"),
    ),
    given=True,
)

CUT = "a quote of these queries is in a document but whole in no chunk (the chunker cut it), and has no gold chunk"


def gold(corpus: Corpus, **record: Any) -> tuple[Any, list[str]]:
    notices = Notices()
    (found,) = with_gold_chunks([{"id": "q", **record}], corpus, notices)
    return found.get("expected_chunk_ids"), notices.texts()


@pytest.mark.parametrize(
    ("evidence", "ids"),
    [
        (["25 days"], ["c1", "c2"]),  # both hold it
        (["Leave is 25"], ["c1"]),
        ([{"quote": "Leave is", "occurrence": 2}], ["c3"]),
        ([{"quote": "Leave is", "occurrence": 1}], ["c1"]),
        ([{"start": 18, "end": 26, "doc_id": "document"}], ["c2"]),
        ([{"any_of": ["Sick pay", "is short"]}], ["c2", "c3"]),
        (["Leave is 25", "Sick pay"], ["c1", "c2"]),
        (["Leave is"], ["c1", "c3"]),  # which of the two is meant is not known: both hold it
    ],
)
def test_the_chunks_that_hold_a_quote_whole(evidence: list[Any], ids: list[str]) -> None:
    assert gold(PLACED, expected_evidence=evidence) == (ids, [])


def test_without_documents_the_texts_of_the_chunks_decide() -> None:
    assert gold(TEXTS, expected_evidence=["Leave is 25  days"])[0] == ["c1"]
    assert gold(TEXTS, expected_evidence=["25 days", "nowhere"]) == (
        ["c1", "c2"],
        ["a quote of these queries stands whole in no chunk, and has no gold chunk: q."],
    )


def test_a_quote_that_is_cut_has_no_gold_chunk() -> None:
    assert gold(PLACED, expected_evidence=["full. Leave"]) == (
        None,
        [f"{CUT}: q."],
    )
    assert gold(TEXTS, expected_evidence=["full. Leave"]) == (
        None,
        ["none of their quotes stands whole in a chunk, so that these queries have no gold chunks: q."],
    )


@pytest.mark.parametrize(
    ("label", "ids"),
    [
        ("docs/hr.pdf", ["c1", "c2"]),
        ("hr.pdf", ["c1", "c2"]),
        ("hr.pdf#p4", ["c2"]),
        ("hr.pdf#page=1", ["c1"]),
        ("it.pdf#piv", ["c3"]),
        ("document", ["c3"]),
        ("hr.pdf#p2", None),
        ("pdf", None),
    ],
)
def test_every_chunk_of_a_file_or_page(label: str, ids: list[str] | None) -> None:
    found, notices = gold(PLACED, required_evidence_ids=[label])
    assert found == ids
    assert notices[0].startswith(
        "the gold chunks are all chunks of a file" if ids else "no chunk is of the file or page"
    )


def test_a_doc_id_may_name_the_page() -> None:
    corpus = Corpus((Chunk(id="c1", text="a", doc_id="b.pdf#p7"), Chunk(id="c2", text="b", doc_id="b.pdf")), given=True)
    assert gold(corpus, required_evidence_ids=["b.pdf#p7"])[0] == ["c1"]
    assert gold(corpus, required_evidence_ids=["b.pdf"])[0] == ["c1", "c2"]


def test_the_first_label_that_a_question_has_counts() -> None:
    labels = {"expected_evidence": ["Sick pay"], "required_evidence_ids": ["it.pdf"]}
    assert gold(PLACED, **labels)[0] == ["c2"]
    assert gold(PLACED, expected_chunk_ids=["c3"], **labels)[0] == ["c3"]
    assert gold(PLACED, relevance={"c3": 2}, **labels)[0] is None
    assert gold(PLACED, expected_chunk_ids=["old_1"])[1] == ["gold chunk ids that no chunk has: old_1."]
    assert gold(PLACED) == (None, [])


def test_without_chunks_it_is_said() -> None:
    assert gold(Corpus(), expected_evidence=["x"]) == (
        None,
        ["chunks were not passed, so that quotes and file labels give no gold chunks: query q."],
    )


def test_evidence_that_breaks_a_rule_names_the_question() -> None:
    with pytest.raises(DatasetError, match=r"golden question q: expected_evidence\[0\].*document of 51 characters"):
        gold(PLACED, expected_evidence=[{"start": 1, "end": 99, "doc_id": "document"}])


WORDS = st.lists(st.sampled_from(["a", "b", "aa", "ab", " "]), min_size=1, max_size=6).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=4), st.lists(st.lists(WORDS, min_size=1, max_size=3), max_size=3))
def test_the_same_as_looking_into_every_chunk(texts: list[str], quotes: list[list[str]]) -> None:
    quotes = [[quote for quote in some if quote.strip()] for some in quotes]
    corpus = Corpus(tuple(Chunk(id=str(i), text=text) for i, text in enumerate(texts)), given=True)
    records = [{"id": str(i), "expected_evidence": some} for i, some in enumerate(quotes)]
    for record, some in zip(with_gold_chunks(records, corpus, Notices()), quotes, strict=True):
        holding = [
            str(i) for i, text in enumerate(texts) if any(normal_text(quote) in normal_text(text) for quote in some)
        ]
        assert record.get("expected_chunk_ids", []) == holding


def test_a_quote_in_no_document_and_one_that_the_chunker_cut_are_told_apart() -> None:
    text = "Leave is 25 days. Sick pay is full."
    chunks = (Chunk(id="c1", text="Leave is 25 "), Chunk(id="c2", text="days. Sick pay is full."))
    corpus = Corpus(chunks, Documents.of({"d": text}), given=True)
    quotes = {"q1": ["25 days"], "q2": ["25 weeks"], "q3": ["Sick pay"], "q4": ["25 days", "25 weeks", "Sick pay"]}
    notices = Notices()
    records = [{"id": name, "expected_evidence": its} for name, its in quotes.items()]
    gold = [record.get("expected_chunk_ids") for record in with_gold_chunks(records, corpus, notices)]
    assert gold == [None, None, ["c2"], ["c2"]]
    assert notices.texts() == [
        f"{CUT}: q1, q4.",
        "a quote of these queries is in no document (or not surely in one), and has no gold chunk: q2, q4.",
    ]
