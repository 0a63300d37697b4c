"""A logged run that a command of the lab reads: what `evaluate` reads, from the same options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.config import config_file, read_config
from rag_titan.cli.settings import columns_of

READ = "What is read"

Input = Annotated[
    Path,
    typer.Option(
        "--input", metavar="FILE|FOLDER", readable=False, rich_help_panel=READ,
        help="A dataset, in any form that `evaluate` takes.",
    ),
]  # fmt: skip
Chunks = Annotated[
    Path | None,
    typer.Option(metavar="FILE", readable=False, rich_help_panel=READ, help="The chunks, where the dataset has none."),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=READ,
        help="Has [columns], where the logs have other names. Usually rag-titan.toml.",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class LoggedRun:
    """Where a run is read from."""

    input: Path
    chunks: Path | None
    config: Path | None

    def files(self, others: Iterable[Path] = ()) -> list[Path]:
        """All that is read, which no output may take the place of."""
        known = (self.input, self.chunks, config_file(self.config, Path()), *others)
        return [path for path in known if path is not None]

    def read(self) -> Mapping[str, Any]:
        """The inputs of an evaluation.

        Raises DatasetError for data, SettingsError for the config file.
        """
        return self.read_another(self.input, self.chunks)

    def read_another(self, path: Path, chunks: Path | None = None) -> Mapping[str, Any]:
        """Those of another run, with the same names in its logs."""
        from rag_titan.evaluation import read_dataset

        columns = columns_of(read_config(self.config, Path()))
        return dict(**read_dataset(path, chunks=chunks, columns=columns))
