"""The reference spans of Chroma's chunking evaluation: found again by their words, and counted by sets of tokens."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.evidence import evidence_of
from rag_titan.evaluation.data.layout import Layout
from rag_titan.evaluation.data.records import Chunk, Evidence
from rag_titan.evaluation.data.spans import Spans
from rag_titan.evaluation.measures.ragged import ragged

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "chroma_chunking"
SIZE = 1200

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not FOLDER.exists(), reason="the corpora of Chroma's chunking evaluation are not here"),
]


def read() -> tuple[dict[str, str], list[tuple[str, list[tuple[str, int, int]]]]]:
    """The corpora, and for each question its corpus and references (text, start, end)."""
    with (FOLDER / "questions_df.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    corpora = {}
    for name in sorted({row["corpus_id"] for row in rows}):
        with (FOLDER / f"{name}.md").open(newline="", encoding="utf-8") as file:
            corpora[name] = file.read()
    references = [
        (row["corpus_id"], [(r["content"], r["start_index"], r["end_index"]) for r in json.loads(row["references"])])
        for row in rows
    ]
    return corpora, references


def test_quotes_are_found_where_the_annotators_found_them() -> None:
    corpora, rows = read()
    documents, names = Documents.of(corpora), [str(i) for i in range(len(rows))]
    quotes = evidence_of([[Evidence(quote=t, doc_id=c) for t, _, _ in refs] for c, refs in rows], documents, names)
    spans = evidence_of(
        [[Evidence(start=a, end=b, doc_id=c) for _, a, b in refs] for c, refs in rows], documents, names
    )
    assert spans.placed.all()
    once = np.array([corpora[c].count(text) == 1 for c, refs in rows for text, _, _ in refs])
    assert (quotes.starts >= 0).tolist() == once.tolist()
    assert (quotes.starts[once] == spans.starts[once]).all()
    assert (quotes.ends[once] == spans.ends[once]).all()


def test_token_scores_are_those_of_sets() -> None:
    corpora, rows = read()
    documents = Documents.of(corpora)
    chunks = [
        Chunk(id=f"{name}:{start}", text=text[start : start + SIZE], start=start, doc_id=name)
        for name, text in corpora.items()
        for start in range(0, len(text), SIZE)
    ]
    gold = [[Evidence(start=a, end=b, doc_id=c) for _, a, b in refs] for c, refs in rows]
    spans = Spans(evidence_of(gold, documents, [""] * len(rows)), Layout.of(chunks, documents))
    first_holder = spans.holders.values[spans.holders.offsets[:-1].clip(max=len(spans.holders.values) - 1)]
    random = np.random.default_rng(3)
    lists = [
        [*random.integers(0, len(chunks), 4).tolist(), int(first_holder[spans.evidence.items[i]])]
        for i in range(len(rows))
    ]
    scores = spans.scores(ragged(lists), np.ones(len(rows), dtype=bool))
    starts, ends = documents.tokens
    origin = dict(zip(corpora, documents.offsets.tolist(), strict=False))

    def tokens(name: str, start: int, end: int) -> set[int]:
        start, end = start + origin[name], end + origin[name]
        return set(np.flatnonzero((starts >= start) & (ends <= end)).tolist())

    owned = [tokens(c.doc_id or "", c.start or 0, (c.start or 0) + len(c.text or "")) for c in chunks]
    for i, (name, refs) in enumerate(rows):
        g = set().union(*(tokens(name, a, b) for _, a, b in refs))
        r = set().union(*(owned[code] for code in lists[i]))
        want = [len(g & r) / len(whole) for whole in (g, r, g | r)]
        np.testing.assert_allclose([scores.recall[i], scores.precision[i], scores.iou[i]], want, rtol=1e-12)
