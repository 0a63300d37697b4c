"""One question in the HTML report: why it failed, its evidence, its rankings, its context and its answer, as blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rag_titan.evaluation.catalogue import ROWS, Rows, label_of
from rag_titan.evaluation.diagnosis import explorer_claims
from rag_titan.evaluation.limits import finite
from rag_titan.evaluation.reports import html_judged
from rag_titan.evaluation.reports.cells import visible
from rag_titan.evaluation.reports.failures import NOT_KNOWN
from rag_titan.evaluation.reports.figures import count_text

View = dict[str, Any]
Runs = list[tuple[str, str]]

EXCERPT = 240  # characters on each side of a mark, where a text is not shown whole
GOLD, PART = "gold", "part"
_RANKS = (("retrieved_rank", "retrieved", "retrieved at rank {}"), ("reranked_rank", "reranked", "reranked to rank {}"))


class Pages:
    """The pages of questions that share a table of chunks."""

    def __init__(self, chunks: Mapping[str, Any], k: Any = None, rows: Rows = ROWS) -> None:
        self.chunks = {str(name): chunk for name, chunk in chunks.items() if isinstance(chunk, Mapping)}
        self.numbers = {name: i for i, name in enumerate(self.chunks)}
        self.k = k if isinstance(k, int) else None
        self.rows = rows

    def table(self) -> Iterator[list[Any]]:
        """[id, text, document, is it cut?] of the chunks, in the order of their numbers."""
        for name, chunk in self.chunks.items():
            text, document = chunk.get("text"), chunk.get("document")
            yield [
                visible(name),
                None if text is None else visible(str(text)),
                None if document is None else visible(str(document)),
                int(chunk.get("cut") is True),
            ]

    def verdict(self, verdict: Mapping[str, Any], failure: Mapping[str, Any] | None) -> str:
        """The verdict in a line."""
        correct, place = verdict.get("correct"), verdict.get("lost_at")
        said = {True: "right", False: "wrong"}.get(correct, "not judged") if correct is not None else "not judged"
        by = f" (by {str(verdict['correct_by']).replace('_', ' ')})" if verdict.get("correct_by") else ""
        lost = f"lost at {label_of(str(place))}" if place else ""
        if failure is not None and failure["stage"] == NOT_KNOWN:
            lost = "lost at a place that is not known"
        parts = ["Failed" if failure is not None else "Did not fail" if verdict else "No verdict", lost]
        return visible(", ".join(filter(None, parts)) + f"; the answer is {said}{by}")

    def page(self, row: Mapping[str, Any], verdict: Mapping[str, Any], failure: Mapping[str, Any] | None) -> View:
        """{"id", "question", "verdict", "blocks"} of one question."""
        blocks = [
            _text("Question", row.get("question")),
            _list("Why it failed" if failure is not None else "What was lost", _reasons(verdict, failure)),
            _list("By the judge's verdicts", html_judged.diagnosis_items(verdict, self.rows)),
            _text("Error", row.get("error")),
            _answer(row),
            _list("Expected answer", [("", str(text)) for text in row.get("references") or []]),
            _list("Required facts", [_fact(fact) for fact in row.get("facts") or []]),
            _evidence_list([*_evidence(row), *_gold(row)]),
            self._in_chunks(row),
            *(_list(title, items) for title, items in html_judged.claim_blocks(row)),
            self._judged_in_chunks(row),
            self._rankings(row),
            self._context(row),
            _list("Tags", [("", f"{tag} = {value}") for tag, value in (row.get("tags") or {}).items()]),
        ]
        question = row.get("question")
        return {
            "id": visible(str(row.get("id"))),
            "question": visible(str(question)) if question else "",
            "verdict": self.verdict(verdict, failure),
            "blocks": [block for block in blocks if block is not None],
        }

    def reference(self, name: Any) -> int | str:
        """A chunk as its number, or as its id where the table does not have it."""
        number = self.numbers.get(str(name))
        return visible(str(name)) if number is None else number

    def _in_chunks(self, row: Mapping[str, Any]) -> View | None:
        """The chunks that hold evidence, with the places of it in UTF-16 units, as JavaScript counts."""
        places: dict[str, list[tuple[int, int]]] = {}
        whole = {str(name) for item in row.get("evidence") or [] for name in item.get("whole_in") or []}
        for item in row.get("evidence") or []:
            for place in item.get("places") or []:
                places.setdefault(str(place["chunk"]), []).append((place["start"], place["end"]))
        items = []
        for name, spans in places.items():
            text = str((self.chunks.get(name) or {}).get("text") or "")
            note = "holds the quote whole" if name in whole else "holds a part of the quote"
            units = [[_units(text, start), _units(text, end)] for start, end in sorted(set(spans))]
            items.append({"chunk": self.reference(name), "note": note, "places": units})
        return {"kind": "chunks", "title": "The evidence in its chunks", "items": items} if items else None

    def _judged_in_chunks(self, row: Mapping[str, Any]) -> View | None:
        """The chunks that the judge quotes."""
        places: dict[str, list[tuple[int, int]]] = {}
        for place in explorer_claims.places_of(row):
            places.setdefault(str(place["chunk"]), []).append((place["start"], place["end"]))
        items = []
        for name, spans in places.items():
            text = str((self.chunks.get(name) or {}).get("text") or "")
            units = [[_units(text, start), _units(text, end)] for start, end in sorted(set(spans))]
            items.append({"chunk": self.reference(name), "note": "quoted by the judge", "places": units})
        return {"kind": "chunks", "title": "What the judge quotes, in its chunks", "items": items} if items else None

    def _rankings(self, row: Mapping[str, Any]) -> View | None:
        """The ranking before and after the reranker, side by side."""
        before, after = row.get("retrieved"), row.get("reranked")
        holders = _holders(row)
        columns = []
        if isinstance(before, list):
            title = "Search, before reranking" if isinstance(after, list) else "Search"
            columns.append(self._column(title, before, holders, None if isinstance(after, list) else self.k))
        if isinstance(after, list):
            columns.append(self._column("After reranking", after, holders, self.k, moved=isinstance(before, list)))
        return {"kind": "columns", "title": "Rankings", "columns": columns} if columns else None

    def _column(
        self, title: str, items: Sequence[Any], holders: Mapping[str, str], k: int | None, moved: bool = False
    ) -> View:
        chunks, scores = [], []
        marks: dict[int, str] = {}
        notes: dict[int, str] = {}
        for i, item in enumerate(items):
            name, grade = str(item["id"]), item.get("grade")
            chunks.append(self.reference(name))
            score = None if item.get("score") is None else finite(item["score"])
            scores.append("" if score is None else f"{score:.4g}")
            if name in holders:
                marks[i] = holders[name]
            if grade is not None and (number := finite(grade)):
                notes[i] = f"grade {number:g}"
                marks[i] = GOLD if number > 0 else marks.get(i, "")
        scores = scores if any(scores) else []
        column = {"title": title, "k": k, "chunks": chunks, "moved": moved}
        return {**column, "marks": marks, "notes": notes, "scores": scores}

    def _context(self, row: Mapping[str, Any]) -> View | None:
        """The context in its order, with the tokens that each chunk takes."""
        context, budget = row.get("context"), row.get("budget") or {}
        if not isinstance(context, list):
            return None
        holders = {**_holders(row), **{str(g["id"]): GOLD for g in row.get("gold") or [] if _relevant(g)}}
        parts = [
            [self.reference(item["id"]), finite(item.get("tokens")), holders.get(str(item["id"]), "")]
            for item in context
        ]
        used, most = finite(budget.get("used")), finite(budget.get("max"))
        says = "The context is empty" if not context else count_text(len(context), "chunk")
        if used is not None:
            says += f", {used:,.0f}" + (f" of {most:,.0f}" if most is not None else "") + " tokens"
        if used is not None and most is not None and used > most:
            says += f": {used - most:,.0f} over the budget"
        return {"kind": "budget", "title": "Context", "parts": parts, "used": used, "max": most, "says": f"{says}."}


def _text(title: str, text: Any) -> View | None:
    return None if text is None or text == "" else {"kind": "text", "title": title, "runs": [(visible(str(text)), "")]}


def _list(title: str, items: Sequence[tuple[str, str]]) -> View | None:
    shown = [(mark, visible(text), "") for mark, text in items]
    return {"kind": "list", "title": title, "items": shown} if shown else None


def _evidence_list(items: Sequence[tuple[str, str]]) -> View | None:
    """What came how far; the second half of such a text is that of many questions."""
    shown = [(GOLD, visible(text), more) for text, more in items]
    return {"kind": "list", "title": "Evidence", "items": shown} if shown else None


def _reasons(verdict: Mapping[str, Any], failure: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    why = verdict.get("why")
    reasons = [str(reason) for reason in why] if isinstance(why, list) else []
    return [("", reason) for reason in reasons or ([failure["reason"]] if failure is not None else [])]


def _answer(row: Mapping[str, Any]) -> View | None:
    """The answer with what the context does not support."""
    answer = row.get("answer")
    if answer is None:
        return None
    marks = [(mark["start"], mark["end"], str(mark["what"])) for mark in row.get("answer_marks") or []]
    title = "Answer: it refused" if row.get("abstained") else "Answer"
    if row.get("answerable") is False:
        title += " (the documents do not answer this question)"
    return {"kind": "text", "title": title, "runs": runs(visible(str(answer)) or "(empty)", marks)}


def runs(text: str, marks: Sequence[tuple[int, int, str]]) -> Runs:
    """The text cut into [text, mark]; marks are (start, end, mark), the first one counts where two overlap.

    >>> runs("in 5 days", [(3, 4, "number")])
    [('in ', ''), ('5', 'number'), (' days', '')]
    """
    found: Runs = []
    at = 0
    for start, end, mark in sorted(marks):
        first, last = max(at, start), min(end, len(text))
        if first >= last:
            continue
        found += [(text[at:first], "")] if first > at else []
        found.append((text[first:last], mark))
        at = last
    return [*found, (text[at:], "")] if at < len(text) or not found else found


def excerpt(chunk: Mapping[str, Any], places: Sequence[Sequence[int]]) -> Runs:
    """The text of a chunk around its marks (in UTF-16 units), cut where it is far from them.

    >>> excerpt({"text": "a" * 300 + "b"}, [[300, 301]])[0][0].count("a")
    240
    """
    text = visible(str(chunk.get("text") or ""))
    parts = runs(text, [(_points(text, start), _points(text, end), GOLD) for start, end in places])
    cut: Runs = []
    for i, (part, mark) in enumerate(parts):
        first, last = i == 0, i == len(parts) - 1
        if mark or len(part) <= EXCERPT * (2 - (first or last)):
            cut.append((part, mark))
            continue
        head, tail = "" if first and not last else part[:EXCERPT], "" if last else part[-EXCERPT:]
        cut.append((f"{head} … {tail}", ""))
    return cut


def _units(text: str, offset: int) -> int:
    """An offset in characters as one in UTF-16 units.

    >>> _units("\\U0001f600a", 1)
    2
    """
    return offset if text.isascii() else len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2


def _points(text: str, offset: int) -> int:
    """The other way round."""
    if text.isascii():
        return offset
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * offset].decode("utf-16-le", "replace"))


def _fact(fact: Mapping[str, Any]) -> tuple[str, str]:
    return ("found" if fact.get("found") else "missing", str(fact.get("text")))


def _evidence(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for item in row.get("evidence") or []:
        quotes = " or ".join(f"“{quote}”" for quote in item.get("quotes") or []) or "a span of the document"
        whole = [str(name) for name in item.get("whole_in") or []]
        where = f"whole in {', '.join(whole[:5])}" if whole else "whole in no chunk that is shown"
        yield f"{quotes}; {where}", _all(_whereabouts(row, item))


def _gold(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for gold in row.get("gold") or []:
        grade = finite(gold.get("grade"))
        yield f"chunk {gold.get('id')}", _all([*([f"grade {grade:g}"] if grade else []), *_whereabouts(row, gold)])


def _all(facts: Iterable[str]) -> str:
    return "".join(f"; {fact}" for fact in facts)


def _whereabouts(row: Mapping[str, Any], item: Mapping[str, Any]) -> Iterator[str]:
    """How far a piece of evidence came; nothing of a list that was not logged."""
    for key, name, words in _RANKS:
        if isinstance(row.get(name), list):
            yield words.format(item[key]) if item.get(key) else f"not among the {name}"
    if item.get("in_context") is not None:
        yield "in the context" if item["in_context"] else "not in the context"


def _holders(row: Mapping[str, Any]) -> dict[str, str]:
    """{chunk id: does it hold evidence whole or in part}."""
    found: dict[str, str] = {}
    for item in row.get("evidence") or []:
        for place in item.get("places") or []:
            found.setdefault(str(place["chunk"]), PART)
        found.update({str(name): GOLD for name in item.get("whole_in") or []})
    return found


def _relevant(gold: Mapping[str, Any]) -> bool:
    return (finite(gold.get("grade")) or 0.0) > 0
