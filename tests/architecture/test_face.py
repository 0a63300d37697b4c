"""The public face: re-exports and an exact `__all__`, nothing else (DESIGN, section 1)."""

from __future__ import annotations

import ast
from types import ModuleType

import pytest
from tests.architecture.source_tree import tree

from rag_titan import evaluation
from rag_titan.evaluation import exports, importers, preparation

PACKAGES = (exports, importers, preparation)  # loaded when one of their names is asked for

# The names that the seeds print, without those of a later part.
OF_THE_SEEDS = (
    "RAGEvaluator",
    "ChunkEvaluator",
    "EmbeddingEvaluator",
    "RetrievalEvaluator",
    "RerankingEvaluator",
    "AugmentationEvaluator",
    "GenerationEvaluator",
    "EndToEndEvaluator",
    "RootCauseAnalyzer",
    "ScoreAggregator",
    "ReportManager",
)


def test_all_lists_exactly_the_public_names() -> None:
    public = {n for n, value in vars(evaluation).items() if not n.startswith("_") and not isinstance(value, ModuleType)}
    later = {name for package in PACKAGES for name in package.__all__}
    assert set(evaluation.__all__) == (public | later) - {"TYPE_CHECKING", "Any", "import_module"}


def test_every_name_is_there() -> None:
    assert [name for name in evaluation.__all__ if not hasattr(evaluation, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        evaluation.nonsense  # noqa: B018  # to ask is the test


def test_all_names_nothing_twice() -> None:
    assert len(set(evaluation.__all__)) == len(evaluation.__all__)


def test_the_face_has_the_names_that_the_seeds_use() -> None:
    assert [name for name in OF_THE_SEEDS if name not in evaluation.__all__] == []


def test_the_face_is_re_exports_and_nothing_else() -> None:
    body = tree("rag_titan.evaluation").body
    allowed = [
        isinstance(node, ast.ImportFrom)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__all__", "_WHEN_ASKED_FOR"))
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        or (isinstance(node, ast.FunctionDef) and node.name in ("__getattr__", "__dir__"))
        for node in body
    ]
    assert [ast.unparse(node)[:60] for node, fine in zip(body, allowed, strict=True) if not fine] == []


def test_every_public_name_is_documented() -> None:
    assert [name for name in evaluation.__all__ if not getattr(evaluation, name).__doc__] == []
