"""What is evaluated: the inputs of `RAGEvaluator.evaluate()`, checked. Every input error is raised below this door."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct

from rag_titan.errors import HIDDEN, DatasetError, nearest
from rag_titan.evaluation.data.chunking_options import ChunkingOptions
from rag_titan.evaluation.data.cleaning import cleaners_of
from rag_titan.evaluation.data.decoding import CHUNKS, DOCUMENTS, QUERIES, Intake, RecordKind
from rag_titan.evaluation.data.frames import is_table, rows_of_table
from rag_titan.evaluation.data.notices import Notices, Skipped
from rag_titan.evaluation.data.plain import Place, plain, quoted, shown
from rag_titan.evaluation.data.queries import QuerySource
from rag_titan.evaluation.data.records import Chunk, Evidence, Inputs
from rag_titan.evaluation.data.rows import Naming, Rows, ValueRows

T = TypeVar("T", bound=Struct)


FARTHEST = 2**31  # characters: no two boundaries of a document are so far apart, and many such fit into an int64
DOCUMENT = "document"  # what the text is called that came as `document_text`


@dataclass(frozen=True)
class Options:
    """What was passed beside texts, queries and embeddings; None is not given. Vectors are checked where they serve."""

    max_context_tokens: float | None = None
    expected_chunks: tuple[str | Chunk, ...] | None = None
    expected_evidence: tuple[str | Evidence, ...] | None = None
    structural_blocks: tuple[str | Evidence, ...] | None = None
    required_metadata: tuple[str, ...] | None = None
    expected_metadata: Mapping[str, Mapping[str, Any]] | None = None
    size_limits: tuple[float, float] | None = None
    boundary_tolerance: float | None = None
    sentence_vectors: Any = None
    chunk_vectors: Any = None

    def given(self) -> dict[str, Any]:
        """The options that were passed, by name."""
        values = {option.name: getattr(self, option.name) for option in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def chunking(self, embeddings: Any = None) -> ChunkingOptions:
        """Those about the chunks; without `chunk_vectors` the vectors in the embeddings are the chunks'."""
        names = {option.name for option in fields(ChunkingOptions)}
        chosen = {name: value for name, value in self.given().items() if name in names}
        chosen["boundary_tolerance"] = math.floor(min(self.boundary_tolerance or 0, FARTHEST))
        if "chunk_vectors" not in chosen and isinstance(embeddings, Mapping) and "vectors" in embeddings:
            vectors, ids = embeddings["vectors"], embeddings.get("ids")
            chosen["chunk_vectors"] = vectors if ids is None else {"ids": ids, "vectors": vectors}
        return ChunkingOptions(**chosen)


@dataclass(frozen=True)
class Dataset:
    """The inputs of an evaluation, checked. None is not given.

    chunks         with ids filled in (chunk_1, chunk_2, ... for those without); all ids differ
    documents      {doc_id: text}; a text that came as `document_text` stands here too, under the id "document"
    document_text  that text, which belongs to every chunk whatever its doc_id
    embeddings     as passed: `vector_table` checks them and makes arrays of them
    queries        to be read in batches, as often as needed

    A dataset is a mapping of what was given, so that `evaluate(**dataset)` works.
    """

    chunks: tuple[Chunk, ...] | None
    documents: dict[str, str] | None
    document_text: str | None
    embeddings: Any
    options: Options
    queries: QuerySource
    intake: Intake = field(default_factory=Intake, repr=False)

    @property
    def notices(self) -> Notices:
        """Warnings of reading; those about queries are complete once all batches were read."""
        return self.intake.notices.merge(self.queries.passed.notices)

    @property
    def skipped(self) -> Skipped:
        """The bad records that were left out; complete once all batches were read."""
        return self.intake.skipped.merge(self.queries.passed.skipped)

    @cached_property
    def _given(self) -> dict[str, Any]:
        inputs = {
            "chunks": self.chunks,
            "queries": self.queries if self.queries.given else None,
            "document_text": self.document_text,
            "documents": self.documents if self.document_text is None else None,
            "embeddings": self.embeddings,
        }
        return {name: value for name, value in inputs.items() if value is not None} | self.options.given()

    def keys(self) -> Iterable[str]:
        """The names of the inputs that were given."""
        return self._given.keys()

    def __getitem__(self, name: str) -> Any:
        return self._given[name]


def dataset_from(**inputs: Any) -> Dataset:
    """The inputs of `RAGEvaluator.evaluate()` (see `records.Inputs`) as a Dataset; None is not given.

    chunks, queries  lists of dicts or records; or an Arrow table, a pandas or polars DataFrame
    documents        {doc_id: text}, a list of {"id" or "source", "text"}, or a table with these columns

    numpy scalars and arrays are taken wherever numbers, lists and ids are. Queries are checked when their batches are
    asked for, everything else here. Raises DatasetError with the place of what breaks a rule.

    >>> dataset = dataset_from(chunks=["Leave is 25 days.", {"id": 7, "text": "Sick pay is full."}])
    >>> [chunk.id for chunk in dataset.chunks]
    ['chunk_1', '7']
    >>> dataset_from(chunks=["Leave is 25 days.", {"id": "chunk_1", "text": "Sick pay is full."}])
    Traceback (most recent call last):
    rag_titan.errors.DatasetError: chunks[1].id: duplicate id "chunk_1": chunks[0] gets it by default. Give it an id.
    >>> dataset_from(querys=[])
    Traceback (most recent call last):
    rag_titan.errors.DatasetError: querys: must be the name of an input; the nearest is 'queries'.
    """
    return assembled(inputs)


