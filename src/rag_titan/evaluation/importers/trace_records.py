"""A request as a query record: what its spans say of the question, the ranking, the context, the answer, the times."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.importers import span_attributes as said
from rag_titan.evaluation.importers.imported import Record
from rag_titan.evaluation.importers.span_attributes import (
    CHAIN,
    EMBEDDING,
    LLM,
    PROMPT,
    RERANKER,
    RETRIEVER,
    SEARCH,
    Passage,
)
from rag_titan.evaluation.importers.span_texts import cited_in
from rag_titan.evaluation.importers.spans import TRULENS, time_text
from rag_titan.evaluation.importers.trace_trees import LATE, Node, Tree, milliseconds, total

MERGED = "the documents of several retriever spans were put one after another, in the order of their start, an id or a \
text that comes again left out: query {ids}."
ROOTLESS = "the root span is not in the source, so that latency_ms is not known: query {ids}."
SILENT = "some calls of a model say nothing about it, so that the sum would be too small, and it was left out: {ids}."
BLANK = "documents with neither an id nor a text were left out: query {ids}."
GIVEN = "no retriever span; what went into the reranker counts as retrieved: query {ids}."
WORDS = 3  # of a document, so that finding it in a prompt means that it was put there
_WHITE = re.compile(r"\s+")


@dataclass
class Request:
    """What a tree holds, before it is known which ids of documents can be kept."""

    record: Record
    start: int = LATE
    retrieved: list[Passage] | None = None
    reranked: list[Passage] | None = None
    prompt: str | None = None
    context: str | None = None
    passages: list[Passage] = field(default_factory=list)


def is_request(tree: Tree) -> bool:
    """True where there is something to evaluate: a retrieval, a call of a model, or the root of a TruLens record."""
    kinds = {RETRIEVER, SEARCH, RERANKER, LLM}
    return any(node.kind in kinds or said.is_record(node.span) for node in tree.nodes())


def request_of(tree: Tree, key: str | None, notices: Notices) -> Request:
    """The request; `key` as in `span_attributes.retrieved`."""
    main, root = _main(tree), tree.tops[0]
    answering = max(
        tree.outermost([LLM], [RETRIEVER, SEARCH, RERANKER, EMBEDDING]), default=None, key=lambda n: n.span.end or 0
    )
    record: Record = {"id": tree.id}
    record["question"] = _question(tree, main)
    request = Request(record)
    _documents(request, tree, key, notices)
    if answering is not None:
        request.prompt = _first(answering.within(), lambda node: said.prompt_of(node.span))
        request.context = _context(tree, answering)
    record["answer"] = _answer(main, answering)
    record["citations"] = cited_in(said.output_of(main.span)) if main is not None else None
    truth = root.span.attributes.get(f"{TRULENS}record_root.ground_truth_output")
    record["expected_answer"] = truth if isinstance(truth, str) and truth.strip() else None
    record |= _times(tree, answering)
    record |= _amounts(tree, notices)
    record["error"] = _error(tree, record["answer"])
    request.start, zoned = next(
        ((t.span.start, t.span.zoned) for t in tree.tops if t.span.start is not None), (LATE, True)
    )
    record["timestamp"] = time_text(request.start, zoned) if request.start < LATE else None
    tags = {tag: value for node in (root, main) if node is not None for tag, value in said.tags_of(node.span).items()}
    record["tags"] = tags or None
    request.record = {name: value for name, value in record.items() if value is not None}
    return request


# --- question and answer ----------------------------------------------------------------------------------------------


def _main(tree: Tree) -> Node | None:
    """The span that is the application: of those that have a question in their input the outermost, if it is alone."""
    steps = tree.outermost([CHAIN], [RETRIEVER, SEARCH, RERANKER, EMBEDDING, LLM])
    while steps:
        asked = [node for node in steps if said.asked(node.span) is not None]
        if asked:
            return asked[0] if len(asked) == 1 or asked[0].depth == 0 else None
        steps = [part for node in steps for part in node.parts if part.kind == CHAIN]
    return None


def _question(tree: Tree, main: Node | None) -> str | None:
    if main is not None:
        return said.asked(main.span)
    for kinds in ((CHAIN,), (RETRIEVER, SEARCH, RERANKER), (LLM,)):
        text = _first((node for node in tree.nodes() if node.kind in kinds), lambda node: said.asked(node.span))
        if text is not None:
            return text
    return None


def _answer(main: Node | None, answering: Node | None) -> str | None:
    """The output of the application; where it is not to be read, that of its last model."""
    text = said.answered(main.span) if main is not None else None
    if text is None and answering is not None:
        text = _first(answering.within(), lambda node: said.answered(node.span))
    return text


def _error(tree: Tree, answer: str | None) -> str | None:
    """Why the request failed; what failed inside it and was made good is no error of it."""
    for top in tree.tops:
        if top.span.error is not None:
            return top.span.error
    if answer is not None:
        return None
    return _first(tree.nodes(), lambda node: node.span.error)


def _context(tree: Tree, answering: Node) -> str | None:
    text = _first(answering.within(), lambda node: said.context_of(node.span))
    if text is None:
        start = answering.span.start
        prompts = [n for n in tree.nodes() if n.kind == PROMPT and (start is None or (n.span.start or 0) <= start)]
        text = _first(reversed(prompts), lambda node: said.context_of(node.span))
    return text


def _first(nodes: Iterable[Node], get: Callable[[Node], str | None]) -> str | None:
    return next((text for node in nodes if (text := get(node)) is not None), None)


# --- documents --------------------------------------------------------------------------------------------------------


def _documents(request: Request, tree: Tree, key: str | None, notices: Notices) -> None:
    lists = [found for node in tree.outermost([RETRIEVER, SEARCH], [RERANKER]) for found in _found(node, key)]
    if len(lists) > 1:
        notices.add(MERGED, [tree.id])
    if lists:
        request.retrieved = _once([passage for found in lists for passage in found])
    for node in tree.outermost([RERANKER]):
        given, returned = said.reranker_lists(node.span, key)
        if request.retrieved is None and given is not None:
            request.retrieved = _once(given)
            notices.add(GIVEN, [tree.id])
        if returned is not None:
            request.reranked = _once(returned)
        request.passages += given or []
    for name in ("retrieved", "reranked"):
        passages = getattr(request, name)
        kept = [p for p in passages or () if p.id is not None or p.text is not None]
        if passages is not None and len(kept) < len(passages):
            notices.add(BLANK, [tree.id])
            setattr(request, name, kept or None)
        request.passages += kept


def _found(node: Node, key: str | None) -> list[list[Passage]]:
    """The documents of a retriever; where it logs none, those of the retrievers inside it."""
    own = said.retrieved(node.span, key)
    if own is not None:
        return [own]
    inner = [part for part in node.within() if part is not node and part.kind in (RETRIEVER, SEARCH)]
    lists, seen = [], set()
    for part in inner:
        if id(part) in seen:
            continue
        found = said.retrieved(part.span, key)
        if found is not None:
            lists.append(found)
            seen |= {id(below) for below in part.within()}
    return lists


def _once(passages: Sequence[Passage]) -> list[Passage]:
    """Each document once, where it came first."""
    kept: dict[object, Passage] = {}
    for number, passage in enumerate(passages):
        name: object = ("id", passage.id) if passage.id is not None else ("text", passage.text)
        kept.setdefault(name if name != ("text", None) else number, passage)
    return list(kept.values())


def add_documents(request: Request) -> None:
    """Put the rankings and the context into the record, by ids where all documents have one, else by texts."""
    record = request.record
    for name, passages in (("retrieved", request.retrieved), ("reranked", request.reranked)):
        if passages is None:
            continue
        if all(p.id is not None for p in passages):
            record[f"{name}_ids"] = [p.id for p in passages]
        elif all(p.text is not None for p in passages):
            record[f"{name}_texts"] = [p.text for p in passages]
        else:
            record[f"{name}_ids"] = [p.id for p in passages if p.id is not None]
            passages = [p for p in passages if p.id is not None]
        if name == "retrieved" and any(p.score is not None for p in passages):
            record["retrieved_scores"] = [p.score for p in passages]
    if request.context is not None:
        record["context"] = request.context
    ids = in_prompt(request.passages, request.context if request.context is not None else request.prompt)
    if ids and all(passage.id is not None for passage in request.passages):
        record["context_ids"] = ids


def in_prompt(passages: Sequence[Passage], prompt: str | None) -> list[str]:
    """The ids of the documents whose whole text stands in a prompt, in its order.

    White space counts as one blank. A text inside that of another document is not looked for there, and one of fewer
    than 3 words is not looked for at all.

    >>> passages = [Passage("d1", "Sick pay is full."), Passage("d2", "Leave is 25 days."), Passage("d3", "Yes.")]
    >>> in_prompt(passages, "Use this:\\nLeave is  25 days.\\nSick pay is full. Yes. How long is leave?")
    ['d2', 'd1']
    """
    if prompt is None:
        return []
    free = _WHITE.sub(" ", prompt)
    known = [(p.id, p.text) for p in reversed(passages) if p.id is not None and p.text is not None]
    texts = {name: _WHITE.sub(" ", text).strip() for name, text in known}
    places: dict[str, int] = {}
    for name, text in sorted(texts.items(), key=lambda item: (-len(item[1]), item[0])):
        at = free.find(text) if len(text.split(" ")) >= WORDS else -1
        if at >= 0:
            places[name] = at
            free = f"{free[:at]}{chr(0) * len(text)}{free[at + len(text) :]}"
    return sorted(places, key=lambda name: places[name])


# --- times and amounts ------------------------------------------------------------------------------------------------


def _times(tree: Tree, answering: Node | None) -> Record:
    retrievers = tree.outermost([RETRIEVER, SEARCH], [RERANKER])
    embeddings = tree.outermost([EMBEDDING], [RERANKER, LLM])
    times: Record = {
        "latency_ms": milliseconds(tree.tops[:1]) if tree.rooted else None,
        "embedding_latency_ms": milliseconds(embeddings),
        "search_latency_ms": milliseconds(_searches(retrievers)),
        "retrieval_latency_ms": milliseconds([*_before(retrievers, embeddings), *retrievers]),
        "rerank_latency_ms": milliseconds(tree.outermost([RERANKER])),
        "generation_latency_ms": milliseconds(tree.outermost([LLM], [RETRIEVER, SEARCH, RERANKER, EMBEDDING])),
    }
    if answering is not None:
        first = (said.first_token_ms(node.span) for node in answering.within())
        times["time_to_first_token_ms"] = next((time for time in first if time is not None), None)
    return times


def _before(retrievers: list[Node], embeddings: Iterable[Node]) -> list[Node]:
    """The embeddings that a retriever waited for; they are part of the retrieval wherever their spans hang."""
    if not retrievers or retrievers[-1].span.start is None:
        return []
    last = retrievers[-1].span.start
    return [node for node in embeddings if node.span.start is not None and node.span.start <= last]


def _searches(retrievers: Iterable[Node]) -> list[Node]:
    return [node for retriever in retrievers for node in retriever.within() if node.kind == SEARCH]


def _amounts(tree: Tree, notices: Notices) -> Record:
    amounts: Record = {}
    for name, amount in (
        ("output_tokens", said.output_tokens), ("total_tokens", said.total_tokens), ("cost_usd", said.cost)
    ):  # fmt: skip
        value, silent = total(tree.tops, amount)
        if value is not None and silent:
            notices.add(f"{name}: {SILENT}", [tree.id])
        elif value is not None:
            amounts[name] = value
    return amounts
