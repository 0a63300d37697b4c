"""One question in the explorer, made from the columns of its batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rag_titan.evaluation.data.answers import references_of
from rag_titan.evaluation.data.corpus import text_id
from rag_titan.evaluation.data.normal import normal_text
from rag_titan.evaluation.data.spans import Spans
from rag_titan.evaluation.data.tables import QueryTable
from rag_titan.evaluation.diagnosis.explorer_claims import judged_claims
from rag_titan.evaluation.diagnosis.explorer_marks import ChunkMarks, answer_marks, ranks_of
from rag_titan.evaluation.diagnosis.reasons import reasons_of
from rag_titan.evaluation.diagnosis.verdicts import Verdicts
from rag_titan.evaluation.limits import finite
from rag_titan.evaluation.metric import Floats, Metric, Stage
from rag_titan.evaluation.stages.augmentation import AugmentationInputs
from rag_titan.evaluation.stages.stage import Values, item_keys

LEAST_SHOWN = 20  # results of a list that are shown, and chunks that hold a quote, however small K is

Row = dict[str, Any]
Ids = Sequence[str] | None


@dataclass(frozen=True)
class Lists:
    """The lists of one question: ids as they were logged, and the rank of each."""

    retrieved: Ids
    reranked: Ids
    context: Ids
    before: Mapping[str, int]
    after: Mapping[str, int]

    def came(self, ids: Sequence[str], in_context: bool | None) -> Row:
        """The best rank of these chunks in each list, None where they are not in it, and whether they are in the
        context."""
        ranks = [[found[name] for name in ids if name in found] for found in (self.before, self.after)]
        best = [min(some, default=None) for some in ranks]
        return {"retrieved_rank": best[0], "reranked_rank": best[1], "in_context": in_context}


@dataclass(frozen=True)
class Explored:
    """A question, and the texts of it that are no chunk of the table, by the ids that were made from them."""

    row: Row
    logged: dict[str, str]


@dataclass(frozen=True)
class BatchRows:
    """The rows of a batch of n questions, made one by one when they are asked for.

    measured  {stage: {key: (n,) values}}
    rows      the metrics of each stage
    """

    verdicts: Verdicts
    measured: Mapping[Stage, Values]
    rows: Mapping[Stage, Sequence[Metric]]

    @property
    def _table(self) -> QueryTable:
        return self.verdicts.funnel.table

    def explored(self, i: int) -> Explored:
        """Question i, with places in the whole texts of chunks."""
        logged: dict[str, str] = {}
        lists = self._lists(i)
        context = self._context(i, logged)
        listed = {"retrieved": self._ranked(i, "retrieved"), "reranked": self._ranked(i, "reranked")}
        gold = list(self._gold(i, lists))
        shown = [item["id"] for items in (*listed.values(), context, gold) for item in items or ()]
        evidence = list(self._evidence(i, lists, dict.fromkeys(shown), logged))
        row = {
            **self._texts(i),
            "gold": gold,
            "evidence": evidence,
            **listed,
            "context": context,
            "budget": self._budget(i),
            "metrics": self._metrics(i),
            "verdict": self.verdicts.row(i, reasons_of(self.verdicts, i)),
        }
        if (claims := self._claims(i, shown, logged)) is not None:
            row["claims"] = claims
        self._keep_texts(logged, [*shown, *(name for item in evidence for name in item["whole_in"])])
        return Explored(row, logged)

    def _claims(self, i: int, names: Sequence[str], logged: Mapping[str, str]) -> Row | None:
        """What a judge said of the statements of question i; its quotes are marked in the chunks that are shown."""
        if self.verdicts.redaction is not None:
            names = ()
        texts = {name: logged.get(name) or self._text(self._table.corpus.codes.get(name, -1)) for name in names}
        known = {name: text for name, text in texts.items() if text}
        return judged_claims(self._table.column("verdicts")[i], self._shown, known)

    def _texts(self, i: int) -> Row:
        """What is asked, wanted and answered."""
        table, inputs, shown = self._table, self.verdicts.answers.inputs, self._shown
        references = references_of(table.column("expected_answer")[i], table.column("expected_answers")[i])
        redacted = self.verdicts.redaction is not None
        return {
            "id": table.ids[i],
            "question": shown(table.column("question")[i]),
            "tags": table.column("tags")[i],
            "error": shown(table.column("error")[i]),
            "answer": shown(table.column("answer")[i]),
            "references": [shown(text) for text in references],
            "abstained": table.column("abstained")[i],
            "answerable": table.column("answerable")[i],
            "facts": [{"text": shown(fact), "found": there} for fact, there in inputs.facts_found(i)],
            "answer_marks": [] if redacted else answer_marks(inputs, i),
        }

    def _shown(self, text: str | None) -> str | None:
        return None if text is None else self.verdicts.shown(text)

    def _lists(self, i: int) -> Lists:
        retrieved, reranked, context = (self._table.lists(kind)[i] for kind in ("retrieved", "reranked", "context"))
        return Lists(retrieved, reranked, context, ranks_of(retrieved), ranks_of(reranked))

    def _ranked(self, i: int, kind: str) -> list[Row] | None:
        """The head of a ranking, repeated ids once."""
        table = self._table
        if not table.has_list(kind)[i]:
            return None
        gold, depth = table.gold.by_id[i], max(table.settings.depth, LEAST_SHOWN)
        logged = (table.column("retrieved_scores")[i] if kind == "retrieved" else None) or ()
        scores: dict[str, float | None] = {}
        for name, score in zip(table.lists(kind)[i] or (), logged, strict=False):
            scores.setdefault(name, finite(score))
        ids = table.ranked(kind, depth)[i]
        return [{"id": name, "grade": gold.get(name), "score": scores.get(name)} for name in ids]

    def _gold(self, i: int, lists: Lists) -> Iterator[Row]:
        """The gold chunks, the highest grades first."""
        gold = self._table.gold.by_id[i]
        for name, grade in sorted(gold.items(), key=lambda item: (-item[1], item[0])):
            within = None if lists.context is None else name in lists.context
            yield {"id": name, "grade": grade, **lists.came([name], within)}

    # --- the context ------------------------------------------------------------------------------

    @cached_property
    def _used(self) -> Floats:
        return AugmentationInputs(self._table).tokens

    @cached_property
    def _sizes(self) -> Floats:
        """Words in each chunk; the last is of one that is not known, whose code is -1."""
        return np.append(self._table.spans.layout.sizes, np.nan)

    def _context(self, i: int, logged: dict[str, str]) -> list[Row] | None:
        """The context in its order; a text stands for it where no chunk's is known, with an id made from it."""
        table = self._table
        ids, text = table.lists("context")[i], table.column("context")[i]
        parts: list[Row] | None = None
        if ids is not None:
            parts = [{"id": name, "tokens": _whole(self._sizes[table.corpus.codes.get(name, -1)])} for name in ids]
        if text is None or any(part["tokens"] is not None for part in parts or ()):
            return parts
        if not text.strip():
            return parts or []
        logged[text_id(text)] = text
        return [*(parts or ()), {"id": text_id(text), "tokens": _whole(self._used[i]) if ids is None else None}]

    def _budget(self, i: int) -> Row | None:
        table = self._table
        if not (table.has_list("context")[i] or table.given("context")[i]):
            return None
        return {"used": _whole(self._used[i]), "max": finite(table.settings.max_context_tokens)}

    # --- the evidence -----------------------------------------------------------------------------

    def _evidence(self, i: int, lists: Lists, shown: dict[str, None], logged: Mapping[str, str]) -> Iterator[Row]:
        if not self.verdicts.funnel.by_quotes:
            return
        spans, context = self._table.spans, self._table.column("context")[i]
        first, last = spans.evidence.items[i : i + 2].tolist()
        standing = spans.stand_in(i, context) if lists.context is None and context is not None else None
        for item in range(first, last):
            holders = self._holders(item)
            within = (
                self._within(item, holders, lists) if standing is None else self._stands(item, standing[item - first])
            )
            whole_in = self._whole_in(item, holders, shown, logged)
            options = spans.evidence.texts[spans.evidence.options[item] : spans.evidence.options[item + 1]]
            places = self._places(item, {**shown, **dict.fromkeys(whole_in)}, logged)
            yield {
                "quotes": [self.verdicts.shown(text) for text in options if text],
                "places": [] if self.verdicts.redaction is not None else list(places),
                "whole_in": whole_in,
                **lists.came(holders, within),
            }

    def _holders(self, item: int) -> list[str]:
        """The chunks in which an evidence item is whole."""
        table, holders = self._table, self._table.spans.holders
        codes = holders.values[holders.offsets[item] : holders.offsets[item + 1]]
        return [table.corpus.chunks[code].id or "" for code in codes.tolist()]

    def _whole_in(
        self, item: int, holders: Sequence[str], shown: Mapping[str, None], logged: Mapping[str, str]
    ) -> list[str]:
        """What of this question holds the item whole, and a few chunks of the table that do; texts in the logs of other
        questions are none of its business."""
        codes, indexed = self._table.corpus.codes, self._table.indexed_chunks
        own = [name for name in holders if name in shown]
        own += [name for name, text in logged.items() if self._marks.in_text(item, text)]
        others = [name for name in holders if name not in shown and codes[name] < indexed]
        return [*own, *others[: max(LEAST_SHOWN - len(own), 0)]]

    def _within(self, item: int, holders: Sequence[str], lists: Lists) -> bool | None:
        """Whether the item is whole in a chunk of the context; None where nobody can say."""
        if lists.context is None or not set(lists.context).isdisjoint(holders):
            return None if lists.context is None else True
        funnel = self.verdicts.funnel
        blind = funnel.unreadable(self._table.codes([lists.context]).values).any() or funnel.unjudged[item]
        return None if blind else False

    def _stands(self, item: int, stands: bool) -> bool | None:
        return True if stands else None if self.verdicts.funnel.unjudged[item] else False

    def _places(self, item: int, shown: Mapping[str, None], logged: Mapping[str, str]) -> Iterator[Row]:
        """Where an evidence item is, whole or in part, in the chunks that are shown."""
        table, marks = self._table, self._marks
        for name in shown:
            code = table.corpus.codes.get(name, -1)
            text = self._text(code)
            spans = [] if text is None else marks.of(item, code, text)
            if name in logged:
                spans = marks.in_text(item, logged[name])
            yield from ({"chunk": name, "start": start, "end": end} for start, end in spans)

    @cached_property
    def _marks(self) -> ChunkMarks:
        spans: Spans = self._table.spans
        return ChunkMarks(spans)

    # --- texts and values -------------------------------------------------------------------------

    def _text(self, code: int) -> str | None:
        """A chunk's text as it is shown; where the log alone has it, white space squeezed, as its id is made of it."""
        table = self._table
        if code < 0:
            return None
        text = table.corpus.layout.texts[code]
        return text if text is None or code < table.indexed_chunks else normal_text(text)

    def _keep_texts(self, logged: dict[str, str], names: Sequence[str]) -> None:
        """Keep the texts of those of the chunks that are not in the chunk table."""
        for name in names if self._table.corpus is not self._table.passed else ():
            code = self._table.corpus.codes.get(name, -1)
            text = self._text(code) if code >= self._table.indexed_chunks else None
            if text is not None:
                logged[name] = text

    @cached_property
    def _columns(self) -> list[tuple[str, list[float]]]:
        return [
            (f"{stage}.{name}", values[key].tolist())
            for stage, values in self.measured.items()
            for name, key in item_keys([row for row in self.rows[stage] if row.key in values]).items()
        ]

    def _metrics(self, i: int) -> dict[str, float]:
        return {name: column[i] for name, column in self._columns if column[i] == column[i]}  # NaN is not measured


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else int(value)
