"""What of a question there is to judge, and why some of it needs no judge."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rag_titan.judge.evidence import Text
from rag_titan.judge.metrics import OF_ANSWER, OF_REFERENCE, Ask

UNNAMED = "somebody unnamed"
EMPTY_CONTEXT = "empty context"
_BY_CHUNK = (Ask.ANSWER_BY_CHUNKS, Ask.REFERENCE_BY_CHUNKS, Ask.USEFUL_CHUNKS, Ask.CHUNK_RELEVANCE)
_BY_CONTEXT = (Ask.ANSWER_BY_CONTEXT, Ask.REFERENCE_BY_CONTEXT)
_BOTH = (Ask.ANSWER_BY_REFERENCE, Ask.REFERENCE_BY_ANSWER)

# Whole answers that say nothing else than that there is none. Everything longer is left to the judge.
_REFUSAL = re.compile(
    r"(?:(?:i am|i'm|i’m) )?(?:sorry,? )?(?:but )?"
    r"(?:i (?:do not|don't|don’t|cannot|can't|can’t) (?:know|answer|answer that|answer this|answer the question)"
    r"|(?:the )?(?:answer|information) (?:is )?not (?:found|available|in the context)"
    r"|no answer(?: found)?|i have no information|n/?a|none|unknown|not answerable|unanswerable)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Material:
    """The texts of one question; None is not given.

    chunks     what the generator was given, best first, each once: (id, text); a text is None where nobody knows it
    context    the prompt context as one text, where the log has it so
    judged_by  who gave the verdicts that are there already; None where there are none
    """

    id: str
    question: str | None = None
    answer: str | None = None
    reference: str | None = None
    context: str | None = None
    chunks: tuple[tuple[str, str | None], ...] | None = None
    judged_by: str | None = None
    abstained: bool = False
    error: bool = False

    @cached_property
    def whole(self) -> Text:
        """The whole context."""
        if self.context is not None:
            return Text(self.context, self.question or "")
        return Text("\n\n".join(text for _, text in self.chunks or () if text), self.question or "")

    @cached_property
    def of_answer(self) -> Text:
        """The answer, to check claims of the reference against."""
        return Text(self.answer or "", self.question or "")

    @cached_property
    def of_reference(self) -> Text:
        """The reference, to check claims of the answer against."""
        return Text(self.reference or "", self.question or "")

    @cached_property
    def of_chunks(self) -> dict[str, Text]:
        """Each chunk by itself."""
        return {name: Text(text or "", self.question or "") for name, text in self.chunks or ()}

    @property
    def refused(self) -> bool:
        """The answer says that there is none: by the log, or word for word."""
        return self.abstained or _REFUSAL.fullmatch((self.answer or "").strip().rstrip(".!").strip()) is not None

    def settled(self, ask: Ask) -> str | None:
        """Why nobody needs to be asked for this kind of verdict; None where a judge is."""
        for asks, reason in (
            ((*OF_ANSWER, Ask.QUESTIONS, Ask.REFERENCE_BY_ANSWER), self._no_answer),
            ((*OF_REFERENCE, Ask.USEFUL_CHUNKS, Ask.ANSWER_BY_REFERENCE), self._no_reference),
            (_BY_CHUNK, self._no_chunks),
            (_BY_CONTEXT, self._no_context),
            ((Ask.QUESTIONS, Ask.USEFUL_CHUNKS, Ask.CHUNK_RELEVANCE), self._no_question),
        ):
            if ask in asks and reason:
                return reason
        return None

    @cached_property
    def _no_answer(self) -> str:
        if self.answer is None:
            return "no answer: the question has an error" if self.error else "no answer given"
        if not self.answer.strip():
            return "empty answer"
        return "refusal" if self.refused else ""

    @cached_property
    def _no_reference(self) -> str:
        if self.reference is None:
            return "no reference answer given"
        return "" if self.reference.strip() else "empty reference answer"

    @cached_property
    def _no_question(self) -> str:
        return "" if self.question and self.question.strip() else "no question given"

    @cached_property
    def _no_chunks(self) -> str:
        if self.chunks is None:
            return "no chunk ids given"
        if not self.chunks:
            return EMPTY_CONTEXT
        return "a chunk without text" if any(text is None for _, text in self.chunks) else ""

    @cached_property
    def _no_context(self) -> str:
        if self.context is not None:
            return "" if self.context.strip() else EMPTY_CONTEXT
        if self.chunks is None:
            return "no context given"
        if any(text is None for _, text in self.chunks):
            return "a chunk without text"
        return "" if any((text or "").strip() for _, text in self.chunks) else EMPTY_CONTEXT


def material_of(query: Any, texts: Mapping[str, str | None]) -> Material:
    """The texts of a query; `texts` are those of the chunks by id. Of several references the first is taken."""
    references = [query.expected_answer, *(query.expected_answers or ())]
    ids = next((ids for ids in (query.context_ids, query.reranked_ids, query.retrieved_ids) if ids is not None), None)
    chunks = None if ids is None else tuple((name, texts.get(name)) for name in dict.fromkeys(ids))
    context = query.context
    if context is None and ids is None:
        context = _joined(query.reranked_texts if query.reranked_texts is not None else query.retrieved_texts)
    return Material(
        id=query.id,
        question=query.question,
        answer=query.answer,
        reference=next((text for text in references if text is not None), None),
        context=context,
        chunks=chunks,
        judged_by=None if query.verdicts is None else query.verdicts.judge or UNNAMED,
        abstained=bool(query.abstained),
        error=query.error is not None,
    )


def _joined(texts: Sequence[str] | None) -> str | None:
    return None if texts is None else "\n\n".join(texts)
