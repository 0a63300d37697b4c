"""The data that a judge reads, and the same data as plain JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.json import encode

from rag_titan.errors import DatasetError
from rag_titan.evaluation import read_dataset
from rag_titan.evaluation.data.dataset import Dataset, dataset_from
from rag_titan.judge.material import Material, material_of

_BATCH = 4096


def opened(data: Any) -> Dataset:
    """A dataset from a path, from {"queries": ..., "chunks": ...}, or as it is. Raises DatasetError."""
    if isinstance(data, Dataset):
        return data
    if isinstance(data, Mapping):
        return dataset_from(**data)
    return read_dataset(data)


def materials(dataset: Dataset) -> list[Material]:
    """The texts of all questions. Raises DatasetError where there are no questions."""
    if not dataset.queries.given:
        raise DatasetError("queries", "must be given, got none. Only questions can be judged.")
    texts = {chunk.id or "": chunk.text for chunk in dataset.chunks or ()}
    return [material_of(query, texts) for batch in dataset.queries.batches(_BATCH) for query in batch]


def plain_dataset(path: Path) -> dict[str, Any]:
    """What a file or a folder holds as one JSON object."""
    dataset = read_dataset(path)
    inputs = {name: dataset[name] for name in dataset.keys() if name != "queries"}  # noqa: SIM118  # it is no dict
    queries = [query for batch in dataset.queries.batches(_BATCH) for query in batch]
    plain: dict[str, Any] = json.loads(encode({"queries": queries, **inputs}, enc_hook=_plain))
    return plain


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON")
