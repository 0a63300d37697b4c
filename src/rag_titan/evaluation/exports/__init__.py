"""Datasets and reports in the forms of other tools."""

from rag_titan.evaluation.exports.per_query import (
    per_query_frame,
    per_query_rows,
    per_query_table,
    write_per_query,
)
from rag_titan.evaluation.exports.trec import export_trec

__all__ = [
    "export_trec",
    "per_query_frame",
    "per_query_rows",
    "per_query_table",
    "write_per_query",
]
