"""The settings of the pipeline on the command line: --set, --config, and --store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_titan.cli.config import config_file
from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    from rag_titan.pipeline.settings import Settings

SETTINGS = "Settings of the pipeline"

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", rich_help_panel=SETTINGS,
        help="As chunker=paragraph; before the environment (RAG_TITAN_CHUNKER) and the config file.",
    ),
]  # fmt: skip
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=SETTINGS, help="Has [pipeline]. Usually rag-titan.toml."
    ),
]
StoreFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.db", readable=False, rich_help_panel=SETTINGS, help="The index. Usually the setting `store`."
    ),
]


def settings_of(sets: Iterable[str], config: Path | None, **options: Any) -> Settings:
    """The settings: options of the command line, then --set, the environment, the config file, and the defaults.

    Raises SettingsError for a name that is no setting, and for a value of the wrong kind.
    """
    from rag_titan.pipeline.settings import Settings, setting_of

    given: dict[str, Any] = {}
    for text in sets:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise SettingsError(f"--set: must be NAME=VALUE, got {text!r}. Write it as chunk_size=200.")
        if name in given:
            raise SettingsError(f"--set: must give each setting once, got {name} twice. Take one out.")
        given[name] = setting_of(name, value, f"--set {name}")
    given |= {name: value for name, value in options.items() if value is not None}
    return Settings.of(given, file=config_file(config, Path()))


def settings_with_store(sets: Iterable[str], config: Path | None, store: Path | None) -> Settings:
    """The same, for a command that needs an index in a file."""
    settings = settings_of(sets, config, store=None if store is None else str(store))
    if not settings.store:
        raise SettingsError("--store: must be the file of the index, got none. Write it as --store index.db.")
    return settings
