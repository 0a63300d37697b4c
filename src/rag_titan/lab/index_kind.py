"""What an index is to a measurement: it is built of vectors, and searched with a value of its one parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import SettingsError

Singles = NDArray[np.float32]
Search = Callable[..., Any]  # search(queries (m, d), k, **params) -> rows (m, k)
Added = Callable[[int], None]  # is told how many vectors the index holds by now
Build = Callable[[Singles, str, Mapping[str, int], Added], Search]

PIECE = 8192  # vectors that are added at a time: between them, progress is told and Ctrl-C is heard
LARGEST = 2**31 - 1  # what libraries take for a number
FLOAT = 4  # bytes


@dataclass(frozen=True)
class IndexKind:
    """A kind of index.

    name       such as "faiss-hnsw"
    parameter  what its recall is bought with: "efSearch", "nprobe"; "" for none
    values     of the parameter, where none are given
    build      (vectors (n, d), metric, options, added) -> search
    options    of the build: the default and the least of each; None where an index of one's own has any
    links      bytes that the index holds for a vector beside its numbers, by the options
    copies     whether the index holds the numbers of the vectors once more
    library    raises MissingExtraError where the library is not installed
    """

    name: str
    parameter: str
    values: tuple[int, ...]
    build: Build
    options: Mapping[str, tuple[int, int]] | None = field(default_factory=dict)
    links: Callable[[Mapping[str, int]], int] = lambda options: 0
    copies: bool = True
    library: Callable[[], Any] = lambda: None

    def built_with(self, given: Mapping[str, int]) -> dict[str, int]:
        """The options of the build with those that were given.

        Raises SettingsError for one that the kind does not have, and for a number that it cannot be.
        """
        if self.options is None:
            return dict(given)
        for name, value in given.items():
            if name not in self.options:
                known = f"one of {', '.join(self.options)}" if self.options else "left out"
                raise SettingsError(f"build: must be {known} for {self.name}, got {name!r}. Look at its spelling.")
            least = self.options[name][1]
            if type(value) is not int or not least <= value <= LARGEST:
                rule = f"must be a whole number from {least} to {LARGEST:,}, got {value!r}. Choose another."
                raise SettingsError(f"build: {name} {rule}")
        return {name: default for name, (default, _) in self.options.items()} | dict(given)

    def bytes_each(self, dimensions: int, options: Mapping[str, int]) -> int:
        """What a vector takes, the vector itself and its place in the index."""
        return (2 if self.copies else 1) * FLOAT * dimensions + self.links(options)


def pieces(n: int, added: Added, piece: int = PIECE) -> Iterator[slice]:
    """The rows from 0 to n, a piece at a time, each told to `added` when it is done.

    >>> told = []
    >>> list(pieces(10_000, told.append)), told
    ([slice(0, 8192, None), slice(8192, 10000, None)], [8192, 10000])
    """
    for start in range(0, n, piece):
        end = min(start + piece, n)
        yield slice(start, end)
        added(end)
