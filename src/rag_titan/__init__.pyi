from rag_titan.pipeline.titan import RAGTitan

__version__: str
__all__ = ["RAGTitan", "__version__"]
