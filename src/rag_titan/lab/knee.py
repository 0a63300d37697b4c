"""Where a curve bends: the point after which more of x gains little of y."""

from __future__ import annotations

from collections.abc import Sequence

from rag_titan.errors import MissingExtraError

LEAST = 3  # points: two are a straight line


def knee_of(x: Sequence[float], y: Sequence[float]) -> float | None:
    """The x of the knee of a rising curve that flattens; None where it does not, or has fewer than 3 points.

    Kneedle (Satopää et al. 2011) with sensitivity 1: both axes are scaled to 0..1, and the knee is where the curve is
    farthest above its diagonal, if it falls back far enough behind that point. A point on the diagonal or below it is
    none: the library takes the start of a curve that rises ever faster for one. x must rise. Needs the extra `lab`.

    >>> knee_of([1, 2, 3, 4, 5], [0.0, 0.8, 0.9, 0.95, 1.0])
    2.0
    >>> knee_of([1, 2, 3], [0.5, 0.5, 0.5]) is None  # flat from the start
    True
    """
    if len(x) < LEAST or max(y) <= min(y):
        return None
    try:
        from kneed import KneeLocator
    except ImportError:
        raise MissingExtraError("kneed", "lab") from None
    found = KneeLocator(list(x), list(y), S=1.0, curve="concave", direction="increasing").all_knees
    heights = {at: height for at, height in zip(x, _heights(x, y), strict=True) if at in found and height > 0}
    return float(max(heights, key=heights.__getitem__)) if heights else None


def _heights(x: Sequence[float], y: Sequence[float]) -> list[float]:
    """How far each point is above the diagonal of the scaled curve."""
    low, high = min(y), max(y)
    return [(b - low) / (high - low) - (a - x[0]) / (x[-1] - x[0]) for a, b in zip(x, y, strict=True)]
