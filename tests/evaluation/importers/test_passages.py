"""Passages of a log: which ids hold for all of it, and which for one query."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.importers.passages import Passage, Passages


def collected(lists: dict[str, list[tuple[str | None, str | None]]], local: bool = False) -> Passages:
    passages = Passages(local)
    for query, items in lists.items():
        passages.add(query, [Passage(*item) for item in items])
    return passages


def test_an_id_with_one_text_holds_for_all_queries() -> None:
    passages = collected({"q1": [("d1", "Rain falls."), ("d2", "Snow melts.")], "q2": [("d2", "Snow  melts.")]})
    assert [passages.ids("q1"), passages.ids("q2")] == [["d1", "d2"], ["d2"]]
    assert passages.chunks() == [{"id": "d1", "text": "Rain falls."}, {"id": "d2", "text": "Snow melts."}]


def test_an_id_with_two_texts_makes_all_ids_local() -> None:
    passages = collected({"q1": [("0", "Rain."), ("1", "Snow.")], "q2": [("0", "Hail.")], "q3": [("2", "Fog.")]})
    assert [passages.ids(query) for query in passages.queries()] == [["q1/0", "q1/1"], ["q2/0"], ["q3/2"]]
    notices = Notices()
    passages.tell(notices)
    assert notices.texts() == [
        "ids of passages are local to a query there, and got its id before them: an example is q1/0."
    ]


def test_a_passage_without_an_id_gets_its_number() -> None:
    passages = collected({"q1": [("d1", "Rain."), (None, "Snow.")], "q2": [(None, "Rain.")]})
    assert [passages.ids("q1"), passages.ids("q2")] == [["d1", "q1/2"], ["q2/1"]]
    notices = Notices()
    passages.tell(notices)
    assert notices.texts() == ["passages without an id got that of their query and their number: query q1, q2."]


def test_two_texts_under_one_id_in_one_query_stay_two_passages() -> None:
    passages = collected({"q": [("1", "Rain."), ("1", "Snow."), ("1", "Rain.")]}, local=True)
    assert passages.ids("q") == ["q/1", "q/1.2", "q/1"]
    assert [chunk["text"] for chunk in passages.chunks()] == ["Rain.", "Snow."]
    notices = Notices()
    passages.tell(notices)
    assert any("several texts in one query" in text for text in notices.texts())


def test_a_text_that_comes_later_is_learned() -> None:
    passages = collected({"q1": [("d1", None)], "q2": [("d1", "Rain.")]})
    assert passages.chunks() == [{"id": "d1", "text": "Rain."}]


NAMES = st.sampled_from(["a", "b", "1", None])
TEXTS = st.sampled_from(["Rain.", "Snow.", "Hail."])


@given(st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.lists(st.tuples(NAMES, TEXTS), max_size=4)))
def test_every_passage_keeps_its_text(lists: dict[str, list[tuple[str | None, str]]]) -> None:
    passages = collected({query: list(items) for query, items in lists.items()})
    chunks = {chunk["id"]: chunk["text"] for chunk in passages.chunks()}
    assert len(chunks) == len(passages.chunks())
    for query, items in lists.items():
        assert [chunks[name] for name in passages.ids(query)] == [text for _, text in items]
