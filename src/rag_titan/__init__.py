"""Which stage of a RAG system fails, for which questions, by how much, and whether the last change was real."""

from importlib import import_module

__version__ = "0.1.0"
__all__ = ["RAGTitan", "__version__"]  # RAGTitan comes from __getattr__; its type stands in __init__.pyi


def __getattr__(name: str) -> object:
    """RAGTitan, which is loaded when first asked for: the evaluation does without the pipeline."""
    if name != "RAGTitan":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("rag_titan.pipeline.titan").RAGTitan
