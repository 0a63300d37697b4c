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


# --- records as a file holds them, valid and hostile -----------------------------------------------

TEXTS = st.one_of(
    st.sampled_from(["", "c1", "c2", "Leave is 25 days.", "1", "ä", "日本", "a\nb", '"', "\\", "\u2028"]),
    st.text(max_size=8),
)
ID_TEXTS = TEXTS.filter(bool)
HOSTILE_TEXTS = st.one_of(TEXTS, st.sampled_from(["\ud800", "x\udc00y", "\x00", "1e3", "null"]))
NUMBERS = st.one_of(st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False))
HOSTILE_NUMBERS = st.one_of(st.floats(), st.sampled_from([10**400, -(10**400), 2**53, 2**63, 10**50, 1e308]), NUMBERS)
SPANS = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda ends: {"start": min(ends), "end": max(ends)})
EVIDENCE = st.one_of(
    TEXTS,
    SPANS,
    st.fixed_dictionaries({"quote": TEXTS}, optional={"occurrence": st.integers(1, 3), "doc_id": ID_TEXTS}),
    st.lists(st.one_of(TEXTS, SPANS), max_size=2).map(lambda options: {"any_of": options}),
)


def _valid(ids: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    """A strategy for the values of each key of a query, but for its id."""
    listed = st.lists(ids, max_size=4)
    kinds = {
        listed: (
            "expected_chunk_ids required_evidence_ids retrieved_ids reranked_ids context_ids citations "
            "expected_citations"
        ),
        st.lists(TEXTS, max_size=3): "retrieved_texts reranked_texts expected_answers required_facts",
        TEXTS: "question context answer expected_answer error",
        st.booleans(): "answerable abstained task_success validated",
        NUMBERS: (
            "latency_ms embedding_latency_ms search_latency_ms retrieval_latency_ms rerank_latency_ms "
            "generation_latency_ms time_to_first_token_ms output_tokens total_tokens cost_usd"
        ),
        st.one_of(TEXTS, NUMBERS): "timestamp",
        st.dictionaries(TEXTS, st.one_of(TEXTS, NUMBERS, st.booleans(), st.none()), max_size=2): "tags",
        st.dictionaries(ID_TEXTS, NUMBERS, max_size=3): "relevance",
        st.lists(st.one_of(NUMBERS, st.none()), max_size=3): "retrieved_scores",
        st.lists(EVIDENCE, max_size=3): "expected_evidence",
        st.lists(
            st.fixed_dictionaries({"supported": st.booleans()}, optional={"text": TEXTS, "by": TEXTS}), max_size=2
        ): "verified_claims",
    }
    return {key: values for values, keys in kinds.items() for key in keys.split()}


def json_values(leaves: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[Any]:
    """Any JSON value, small; with the leaves of your choice."""
    some = leaves if leaves is not None else st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
    return st.recursive(
        some, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=5
    )


UNKNOWN_KEYS = st.one_of(
    st.sampled_from(["agent", "expected_chunk_id", "answers", "__class__", 'a"b', ""]), st.text(max_size=4)
)


def query_records() -> st.SearchStrategy[dict[str, Any]]:
    """Valid records of queries, with some keys that the format does not know; the id is "q"."""
    known = st.fixed_dictionaries({"id": st.just("q")}, optional=_valid(ID_TEXTS))
    unknown = st.dictionaries(
        UNKNOWN_KEYS.filter(lambda key: key not in _valid(ID_TEXTS) and key != "id"), json_values(), max_size=2
    )
    return st.tuples(known, unknown).map(lambda parts: {**parts[1], **parts[0]})


def hostile_records() -> st.SearchStrategy[Any]:
    """What a broken log may hold: wrong types, NaN, enormous numbers, lone surrogates, no objects at all."""
    leaves = st.one_of(st.none(), st.booleans(), HOSTILE_NUMBERS, HOSTILE_TEXTS)
    anything = json_values(leaves)
    valid = _valid(st.one_of(HOSTILE_TEXTS, st.integers()))
    keys = {key: st.one_of(values, values, anything) for key, values in valid.items()}
    records = st.fixed_dictionaries({}, optional={"id": st.one_of(TEXTS, st.integers(), anything), **keys})
    extra = st.dictionaries(HOSTILE_TEXTS, anything, max_size=2)
    return st.one_of(st.tuples(extra, records).map(lambda parts: {**parts[0], **parts[1]}), anything)


# --- whole datasets, from valid to hostile -----------------------------------------------------------

SOURCE = "Leave is 25 days. Sick pay is full. Leave is 30 days. 是二十五天。"
SOME_IDS = st.sampled_from(["c1", "c2", "c3", "q1", "1", "ä", "a\u0308", "\U0001f600"])
HOSTILE_IDS = st.one_of(SOME_IDS, st.sampled_from([1, 2, "", 1.0, True, 10**50]), HOSTILE_TEXTS)
PIECES = st.sampled_from(
    ["Leave is 25 days.", "Sick pay is full. ", "25 days", "30 days. 是", "Leave is", "No such words", "二十"]
)
ANSWERS = st.one_of(PIECES, st.sampled_from(["", " ", "25", "It is 25 days [1][c1].", "a", "1,000.50 % [c9]"]), TEXTS)
LEAVES = st.one_of(st.none(), st.booleans(), HOSTILE_NUMBERS, HOSTILE_TEXTS, SOME_IDS)
ANYTHING = json_values(LEAVES)
VECTORS = st.lists(st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-200, 1e149, 3]), min_size=2, max_size=2)
HOSTILE_VECTORS = st.one_of(VECTORS, VECTORS, st.lists(HOSTILE_NUMBERS, max_size=3))
MEASURES = st.one_of(st.sampled_from([0, 1, 100.5, 1e308, 5e-324, 2**53]), st.integers(0, 1000))
HOSTILE_MEASURES = st.one_of(MEASURES, HOSTILE_NUMBERS)
PLACES = st.tuples(st.integers(0, 9), st.integers(10, 50)).map(lambda p: {"start": p[0], "end": p[1], "doc_id": "d1"})
QUOTES = st.one_of(
    PIECES,
    PLACES,
    st.fixed_dictionaries({"quote": PIECES}, optional={"occurrence": st.integers(1, 3), "doc_id": st.just("d1")}),
    st.lists(st.one_of(PIECES, PLACES), min_size=1, max_size=2).map(lambda options: {"any_of": options}),
)
Kinds = dict[str, st.SearchStrategy[Any]]


