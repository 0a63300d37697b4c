"""Vectors as embedding models make them: a mean that all share, a few strong directions, topics inside them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Space:
    """A model: what it embeds lies in directions of its own."""

    def __init__(self, seed: int, d: int = 128) -> None:
        self._rng = np.random.default_rng(seed)
        self._axes = np.linalg.qr(self._rng.normal(size=(d, d)))[0] / (np.arange(1, d + 1) ** 0.425)[:, np.newaxis]
        self._mean = 0.7 * self._axes[0]

    def vectors(self, n: int, topics: int = 12, spread: float = 0.6) -> NDArray[np.float32]:
        """(n, d) unit vectors in float32, of so many topics."""
        d = len(self._axes)
        centres = self._rng.normal(size=(topics, d)) @ self._axes
        noise = self._rng.normal(size=(n, d)) @ self._axes
        return unit(self._mean + centres[self._rng.integers(topics, size=n)] + spread * noise)


def unit(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Rows of length 1."""
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
