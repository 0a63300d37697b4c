"""The retrieval lab: vector health, sweeps of K and of chunk sizes, the confusion matrix, index curves."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_titan.lab.findings import Finding

__all__ = [
    "Finding",
]

_MODULES = {
    "Finding": "findings",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
