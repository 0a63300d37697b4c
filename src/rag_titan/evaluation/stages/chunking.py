"""Chunking (metrics.txt, section 1): what the chunker made of the documents, before anything is indexed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.chunking_options import ChunkingOptions
from rag_titan.evaluation.data.evidence import EvidenceTable, Items, evidence_of
from rag_titan.evaluation.data.layout import Layout
from rag_titan.evaluation.data.notices import Notices, Private
from rag_titan.evaluation.data.records import Chunk
from rag_titan.evaluation.data.sentences import coded_sentences
from rag_titan.evaluation.data.spans import cuts, pieces, whole_in_one
from rag_titan.evaluation.data.vectors import grouped_vectors, sorted_vectors
from rag_titan.evaluation.measures.intervals import boundary_scores
from rag_titan.evaluation.measures.lexical import ends_of, jaccard, mean_pair_jaccard, word_sets
from rag_titan.evaluation.measures.ragged import Ints, offsets_of
from rag_titan.evaluation.measures.text import take
from rag_titan.evaluation.measures.vectors import cohesion, cosines
from rag_titan.evaluation.metric import (
    AMOUNT,
    COSINE,
    COSINE_DISTANCE,
    COSINE_LOWER,
    FAULT_RATE,
    FRAGMENTATION,
    HIGHEST,
    LOWEST,
    MEAN,
    PENALTY,
    RATE,
    SIZE,
    VARIATION,
    Floats,
    Kind,
    Metric,
    Reduce,
    Stage,
)

PRESENT = ("chunks",)
EDGE_WORDS = 12  # on each side of a boundary, for lexical_boundary_clarity (metrics.txt)


@dataclass(frozen=True)
class ChunkingInputs:
    """The chunks of the index in their documents; each method that a row names gives one value an item.

    evidence  what must stay whole: `expected_evidence` of the chunking (see `chunking_evidence`), or the queries' own
    strict    one quote without a place leaves the evidence metrics unmeasured, as for `expected_evidence` of the
              chunking; for the queries' own only that quote is left out
    """

    layout: Layout
    options: ChunkingOptions = field(default_factory=ChunkingOptions)
    evidence: EvidenceTable | None = None
    strict: bool = True
    notices: Notices = field(default_factory=Notices)

    def sizes(self) -> Floats:
        return self.layout.sizes

    def within_limits(self) -> Floats:
        least, most = self.options.size_limits or (np.nan, np.nan)
        sizes = self.layout.sizes
        inside = (sizes >= least) & (sizes <= most)
        return np.where(np.isnan(sizes) | np.isnan(least), np.nan, inside)

    @cached_property
    def unplaced(self) -> bool:
        """True where a span metric cannot be measured: no documents, or a chunk that has no sure place in them."""
        return not self.layout.documents.given or bool(self.layout.lost.any())

    @cached_property
    def covered(self) -> tuple[float, float]:
        """Share of the source tokens that the placed chunks cover, and their repeated tokens per covered token."""
        chunks = self.layout.all_tokens
        union, total = int(chunks.covered(1)[0]), int(chunks.total(1)[0])
        source = len(self.layout.documents.tokens[0])
        return (union / source if source else np.nan), ((total - union) / union if union else np.nan)

    def coverage(self) -> Floats:
        return np.array([np.nan if self.unplaced else self.covered[0]])

    def redundancy(self) -> Floats:
        return np.array([np.nan if self.unplaced else self.covered[1]])

    @cached_property
    def blocks(self) -> EvidenceTable | None:
        """The structural blocks at their places."""
        given = self.options.structural_blocks
        return None if given is None else chunking_evidence(given, self.layout, self.notices, "structural_blocks")

    @cached_property
    def evidence_whole(self) -> Floats:
        return np.zeros(0) if self.evidence is None else whole_in_one(self.evidence, self.layout)

    @cached_property
    def evidence_pieces(self) -> Floats:
        return np.zeros(0) if self.evidence is None else pieces(self.evidence, self.layout)

    @cached_property
    def blocks_whole(self) -> Floats:
        return np.zeros(0) if self.blocks is None else whole_in_one(self.blocks, self.layout)

    def evidence_completeness(self) -> Floats:
        return _unless(self.unplaced or self._unplaced_evidence, self.evidence_whole)

    def evidence_fragmentation(self) -> Floats:
        return _unless(self.unplaced or self._unplaced_evidence, self.evidence_pieces)

    def structural_integrity(self) -> Floats:
        return _unless(self.unplaced or _has_unplaced(self.blocks), self.blocks_whole)

    @property
    def _unplaced_evidence(self) -> bool:
        return self.strict and _has_unplaced(self.evidence)

    @cached_property
    def ideal(self) -> Layout | None:
        """The expected chunks at their places."""
        given = self.options.expected_chunks
        if given is None or not self.layout.documents.given:
            return None
        rows = [Chunk(text=chunk) if isinstance(chunk, str) else chunk for chunk in given]
        return Layout.of(rows, self.layout.documents, self.notices, where="expected_chunks")

    def boundary_f1(self) -> Floats:
        if self.ideal is None or self.unplaced or self.ideal.lost.any():
            return np.array([np.nan])
        tolerance = self.options.boundary_tolerance
        found, ideal = cuts(self.layout, tolerance + 1), cuts(self.ideal, tolerance + 1)
        return np.array([boundary_scores(found, ideal, tolerance)])

    @cached_property
    def neighbours(self) -> tuple[Ints, Ints]:
        """The codes of each two chunks that follow each other in a document, left and right."""
        order, groups = self.layout.reading_order
        together = groups[order[1:]] == groups[order[:-1]]
        return order[:-1][together], order[1:][together]

    @cached_property
    def sentence_rows(self) -> tuple[NDArray[np.floating[Any]], Ints, Ints]:
        """The sentence vectors of all chunks, and (n,) and (n,) where those of each chunk begin and end in them."""
        given = self.options.sentence_vectors
        ids, offsets, vectors = grouped_vectors("sentence_vectors", {} if given is None else given)
        codes = {chunk.id: code for code, chunk in enumerate(self.layout.chunks)}
        self.notices.add("sentence_vectors names chunks that are not there: {ids}.", [i for i in ids if i not in codes])
        known = [(codes[name], row) for row, name in enumerate(ids) if name in codes]
        first, last = np.zeros(len(codes), dtype=np.int64), np.zeros(len(codes), dtype=np.int64)
        for code, row in known:
            first[code], last[code] = offsets[row], offsets[row + 1]
        return vectors, first, last

    def semantic_cohesion(self) -> Floats:
        vectors, first, last = self.sentence_rows
        offsets = offsets_of(last - first)
        rows = np.repeat(first - offsets[:-1], last - first) + np.arange(int(offsets[-1]))
        return cohesion(vectors[rows], offsets) if len(rows) else np.full(len(self.layout), np.nan)

    def semantic_clarity(self) -> Floats:
        vectors, first, last = self.sentence_rows
        left, right = self.neighbours
        known = (last[left] > first[left]) & (last[right] > first[right])
        clarity = np.full(len(left), np.nan)
        clarity[known] = 1 - cosines(vectors, vectors, last[left[known]] - 1, first[right[known]])
        return clarity

    def semantic_stickiness(self) -> Floats:
        left, right = self.neighbours
        stickiness = np.full(len(left), np.nan)
        if self.options.chunk_vectors is None:
            return stickiness
        ids, vectors = sorted_vectors("chunk_vectors", self.options.chunk_vectors)
        row_of = {name: row for row, name in enumerate(ids)}
        rows = np.array([row_of.get(chunk.id or "", -1) for chunk in self.layout.chunks], dtype=np.int64)
        known = (rows[left] >= 0) & (rows[right] >= 0)
        stickiness[known] = cosines(vectors, vectors, rows[left[known]], rows[right[known]])
        return stickiness

    def lexical_cohesion(self) -> Floats:
        sentences, offsets = coded_sentences(self.layout.texts, self.layout.documents.tokenizer)
        return mean_pair_jaccard(sentences, offsets)

    def lexical_clarity(self) -> Floats:
        left, right = self.neighbours
        last, first = (word_sets(lists) for lists in ends_of(self.layout.codes, EDGE_WORDS))
        return 1 - jaccard(take(last, left), take(first, right))

    def lexical_stickiness(self) -> Floats:
        left, right = self.neighbours
        sets = word_sets(self.layout.codes)
        return jaccard(take(sets, left), take(sets, right))

    def metadata_completeness(self) -> Floats:
        keys = self.options.required_metadata
        if keys is None:
            return np.full(len(self.layout), np.nan)
        known = [chunk.metadata or {} for chunk in self.layout.chunks]
        return np.array([all(data.get(key) is not None for key in keys) for data in known], dtype=np.float64)

    def metadata_accuracy(self) -> Floats:
        expected = self.options.expected_metadata or {}
        chunks = {chunk.id or "": chunk.metadata or {} for chunk in self.layout.chunks}
        self.notices.add(
            "expected_metadata names chunks that are not there: {ids}.",
            [str(i) for i in expected if str(i) not in chunks],
        )
        rows = ((str(name), key, value) for name, data in expected.items() for key, value in data.items())
        right = [name in chunks and _same(chunks[name].get(key), value) for name, key, value in rows]
        return np.array(right, dtype=np.float64)

    def reasons(self) -> dict[str, str]:
        """{metric key: why it is not measured}, where more can be said than that an input was not passed."""
        lost, n = int(self.layout.lost.sum()), len(self.layout)
        said: dict[str, str] = {}
        if lost:
            why = f"not measured, because {lost} of {n} chunks have no sure place in the documents"
            keys = ("coverage", "overlap_ratio", *EVIDENCE_KEYS, "structural_integrity", "boundary_f1")
            bounds = self._lower_bounds()
            said = {key: f"{why}; it is at least {bounds[key]:.4g}" if key in bounds else why for key in keys}
        if self._unplaced_evidence:
            said |= dict.fromkeys(EVIDENCE_KEYS, "not measured, because a quote of expected_evidence has no sure place")
        if _has_unplaced(self.blocks):
            said["structural_integrity"] = "not measured, because a text of structural_blocks has no sure place"
        if self.ideal is not None and self.ideal.lost.any():
            said["boundary_f1"] = "not measured, because a text of expected_chunks has no sure place"
        return said

    def _lower_bounds(self) -> dict[str, float]:
        """What the placed chunks alone give, where more chunks can only add: they cover, hold and touch more.

        What chunks repeat and where they cut can go either way; the quotes of one batch of queries are not all quotes.
        """
        bounds = {"coverage": self.covered[0], "structural_integrity": _mean(self.blocks_whole)}
        if self.strict:
            bounds |= zip(EVIDENCE_KEYS, (_mean(self.evidence_whole), _mean(self.evidence_pieces)), strict=True)
        return {key: bound for key, bound in bounds.items() if not np.isnan(bound)}


EVIDENCE_KEYS = ("evidence_completeness", "evidence_fragmentation")


def chunking_evidence(
    items: Items, layout: Layout, notices: Notices | None = None, key: str = "expected_evidence"
) -> EvidenceTable:
    """`expected_evidence` (or `structural_blocks`) of the chunking at its places, each item for itself."""
    names = [repr(item[:40]) if isinstance(item, str) else f"{key}[{i}]" for i, item in enumerate(items)]
    lists, subject = [[item] for item in items], f"{key}: the text {{ids}}"
    return evidence_of(lists, layout.documents, names, notices, lambda i, _: f"{key}[{i}]", subject, Private(ids=True))


def _has_unplaced(table: EvidenceTable | None) -> bool:
    return table is not None and not bool(table.placed.all())


def _unless(unmeasured: bool, values: Floats) -> Floats:
    return np.full(len(values), np.nan) if unmeasured else values


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _same(a: Any, b: Any) -> bool:
    """Equal as JSON values: true is not 1, but 4 is 4.0."""
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


Compute = Callable[[ChunkingInputs], Floats]
PLACED = ("chunks", "document_text|documents")
EVIDENCE = ("expected_evidence", *PLACED)


def _row(
    key: str,
    title: str,
    compute: Compute,
    formula: str,
    advice: str,
    kind: Kind = RATE,
    per: str = "chunk",
    needs: tuple[str, ...] = ("chunks",),
    reduce: Reduce = MEAN,
) -> Metric:
    return Metric(key, Stage.CHUNKING, title, formula, advice, kind, per, needs, compute, reduce)


METRICS: tuple[Metric, ...] = (
    _row(
        "coverage", "Document Coverage", ChunkingInputs.coverage, "|U| / N",
        "Whether every word of the documents is in some chunk. Anything below 1 is text that no search can find.",
        RATE, "corpus", PLACED,
    ),
    _row(
        "size_compliance", "Size Compliance", ChunkingInputs.within_limits, "#{C_i : least <= |C_i| <= most} / n",
        "The share of chunks inside your size_limits.", RATE, "chunk", ("chunks", "size_limits"),
    ),
    _row(
        "mean_chunk_tokens", "Mean Chunk Size", ChunkingInputs.sizes, "mu = sum_i |C_i| / n",
        "For comparing chunkers; scored only against a target.", SIZE,
    ),
    _row(
        "min_chunk_tokens", "Smallest Chunk", ChunkingInputs.sizes, "min_i |C_i|",
        "A chunk of a word or two is noise in the index: a heading or a page number left alone.", SIZE, reduce=LOWEST,
    ),
    _row(
        "max_chunk_tokens", "Largest Chunk", ChunkingInputs.sizes, "max_i |C_i|",
        "Beyond the limit of the embedding model the rest of the chunk is not searched.", SIZE, reduce=HIGHEST,
    ),
    _row(
        "size_cv", "Size Variation (CV)", ChunkingInputs.sizes, "CV = sigma / mu, sigma of the population",
        "How uneven the sizes are. Neither way is better: sections do differ in length.", AMOUNT, reduce=VARIATION,
    ),
    _row(
        "overlap_ratio", "Redundancy Ratio", ChunkingInputs.redundancy, "(sum_i |C_i| - |U|) / |U|",
        "Source words that stand in more than one chunk: the price of overlap in index and prompt.",
        PENALTY, "corpus", PLACED,
    ),
    _row(
        "evidence_completeness", "Evidence Completeness", ChunkingInputs.evidence_completeness,
        "#gold spans whole in one chunk / |G|",
        "Whether a needed fact was cut in two. What is cut here stays cut in every later stage.",
        RATE, "span", EVIDENCE,
    ),
    _row(
        "evidence_fragmentation", "Evidence Fragmentation", ChunkingInputs.evidence_fragmentation,
        "sum_g #{C_i : C_i and g share a token} / |G|",
        "Into how many chunks a gold span reaches; 1 is the best. Overlapping chunks raise it without harm.",
        FRAGMENTATION, "span", EVIDENCE,
    ),
    _row(
        "structural_integrity", "Structural Integrity", ChunkingInputs.structural_integrity, "#whole blocks / #blocks",
        "Whether tables, code, lists and headings stay in one piece.", RATE, "block", ("structural_blocks", *PLACED),
    ),
    _row(
        "boundary_f1", "Boundary Alignment F1", ChunkingInputs.boundary_f1, "2 P_b R_b / (P_b + R_b)",
        "How well the cuts agree with those a person would make. The end of a document is no cut.",
        RATE, "corpus", ("expected_chunks", *PLACED),
    ),
    _row(
        "semantic_cohesion", "Semantic Cohesion", ChunkingInputs.semantic_cohesion,
        "2 / (m (m - 1)) * sum_(i<j) cos(e_i, e_j), then the mean over the chunks",
        "Whether the sentences of a chunk are about one thing.", COSINE, "chunk", ("chunks", "sentence_vectors"),
    ),
    _row(
        "semantic_boundary_clarity", "Boundary Clarity", ChunkingInputs.semantic_clarity, "1 - cos(e_left, e_right)",
        "Whether the topic changes where the text was cut.",
        COSINE_DISTANCE, "boundary", ("chunks", "sentence_vectors"),
    ),
    # Lower is better: metrics.txt reads it as neighbours that may have been split without need.
    _row(
        "semantic_chunk_stickiness", "Chunk Stickiness", ChunkingInputs.semantic_stickiness,
        "sum_i cos(e_i, e_(i+1)) / (n - 1)",
        "High where neighbours may have been split without need; the structure of the document can explain it.",
        COSINE_LOWER, "boundary", ("chunks", "chunk_vectors"),
    ),
    _row(
        "metadata_completeness", "Metadata Completeness", ChunkingInputs.metadata_completeness,
        "#chunks with every required key / n",
        "Whether every chunk can be traced to its source.", RATE, "chunk", ("chunks", "required_metadata"),
    ),
    _row(
        "metadata_accuracy", "Metadata Accuracy", ChunkingInputs.metadata_accuracy,
        "#correct metadata values / #expected values",
        "Whether pages and sources are right. A chunk that is not there has no correct value.",
        RATE, "value", ("chunks", "expected_metadata"),
    ),
    _row(
        "lexical_cohesion", "Lexical Cohesion", ChunkingInputs.lexical_cohesion,
        "mean J(sentence, sentence) inside a chunk, then over the chunks",
        "Stands in for Semantic Cohesion without vectors; good prose repeats few words, so low is normal.",
    ),
    _row(
        "lexical_boundary_clarity", "Lexical Boundary Clarity", ChunkingInputs.lexical_clarity,
        f"1 - J(last {EDGE_WORDS} words left, first {EDGE_WORDS} words right)",
        "Stands in for Boundary Clarity without vectors; high for nearly every cut.", RATE, "boundary",
    ),
    _row(
        "lexical_chunk_stickiness", "Lexical Chunk Stickiness", ChunkingInputs.lexical_stickiness,
        "mean J(C_i, C_(i+1))",
        "Stands in for Chunk Stickiness without vectors.", FAULT_RATE, "boundary",
    ),
)  # fmt: skip
