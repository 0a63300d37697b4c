"""Gold labels that outlive a chunker (quotes, files, pages) -> ids of gold chunks, by the table in stages.txt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from msgspec import convert
from numpy.typing import NDArray

from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.evidence import EvidenceTable, evidence_of
from rag_titan.evaluation.data.normal import normal_text
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Chunk, Evidence
from rag_titan.evaluation.data.search import occurrences
from rag_titan.evaluation.measures.ragged import Ints, offsets_of

Record = dict[str, Any]

_NO_CHUNKS = "chunks were not passed, so that quotes and file labels give no gold chunks: query {ids}."
_NOT_WHOLE = "a quote of these queries stands whole in no chunk, and has no gold chunk: {ids}."
_NOT_FOUND = "a quote of these queries is in no document (or not surely in one), and has no gold chunk: {ids}."
_CUT = (
    "a quote of these queries is in a document but whole in no chunk (the chunker cut it), "
    "and has no gold chunk: {ids}."
)
_NO_GOLD = "none of their quotes stands whole in a chunk, so that these queries have no gold chunks: {ids}."
_NO_FILE = (
    "no chunk is of the file or page that `required_evidence_ids` name, by its metadata source and page or its doc_id: "
    "{ids}."
)
_WHOLE_FILES = (
    "the gold chunks are all chunks of a file or page, of which nobody retrieves every one: recall and citation recall "
    "look low; hit, MRR and precision stay meaningful: query {ids}."
)
_UNKNOWN = "gold chunk ids that no chunk has: {ids}."

_PAGE = re.compile(r"(.+)#p(?:age=)?(\w+)")
_FILES = ("source", "file", "filename", "file_name", "file_path", "path")
_PAGES = ("page", "page_number", "page_label")


def with_gold_chunks(records: Sequence[Record], corpus: Corpus, notices: Notices) -> list[Record]:
    """The same records with `expected_chunk_ids`, where they can be derived.

    They come from the first of these that a record has: `expected_chunk_ids` or `relevance`, as they are; quotes and
    spans of `expected_evidence`, each with every chunk that holds it whole (for `any_of`: every chunk that holds one of
    them); `required_evidence_ids` ("hr.pdf", "hr.pdf#p4"), each with every chunk of that file or page. A quote that no
    chunk holds whole has none; what has none is named in the notices.

    corpus  the chunks, and the documents if there are any; without them quotes are looked for in the chunks alone

    Raises DatasetError for evidence that breaks a rule.

    >>> corpus = Corpus((Chunk(id="c1", text="Leave is 25 days."), Chunk(id="c2", text="Sick pay.")), given=True)
    >>> with_gold_chunks([{"id": "q", "expected_evidence": ["25  days"]}], corpus, Notices())
    [{'id': 'q', 'expected_evidence': ['25  days'], 'expected_chunk_ids': ['c1']}]
    """
    own = [bool(record.get("expected_chunk_ids") or record.get("relevance")) for record in records]
    quoting = [i for i, record in enumerate(records) if not own[i] and record.get("expected_evidence")]
    labelled = [
        i for i, record in enumerate(records)
        if not own[i] and not record.get("expected_evidence") and record.get("required_evidence_ids")
    ]  # fmt: skip
    if not corpus.given:
        notices.add(_NO_CHUNKS, [records[i]["id"] for i in (*quoting, *labelled)])
        return list(records)
    _tell_unknown([record for i, record in enumerate(records) if own[i]], corpus, notices)
    gold = dict(zip(quoting, _of_quotes([records[i] for i in quoting], corpus, notices), strict=True))
    gold |= dict(zip(labelled, _of_labels([records[i] for i in labelled], corpus, notices), strict=True))
    return [{**record, "expected_chunk_ids": gold[i]} if gold.get(i) else record for i, record in enumerate(records)]


def _tell_unknown(records: Iterable[Record], corpus: Corpus, notices: Notices) -> None:
    ids = {
        name
        for record in records
        for name in (*(record.get("expected_chunk_ids") or ()), *(record.get("relevance") or ()))
    }
    notices.add(_UNKNOWN, sorted(ids - corpus.codes.keys()))


# --- quotes ---------------------------------------------------------------------------------------


def _of_quotes(records: Sequence[Record], corpus: Corpus, notices: Notices) -> list[list[str]]:
    """The ids of the chunks that hold a piece of evidence whole, for each record, in the order of the chunk table."""
    evidence = [convert(record["expected_evidence"], list[str | Evidence]) for record in records]
    names = [str(record["id"]) for record in records]
    table = evidence_of(
        evidence, corpus.documents, names, where=lambda i, j: f"golden question {names[i]}: expected_evidence[{j}]"
    )
    options, chunks = _holding(table, corpus)
    items = table.item[options]
    held = _held(table, options)
    gold: list[set[int]] = [set() for _ in records]
    for owner, code in zip(table.owner[items].tolist(), chunks.tolist(), strict=True):
        gold[owner].add(code)
    missing = {names[i] for i in table.owner[~held].tolist()}
    empty = {name for name, codes in zip(names, gold, strict=True) if not codes}
    if corpus.documents.given:
        notices.add(_NOT_FOUND, {names[i] for i in table.owner[~held & ~table.placed].tolist()})
        notices.add(_CUT, {names[i] for i in table.owner[~held & table.placed].tolist()})
    else:
        notices.add(_NO_GOLD, empty)
        notices.add(_NOT_WHOLE, missing - empty)
    return [[corpus.chunks[code].id or "" for code in sorted(codes)] for codes in gold]


def _held(table: EvidenceTable, options: Ints) -> NDArray[np.bool_]:
    """(m,) True for the items of which an option stands whole in a chunk."""
    held = np.zeros(len(table.options) - 1, dtype=bool)
    held[table.item[options]] = True
    return held


def tell_cut(
    evidence: Sequence[Sequence[str | Evidence]], names: Sequence[str], corpus: Corpus, notices: Notices
) -> None:
    """Name the questions with a quote that stands in the documents and whole in no chunk (without documents: that
    stands whole in no chunk).

    Raises DatasetError for evidence that breaks a rule.
    """
    table = evidence_of(evidence, corpus.documents, names)
    options, _ = _holding(table, corpus)
    cut = ~_held(table, options)
    if corpus.documents.given:
        cut &= table.placed
    sentence = _CUT if corpus.documents.given else _NOT_WHOLE
    notices.add(sentence, sorted({names[i] for i in table.owner[cut].tolist()}))


def _holding(table: EvidenceTable, corpus: Corpus) -> tuple[Ints, Ints]:
    """Pairs (option, chunk): the chunk's text holds the words of the option, and its place that of the option if both
    are known."""
    texts = corpus.layout.normal_texts
    found = occurrences(texts, [normal_text(text or "") for text in table.texts], limit=sum(map(len, texts)) + 1)
    options = found.rows
    chunks = np.searchsorted(offsets_of([len(text) for text in texts]), found.values, side="right") - 1
    layout = corpus.layout
    known = (table.starts[options] >= 0) & layout.placed[chunks]
    inside = (layout.starts[chunks] <= table.starts[options]) & (table.ends[options] <= layout.ends[chunks])
    kept: NDArray[np.bool_] = ~known | inside
    return options[kept], chunks[kept]


# --- files and pages ------------------------------------------------------------------------------


def _of_labels(records: Sequence[Record], corpus: Corpus, notices: Notices) -> list[list[str]]:
    """The ids of all chunks of the files and pages, for each record, in the order of the chunk table."""
    index = _index(corpus.chunks)
    lists = []
    for record in records:
        codes: set[int] = set()
        for label in record["required_evidence_ids"]:
            found = index.get(file_and_page(label), ())
            codes.update(found)
            if not found:
                notices.add(_NO_FILE, [f"{label} (query {record['id']})"])
        if codes:
            notices.add(_WHOLE_FILES, [str(record["id"])])
        lists.append([corpus.chunks[code].id or "" for code in sorted(codes)])
    return lists


def _index(chunks: Sequence[Chunk]) -> Mapping[tuple[str, str | None], Sequence[int]]:
    """{(file, page or None): chunks}; a file is known by its whole name, and by its last part if none is called so."""
    whole: dict[tuple[str, str | None], list[int]] = {}
    last: dict[tuple[str, str | None], list[int]] = {}
    for code, chunk in enumerate(chunks):
        for file, page in sorted(files_of(chunk), key=str):
            for place in {(file, None), (file, page)}:
                whole.setdefault(place, []).append(code)
                last.setdefault((PurePosixPath(file.replace("\\", "/")).name, place[1]), []).append(code)
    return {**last, **whole}


def files_of(chunk: Chunk) -> set[tuple[str, str | None]]:
    """The names of the file that a chunk is from, each with its page."""
    metadata = chunk.metadata or {}
    page = next((_page(metadata[key]) for key in _PAGES if metadata.get(key) is not None), None)
    names = [metadata.get(key) for key in _FILES] + [chunk.doc_id]
    parsed = [file_and_page(name) for name in names if isinstance(name, str) and name]
    return {(file, own or page) for file, own in parsed}


def _page(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def file_and_page(label: str) -> tuple[str, str | None]:
    """File and page of a label.

    >>> file_and_page("hr.pdf#p4"), file_and_page("hr.pdf")
    (('hr.pdf', '4'), ('hr.pdf', None))
    """
    match = _PAGE.fullmatch(label)
    return (match[1], match[2]) if match else (label, None)
