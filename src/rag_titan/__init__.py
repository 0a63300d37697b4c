"""Which stage of a RAG system fails, for which questions, by how much, and whether the last change was real."""

__version__ = "0.1.0"
__all__ = ["__version__"]
