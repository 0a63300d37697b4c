"""Vectors by id -> one validated table: a matrix sorted by id, and row numbers where the data name ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import DatasetError, nearest
from rag_titan.evaluation.data.cleaning import clean_id
from rag_titan.evaluation.data.matrices import Matrix, Rows, matrix_of
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place, quoted
from rag_titan.evaluation.data.records import Embeddings
from rag_titan.evaluation.measures.ragged import Ragged, offsets_of, ragged

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]
Lists = list[list[str] | None]

KEYS = ("vectors", "query_vectors", "relevant_ids", "indexed_ids", "index_results")
ID_KEYS = ("ids", "query_ids")  # the arrays of ids that stand beside a matrix in an .npz file
PLACE = "embeddings"


@dataclass(frozen=True)
class VectorTable:
    """The vectors of n chunks and m queries, and what the data say about them in row numbers of the chunk vectors.

    ids         the n chunk ids in rising order, so that nothing depends on the order in which they were given
    vectors     (n, d) float32 where the vectors were given so, else float64
    query_ids   the m query ids in the order given; none without `query_vectors`
    queries     (m, d)
    gold        for each query the rows of its distinct gold chunks that have a vector, rising
    gold_sizes  (m,) how many distinct gold chunks it has, with and without a vector
    labelled    (m,) True where gold was given, were it an empty list
    results     for each query the distinct results of the index, best first, as rows; -1 is a chunk without a vector
    searched    (m,) True where results were given, were it an empty list
    indexed     the ids that are in the index, with or without a vector here; None when `indexed_ids` was not given
    own_gold    True where the gold is that of `relevant_ids`
    """

    ids: tuple[str, ...]
    vectors: Matrix
    query_ids: tuple[str, ...]
    queries: Matrix
    gold: Ragged
    gold_sizes: Ints
    labelled: Mask
    results: Ragged
    searched: Mask
    indexed: frozenset[str] | None
    own_gold: bool

    @classmethod
    def of(cls, ids: tuple[str, ...], vectors: Matrix, query_ids: tuple[str, ...], queries: Matrix) -> VectorTable:
        """The vectors alone, of which nothing else is known."""
        nothing, nobody = ragged([[]] * len(query_ids)), np.zeros(len(query_ids), dtype=bool)
        return cls(ids, vectors, query_ids, queries, nothing, nothing.lengths, nobody, nothing, nobody, None, False)

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """{chunk id: row}"""
        return {name: row for row, name in enumerate(self.ids)}

    @property
    def given(self) -> dict[str, int]:
        """How many items carry each input, by its name."""
        return {
            "vectors": len(self.ids),
            "query_vectors": len(self.query_ids),
            "relevant_ids": int(self.labelled.sum()),
            "indexed_ids": int(self.indexed is not None),
            "index_results": int(self.searched.sum()),
        }

    def with_gold(self, gold: Mapping[str, Iterable[str]], notices: Notices | None = None) -> VectorTable:
        """The same table with the gold chunks {query id: chunk ids} of the queries, unless `relevant_ids` was given."""
        if self.own_gold:
            return self
        labels = [list(gold[name]) if name in gold else None for name in self.query_ids]
        return _labelled(self, labels, notices if notices is not None else Notices())


def vector_table(embeddings: Mapping[str, Any] | Embeddings, notices: Notices | None = None) -> VectorTable:
    """The table of an `embeddings` input.

    vectors, query_vectors       {id: vector}, vectors being lists or arrays; or {"ids": ids, "vectors": matrix}; or a
                                 matrix, beside `ids` or `query_ids` (as the arrays of embeddings.npz)
    relevant_ids, index_results  {query id: [chunk ids]}
    indexed_ids                  [chunk ids]

    Whole numbers and text are the same id. DatasetError, with the place, where a rule is broken: an unknown key, an id
    given twice, vectors of different lengths, anything in a vector that is not a finite number. Notices name the gold
    chunks without a vector, the queries without one, and those whose vector is all zeros.

    >>> table = vector_table({"vectors": {"b": [0, 1], "a": [1, 0]}, "query_vectors": {7: [1, 1]}})
    >>> table = table.with_gold({"7": ["b", "x"]})
    >>> table.ids, table.gold.values.tolist(), table.gold_sizes.tolist()
    (('a', 'b'), [1], [2])
    >>> vector_table({"vectors": {"c1": [1, 0, 0], "c2": [1, 0]}})
    Traceback (most recent call last):
    rag_titan.errors.DatasetError: embeddings.vectors["c2"]: must have 3 numbers as the others (such as ["c1"]), got 2.
    """
    data = _inputs(embeddings)
    notices = notices if notices is not None else Notices()
    ids, vectors = _chunk_vectors(data)
    query_ids, queries = _query_vectors(data, ids[0], vectors.shape[1], notices)
    returned = _lists("index_results", data.get("index_results"), query_ids, notices)
    table = VectorTable.of(ids, vectors, query_ids, queries)
    table = replace(
        table,
        results=_rows_of([list(dict.fromkeys(names or ())) for names in returned], table.row_of),
        searched=_given(returned),
        indexed=frozenset(_ids(f"{PLACE}.indexed_ids", data["indexed_ids"])) if "indexed_ids" in data else None,
        own_gold="relevant_ids" in data,
    )
    return _labelled(table, _lists("relevant_ids", data.get("relevant_ids"), query_ids, notices), notices)


def load_npz(path: str | Path) -> dict[str, NDArray[Any]]:
    """The arrays of an embeddings.npz (ids, vectors, query_ids, query_vectors), for `vector_table`.

    Arrays of Python objects are refused, since reading those can run code. DatasetError names the file.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except FileNotFoundError:
        raise
    except Exception as error:  # zipfile, zlib and numpy each have their own for a file that is no .npz
        text = f"must be an .npz file of plain arrays ({error}). Save the ids as text: np.array(ids, dtype=str)."
        raise DatasetError(str(path), text) from error


