"""The documents of golden questions: text as it is, PDF and Word as the loaders of the pipeline read them."""

from __future__ import annotations

from pathlib import Path

from rag_titan.evaluation import read_documents
from rag_titan.evaluation.data.notices import Notices


def golden_documents(path: Path | None) -> tuple[dict[str, str] | None, list[str]]:
    """{document id: text}, or None for None, and a sentence for each kind of what was not read, or not wholly.

    Raises DatasetError where there is no document, MissingExtraError where a library is absent that all of them need.
    """
    notices = Notices()

    def load(file: Path, name: str) -> str:
        from rag_titan.pipeline.loading.load import load_document

        document = load_document(file, name)
        for warning in document.warnings:
            notices.add(warning)
        return document.text

    documents = None if path is None else read_documents(path, notices, load)
    return documents, notices.texts()
