"""The documents of golden questions: text as it is, PDF and Word as the loaders of the pipeline read them."""

from __future__ import annotations

from pathlib import Path

from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.preparation.document_files import read_documents


def golden_documents(path: Path | None, notices: Notices) -> dict[str, str] | None:
    """{document id: text}, or None for None; what was not read, or not wholly, goes into the notices.

    Raises DatasetError where there is no document, MissingExtraError where a library is absent that all of them need.
    """

    def load(file: Path, name: str) -> str:
        from rag_titan.pipeline.loading.load import load_document

        document = load_document(file, name)
        for warning in document.warnings:
            notices.add(warning)
        return document.text

    return None if path is None else read_documents(path, notices, load)
