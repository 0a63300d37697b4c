"""A store in one SQLite file, by apsw: vectors by sqlite-vec, words by FTS5.

The words are stemmed before they go in, as in memory, and FTS5 only cuts them at spaces. Its BM25 is Robertson's with
k1 = 1.2 and b = 0.75, where a word that more than half of the chunks have counts next to nothing.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from rag_titan.errors import MissingExtraError, RagTitanError, SettingsError
from rag_titan.pipeline.parts import Chunk, Found, Vectors
from rag_titan.pipeline.stems import stems
from rag_titan.pipeline.stores.checks import SLACK, checked, dot_products, id_taken, same_length, searchable
from rag_titan.pipeline.stores.transactions import Transaction

APPLICATION = 0x52616754  # "RagT" in the head of the file, by which we know it again
VERSION = 1
_PATIENCE = 10_000  # ms that a process waits for another one to finish its writing
_MOST_NEIGHBOURS = 4096  # sqlite-vec gives no more at once
_MOST_TERMS = 1000  # of a question
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE chunks (
    number INTEGER PRIMARY KEY, doc_id TEXT NOT NULL, place INTEGER NOT NULL, id TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, metadata TEXT NOT NULL,
    UNIQUE (doc_id, place)
);
CREATE VIRTUAL TABLE words USING fts5(stems, content='', contentless_delete=1, tokenize="ascii tokenchars '_'");
"""
_FILES = "CREATE TABLE IF NOT EXISTS files (doc_id TEXT PRIMARY KEY, path BLOB NOT NULL) WITHOUT ROWID"
_CUTS = "CREATE TABLE IF NOT EXISTS cuts (doc_id TEXT PRIMARY KEY, chunking TEXT NOT NULL) WITHOUT ROWID"
_COLUMNS = 'chunks.id, chunks.text, chunks.start, chunks."end", chunks.doc_id, chunks.metadata'