def assembled(inputs: Mapping[str, Any], skip_bad_records: bool = False) -> Dataset:
    """The same; chunks, documents and queries may also be rows of a file, of which bad ones may be left out."""
    for name in inputs:
        if name not in Inputs.__struct_fields__:
            known = nearest(str(name), Inputs.__struct_fields__)
            raise DatasetError(
                str(name), f"must be the name of an input{known}.", f"the dataset: must have inputs alone{HIDDEN}"
            )
    given = {name: value for name, value in inputs.items() if value is not None}
    if "document_text" in given and "documents" in given:
        raise DatasetError.without_data(
            "document_text", "must not be passed together with documents. Pass one of them."
        )
    intake = Intake(skip=skip_bad_records)
    text = _clean(given, "document_text", intake)
    documents = {DOCUMENT: text} if text is not None else None
    return Dataset(
        chunks=_chunks(given["chunks"], intake) if "chunks" in given else None,
        documents=_documents(given["documents"], intake) if "documents" in given else documents,
        document_text=text,
        embeddings=given.get("embeddings"),
        options=_options(given, intake),
        queries=_queries(given.get("queries"), skip_bad_records),
        intake=intake,
    )


def _queries(value: Any, skip: bool) -> QuerySource:
    if isinstance(value, QuerySource):
        return value
    rows = _rows(QUERIES, value if value is not None else (), "queries", "{...}")
    return QuerySource(rows, given=value is not None, skip_bad_records=skip)


def _chunks(value: Any, intake: Intake) -> tuple[Chunk, ...]:
    """All chunks, with ids."""
    rows = _rows(CHUNKS, value, "chunks", "text, ...")
    places: dict[str, tuple[int, bool]] = {}
    chunks = []
    for number, chunk in _each(rows, intake):
        default = chunk.id is None
        if default:
            chunk.id = f"chunk_{number - rows.naming.first + 1}"
        name = chunk.id or ""
        earlier = places.setdefault(name, (number, default))
        if earlier[0] != number:
            _refuse(_same_id(rows.naming, name, (number, default), earlier), intake)
        else:
            chunks.append(chunk)
    bare = [chunk.id or "" for chunk in chunks if chunk.text is None and (chunk.start is None or chunk.end is None)]
    intake.notices.add("these chunks have no text, and no start and end: {ids}.", bare)
    return tuple(chunks)


def _same_id(naming: Naming, name: str, here: tuple[int, bool], earlier: tuple[int, bool]) -> DatasetError:
    """The error about two chunks with one id; a chunk that got it by default is the one to change."""
    end = f", as in {naming.where(earlier[0])}. Chunk ids must be unique."
    for (number, default), other in ((here, "it"), (earlier, naming.where(earlier[0]))):
        if default:
            end = f": {other if number != here[0] else naming.where(number)} gets it by default. Give it an id."
    return naming.place(here[0], Notices()).field("id").error("duplicate id", f" {quoted(name)}{end}")


def _documents(value: Any, intake: Intake) -> dict[str, str]:
    if isinstance(value, Mapping):
        place = Place("documents", notices=intake.notices)
        documents: dict[str, str] = cleaners_of(Inputs)["documents"](value, place)
        return documents
    rows = _rows(DOCUMENTS, value, "documents", '{"id": ..., "text": ...}')
    places: dict[str, int] = {}
    texts = {}
    for number, document in _each(rows, intake):
        place = rows.naming.place(number, intake.notices)
        name = document.id if document.id is not None else document.source
        if name is None:
            _refuse(place.field("id").error('must be given (or "source"), got neither. Add one of them.'), intake)
        elif places.setdefault(name, number) != number:
            where = rows.naming.where(places[name])
            came = f" {quoted(name)}, as in {where}. Document ids must be unique."
            _refuse(place.field("id").error("duplicate id", came), intake)
        else:
            texts[name] = document.text
    return texts


def _each(rows: Rows[T], intake: Intake) -> Iterator[tuple[int, T]]:
    for numbers, records in rows.read(intake):
        yield from zip(numbers, records, strict=True)


def _refuse(error: DatasetError, intake: Intake) -> None:
    if not intake.skip:
        raise error
    intake.skipped.add(str(error), error.where)


def _rows(kind: RecordKind[T], value: Any, name: str, example: str) -> Rows[T]:
    """Rows of whatever a list of records may come as."""
    if isinstance(value, Rows):
        return value
    if is_table(value):
        return rows_of_table(kind, value, name)
    lone = (
        getattr(value, "ndim", 1) == 0
    )  # an array without a dimension, which only looks as if it could be gone through
    if not lone and not isinstance(value, str | bytes | Mapping) and isinstance(value, Iterable):
        return ValueRows.of_list(kind, value if isinstance(value, Sequence) else list(value), name)
    raise Place(name).error("must be a list", f", got {shown(value)}; write [{example}].")


def _options(given: Mapping[str, Any], intake: Intake) -> Options:
    names = {f.name for f in fields(Options)} & given.keys()
    values: dict[str, Any] = {name: _clean(given, name, intake) for name in sorted(names)}
    limits = values.get("size_limits")
    if limits is not None and limits[0] > limits[1]:
        came = f", got {limits[0]:g} before {limits[1]:g}. Swap them."
        raise Place("size_limits").error("must be (least, most)", came)
    settled: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in values.items()}
    return Options(**settled)


_UNCHECKED = ("sentence_vectors", "chunk_vectors")


def _clean(given: Mapping[str, Any], name: str, intake: Intake) -> Any:
    if name in _UNCHECKED or name not in given:
        return given.get(name)
    clean: Callable[[Any, Place], Any] = cleaners_of(Inputs)[name]
    try:
        return clean(plain(given[name]), Place(name, notices=intake.notices))
    except RecursionError:
        raise DatasetError.without_data(name, "must not be nested so deep that Python cannot follow.") from None
