"""What an index is to a measurement: it is built of vectors, and searched with a value of its one parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]
Search = Callable[..., Any]  # search(queries (m, d), k, **params) -> rows (m, k)


@dataclass(frozen=True)
class IndexKind:
    """A kind of index.

    name       such as "faiss-hnsw"
    parameter  what its recall is bought with: "efSearch", "nprobe"; "" for none
    values     of the parameter, where none are given
    build      (vectors (n, d), metric, options) -> search
    options    of the build, with their defaults
    """

    name: str
    parameter: str
    values: tuple[int, ...]
    build: Callable[[Singles, str, Mapping[str, int]], Search]
    options: Mapping[str, int] = field(default_factory=dict)
