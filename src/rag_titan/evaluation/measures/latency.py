"""Quantiles of measured times that merge over batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Sample:
    """The measured values themselves; exact quantiles (placeholder of the real one: same interface)."""

    def __init__(self, values: NDArray[np.float64] | None = None) -> None:
        self.values = np.empty(0) if values is None else values

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Sample:
        return cls(values[~np.isnan(values)])

    def merge(self, other: Sample) -> Sample:
        return Sample(np.concatenate([self.values, other.values]))

    def quantile(self, q: float) -> float | None:
        return float(np.quantile(self.values, q)) if len(self.values) else None
