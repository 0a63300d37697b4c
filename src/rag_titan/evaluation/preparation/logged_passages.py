"""What a log says of passages -> ids of the chunk table: texts are looked up, positions such as "[2]" resolved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.normal import normal_text
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import quoted
from rag_titan.evaluation.importers.passage_rows import POSITION

Record = dict[str, Any]

_KINDS = ("retrieved", "reranked")

_STRANGE_TEXTS = "logged texts that are no chunk's, which got an id of their own: {ids}."
_BY_TEXT = "logged ids that no chunk has were replaced by those of the chunks with the same text: query {ids}."
_NOT_IDS = "positions such as [1] are no ids, and were left out: {ids}."
_NO_CONTEXT = "citations such as [1] are positions in the context, of which no `context_ids` were logged: query {ids}."
_BEYOND = "citations of a position behind the end of the context were left out: {ids}."
_BARE = "citations are numbers that no chunk has as an id, and were read as positions in the context: query {ids}."
_NONE_KNOWN = (
    "none of the {n} logged `{key}` is among the chunks, whose ids look like {chunk}; the logs have such as {log}. "
    "Dump the chunks with the ids that the system logs, or log the texts."
)
_SOME_UNKNOWN = "`{key}` hold ids that no chunk has: {{ids}}."


def with_chunk_ids(records: Sequence[Record], corpus: Corpus, notices: Notices) -> list[Record]:
    """The same records, in which passages are named by the ids of the chunk table wherever that is known.

    `retrieved_texts` and `reranked_texts` without ids get the ids of the chunks with the same words; a text that is no
    chunk's an id that is made of its words. An id that no chunk has is replaced where its text is a chunk's. Reranked
    texts are also looked up among the retrieved ones of the same record. Citations such as "[2]" are positions in
    `context_ids`; without these they are left out, and so they are elsewhere, as positions are never ids.

    >>> log = {"id": "q", "retrieved_texts": ["One  two"], "context_ids": ["c9", "c1"], "citations": ["[2]"]}
    >>> from rag_titan.evaluation.data.records import Chunk
    >>> corpus = Corpus((Chunk(id="c1", text="One two"),), given=True)
    >>> with_chunk_ids([log], corpus, Notices())[0] == {**log, "retrieved_ids": ["c1"], "citations": ["c1"]}
    True
    """
    named = []
    for record in records:
        plain = _without_positions(dict(record), notices)
        named.append(_cited(_named(plain, corpus, notices), corpus, notices))
    if corpus.given:
        for key in (*(f"{kind}_ids" for kind in _KINDS), "context_ids"):
            _tell_unknown(named, key, corpus, notices)
    return named


def _without_positions(record: Record, notices: Notices) -> Record:
    for key in (*(f"{kind}_ids" for kind in _KINDS), "context_ids"):
        ids = record.get(key)
        if ids and any(POSITION.fullmatch(name) for name in ids):
            notices.add(_NOT_IDS, [f"{key} of query {record['id']}"])
            del record[key]
    return record


def _named(record: Record, corpus: Corpus, notices: Notices) -> Record:
    own: dict[str, str] = {}  # words: id, of the passages that this record has both of
    for kind in _KINDS:
        ids, texts = record.get(f"{kind}_ids"), record.get(f"{kind}_texts")
        if texts is None:
            continue
        if ids is None:
            record |= _looked_up(kind, texts, own, corpus)
        elif len(ids) == len(texts):
            record[f"{kind}_ids"] = ids = _replaced(ids, texts, corpus, record, notices)
            own |= {normal_text(text): name for name, text in zip(ids, texts, strict=True)}
        if corpus.given:
            strange = [text for text in texts if normal_text(text) not in corpus.id_of_text]
            notices.add(_STRANGE_TEXTS, [f"{quoted(text)} (query {record['id']})" for text in strange])
    return record


def _looked_up(kind: str, texts: Sequence[str], own: dict[str, str], corpus: Corpus) -> Record:
    """The ids of texts; none where neither a chunk table nor the record itself says anything of them."""
    words = [normal_text(text) for text in texts]
    if not corpus.given and not all(text in own for text in words):
        return {}
    ids = [own.get(text) or name for text, name in zip(words, corpus.ids_of_texts(texts), strict=True)]
    return {f"{kind}_ids": ids}


def _replaced(ids: Sequence[str], texts: Sequence[str], corpus: Corpus, record: Record, notices: Notices) -> list[str]:
    known = [corpus.id_of_text.get(normal_text(text)) for text in texts] if corpus.given else [None] * len(ids)
    named = [name if name in corpus.codes else other or name for name, other in zip(ids, known, strict=True)]
    if named != list(ids):
        notices.add(_BY_TEXT, [str(record["id"])])
    return named


def _cited(record: Record, corpus: Corpus, notices: Notices) -> Record:
    citations = record.get("citations")
    if not citations:
        return record
    context = record.get("context_ids")
    marks = [POSITION.fullmatch(mark.strip()) for mark in citations]
    positions = [int(mark[1]) if mark else None for mark in marks]
    if context and all(_is_position(mark, record, corpus, len(context)) for mark in citations):
        positions = [int(mark) for mark in citations]
        notices.add(_BARE, [str(record["id"])])
    if not any(position is not None for position in positions):
        return record
    if context is None:
        notices.add(_NO_CONTEXT, [str(record["id"])])
    else:
        beyond = [f"[{n}] (query {record['id']})" for n in positions if n is not None and not 1 <= n <= len(context)]
        notices.add(_BEYOND, beyond)
    kept = list(_resolved(citations, positions, context or ()))
    rest = {key: value for key, value in record.items() if key != "citations"}
    return {**rest, "citations": kept} if kept else rest


def _resolved(marks: Sequence[str], positions: Sequence[int | None], context: Sequence[str]) -> Iterator[str]:
    for mark, position in zip(marks, positions, strict=True):
        if position is None:
            yield mark
        elif 1 <= position <= len(context):
            yield context[position - 1]


def _is_position(mark: str, record: Record, corpus: Corpus, length: int) -> bool:
    """True for a bare number that is a position in the context and nothing's id."""
    if not (mark.isascii() and mark.isdecimal() and len(mark) < 7 and 1 <= int(mark) <= length):
        return False
    lists = (record.get(key) or () for key in ("context_ids", "retrieved_ids", "reranked_ids", "expected_citations"))
    return corpus.given and mark not in corpus.codes and not any(mark in ids for ids in lists)


def _tell_unknown(records: Sequence[Record], key: str, corpus: Corpus, notices: Notices) -> None:
    ids = [name for record in records for name in record.get(key) or () if not name.startswith("text:")]
    strange = sorted({name for name in ids if name not in corpus.codes})
    if ids and len(strange) == len(set(ids)):
        chunk = quoted(next(iter(corpus.codes), ""))
        notices.add(_NONE_KNOWN.format(n=len(strange), key=key, chunk=chunk, log=quoted(strange[0])))
    else:
        notices.add(_SOME_UNKNOWN.format(key=key), strange)
