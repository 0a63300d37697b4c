"""Every exception that rag-titan raises on purpose.

RagTitanError
├── DatasetError(ValueError)        the data break a rule; `.where` says at which place
│   └── NothingMatchedError         two sides that belong together have nothing in common: logs and golden questions
├── SettingsError(ValueError)       an option, a weight, a config key or a convention breaks a rule
│   └── UnknownMetricError(KeyError)   no metric of that name; the text names the nearest
├── MissingExtraError(ImportError)  an optional library is absent; the text is the install line
└── ServiceError                    a model or a server did not answer

The text of each is one sentence, "where: what must hold, got what. What to do."; the command line prints it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

HIDDEN = ", got what --redact hides. Run it without --redact to see it."  # the end of a sentence about hidden data


class RagTitanError(Exception):
    """Base of all of them: catch this to catch whatever rag-titan raises on purpose."""


class DatasetError(RagTitanError, ValueError):
    """The data break a rule.

    `.where` is the place, such as "queries[3].relevance" or "line 12: retrieved_ids"; `.rule` the rest of the text;
    `.redacted` the sentence where nothing of the data may come out: neither a value nor a key that the format does not
    have. Who raises the error and passes none is taken to quote the data.

    >>> print(DatasetError("queries[3].id", "must be text or a whole number, got a list."))
    queries[3].id: must be text or a whole number, got a list.
    >>> print(DatasetError("queries[3].id", "must be text or a whole number, got a list.").redacted)
    the data: must be as their format says, got what --redact hides. Run it without --redact to see it.
    """

    def __init__(self, where: str, rule: str, redacted: str | None = None) -> None:
        self.where = where
        self.rule = rule
        self.redacted = redacted or f"the data: must be as their format says{HIDDEN}"
        super().__init__(f"{where}: {rule}")

    @classmethod
    def without_data(cls, where: str, rule: str) -> Self:
        """An error that names files, numbers and keys of the format alone, and so may be told everywhere."""
        return cls(where, rule, f"{where}: {rule}")

    def __reduce__(self) -> tuple[type[DatasetError], tuple[str, str, str]]:
        return type(self), (self.where, self.rule, self.redacted)


class NothingMatchedError(DatasetError):
    """Two sides that belong together, such as logs and golden questions, have nothing in common."""


class SettingsError(RagTitanError, ValueError):
    """An option, a weight, a key of the config file or a convention breaks a rule."""


class UnknownMetricError(SettingsError, KeyError):
    """No metric (or stage) has that name.

    >>> print(UnknownMetricError("recal_at_k", ["recall_at_k", "mrr_at_k"]))
    unknown metric 'recal_at_k'; the nearest is 'recall_at_k'.
    """

    def __init__(self, name: str, known: Iterable[str], what: str = "metric") -> None:
        self.name = name
        listed = "; `rag-titan metrics` lists them all" if what == "metric" else ""
        self.text = f"unknown {what} {name!r}{nearest(name, known) or listed}."
        super().__init__(self.text)

    def __str__(self) -> str:  # KeyError would print the repr of the text
        return self.text

    def __reduce__(self) -> tuple[type[RagTitanError], tuple[str, tuple[str, ...]]]:
        return SettingsError, (self.text,)  # type: ignore[return-value]  # what crosses a process is the text


class MissingExtraError(RagTitanError, ImportError):
    """An optional library is not installed.

    >>> print(MissingExtraError("pyarrow", "parquet"))
    pyarrow is not installed; install it with: pip install "rag-titan[parquet]"
    """

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f'{library} is not installed; install it with: pip install "rag-titan[{extra}]"')


class ServiceError(RagTitanError):
    """A model or a server did not answer as it must."""


def nearest(name: str, known: Iterable[str], *, named: bool = False) -> str:
    """The end of a sentence about an unknown name: "; the nearest is 'x'", or what there is when nothing is near.

    named  the sentence has said already what there is

    >>> nearest("retreived_ids", ["retrieved_ids", "answer"])
    "; the nearest is 'retrieved_ids'"
    >>> nearest("zzz", ["answer", "id"])
    '; there are answer, id'
    >>> nearest("zzz", ["answer", "id"], named=True)
    ''
    """
    from difflib import get_close_matches  # for errors only: loading it takes as long as all of this file

    names = list(known)
    close = get_close_matches(str(name), names, n=1, cutoff=0.6)
    if close:
        return f"; the nearest is {close[0]!r}"
    return f"; there are {', '.join(names)}" if len(names) <= 40 and not named else ""
