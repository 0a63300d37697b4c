"""The command line as a user calls it, inside this process; small datasets."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rag_titan.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Run = Callable[..., Done]
Write = Callable[..., Path]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run `rag-titan ARGUMENTS` in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["rag-titan", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return Done(int(end.value.code or 0), said.out, said.err)

    return call


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a dataset, or text, into the folder."""

    def put(data: Any, name: str = "data.json") -> Path:
        path = tmp_path / name
        path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        return path

    return put


def query(name: str = "q1", **more: Any) -> dict[str, Any]:
    """A question whose gold chunk c1 was retrieved first."""
    return {"id": name, "expected_chunk_ids": ["c1"], "retrieved_ids": ["c1", "c2"], **more}


def dataset(*queries: dict[str, Any]) -> dict[str, Any]:
    """A dataset of these questions; of one that was retrieved well, when there is none."""
    return {"queries": list(queries) or [query()]}
