"""Other tools' files -> records of the dataset format."""

from rag_titan.evaluation.importers.formats import FORMATS as IMPORT_FORMATS
from rag_titan.evaluation.importers.formats import import_run
from rag_titan.evaluation.importers.imported import Imported

__all__ = [
    "IMPORT_FORMATS",
    "Imported",
    "import_run",
]
