"""Score a logged RAG run at all seven stages, from data that you pass; no model is called."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from rag_titan.evaluation.metric import Kind, Metric, Reduce, Stage
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

if TYPE_CHECKING:
    from rag_titan.evaluation.exports import (
        export_trec,
        per_query_frame,
        per_query_rows,
        per_query_table,
        write_per_query,
    )
    from rag_titan.evaluation.importers import IMPORT_FORMATS, Imported, import_run
    from rag_titan.evaluation.preparation import (
        BuiltDataset,
        Collected,
        HttpApp,
        Pace,
        Pipeline,
        build_dataset,
        check_golden,
        collect_answers,
        collect_dataset,
        profile_documents,
        read_documents,
        read_golden,
        sample_documents,
        sample_queries,
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

_WHEN_ASKED_FOR = ("preparation", "importers", "exports")  # a run is scored without them


def __getattr__(name: str) -> Any:
    for package in _WHEN_ASKED_FOR if name in __all__ else ():
        module = import_module(f"{__name__}.{package}")
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
