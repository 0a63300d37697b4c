"""A folder that is written as a dataset: what must not be written over, and what stands in it beside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from rag_titan.cli.outputs import READ_IN_FOLDERS
from rag_titan.cli.terminal import escaped
from rag_titan.errors import SettingsError


class Told(Protocol):
    """Notices, as the evaluation collects them."""

    def texts(self) -> list[str]:
        """One text a kind."""


def check_folder(output: Path, inputs: Iterable[tuple[str, Path | None]]) -> None:
    """Raises SettingsError where the folder is none, or where an input (what it is, its path) would be written over."""
    if output.exists() and not output.is_dir():
        raise SettingsError(f"--output: must be a folder, got the file {output}. Choose another name.")
    target = output.resolve()
    for what, path in inputs:
        place = path.resolve() if path is not None else None
        if place is not None and (place == target or (place.parent == target and _read_by_evaluate(place.name))):
            raise SettingsError(f"--output: must not hold {what} {path}, got {output}. Choose another folder.")


def check_strangers(output: Path, inputs: Iterable[str], beside: Collection[str] = ()) -> None:
    """Raises SettingsError where an evaluation of the folder would read files that are not written now.

    inputs  the inputs of an evaluation that are written, each as NAME.jsonl
    beside  files that may stand there all the same
    """
    kept = {*(f"{name}.jsonl" for name in inputs), *beside}
    there = sorted(path.name for path in output.iterdir()) if output.is_dir() else []
    strange = [name for name in there if _read_by_evaluate(name) and name not in kept]
    if strange:
        rule = f"must hold no data of another source, got {', '.join(strange)}. Remove it, or choose another folder."
        raise SettingsError(f"--output: {output}: {rule}")


def _read_by_evaluate(name: str) -> bool:
    return name.partition(".")[0] in READ_IN_FOLDERS and "." in name


def what_to_know(notices: Told) -> Iterator[str]:
    """The notices as lines of the terminal."""
    texts = notices.texts()
    if texts:
        yield "What to know:"
        yield from (f"  - {escaped(text)}" for text in texts)
