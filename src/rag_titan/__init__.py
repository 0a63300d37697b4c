"""Which stage of a RAG system fails, for which questions, by how much, and whether the last change was real."""

__version__ = "0.1.0"
__all__ = ["RAGTitan", "__version__"]  # RAGTitan comes from __getattr__; its type stands in __init__.pyi


def __getattr__(name: str) -> object:
    """RAGTitan, which is loaded when first asked for: the evaluation does without the pipeline."""
    if name != "RAGTitan":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module("rag_titan.pipeline.titan").RAGTitan  # by name: an import would make a circle
