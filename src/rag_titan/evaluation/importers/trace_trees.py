"""The spans of one request as a tree: who is part of whom, and which spans do a step of the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from rag_titan.evaluation.importers.span_attributes import LLM, is_record, kind_of
from rag_titan.evaluation.importers.spans import EVALUATION, Span

LATE = 2**63
"""The start of what has none."""


@dataclass
class Node:
    """A span and its parts, those that began first before the others."""

    span: Span
    kind: str
    depth: int = 0
    parts: list[Node] = field(default_factory=list)

    def within(self) -> Iterator[Node]:
        """The node and everything below it, from above, in the order of the start."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.parts))


@dataclass
class Tree:
    """One request.

    id       of its trace, with that of its root behind it where the trace holds several requests
    tops     the root first, then spans whose parent is not in the source
    rooted   whether the first of the tops is a root
    orphans  whether spans have a parent that is not in the source
    """

    id: str
    tops: list[Node]
    rooted: bool
    orphans: bool

    def nodes(self) -> Iterator[Node]:
        """All of them, from above."""
        for top in self.tops:
            yield from top.within()

    def outermost(self, kinds: Iterable[str], outside: Iterable[str] = ()) -> list[Node]:
        """The nodes of these kinds that are neither inside each other nor inside one of the kinds `outside`."""
        wanted, closed = set(kinds), {*kinds, *outside}
        found, waiting = [], list(reversed(self.tops))
        while waiting:
            node = waiting.pop()
            if node.kind in wanted:
                found.append(node)
            if node.kind not in closed:
                waiting.extend(reversed(node.parts))
        return sorted(found, key=lambda node: _order(node.span))


def trees_of(trace: str, spans: list[Span]) -> list[Tree]:
    """The requests in the spans of a trace, whose ids differ: one, or one for every root that has a model of its own.

    What belongs to an evaluation is left out.
    """
    nodes = {span.id: Node(span, kind_of(span)) for span in sorted(spans, key=_order)}
    tops, placed = [], set()
    for node in nodes.values():
        parent = nodes.get(node.span.parent or "")
        if parent is None or parent is node:
            tops.append(node)
        else:
            parent.parts.append(node)
    for top in tops:
        placed |= {node.span.id for node in _settled(top)}
    for node in nodes.values():  # spans that are part of each other in a circle hang on none of the tops
        if node.span.id not in placed:
            nodes[node.span.parent or ""].parts.remove(node)
            tops.append(node)
            placed |= {inner.span.id for inner in _settled(node)}
    return _requests(trace, [top for top in tops if top.kind != EVALUATION])


def _settled(top: Node) -> Iterator[Node]:
    """The tree below a node, with its depths, without evaluations."""
    for node in top.within():
        yield node
        for part in node.parts:
            part.depth = node.depth + 1
            if part.kind == EVALUATION:
                yield from part.within()
        node.parts = [part for part in node.parts if part.kind != EVALUATION]


def _requests(trace: str, tops: list[Node]) -> list[Tree]:
    roots = [top for top in tops if top.span.parent is None]
    orphans = [top for top in tops if top.span.parent is not None]
    own = [root for root in roots if any(node.kind == LLM or is_record(node.span) for node in root.within())]
    if len(own) < 2:
        main = own or roots
        others = [root for root in roots if root not in main]
        return [Tree(trace, [*main, *others, *orphans], bool(roots), bool(orphans))] if tops else []
    lists: dict[str, list[Node]] = {root.span.id: [root] for root in own}
    for top in tops:
        if top.span.id not in lists:
            lists[_owner(top, own).span.id].append(top)
    names = [trace, *(f"{trace}/{root.span.id}" for root in own[1:])]
    split = zip(names, lists.values(), strict=True)
    return [Tree(name, of_root, True, any(top in orphans for top in of_root)) for name, of_root in split]


def _owner(top: Node, roots: list[Node]) -> Node:
    """The last root that had begun when the span did."""
    before = [root for root in roots if _order(root.span) <= _order(top.span)]
    return before[-1] if before else roots[0]


def _order(span: Span) -> tuple[int, int, str]:
    """By the start; what encloses another that started with it comes first."""
    return (LATE if span.start is None else span.start, -(span.end or 0), span.id)


# --- over several spans -----------------------------------------------------------------------------------------------


def milliseconds(nodes: Iterable[Node]) -> float | None:
    """How long they took together: what ran side by side counts once; None where a time of one is not known."""
    spans = [node.span for node in nodes]
    times = [(span.start, span.end) for span in spans if span.start is not None and span.end is not None]
    if not spans or len(times) < len(spans) or any(end < start for start, end in times):
        return None
    total, reached = 0, 0
    for start, end in sorted(times):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total / 1e6


def total(tops: Iterable[Node], amount: Callable[[Span], float | None]) -> tuple[float | None, bool]:
    """The sum of what the spans say, and whether a call of a model says nothing, so that the sum would be too small.

    What a span says counts for everything inside it. A call that failed need not say anything.
    """
    sums: list[float] = []
    silent = False
    for top in tops:
        said, unsaid = _said(top, amount)
        sums += said
        silent |= unsaid
    return (sum(sums) if sums else None), silent


def _said(top: Node, amount: Callable[[Span], float | None]) -> tuple[list[float], bool]:
    """The amounts, from above, and whether an outermost call of a model has none in it."""
    said: list[float] = []
    silent = False
    waiting = [(top, False)]  # and whether it is inside a call of a model
    while waiting:
        node, inside = waiting.pop()
        own = amount(node.span)
        if own is not None:
            said.append(own)
            continue
        if node.kind == LLM and not inside and node.span.error is None:
            silent |= all(amount(inner.span) is None for inner in node.within())
        waiting.extend((part, inside or node.kind == LLM) for part in reversed(node.parts))
    return said, silent
