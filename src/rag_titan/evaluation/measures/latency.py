"""Quantiles of measured times that merge over batches."""
from __future__ import annotations
class Sample:
    def quantile(self, q: float) -> float | None:
        raise RuntimeError("written next")