def sorted_vectors(where: str, given: Any, ids: Any = None) -> tuple[tuple[str, ...], Matrix]:
    """The ids in rising order and their vectors (n, d), from any form that `vector_table` takes; (0, 0) of none."""
    names, rows = _pairs(where, given, ids)
    order = sorted(range(len(names)), key=names.__getitem__)
    if order != list(range(len(names))):
        names = [names[i] for i in order]
        rows = rows[order] if isinstance(rows, np.ndarray) else [rows[i] for i in order]
    return tuple(names), matrix_of(where, lambda i: place_of(names[i]), rows)


def grouped_vectors(where: str, given: Any) -> tuple[tuple[str, ...], Ints, Matrix]:
    """{id: [vector, ...]} as g ids in the order given, offsets (g + 1,) and all vectors (n, d): those of id i are
    vectors[offsets[i]:offsets[i + 1]]. An id may have no vector.

    >>> ids, offsets, vectors = grouped_vectors("sentence_vectors", {"c1": [[1, 0], [0, 1]], "c2": []})
    >>> ids, offsets.tolist(), vectors.shape
    (('c1', 'c2'), [0, 2, 2], (2, 2))
    """
    if not isinstance(given, Mapping):
        raise DatasetError(where, f"must be {{id: [vector, ...]}}, got {type(given).__name__}.")
    names = _distinct(where, list(given))
    for name, group in zip(names, given.values(), strict=True):
        if not isinstance(group, list | tuple | np.ndarray):
            raise DatasetError(where + place_of(name), f"must be a list of vectors, got {type(group).__name__}.")
    offsets = offsets_of([len(group) for group in given.values()])

    def place(row: int) -> str:
        group = int(np.searchsorted(offsets, row, side="right")) - 1
        return f"{place_of(names[group])}[{row - offsets[group]}]"

    return tuple(names), offsets, matrix_of(where, place, list(chain.from_iterable(given.values())))


def place_of(name: str) -> str:
    """The end of the place of one id, as in embeddings.vectors["c2"]."""
    return f"[{quoted(name)}]"


def _inputs(embeddings: Any) -> dict[str, Any]:
    """The keys that were given; None is not given."""
    if isinstance(embeddings, Embeddings):
        embeddings = {name: getattr(embeddings, name) for name in KEYS}
    if not isinstance(embeddings, Mapping):
        raise DatasetError(PLACE, f'must be an object with the key "vectors", got {type(embeddings).__name__}.')
    known = (*KEYS, *ID_KEYS)
    for key in embeddings:
        if key not in known:
            raise DatasetError(PLACE, f"unknown key {key!r}{nearest(str(key), known)}.")
    return {key: value for key, value in embeddings.items() if value is not None}


def _chunk_vectors(data: Mapping[str, Any]) -> tuple[tuple[str, ...], Matrix]:
    where = f"{PLACE}.vectors"
    if "vectors" not in data:
        raise DatasetError(where, "must be given ({chunk_id: vector}), got nothing.")
    ids, vectors = sorted_vectors(where, data["vectors"], data.get("ids"))
    if not ids:
        raise DatasetError(where, "must hold at least one vector, got none. Leave embeddings out.")
    return ids, vectors


