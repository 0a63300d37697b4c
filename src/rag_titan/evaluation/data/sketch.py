"""A few of the chunks of a run, so that two reports tell how many chunks they have in common (reports/overlap.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rag_titan.evaluation.data.fingerprint import text_hashes
from rag_titan.evaluation.data.records import Chunk

SKETCHED = 64


def chunk_sketch(chunks: Sequence[Chunk]) -> list[str]:
    """The chunks of the 64 smallest hashes of ids (Broder 1997, "On the resemblance and containment of documents"),
    each as 32 hexadecimal digits: the hash of its id, then that of its text. The order of the chunks does not matter.

    >>> few = [Chunk(id="c1", text="a"), Chunk(id="c2", text="b")]
    >>> chunk_sketch(few) == chunk_sketch(few[::-1]), [len(digits) for digits in chunk_sketch(few)]
    (True, [32, 32])
    """
    ids = text_hashes([chunk.id or "" for chunk in chunks])
    first = np.argsort(ids, kind="stable")[:SKETCHED].tolist()
    texts = text_hashes([chunks[place].text or "" for place in first]).tolist()
    return [f"{int(ids[place]):016x}{text:016x}" for place, text in zip(first, texts, strict=True)]
