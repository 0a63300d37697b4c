"""Apps built with LangChain, LlamaIndex or Haystack, so that `collect_dataset` can index and ask them.

None of these packages is imported: what a part is, its methods and attributes say.
"""

from rag_titan.pipeline.adapters.haystack import HaystackPipeline
from rag_titan.pipeline.adapters.langchain import LangChainPipeline
from rag_titan.pipeline.adapters.llama_index import LlamaIndexPipeline

__all__ = ["HaystackPipeline", "LangChainPipeline", "LlamaIndexPipeline"]
