"""The direction of Chroma's published table on two of its corpora: smaller chunks, higher precision and IoU."""

from __future__ import annotations

import importlib
import sys
from argparse import Namespace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT.parent / "shared" / "data" / "chroma_chunking"
SIZES = (50, 100, 200, 400)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.pipeline,
    pytest.mark.skipif(not FOLDER.exists(), reason="the corpora of Chroma's chunking evaluation are not here"),
]


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("wordllama")
    monkeypatch.syspath_prepend(ROOT / "examples" / "real_data")
    for name in ("sweep_chunks", "compare_chunkers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    example = importlib.import_module("sweep_chunks")
    return example.swept(
        Namespace(
            folder=FOLDER, corpora="state_of_the_union,chatlogs", sizes=",".join(map(str, SIZES)), overlaps="0",
            chunkers="recursive", retriever="hybrid", k=5, words=500, processes=1, output=tmp_path / "sweep.json",
        )
    )  # fmt: skip


def test_smaller_chunks_have_the_higher_precision_and_recall_of_equal_text_stays(sweep: Any) -> None:
    assert sweep.questions > 100
    by_size = {cell.chunk_size: {key: one.value for key, one in cell.estimates.items()} for cell in sweep.cells}
    for small, large in pairwise(SIZES):
        for key in ("token_precision", "token_iou", "token_f1"):
            assert by_size[small][key] > 1.2 * by_size[large][key]
    recalls = [by_size[size]["recall_in_words"] for size in SIZES]
    assert max(recalls) - min(recalls) < 0.15
    assert sweep.best.chunk_size == 50
    assert all(rival.told_apart for rival in sweep.rivals())
