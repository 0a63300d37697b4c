"""Score a logged RAG run at all seven stages, from data that you pass; no model is called."""

from rag_titan.errors import (
    DatasetError,
    MissingExtraError,
    NothingMatchedError,
    RagTitanError,
    SettingsError,
    UnknownMetricError,
)
from rag_titan.evaluation.catalogue import CATALOGUE
from rag_titan.evaluation.conventions import PRESETS, Conventions
from rag_titan.evaluation.data.columns import Columns
from rag_titan.evaluation.data.read import read_dataset
from rag_titan.evaluation.diagnosis.root_cause import RootCauseAnalyzer
from rag_titan.evaluation.evaluator import RAGEvaluator
from rag_titan.evaluation.exports.per_query import (
    per_query_frame,
    per_query_rows,
    per_query_table,
    write_per_query,
)
from rag_titan.evaluation.exports.trec import export_trec
from rag_titan.evaluation.importers.formats import FORMATS as IMPORT_FORMATS
from rag_titan.evaluation.importers.formats import import_run
from rag_titan.evaluation.importers.imported import Imported
from rag_titan.evaluation.metric import Kind, Metric, Reduce, Stage
from rag_titan.evaluation.preparation.asking import Pace
from rag_titan.evaluation.preparation.build import BuiltDataset, build_dataset
from rag_titan.evaluation.preparation.collect import Collected, Pipeline, collect_answers, collect_dataset
from rag_titan.evaluation.preparation.collect_http import HttpApp
from rag_titan.evaluation.preparation.document_files import read_documents
from rag_titan.evaluation.preparation.golden import check_golden
from rag_titan.evaluation.preparation.golden_files import read_golden
from rag_titan.evaluation.preparation.profile import profile_documents
from rag_titan.evaluation.preparation.sample import sample_documents, sample_queries
from rag_titan.evaluation.reports.manager import ReportManager
from rag_titan.evaluation.scoring.scorecard import ScoreAggregator
from rag_titan.evaluation.stage_evaluators import (
    AugmentationEvaluator,
    ChunkEvaluator,
    EmbeddingEvaluator,
    EndToEndEvaluator,
    GenerationEvaluator,
    RerankingEvaluator,
    RetrievalEvaluator,
)

__all__ = [
    "CATALOGUE",
    "IMPORT_FORMATS",
    "PRESETS",
    "AugmentationEvaluator",
    "BuiltDataset",
    "ChunkEvaluator",
    "Collected",
    "Columns",
    "Conventions",
    "DatasetError",
    "EmbeddingEvaluator",
    "EndToEndEvaluator",
    "GenerationEvaluator",
    "HttpApp",
    "Imported",
    "Kind",
    "Metric",
    "MissingExtraError",
    "NothingMatchedError",
    "Pace",
    "Pipeline",
    "RAGEvaluator",
    "RagTitanError",
    "Reduce",
    "ReportManager",
    "RerankingEvaluator",
    "RetrievalEvaluator",
    "RootCauseAnalyzer",
    "ScoreAggregator",
    "SettingsError",
    "Stage",
    "UnknownMetricError",
    "build_dataset",
    "check_golden",
    "collect_answers",
    "collect_dataset",
    "export_trec",
    "import_run",
    "per_query_frame",
    "per_query_rows",
    "per_query_table",
    "profile_documents",
    "read_dataset",
    "read_documents",
    "read_golden",
    "sample_documents",
    "sample_queries",
    "write_per_query",
]
