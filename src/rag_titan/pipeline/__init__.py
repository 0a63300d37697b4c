"""A small RAG pipeline that collects its own evaluation data, and a comparison of its variants."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_titan.pipeline.comparing import compare_pipelines, variants_of
    from rag_titan.pipeline.comparison import Comparison, Variant
    from rag_titan.pipeline.loading.load import load_documents
    from rag_titan.pipeline.settings import Settings
    from rag_titan.pipeline.titan import RAGTitan

__all__ = [
    "Comparison",
    "RAGTitan",
    "Settings",
    "Variant",
    "compare_pipelines",
    "load_documents",
    "variants_of",
]

_MODULES = {
    "Comparison": "comparison",
    "RAGTitan": "titan",
    "Settings": "settings",
    "Variant": "comparison",
    "compare_pipelines": "comparing",
    "load_documents": "loading.load",
    "variants_of": "comparing",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