class SqliteStore:
    """Keeps everything in one file; threads may share it, and several processes may read it.

    path      of the file; it is made where there is none
    embedder  the name of the embedder whose vectors it holds
    chunking  how the documents are cut that are put into it; None where that is not known

    A process that dies while it writes leaves what was there before.

    Raises SettingsError for a file that is no store, is damaged, or was built with another embedder; MissingExtraError.
    """

    def __init__(self, path: str | os.PathLike[str], embedder: str, chunking: str | None = None) -> None:
        self.path = os.fspath(path)
        self.embedder = embedder
        self.chunking = chunking
        self._lock = threading.RLock()
        self._check_path()
        try:
            import apsw
        except ImportError:
            raise MissingExtraError("apsw", "pipeline") from None
        self._sqlite = apsw
        with self._spoken():
            self._connection = apsw.Connection(self.path)
            self._connection.set_busy_timeout(_PATIENCE)
            self._load_vectors()
            self._check_file()
            self._check_embedder()

    def replace(self, doc_id: str, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Put these chunks in the place of all that the document had, wholly or not at all; none takes it out.

        Raises SettingsError for vectors that do not fit the others and for a file that cannot be written, DatasetError
        for an id that is taken.
        """
        array = checked(doc_id, chunks, vectors)
        terms = [" ".join(found) for found in stems([chunk.text for chunk in chunks])]
        with self._transaction("IMMEDIATE"):
            self._remove(doc_id)
            if chunks:
                self._make_room(array)
            for place, chunk in enumerate(chunks):
                self._add(place, chunk, array[place], terms[place])
            self._write_cuts([doc_id])

    def chunks(self) -> Sequence[Chunk]:
        """All chunks, in the order of document ids and places."""
        with self._transaction():
            return [_chunk(row) for row in self._rows(f"SELECT {_COLUMNS} FROM chunks ORDER BY doc_id, place")]

    def nearest(self, vector: Vectors, k: int) -> list[Found]:
        """The k chunks with the greatest dot product, best first; ties by their order.

        Chunks with a zero vector are never near, and to a zero vector nothing is.
        """
        with self._transaction():
            if not searchable(vector, self._dimensions()):
                return []
            near = self._near(np.ascontiguousarray(vector, dtype=np.float32), k)
            if not near:
                return []
            vectors = np.frombuffer(b"".join(blob for _, blob in near), dtype=np.float32).reshape(len(near), -1)
            scores = dot_products(vectors, vector).tolist()
            floor = sorted(scores)[-min(k, len(scores))]
            rows = []
            for (number, _), score in zip(near, scores, strict=True):
                if score >= floor:
                    rows += [(-score, *row) for row in self._rows(_BY_NUMBER, (number,))]
        rows.sort(key=lambda row: row[:3])
        return [Found(_chunk(row[3:]), -row[0]) for row in rows[:k]]

    def matching(self, question: str, k: int) -> list[Found]:
        """At most k chunks that share words with the question, by BM25, best first; ties by their order."""
        asked = list(dict.fromkeys(stems([question])[0]))[:_MOST_TERMS]
        if not asked:
            return []
        query = " OR ".join(f'"{stem}"' for stem in asked)
        with self._transaction():
            return [Found(_chunk(row), -score) for score, *row in self._rows(_MATCHING, (query, k))]

    def frequencies(self, words: Sequence[str]) -> list[int]:
        """(n,) how many chunks have each word, as `matching` compares words; 0 for those that no question is."""
        with self._transaction():
            return [self._frequency(found) if found else 0 for found in stems(words)]

    def _frequency(self, found: Sequence[str]) -> int:
        return min(int(self._value(_FREQUENCY, (f'"{stem}"',))) for stem in found)

    def size(self) -> int:
        """How many chunks there are."""
        with self._transaction():
            return int(self._value("SELECT count(*) FROM chunks"))

    def remember(self, paths: Mapping[str, str]) -> None:
        """Write down from which file each document came, {document id: absolute path}; the others keep theirs."""
        with self._transaction("IMMEDIATE"):
            self._rows(_FILES)
            rows = [(doc_id, os.fsencode(path)) for doc_id, path in paths.items()]
            self._connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?)", rows)
            self._rows("DELETE FROM files WHERE doc_id NOT IN (SELECT doc_id FROM chunks)")

    def paths(self) -> dict[str, str]:
        """{document id: absolute path} as far as it was written down, of documents that are in the store."""
        with self._transaction():
            if not self._has_table("files"):
                return {}  # of an earlier rag-titan
            rows = self._rows("SELECT doc_id, path FROM files WHERE doc_id IN (SELECT doc_id FROM chunks) ORDER BY 1")
            return {doc_id: os.fsdecode(path) for doc_id, path in rows}

    def cut(self, doc_ids: Iterable[str]) -> None:
        """Write down that these documents are cut as `chunking` says, which `replace` does by itself."""
        with self._transaction("IMMEDIATE"):
            self._write_cuts(doc_ids)

    def cut_otherwise(self) -> dict[str, str]:
        """{document id: how it is cut} of the documents that are cut in another way than `chunking`.

        Nothing is known of those that an earlier rag-titan put there.
        """
        with self._transaction():
            if self.chunking is None or not self._has_table("cuts"):
                return {}
            return dict(self._rows(_OTHERWISE, (self.chunking,)))

    def _write_cuts(self, doc_ids: Iterable[str]) -> None:
        self._rows(_CUTS)
        names = [(name,) for name in doc_ids]
        self._connection.executemany("DELETE FROM cuts WHERE doc_id = ?", names)
        if self.chunking is not None:
            rows = [(*name, self.chunking) for name in names]
            self._connection.executemany("INSERT INTO cuts VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(statement, tuple(values)))

    def _value(self, statement: str, values: Sequence[Any] = ()) -> Any:
        rows = self._rows(statement, values)
        return rows[0][0] if rows else None

    def _has_table(self, name: str) -> bool:
        return bool(self._value("SELECT count(*) FROM sqlite_master WHERE name = ?", (name,)))

    def _transaction(self, kind: str = "DEFERRED") -> Transaction:
        return Transaction(self._connection, self._rows, self._lock, self._spoken, kind)

    @contextmanager
    def _spoken(self) -> Iterator[None]:
        """Everything that SQLite can say, as a sentence."""
        sqlite = self._sqlite
        try:
            yield
        except RagTitanError:
            raise
        except (sqlite.CantOpenError, sqlite.AuthError) as error:
            raise self._refusal("a path that can be opened", str(error), "Check the folder.") from None
        except sqlite.NotADBError:
            raise self._refusal("an index of rag-titan", "something else", "Name another file.") from None
        except (sqlite.BusyError, sqlite.LockedError):
            raise self._refusal("free", "one that another process writes", "Try again when it is done.") from None
        except (sqlite.ReadOnlyError, sqlite.FullError, sqlite.PermissionsError) as error:
            raise self._refusal("a file that can be written", str(error), "Check its rights and the disk.") from None
        except (sqlite.CorruptError, sqlite.FormatError, ValueError) as error:  # ValueError: of what stands in a row
            got = f"a damaged one ({error})"
            raise self._refusal("a whole index", got, "Remove it and index the files again.") from None
        except sqlite.Error as error:
            do = "Try again; if it says so again, index the files into another file."
            raise self._refusal("an index that can be used", str(error), do) from None

    def _refusal(self, rule: str, got: str, do: str) -> SettingsError:
        return SettingsError(f"store: {self.path}: must be {rule}, got {got}. {do}")

    def _check_path(self) -> None:
        try:
            self.path.encode()
        except UnicodeEncodeError:  # SQLite takes UTF-8 only
            raise self._refusal("a path that is UTF-8 text", "other bytes", "Choose another name.") from None

    def _load_vectors(self) -> None:
        try:
            import sqlite_vec
        except ImportError:
            raise MissingExtraError("sqlite-vec", "pipeline") from None
        self._connection.enable_load_extension(True)
        self._connection.load_extension(sqlite_vec.loadable_path())
        self._connection.enable_load_extension(False)

    def _check_file(self) -> None:
        if self._value("SELECT count(*) FROM sqlite_master") == 0:
            with self._transaction("IMMEDIATE"):
                if self._value("SELECT count(*) FROM sqlite_master") == 0:  # another process may have been faster
                    for statement in (
                        _SCHEMA,
                        f"PRAGMA application_id={APPLICATION}",
                        f"PRAGMA user_version={VERSION}",
                    ):
                        self._rows(statement)
        if self._value("PRAGMA application_id") != APPLICATION:
            raise self._refusal("an index of rag-titan", "a database of something else", "Name another file.")
        if (version := self._value("PRAGMA user_version")) != VERSION:
            rule = f"an index of version {VERSION}"
            raise self._refusal(rule, f"version {version}", "Remove it and index the files again.")

    def _check_embedder(self) -> None:
        built_with = self._value("SELECT value FROM facts WHERE name = 'embedder'")
        if built_with not in (None, self.embedder) and self._value("SELECT count(*) FROM chunks"):
            rule = f"built with the embedder {self.embedder!r}"
            do = "Vectors of two models cannot be compared: name that embedder, or index the files into another store."
            raise self._refusal(rule, f"one built with {built_with!r}", do)

    def _dimensions(self) -> int | None:
        value = self._value("SELECT value FROM facts WHERE name = 'dimensions'")
        return None if value is None else int(value)

    def _make_room(self, vectors: Vectors) -> None:
        """The table of the vectors; where no chunk is left, that of another embedder goes."""
        self._check_embedder()
        if self._value("SELECT count(*) FROM chunks") and (dimensions := self._dimensions()) is not None:
            same_length(vectors, dimensions)
            return
        self._rows("DROP TABLE IF EXISTS vectors")
        self._rows(f"CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{vectors.shape[1]}])")
        facts = (("embedder", self.embedder), ("dimensions", str(vectors.shape[1])))
        self._connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts)

    def _remove(self, doc_id: str) -> None:
        numbers = self._rows("SELECT number FROM chunks WHERE doc_id = ?", (doc_id,))
        if numbers:
            self._connection.executemany("DELETE FROM vectors WHERE rowid = ?", numbers)
            self._connection.executemany("DELETE FROM words WHERE rowid = ?", numbers)
            self._rows("DELETE FROM chunks WHERE doc_id = ?", (doc_id,))

    def _add(self, place: int, chunk: Chunk, vector: Vectors, terms: str) -> None:
        owner = self._value("SELECT doc_id FROM chunks WHERE id = ?", (chunk.id,))
        if owner is not None:
            raise id_taken(chunk.id, owner)
        metadata = json.dumps(dict(chunk.metadata))
        values = (chunk.doc_id, place, chunk.id, chunk.text, chunk.start, chunk.end, metadata)
        self._rows(_INSERT, values)
        number = self._connection.last_insert_rowid()
        self._rows("INSERT INTO words (rowid, stems) VALUES (?, ?)", (number, terms))
        if vector.any():
            self._rows("INSERT INTO vectors (rowid, embedding) VALUES (?, ?)", (number, vector.tobytes()))

    def _near(self, vector: Vectors, k: int) -> list[tuple[int, bytes]]:
        """The numbers and vectors of the nearest k, and of those that may tie with the last of them."""
        length = float(np.dot(vector, vector))
        asked = k + 16
        while asked < _MOST_NEIGHBOURS:
            rows = self._rows(_NEAREST, (vector.tobytes(), asked))
            products = [(length + 1 - distance * distance) / 2 for _, _, distance in rows]
            if len(rows) < asked or products[-1] < products[k - 1] - SLACK:
                return [(number, blob) for number, blob, _ in rows]
            asked *= 2
        return [(number, blob) for number, blob in self._rows("SELECT rowid, embedding FROM vectors")]


_INSERT = 'INSERT INTO chunks (doc_id, place, id, text, start, "end", metadata) VALUES (?, ?, ?, ?, ?, ?, ?)'
_BY_NUMBER = f"SELECT doc_id, place, {_COLUMNS} FROM chunks WHERE number = ?"
_NEAREST = "SELECT rowid, embedding, distance FROM vectors WHERE embedding MATCH ? AND k = ? ORDER BY distance"
_OTHERWISE = """
SELECT doc_id, chunking FROM cuts WHERE chunking != ? AND doc_id IN (SELECT doc_id FROM chunks) ORDER BY doc_id
"""
_FREQUENCY = "SELECT count(*) FROM words WHERE words MATCH ?"
_MATCHING = f"""
SELECT bm25(words) AS badness, {_COLUMNS} FROM words JOIN chunks ON chunks.number = words.rowid
WHERE words MATCH ? ORDER BY badness, doc_id, place LIMIT ?
"""


def _chunk(row: Sequence[Any]) -> Chunk:
    name, text, start, end, doc_id, metadata = row
    return Chunk(name, text, start, end, doc_id, json.loads(metadata))
