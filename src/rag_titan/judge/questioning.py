"""All that is asked about one question, part by part; the parts need nothing of each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from rag_titan.errors import ServiceError
from rag_titan.judge.asking import AskCall, NoVerdictError
from rag_titan.judge.calls import OneVerdict, claims_call, questions_call, relevance_call, useful_call, verdicts_call
from rag_titan.judge.evidence import Text
from rag_titan.judge.material import EMPTY_CONTEXT, Material
from rag_titan.judge.metrics import Ask

RULE, JUDGE = "rule", "judge"

Once = Callable[[bytes, Callable[[], str]], str]  # by what names it, what was made before, else what is made now


@dataclass
class Part:
    """What came of a part.

    verdicts  members of `Verdicts`
    done      what there are verdicts for
    ruled     {what there are verdicts for without a judge: why}
    reasons   {what there are none for: why}
    failed    those of them that were asked for in vain, with what was said instead
    """

    verdicts: dict[str, Any] = field(default_factory=dict)
    done: set[Ask] = field(default_factory=set)
    ruled: dict[Ask, str] = field(default_factory=dict)
    reasons: dict[Ask, str] = field(default_factory=dict)
    failed: dict[Ask, str] = field(default_factory=dict)

    @property
    def known(self) -> set[Ask]:
        """What there is a verdict for, or a reason why there is none."""
        return {*self.done, *self.ruled, *self.reasons}

    def miss(self, asks: Iterable[Ask], error: NoVerdictError) -> None:
        """Note that there is no verdict for these."""
        for ask in asks:
            self.reasons[ask] = str(error)
            if error.failed:
                self.failed[ask] = error.said


@dataclass(frozen=True)
class Side:
    """The claims of one text, and by what they are judged."""

    name: str
    other: str
    by_context: Ask
    by_other: Ask
    by_chunks: Ask

    @property
    def asks(self) -> tuple[Ask, ...]:
        """All of them."""
        return self.by_context, self.by_other, self.by_chunks


SIDES = (
    Side("answer_claims", "reference", Ask.ANSWER_BY_CONTEXT, Ask.ANSWER_BY_REFERENCE, Ask.ANSWER_BY_CHUNKS),
    Side("reference_claims", "answer", Ask.REFERENCE_BY_CONTEXT, Ask.REFERENCE_BY_ANSWER, Ask.REFERENCE_BY_CHUNKS),
)


class Embedder(Protocol):
    """Texts -> vectors, as the embedders of `rag_titan.models` and of the pipeline give them."""

    name: str

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """(n, d), one vector for each text."""


@dataclass(frozen=True)
class Questioning:
    """What is asked about each question.

    asks             kinds of verdicts
    ask              asks a call
    embedder         for answer relevance; None: only whether an answer evades is judged
    questions        how many an answer is turned into
    claims_at_once   in one call
    every_number     claims that a rule settles are put to the judge, too, which may find them contradicted
    once             keeps what an embedder said, as `ask` keeps what a judge did
    """

    asks: frozenset[Ask]
    ask: AskCall
    embedder: Embedder | None = None
    questions: int = 3
    claims_at_once: int = 20
    every_number: bool = False
    once: Once = lambda _, make: make()

    def parts(self, material: Material) -> Iterator[Callable[[], Part]]:
        """What there is to do, in parts that may run side by side."""
        for side in SIDES:
            wanted = [ask for ask in side.asks if ask in self.asks]
            if wanted:
                yield partial(self._of_side, material, side, wanted)
        for ask, job in (
            (Ask.QUESTIONS, self._relevance_of_answer),
            (Ask.USEFUL_CHUNKS, self._useful),
            (Ask.CHUNK_RELEVANCE, self._relevance_of_chunks),
        ):
            if ask in self.asks:
                yield partial(self._alone, material, ask, job)

    def _alone(self, material: Material, ask: Ask, job: Callable[[Material], dict[str, Any]]) -> Part:
        """A part with one kind of verdict."""
        part = Part()
        if reason := material.settled(ask):
            part.reasons[ask] = reason
            if ask == Ask.QUESTIONS and material.refused:
                part.verdicts["noncommittal"] = True
            return part
        try:
            part.verdicts = job(material)
            part.done.add(ask)
        except NoVerdictError as error:
            part.miss([ask], error)
        return part

    def _of_side(self, material: Material, side: Side, wanted: Sequence[Ask]) -> Part:
        """The claims of the answer, or of the reference, and the verdicts on them."""
        part = Part(reasons={ask: reason for ask in wanted if (reason := material.settled(ask))})
        part.ruled = {ask: part.reasons.pop(ask) for ask in wanted if part.reasons.get(ask) == EMPTY_CONTEXT}
        open_ = [ask for ask in wanted if ask not in part.reasons and ask not in part.ruled]
        claims = self._claims(material, side, open_, part)
        for ask in open_:
            if ask in part.reasons:
                continue
            try:
                self._judge(material, side, ask, claims)
                part.done.add(ask)
            except NoVerdictError as error:
                part.miss([ask], error)
        for ask in part.ruled:
            _unfounded(claims, by_chunks=ask == side.by_chunks)
        if claims:
            part.verdicts[side.name] = claims
        return part

    def _claims(self, material: Material, side: Side, open_: Sequence[Ask], part: Part) -> list[dict[str, Any]]:
        """The statements of the text; one without words, for whatever it states, where only a rule speaks of it."""
        whole: list[dict[str, Any]] = [{}] if part.ruled else []
        if not open_:
            return whole
        own = material.of_answer if side.name == "answer_claims" else material.of_reference
        try:
            texts = self.ask(claims_call(own.text, material.question))
        except NoVerdictError as error:
            part.miss(open_, error)
            return whole
        if not texts:
            part.reasons |= dict.fromkeys((*open_, *part.ruled), "no claim in the text")
            part.ruled = {}
        return [{"text": text} for text in texts]

    def _judge(self, material: Material, side: Side, ask: Ask, claims: list[dict[str, Any]]) -> None:
        """Verdicts of one kind, put into the claims once all of them are there."""
        texts = [claim["text"] for claim in claims]
        if ask == side.by_chunks:
            by_chunk = {name: self._verdicts(texts, chunk) for name, chunk in material.of_chunks.items()}
            for place, claim in enumerate(claims):
                claim["chunks"] = {name: verdicts[place][0].verdict for name, verdicts in by_chunk.items()}
                claim.setdefault("by", JUDGE)
            return
        text = material.whole if ask == side.by_context else self._other(material, side)
        key = "context" if ask == side.by_context else side.other
        for claim, (verdict, by) in zip(claims, self._verdicts(texts, text), strict=True):
            claim[key] = verdict.verdict
            if key == "context":
                claim |= {"by": by} | ({"evidence": verdict.evidence} if verdict.evidence else {})
            claim.setdefault("by", by)

    @staticmethod
    def _other(material: Material, side: Side) -> Text:
        return material.of_reference if side.other == "reference" else material.of_answer

    def _verdicts(self, claims: Sequence[str], text: Text) -> list[tuple[OneVerdict, str]]:
        """A verdict on each claim, and who settled it."""
        lacking = {place for place, claim in enumerate(claims) if text.numbers.lacks(claim)}
        if not text.text.strip():
            lacking = set(range(len(claims)))
        asked = [place for place in range(len(claims)) if self.every_number or place not in lacking]
        found: dict[int, OneVerdict] = {}
        for start in range(0, len(asked), self.claims_at_once):
            places = asked[start : start + self.claims_at_once]
            found |= zip(places, self.ask(verdicts_call([claims[place] for place in places], text)), strict=True)
        ruled = OneVerdict(0, "", "not_supported")
        vetoed = {place for place in lacking if place not in found or found[place].verdict == "supported"}
        return [(ruled, RULE) if place in vetoed else (found[place], JUDGE) for place in range(len(claims))]

    def _relevance_of_answer(self, material: Material) -> dict[str, Any]:
        found = self.ask(questions_call(material.answer or "", self.questions))
        if self.embedder is None:
            return {"noncommittal": found.noncommittal}
        texts = [material.question or "", *found.questions]
        name = json.dumps(["cosines", self.embedder.name, texts]).encode("ascii")
        cosines = json.loads(self.once(name, partial(_cosines, self.embedder, texts)))
        told = {"question_similarities": cosines, "embedder": self.embedder.name}
        return told | {"noncommittal": found.noncommittal}

    def _useful(self, material: Material) -> dict[str, Any]:
        chunks = material.chunks or ()
        texts = [text or "" for _, text in chunks]
        flags = self.ask(useful_call(material.question or "", material.reference or "", texts))
        return {"useful_chunks": dict(zip((name for name, _ in chunks), flags, strict=True))}

    def _relevance_of_chunks(self, material: Material) -> dict[str, Any]:
        chunks = material.chunks or ()
        grades = self.ask(relevance_call(material.question or "", [text or "" for _, text in chunks]))
        return {"chunk_relevance": dict(zip((name for name, _ in chunks), grades, strict=True))}


def _unfounded(claims: Iterable[dict[str, Any]], *, by_chunks: bool) -> None:
    """An empty context bears out nothing, whatever the statements are."""
    for claim in claims:
        if by_chunks:
            claim["chunks"] = {}
            claim.setdefault("by", RULE)
        else:
            claim |= {"context": "not_supported", "by": RULE}


def _cosines(embedder: Embedder, texts: Sequence[str]) -> str:
    """Those of the first text to the others, as JSON. Raises NoVerdictError."""
    try:
        vectors = embedder.embed(texts, query=True)
    except ServiceError as error:
        raise NoVerdictError("failed: no vectors from the embedder", str(error)) from None
    cosines = cosines_of(vectors)
    if not np.isfinite(cosines).all():
        raise NoVerdictError("failed: a question whose vector has no direction")
    return json.dumps(cosines.tolist())


def cosines_of(vectors: Any) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(n - 1,) the cosine of the first of n vectors to each other; NaN where one has no direction.

    >>> cosines_of([[1, 0], [2, 0], [0, 3], [0, 0]]).tolist()
    [1.0, 0.0, nan]
    """
    array = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(array, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: np.ndarray[tuple[int], np.dtype[np.float64]] = (array[1:] @ array[0]) / (lengths[1:] * lengths[0])
    return np.clip(found, -1.0, 1.0)
