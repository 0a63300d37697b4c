"""The source documents of a command: the same text of the same file in all of them, and in the pipeline's index."""

from __future__ import annotations

from pathlib import Path

from rag_titan.errors import DatasetError, MissingExtraError
from rag_titan.evaluation import read_documents
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.preparation.document_files import is_source


def source_documents(path: Path | None, golden: Path | None = None) -> tuple[dict[str, str] | None, list[str]]:
    """{document id: text}, or None for None, and a sentence for each kind of what was not read, or not wholly.

    A file, and those of a folder, are read by the loaders of the pipeline, so that chunks of its index stand where they
    say. Where a library is absent that these need, text is read as it is, HTML with its tags, and PDF and Word files
    are read that can be. What holds documents as records is read as such. The golden questions are no document.

    Raises DatasetError where there is no document, MissingExtraError where a library is absent that all of them need.
    """
    if path is None:
        return None, []
    if not is_source(path):
        notices = Notices()
        return read_documents(path, notices), notices.texts()
    try:
        return _loaded(path, golden)
    except MissingExtraError:
        return _without_all_loaders(path)


def is_file_of_records(path: Path) -> bool:
    """True for a file that holds documents as records."""
    return not path.is_dir() and not is_source(path)


def _loaded(path: Path, golden: Path | None) -> tuple[dict[str, str], list[str]]:
    from rag_titan.pipeline.loading.load import load_document, load_documents

    if not path.is_dir():
        document = load_document(path)
        return {document.id: document.text}, [*document.warnings]
    loading = load_documents(path, golden=golden)
    if not loading.documents:
        reason = f" ({loading.warnings[0].rstrip('.')})" if loading.warnings else ""
        raise DatasetError(str(path), f"must hold documents, or documents.jsonl, got none of them{reason}.")
    return loading.texts(), [*loading.warnings, *loading.notes()]


def _without_all_loaders(path: Path) -> tuple[dict[str, str], list[str]]:
    notices = Notices()

    def load(file: Path, name: str) -> str:
        from rag_titan.pipeline.loading.load import load_document

        document = load_document(file, name)
        for warning in document.warnings:
            notices.add(warning)
        return document.text

    return read_documents(path, notices, load), notices.texts()
