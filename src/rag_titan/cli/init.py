"""rag-titan init: a folder to begin with, whose commands run as they stand."""

from __future__ import annotations

import os
import shlex
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from rag_titan.cli.outputs import check_writable
from rag_titan.cli.terminal import escaped, say
from rag_titan.errors import SettingsError

_TEMPLATES = "rag_titan.integrations"

# What is written -> the template it is written from. Programs have another ending there, so that nothing runs them.
STARTER = {
    "README.md": "starter/README.md.template",
    "app.py": "starter/app.py.template",
    "docs/borrowing.md": "starter/docs/borrowing.md",
    "docs/membership.md": "starter/docs/membership.md",
    "docs/workshop.md": "starter/docs/workshop.md",
    "golden.json": "starter/golden.json",
    "rag-titan.toml": "starter/rag-titan.toml",
    "test_rag.py": "starter/test_rag.py.template",
    ".github/workflows/rag-titan.yml": "templates/github_workflow.yml",
}

_JOINED = "--logs log.jsonl --golden golden.json --chunks chunks.jsonl --documents docs --output data"

# What the workflow of everybody says of the app -> what it says of this one.
_OF_THE_KIT = {
    "python collect_logs.py > data.jsonl": f"python app.py\n      - run: rag-titan build {_JOINED}",
    "--input data.jsonl": "--input data",
}

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write into; it is made if need be.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files of these names that exist.")]


def init(folder: Folder, force: Force = False) -> None:
    """Write a folder to begin with: documents, golden questions, a tiny app, the settings, a workflow, a README.

    Nothing that exists is replaced without --force. Exit codes: 0 written, 2 something of that name is there already.
    """
    from rag_titan.evaluation.writing import write

    _check(folder, force)
    for name, template in STARTER.items():
        write(folder / name, _text(template))
    here = "" if folder.resolve() == Path.cwd() else f"cd {escaped(shlex.quote(str(folder)))} && "
    say(
        [
            f"Written to {escaped(folder)}: {', '.join(STARTER)}",
            f"1. {here}python app.py",
            f"2. rag-titan build {_JOINED}",
            "3. rag-titan evaluate --input data --output reports/today.json",
        ]
    )


def _text(template: str) -> str:
    text = files(_TEMPLATES).joinpath(template).read_text(encoding="utf-8")
    if template.startswith("templates/"):
        for general, own in _OF_THE_KIT.items():
            text = text.replace(general, own)
    return text


def _check_links(folder: Path) -> None:
    """A link inside the folder may lead anywhere, and what it leads to would be replaced."""
    inside = folder.resolve()
    for name in STARTER:
        target = (folder / name).resolve()
        if target != inside / name:
            rule = f"must hold no link where a file is written, got {name}, which leads to {target}"
            raise SettingsError(f"{folder}: {rule}. Take the link away, or choose another folder.")


def _check_kinds(folder: Path) -> None:
    """A folder where a file is written, or a file where a folder is made, is found before the first is written."""
    for name in STARTER:
        for part in (Path(name), *Path(name).parents):
            place, is_file = folder / part, part == Path(name)
            if place.exists() and place.is_file() != is_file:
                rule, got = ("a file", "a folder") if is_file else ("a folder", "a file")
                raise SettingsError(f"{folder}: must have {rule} or nothing at {part}, got {got}. Take it away.")
        check_writable("DIR", folder / name)


def _check(folder: Path, force: bool) -> None:
    """Before anything is written; a link that leads nowhere is there, too."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder}: must be a folder, got a file. Choose another name.")
    there = [name for name in STARTER if os.path.lexists(folder / name)]
    if there and not force:
        rule = f"must have no file yet that would be replaced, got {', '.join(there)}"
        raise SettingsError(f"{folder}: {rule}. Choose another folder, or add --force.")
    _check_links(folder)
    _check_kinds(folder)
