"""Quotes and spans at their places."""

from __future__ import annotations

import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.evidence import EvidenceTable, Items, evidence_of
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Evidence

DOCUMENTS = Documents.of({"hr": "Leave is 25 days. Pay is full.", "it": "Pay is late."})


def table_of(*lists: Items | None, documents: Documents = DOCUMENTS) -> tuple[EvidenceTable, list[str]]:
    notices = Notices()
    return evidence_of(lists, documents, [f"q{i}" for i in range(len(lists))], notices), notices.texts()


def test_quotes_and_spans() -> None:
    table, notices = table_of(["25 days", Evidence(start=0, end=3, doc_id="it")], None, [], ["Leave is"])
    assert table.starts.tolist() == [9, 30, 0]
    assert table.ends.tolist() == [16, 33, 8]
    assert table.texts == ("25 days", "Pay", "Leave is")
    assert table.given.tolist() == [True, False, True, True]
    assert table.labelled.tolist() == table.owner_placed.tolist() == [True, False, False, True]
    assert (table.owner.tolist(), table.item.tolist()) == ([0, 0, 3], [0, 1, 2])
    assert notices == []


def test_gold_tokens_lie_wholly_inside() -> None:
    table, _ = table_of(["eave is 25 day"], ["!"], documents=Documents.of(document_text="Leave is 25 days. Now!"))
    assert table.tokens.starts.tolist()[0] == 1
    assert table.tokens.lengths.tolist() == [2, 0]


def test_one_of_several_is_one_item() -> None:
    table, _ = table_of([Evidence(any_of=["25 days", "late", Evidence(start=0, end=5, doc_id="hr")]), "Leave is"])
    assert table.items.tolist() == [0, 2]
    assert table.options.tolist() == [0, 3, 4]
    assert table.starts.tolist() == [9, 37, 0, 0]


def test_an_occurrence_counts_over_the_documents_in_order() -> None:
    quotes = [Evidence(quote="Pay is", occurrence=n) for n in (1, 2, 3)]
    table, notices = table_of(*([quote] for quote in quotes))
    assert table.starts.tolist() == [18, 30, -1]
    assert notices == [
        "expected_evidence: a quote of query q2 occurs less often than its `occurrence` says. "
        "Span metrics are not measured there."
    ]
    named, _ = table_of([Evidence(quote="Pay is", doc_id="it")])
    assert named.starts.tolist() == [30]


def test_a_quote_without_a_place_names_its_query() -> None:
    table, notices = table_of(["Pay is"], ["no such words", "25 days"], ["25 days"])
    assert table.owner_placed.tolist() == [False, False, True]
    assert table.placed.tolist() == [False, False, True, True]
    assert len(notices) == 2
    assert "a quote of query q0 occurs more than once" in notices[0]
    assert "a quote of query q1 is in no document" in notices[1]


def test_without_documents_nothing_is_placed_and_nothing_is_said() -> None:
    table, notices = table_of(["25 days"], [Evidence(start=0, end=4)], documents=Documents())
    assert table.starts.tolist() == [-1, -1]
    assert table.texts == ("25 days", None)
    assert table.owner_worded.tolist() == [True, False]
    assert notices == []


@pytest.mark.parametrize(
    ("item", "where"),
    [
        ("", ""),
        ("  ", ""),
        (Evidence(start=0, end=31, doc_id="hr"), ".end"),
        (Evidence(start=0, end=3), ".doc_id"),
        (Evidence(start=0, end=3, doc_id="x"), ".doc_id"),
        (Evidence(quote="Pay", doc_id="x"), ".doc_id"),
        (Evidence(start=3, end=3, doc_id="hr"), ""),
        (Evidence(quote="Pay", start=3), ""),
        (Evidence(quote="Pay", start=0, end=3, doc_id="hr"), ""),
        (Evidence(any_of=[]), ""),
        (Evidence(any_of=["Pay"], quote="Pay"), ""),
        (Evidence(any_of=[Evidence(start=0, end=3)]), ".doc_id"),
    ],
)
def test_what_is_no_evidence_is_an_error_with_its_place(item: str | Evidence, where: str) -> None:
    with pytest.raises(DatasetError) as error:
        table_of(["25 days"], ["25 days", item])
    assert error.value.where == f"queries[1].expected_evidence[1]{where}"


def test_a_quote_and_its_offsets_may_both_be_given() -> None:
    table, _ = table_of([Evidence(quote="Pay is", start=0, end=6, doc_id="it")])
    assert table.starts.tolist() == [30]
