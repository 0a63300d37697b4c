"""From documents, logs or a running app to a test set."""

from rag_titan.evaluation.preparation.asking import Pace
from rag_titan.evaluation.preparation.build import BuiltDataset, build_dataset
from rag_titan.evaluation.preparation.collect import Collected, collect_answers
from rag_titan.evaluation.preparation.collect_http import HttpApp
from rag_titan.evaluation.preparation.collect_pipeline import Pipeline, collect_dataset
from rag_titan.evaluation.preparation.document_files import read_documents
from rag_titan.evaluation.preparation.golden import check_golden
from rag_titan.evaluation.preparation.golden_files import read_golden
from rag_titan.evaluation.preparation.profile import profile_documents
from rag_titan.evaluation.preparation.sample import sample_documents, sample_queries

__all__ = [
    "BuiltDataset",
    "Collected",
    "HttpApp",
    "Pace",
    "Pipeline",
    "build_dataset",
    "check_golden",
    "collect_answers",
    "collect_dataset",
    "profile_documents",
    "read_documents",
    "read_golden",
    "sample_documents",
    "sample_queries",
]