def _query_vectors(data: Mapping[str, Any], chunk: str, d: int, notices: Notices) -> tuple[tuple[str, ...], Matrix]:
    where = f"{PLACE}.query_vectors"
    names, rows = _pairs(where, data.get("query_vectors", {}), data.get("query_ids"))
    queries = matrix_of(where, lambda i: place_of(names[i]), rows)
    if not names:
        return (), np.empty((0, d))
    if queries.shape[1] != d:
        rule = f"must have {d} numbers as the chunk vectors (such as {place_of(chunk)}), got {queries.shape[1]}."
        raise DatasetError(where + place_of(names[0]), rule + " Embed both with the same model.")
    zero = np.flatnonzero(~queries.any(axis=1))
    notices.add(f"{where} are all zeros and find nothing: {{ids}}.", [names[i] for i in zero])
    return tuple(names), queries


def _pairs(where: str, given: Any, ids: Any) -> tuple[list[str], Rows]:
    """Distinct ids and the rows of their vectors, in the order given."""
    if isinstance(given, Mapping) and set(given) == {"ids", "vectors"} and _nested(given["vectors"]):
        given, ids = given["vectors"], given["ids"]
    if isinstance(given, Mapping):
        keys, given = list(given), list(given.values())
    elif ids is None or not isinstance(given, list | tuple | np.ndarray):
        raise DatasetError(where, f"must be {{id: vector}}, got {type(given).__name__}.")
    else:
        keys = _listed(f"{where} (its ids)", ids)
        if len(keys) != len(given):
            raise DatasetError(where, f"must have as many vectors as ids, got {len(given)} and {len(keys)}.")
    return _distinct(where, keys), given


def _nested(rows: Any) -> bool:
    """True for a matrix or a list of vectors, False for one vector."""
    if isinstance(rows, np.ndarray):
        return rows.ndim == 2 or rows.dtype.kind == "O"
    return isinstance(rows, list | tuple) and len(rows) > 0 and isinstance(rows[0], list | tuple | np.ndarray)


def _distinct(where: str, keys: Sequence[Any]) -> list[str]:
    names = [_id(where, key) for key in keys]
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DatasetError(where, f"must name every id once, got {quoted(twice)} more than once.")
    return names


def _id(where: str, given: Any) -> str:
    """The text of an id; whole numbers and text are the same id."""
    return str(clean_id(given, Place(where)))


def _listed(where: str, given: Any) -> list[Any]:
    """The elements of a list of ids; a bare text is an error that says what to write."""
    if isinstance(given, str):
        raise DatasetError(where, f"must be a list of ids, got the text {quoted(given)}. Write [{quoted(given)}].")
    if isinstance(given, np.ndarray) and given.ndim == 1:
        return list(given.tolist())
    if isinstance(given, list | tuple | AbstractSet):
        return list(given)
    raise DatasetError(where, f"must be a list of ids, got {type(given).__name__}.")


def _ids(where: str, given: Any) -> list[str]:
    ids = _listed(where, given)
    return [x if type(x) is str and x and x.isascii() else _id(f"{where}[{i}]", x) for i, x in enumerate(ids)]


def _lists(key: str, given: Any, query_ids: Sequence[str], notices: Notices) -> Lists:
    """For each query its list of ids under `key`, None where there is none."""
    where = f"{PLACE}.{key}"
    if given is None:
        return [None] * len(query_ids)
    if not isinstance(given, Mapping):
        raise DatasetError(where, f"must be {{query_id: [chunk ids]}}, got {type(given).__name__}.")
    names = _distinct(where, list(given))
    by_query = {
        name: _ids(where + place_of(name), ids)
        for name, ids in zip(names, given.values(), strict=True)
        if ids is not None
    }
    if query_ids:
        unknown = by_query.keys() - set(query_ids)
        notices.add(f"{where} names queries that have no vector in query_vectors: {{ids}}.", unknown)
    return [by_query.get(query) for query in query_ids]


def _given(lists: Lists) -> Mask:
    return np.array([names is not None for names in lists], dtype=bool)


def _labelled(table: VectorTable, labels: Lists, notices: Notices) -> VectorTable:
    """The table with the gold of each query; a notice names the gold chunks without a vector."""
    distinct = [sorted(set(names or ())) for names in labels]
    missing = set(chain.from_iterable(distinct)) - table.row_of.keys()
    notices.add(f"gold chunks have no vector in {PLACE}.vectors and count as not found: {{ids}}.", missing)
    every = _rows_of(distinct, table.row_of)
    return replace(table, gold=every.keep(every.values >= 0), gold_sizes=every.lengths, labelled=_given(labels))


def _rows_of(lists: Sequence[Sequence[str]], rows: Mapping[str, int]) -> Ragged:
    offsets = offsets_of([len(x) for x in lists])
    codes = (rows.get(name, -1) for name in chain.from_iterable(lists))
    return Ragged(np.fromiter(codes, dtype=np.int64, count=int(offsets[-1])), offsets)
