"""One call of a judge: what it is sent, and what of its answer is a verdict. All else is an error, never a score.

No text of the data can change what is asked without being noticed. Texts stand between marks that they cannot hold, the
answer must fit a schema with as many entries as were asked for, quotes must stand in the text, and control words, which
nobody who writes a document knows, must be treated as the instructions say: a judge that was told by a document to call
everything supported calls the false control supported, too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from msgspec import DecodeError, Struct, ValidationError, convert
from msgspec.json import decode

from rag_titan.judge import prompts
from rag_titan.judge.evidence import Text

Verdict = Literal["supported", "contradicted", "not_supported"]
T = TypeVar("T")
MOST_CLAIMS = 200  # of a text; a judge that writes more has lost its way
MOST_CHARACTERS = 1 << 20  # of an answer
_MOST_STARTS = 200  # places of an answer where an object may begin and none does; each costs a pass over what follows
_EXCERPT = 1000  # characters of what was said instead
_TELLING = 4  # letters of a word that says something
_WORD = re.compile(r"\w+")
_TOKENS_OF_EVIDENCE = 20
_SYLLABLES = ("ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "za")


class BadVerdictError(Exception):
    """An answer that is no verdict.

    Its text says what is wrong without a word of the data; `said` is the begin of the answer, where that helps.
    """

    def __init__(self, wrong: str, said: str = "") -> None:
        super().__init__(wrong)
        self.said = said


@dataclass(frozen=True)
class Call:
    """What is asked.

    kind     claims, verdicts, questions, useful or relevance
    system   the instructions
    user     the material
    schema   what the JSON of the answer must obey
    read     the value of an answer; raises BadVerdictError
    example  an answer such as a judge could give, for estimates and scripts
    """

    kind: str
    system: str
    user: str
    schema: Mapping[str, Any]
    read: Callable[[str], Any]
    example: Callable[[], Any]

    def messages(self, in_words: bool = False) -> list[dict[str, str]]:
        """As a chat model takes them; `in_words` puts the schema into the instructions."""
        said = prompts.IN_WORDS + json.dumps(self.schema) if in_words else ""
        return [{"role": "system", "content": self.system + said}, {"role": "user", "content": self.user}]


class OneVerdict(Struct, frozen=True, forbid_unknown_fields=True):
    """On one claim."""

    claim: int
    evidence: str
    verdict: Verdict


class _Claims(Struct, forbid_unknown_fields=True):
    claims: list[str]


class _Verdicts(Struct, forbid_unknown_fields=True):
    verdicts: list[OneVerdict]


class Questions(Struct, frozen=True, forbid_unknown_fields=True):
    """What an answer would answer."""

    control: str
    questions: list[str]
    noncommittal: bool


class _Useful(Struct, forbid_unknown_fields=True):
    passage: int
    useful: bool


class _UsefulPassages(Struct, forbid_unknown_fields=True):
    passages: list[_Useful]


class _Grade(Struct, forbid_unknown_fields=True):
    passage: int
    grade: Literal[0, 1, 2]


class _GradedPassages(Struct, forbid_unknown_fields=True):
    passages: list[_Grade]


def claims_call(text: str, question: str | None) -> Call:
    """Which claims a text makes. Reads as a list of them without the control."""
    [word] = control_words("claims", text, question or "", n=1)
    user = _asked(question) + prompts.fenced("TEXT", f"{text}\n{prompts.CONTROL.format(word=word)}")

    def read(said: str) -> list[str]:
        claims = [claim.strip() for claim in _decoded(said, _Claims).claims if claim.strip()]
        own = [claim for claim in claims if word not in claim]
        if len(own) == len(claims):
            raise BadVerdictError("the control sentence is not among the claims: the instructions were not followed")
        if any(word in claim and _says_more(claim, text) for claim in claims):
            raise BadVerdictError("a claim with the control sentence in it: the claims were not kept apart")
        if len(own) > MOST_CLAIMS:
            raise BadVerdictError(f"{len(own)} claims, more than {MOST_CLAIMS}")
        return list(dict.fromkeys(own))

    def example() -> dict[str, Any]:
        sentences = [part.strip() for part in text.replace("\n", ". ").split(". ") if part.strip()]
        return {"claims": [*sentences, prompts.CONTROL.format(word=word)]}

    return Call("claims", prompts.CLAIMS, user, prompts.claims_schema(), read, example)


def _says_more(control: str, text: str) -> bool:
    """True where the claim about the control word holds words of the text, too: that claim would be lost with it."""
    own, said, known = (set(_WORD.findall(part.casefold())) for part in (text, control, prompts.CONTROL))
    return len([word for word in (said & own) - known if len(word) >= _TELLING or word.isdigit()]) > 1


def verdicts_call(claims: Sequence[str], text: Text) -> Call:
    """One verdict for each claim by the text, with evidence. Reads as the verdicts in the order of the claims."""
    right, wrong = control_words("verdicts", text.digest, *claims, n=2)
    controls = {right: "supported", wrong: "not_supported"}
    sentences = [prompts.CONTROL.format(word=word) for word in controls]
    listed, places = _mixed([*map(text.numbers.told, claims)], sentences, right)
    numbered = "\n".join(f"{n}. {' '.join(claim.split())}" for n, claim in enumerate(listed, 1))
    material = prompts.between("TEXT", f"{text.unmarked}\n{prompts.CONTROL.format(word=right)}")
    user = f"{material}\n\n{prompts.fenced('CLAIMS', numbered)}"

    def read(said: str) -> list[OneVerdict]:
        verdicts = _decoded(said, _Verdicts).verdicts
        _check_numbering([verdict.claim for verdict in verdicts], len(listed), "claim")
        for place, wanted in zip(places, controls.values(), strict=True):
            if (verdicts[place].verdict == "supported") != (wanted == "supported"):
                raise BadVerdictError("a control claim has the wrong verdict: the instructions were not followed")
        own = [verdict for place, verdict in enumerate(verdicts) if place not in places]
        for verdict in own:
            if verdict.verdict != "not_supported" and not text.quotes(verdict.evidence):
                raise BadVerdictError("evidence that does not stand in the text", verdict.evidence)
        return own

    def example() -> dict[str, Any]:
        said = dict(zip(places, controls.values(), strict=True))
        return {"verdicts": [{"claim": place + 1, "evidence": "", "verdict": said.get(place, "not_supported")}
                             for place in range(len(listed))]}  # fmt: skip

    return Call("verdicts", prompts.VERDICTS, user, prompts.verdicts_schema(len(listed)), read, example)


def questions_call(answer: str, n: int) -> Call:
    """Questions that the answer would answer, and whether it evades."""
    [word] = control_words("questions", answer, n=1)
    user = f"{prompts.fenced('TEXT', answer)}\nThe control word is {word}."

    def read(said: str) -> Questions:
        found = _decoded(said, Questions)
        if found.control.strip() != word:
            raise BadVerdictError("the control word is wrong: the instructions were not followed")
        if len(found.questions) != n or not all(question.strip() for question in found.questions):
            raise BadVerdictError(f"{len(found.questions)} questions instead of {n}, or an empty one")
        return found

    def example() -> dict[str, Any]:
        return {"control": word, "questions": [answer[:80] or "?"] * n, "noncommittal": False}

    system = prompts.QUESTIONS.format(n=n)
    return Call("questions", system, user, prompts.questions_schema(n), read, example)


def useful_call(question: str, reference: str, passages: Sequence[str]) -> Call:
    """Whether each passage helps to arrive at the reference answer. Reads as true or false in their order."""
    [word] = control_words("useful", question, reference, *passages, n=1)
    listed, [control] = _mixed(passages, [prompts.CONTROL.format(word=word)], word)
    parts = [_asked(question), prompts.fenced("ANSWER", reference), "\n\n", _numbered(listed)]

    def read(said: str) -> list[bool]:
        found = _decoded(said, _UsefulPassages).passages
        _check_numbering([one.passage for one in found], len(listed), "passage")
        if found[control].useful:
            raise BadVerdictError("the control passage is called useful: the instructions were not followed")
        return [one.useful for place, one in enumerate(found) if place != control]

    def example() -> dict[str, Any]:
        return {"passages": [{"passage": n, "useful": False} for n in range(1, len(listed) + 1)]}

    return Call("useful", prompts.USEFUL, "".join(parts), prompts.useful_schema(len(listed)), read, example)


def relevance_call(question: str, passages: Sequence[str]) -> Call:
    """How relevant each passage is to the question. Reads as grades 0, 1, 2 in their order."""
    [word] = control_words("relevance", question, *passages, n=1)
    listed, [control] = _mixed(passages, [prompts.CONTROL.format(word=word)], word)

    def read(said: str) -> list[int]:
        found = _decoded(said, _GradedPassages).passages
        _check_numbering([one.passage for one in found], len(listed), "passage")
        if found[control].grade:
            raise BadVerdictError("the control passage is called relevant: the instructions were not followed")
        return [int(one.grade) for place, one in enumerate(found) if place != control]

    def example() -> dict[str, Any]:
        return {"passages": [{"passage": n, "grade": 0} for n in range(1, len(listed) + 1)]}

    user = _asked(question) + _numbered(listed)
    return Call("relevance", prompts.RELEVANCE, user, prompts.relevance_schema(len(listed)), read, example)


def control_words(*parts: str, n: int) -> list[str]:
    """Words that nobody can know who wrote only a part of this, and that the same call has again.

    >>> control_words("a text", n=2) == control_words("a text", n=2), len(set(control_words("a text", n=2)))
    (True, 2)
    """
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
    words = []
    for k in range(n):
        spoken = "".join(_SYLLABLES[byte % 16] for byte in digest[8 * k : 8 * k + 4])
        words.append(f"{spoken}{k}{digest[8 * k + 4]:03d}")
    return words


def tokens_of(text: str) -> int:
    """About how many tokens a text has: four characters of English each, and more in other scripts.

    >>> tokens_of("How many days of leave?"), tokens_of("年休")
    (6, 2)
    """
    return -(-len(text.encode("utf-8", "replace")) // 4)


def expected_tokens(call: Call) -> tuple[int, int]:
    """About how many tokens are sent and answered; a guess."""
    said = call.example()
    evidence = _TOKENS_OF_EVIDENCE * len(said.get("verdicts", ()))
    return tokens_of(call.system + call.user), tokens_of(json.dumps(said)) + evidence


def json_text(said: str) -> str:
    """The one JSON object in what a model said. Raises BadVerdictError for none and for several.

    >>> json_text('Here you are: {"a": {"b": 1}} Anything else?')
    '{"a": {"b": 1}}'
    >>> json_text('{"a": 1} or {"a": 2}')
    Traceback (most recent call last):
    rag_titan.judge.calls.BadVerdictError: 2 JSON objects instead of one
    """
    if (whole := said.strip()).startswith("{") and _object_end(whole, 0) == len(whole):
        return whole
    found, place, failed = [], said.find("{"), 0
    while place >= 0 and failed < _MOST_STARTS:
        end = _object_end(said, place)
        failed += end is None
        if end is not None:
            found.append(said[place:end])
        place = said.find("{", place + 1 if end is None else end)
    if len(found) != 1 or failed == _MOST_STARTS:
        raise BadVerdictError(f"{len(found) or 'no'} JSON objects instead of one", said)
    return found[0]


def _object_end(text: str, start: int) -> int | None:
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


_DECODER = json.JSONDecoder()


def _decoded(said: str, form: type[T]) -> T:
    if len(said) > MOST_CHARACTERS:
        raise BadVerdictError(f"{len(said):,} characters, more than {MOST_CHARACTERS:,}", said[:_EXCERPT])
    try:
        return decode(said, type=form)
    except (DecodeError, RecursionError):
        pass
    try:
        return convert(json.loads(json_text(said)), form)
    except ValidationError as error:
        raise BadVerdictError("an answer that does not fit the schema", f"{error}: {said}") from None


def _check_numbering(numbers: Sequence[int], n: int, noun: str) -> None:
    if list(numbers) != list(range(1, n + 1)):
        raise BadVerdictError(f"{len(numbers)} entries, which are not one for each {noun} from 1 to {n}")


def _mixed(own: Sequence[str], controls: Sequence[str], salt: str) -> tuple[list[str], list[int]]:
    """The controls among the others, at places that follow from the salt; and their places."""
    mixed, places = list(own), list[int]()
    for number, control in enumerate(controls):
        place = hashlib.sha256(f"{salt}{number}".encode()).digest()[0] % (len(mixed) + 1)
        places = [other + (other >= place) for other in places]
        mixed.insert(place, control)
        places.append(place)
    return mixed, places


def _asked(question: str | None) -> str:
    return "" if question is None else f"{prompts.fenced('QUESTION', question)}\n\n"


def _numbered(passages: Sequence[str]) -> str:
    return "\n\n".join(prompts.fenced(f"PASSAGE {n}", passage) for n, passage in enumerate(passages, 1))