def _keyed(pairs: list[tuple[str, st.SearchStrategy[Any]]]) -> Kinds:
    return {key: values for keys, values in pairs for key in keys.split()}


def _query_kinds(ids: Any, grades: Any, amounts: Any, quotes: Any) -> Kinds:
    listed = st.lists(ids, max_size=4)
    claim = st.fixed_dictionaries({"supported": st.booleans()}, optional={"text": ANSWERS})
    return _keyed(
        [
            ("expected_chunk_ids retrieved_ids reranked_ids context_ids citations expected_citations", listed),
            ("retrieved_texts reranked_texts expected_answers required_facts", st.lists(ANSWERS, max_size=3)),
            ("question context answer expected_answer error", ANSWERS),
            ("answerable abstained task_success validated", st.booleans()),
            ("latency_ms embedding_latency_ms search_latency_ms retrieval_latency_ms rerank_latency_ms", amounts),
            ("generation_latency_ms time_to_first_token_ms output_tokens total_tokens cost_usd", amounts),
            ("relevance", st.dictionaries(ids, grades, max_size=3)),
            ("expected_evidence", st.lists(quotes, max_size=2)),
            ("verified_claims", st.lists(claim, max_size=2)),
            ("tags", st.dictionaries(TEXTS, st.one_of(TEXTS, amounts), max_size=2)),
        ]
    )


