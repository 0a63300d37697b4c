"""Hypothesis strategies that several test files share: rankings, and datasets from valid to hostile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

GRADES = st.sampled_from([0.25, 1.0, 1.0, 1.0, 2.0, 3.0, 7.0, 50.0])


@dataclass(frozen=True)
class Rankings:
    """n queries as a person would write them: the gold grades, and what stands at each rank (None: not relevant).

    gold    for each query the grades of all its gold items
    ranked  for each query the places in `gold` of what was returned, best first, none twice
    k       the cut-off
    """

    gold: list[list[float]]
    ranked: list[list[int | None]]
    k: int

    def grade(self, query: int, rank: int) -> float:
        """The grade of what stands at a rank from 1; 0 beyond the list."""
        returned = self.ranked[query]
        place = returned[rank - 1] if rank <= len(returned) else None
        return 0.0 if place is None else self.gold[query][place]

    @property
    def grades(self) -> Any:
        """(n, k) as the measures take them."""
        rows = [[self.grade(q, rank) for rank in range(1, self.k + 1)] for q in range(len(self.gold))]
        return np.array(rows, dtype=np.float64).reshape(len(self.gold), self.k)

    @property
    def ideal(self) -> Any:
        """(n, k) all gold grades in falling order, cut at k."""
        best = [(sorted(gold, reverse=True) + [0.0] * self.k)[: self.k] for gold in self.gold]
        return np.array(best, dtype=np.float64).reshape(len(self.gold), self.k)

    def relevant(self, level: float) -> Any:
        """(n,) gold items of at least that grade."""
        return np.array([sum(g >= level for g in gold) for gold in self.gold], dtype=np.int64)


@st.composite
def rankings(draw: st.DrawFn, queries: int = 6, length: int = 8) -> Rankings:
    """Batches of rankings, queries without gold and without results among them."""
    n, k = draw(st.integers(0, queries)), draw(st.integers(1, length + 2))
    gold, ranked = [], []
    for _ in range(n):
        grades = draw(st.lists(GRADES, max_size=length))
        places: list[int | None] = [*range(len(grades)), *[None] * draw(st.integers(0, 3))]
        order = draw(st.permutations(places))
        gold.append(grades)
        ranked.append(list(order[: draw(st.integers(0, len(order)))]))
    return Rankings(gold, ranked, k)


# --- texts, chunks and evidence ------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Documents, chunks and queries with gold labels and logs, as plain values of the dataset format.

    Every word of every document is different, so that a quote occurs once.
    """

    documents: dict[str, str]
    chunks: list[dict[str, Any]]
    queries: list[dict[str, Any]]


@st.composite
def _span(draw: st.DrawFn, documents: dict[str, str]) -> dict[str, Any]:
    """A run of whole words."""
    doc_id = draw(st.sampled_from(sorted(documents)))
    text = documents[doc_id]
    starts = [i for i in range(len(text)) if text[i] != " " and (i == 0 or text[i - 1] == " ")]
    first = draw(st.integers(0, len(starts) - 1))
    last = draw(st.integers(first, min(first + 3, len(starts) - 1)))
    end = text.find(" ", starts[last])
    return {"doc_id": doc_id, "start": starts[first], "end": len(text) if end < 0 else end}


@st.composite
def _piece(draw: st.DrawFn, documents: dict[str, str], number: int) -> dict[str, Any]:
    """A chunk: any run of characters, words cut in two among them."""
    doc_id = draw(st.sampled_from(sorted(documents)))
    text = documents[doc_id]
    start = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(start + 1, len(text)))
    return {"id": f"c{number}", "doc_id": doc_id, "start": start, "end": end, "text": text[start:end]}


@st.composite
def worlds(draw: st.DrawFn, queries: int = 4) -> World:
    """Small worlds: overlapping chunks, alternatives among the evidence, repeated and unknown ids in the lists."""
    documents, word = {}, iter(range(10_000))
    for name in ("d1", "d2")[: draw(st.integers(1, 2))]:
        documents[name] = " ".join(f"w{next(word)}" for _ in range(draw(st.integers(2, 9))))
    chunks = [draw(_piece(documents, number)) for number in range(draw(st.integers(1, 6)))]
    ids = [chunk["id"] for chunk in chunks]
    listed = st.lists(st.sampled_from([*ids, *ids, "unknown"]), max_size=6)
    rows = []
    for number in range(draw(st.integers(1, queries))):
        spans = draw(st.lists(st.lists(_span(documents), min_size=1, max_size=2), max_size=3))
        evidence = [options[0] if len(options) == 1 else {"any_of": options} for options in spans]
        graded = draw(st.dictionaries(st.sampled_from(ids), st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0]), max_size=4))
        expected = draw(st.lists(st.sampled_from([*ids, "absent"]), max_size=3))
        known = {
            "relevance": draw(st.sampled_from([None, graded])),
            "expected_chunk_ids": draw(st.sampled_from([None, [i for i in expected if graded.get(i, 1.0) > 0]])),
            "expected_evidence": draw(st.sampled_from([None, evidence])),
            "retrieved_ids": draw(st.one_of(st.none(), listed)),
            "reranked_ids": draw(st.one_of(st.none(), listed)),
            "context_ids": draw(st.one_of(st.none(), listed)),
        }
        rows.append({"id": f"q{number}", **{key: value for key, value in known.items() if value is not None}})
    return World(documents, chunks, rows)
