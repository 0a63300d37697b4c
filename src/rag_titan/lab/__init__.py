"""The retrieval lab: vector health, sweeps of K and of chunk sizes, the confusion matrix, index curves."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_titan.lab.exact import exact_search
    from rag_titan.lab.findings import Finding
    from rag_titan.lab.health import VectorHealth
    from rag_titan.lab.index_curves import IndexCurve
    from rag_titan.lab.stored import StoredVectors, read_vectors

__all__ = [
    "Finding",
    "IndexCurve",
    "StoredVectors",
    "VectorHealth",
    "exact_search",
    "read_vectors",
]

_MODULES = {
    "Finding": "findings",
    "IndexCurve": "index_curves",
    "StoredVectors": "stored",
    "VectorHealth": "health",
    "exact_search": "exact",
    "read_vectors": "stored",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