def _option_kinds(ids: Any, amounts: Any, quotes: Any, vectors: Any) -> Kinds:
    by_id, listed = st.dictionaries(ids, vectors, min_size=1, max_size=3), st.lists(ids, max_size=3)
    of_queries = st.dictionaries(st.integers(0, 3), listed, max_size=3)
    queried = st.dictionaries(st.integers(0, 3), vectors, max_size=3)
    known = {"query_vectors": queried, "relevant_ids": of_queries, "indexed_ids": listed, "index_results": of_queries}
    return {
        "max_context_tokens": amounts,
        "expected_chunks": st.lists(st.one_of(PIECES, PLACES), max_size=3),
        "expected_evidence": st.lists(quotes, max_size=3),
        "structural_blocks": st.lists(quotes, max_size=2),
        "required_metadata": st.lists(TEXTS, max_size=2),
        "expected_metadata": st.dictionaries(ids, st.dictionaries(TEXTS, TEXTS, max_size=2), max_size=2),
        "size_limits": st.tuples(amounts, amounts).map(lambda ends: tuple(sorted(ends, key=abs))),
        "boundary_tolerance": amounts,
        "sentence_vectors": st.dictionaries(ids, st.lists(vectors, max_size=3), max_size=3),
        "chunk_vectors": by_id,
        "embeddings": st.fixed_dictionaries({"vectors": by_id}, optional=known),
    }


VALID = (
    _query_kinds(SOME_IDS, st.integers(1, 4), MEASURES, QUOTES),
    _option_kinds(SOME_IDS, MEASURES, QUOTES, VECTORS),
)
HOSTILE = (
    _query_kinds(HOSTILE_IDS, HOSTILE_NUMBERS, HOSTILE_MEASURES, st.one_of(QUOTES, EVIDENCE)),
    _option_kinds(HOSTILE_IDS, HOSTILE_MEASURES, st.one_of(QUOTES, EVIDENCE), HOSTILE_VECTORS),
)
CHUNK = _keyed([("text", st.one_of(PIECES, PIECES, TEXTS)), ("metadata", st.dictionaries(TEXTS, LEAVES, max_size=2))])


@st.composite
def _some_of(draw: st.DrawFn, kinds: Kinds, most: int, hostile: bool) -> dict[str, Any]:
    """Values for some of the keys; where hostility is wanted, now and then anything at all."""
    keys = draw(st.lists(st.sampled_from(sorted(kinds)), unique=True, max_size=most))
    strange = draw(st.integers(0, 3 * most)) if hostile else -1
    return {key: draw(ANYTHING if place == strange else kinds[key]) for place, key in enumerate(keys)}


@st.composite
def datasets(draw: st.DrawFn, hostile: bool = True) -> dict[str, Any]:
    """Keyword arguments of `RAGEvaluator.evaluate`: everything from valid data to what a broken export holds."""
    query_kinds, option_kinds = HOSTILE if hostile else VALID
    data: dict[str, Any] = draw(_some_of(option_kinds, 5, hostile))
    text = draw(st.one_of(st.just(SOURCE), ANSWERS)) if hostile else SOURCE
    data |= draw(st.sampled_from([{}, {"document_text": text}, {"documents": {"d1": text, "d2": "Other words."}}]))
    numbers = draw(st.lists(st.integers(0, 3), unique=not hostile, max_size=3))
    data["queries"] = [{"id": number, **draw(_some_of(query_kinds, 12, hostile))} for number in numbers]
    if draw(st.booleans()):
        ids = draw(st.lists(HOSTILE_IDS if hostile else SOME_IDS, unique_by=str, max_size=4))
        data["chunks"] = [{"id": name, **draw(_chunk(text))} for name in ids] or draw(st.lists(PIECES, max_size=3))
    if hostile and draw(st.integers(0, 3)) == 0:
        data["queries"] = draw(st.one_of(st.lists(hostile_records(), max_size=2), ANYTHING))
    return data


@st.composite
def _chunk(draw: st.DrawFn, text: str) -> dict[str, Any]:
    """A chunk by its text, by its place, or by both, which need not agree."""
    start = draw(st.integers(0, max(len(text) - 1, 0)))
    place = {"start": start, "end": draw(st.integers(start, len(text))), "doc_id": "d1"}
    kept = draw(st.sampled_from([{}, place, {**place, "text": text[start : place["end"]]}]))
    return {**draw(_some_of(CHUNK, 2, False)), **kept}
