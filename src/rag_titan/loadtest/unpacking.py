"""Bodies that come compressed although nobody asked for it, in pieces of bounded size."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

_LARGEST = 2**20  # bytes of a piece: a kilobyte of gzip can stand for a megabyte
_GZIP_OR_ZLIB = 47  # 32, which tells one from the other by its header, and the largest window
_KNOWN = ("gzip", "x-gzip", "deflate")


class UnpackingError(Exception):
    """A body that cannot be unpacked; the text says why."""


class Unpacker:
    """The bytes of a body as they were before they were compressed: gzip and deflate, or nothing to do.

    >>> import gzip
    >>> [len(piece) for piece in Unpacker("gzip").pieces(gzip.compress(bytes(2_500_000)))]
    [1048576, 1048576, 402848]
    >>> list(Unpacker("").pieces(b"as it is"))
    [b'as it is']
    """

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in ("", "identity", *_KNOWN):
            raise UnpackingError("compressed in a way that was not asked for")
        self._unpacked = zlib.decompressobj(_GZIP_OR_ZLIB) if name in _KNOWN else None

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What the next bytes unpack to. Raises UnpackingError for what is not compressed that way."""
        if self._unpacked is None:
            yield data
            return
        while data:
            try:
                piece = self._unpacked.decompress(data, _LARGEST)
            except zlib.error:
                raise UnpackingError("cannot be unpacked") from None
            if piece:
                yield piece
            data = self._unpacked.unconsumed_tail

    def end(self) -> None:
        """Raises UnpackingError where the compressed body stopped before its end."""
        if self._unpacked is not None and not self._unpacked.eof:
            raise UnpackingError("cannot be unpacked")
