"""rag-titan schema: the JSON Schema of a dataset file or of a report."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from rag_titan.cli.terminal import say


class Document(StrEnum):
    """What has a schema."""

    DATASET = "dataset"
    REPORT = "report"


Which = Annotated[Document, typer.Argument(help="What you write (dataset), or what you get (report).")]


def schema(which: Which) -> None:
    """Print the JSON Schema of a dataset file, or of a report."""
    from rag_titan.evaluation.data.schema import dataset_schema
    from rag_titan.evaluation.reports.schema import report_schema

    say([json.dumps(dataset_schema() if which is Document.DATASET else report_schema(), indent=2, ensure_ascii=False)])
