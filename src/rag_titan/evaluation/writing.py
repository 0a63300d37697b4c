"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from rag_titan.errors import SettingsError
from rag_titan.evaluation.limits import checked_path

PathLike = str | os.PathLike[str]


def write(path: PathLike, content: str | bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never a part; parent folders are made.

    It is written beside its place under another name, flushed to the disk and then renamed; text becomes UTF-8. What
    exists and is no ordinary file (a pipe, /dev/stdout) is written to directly. Raises SettingsError where the system
    refuses.
    """
    target = Path(os.path.realpath(checked_path(path, "file")))  # a link stays a link
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(data)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(f"{path}: must be a file that can be written ({reason}). Choose another path.") from error


def _replace(target: Path, data: bytes) -> None:
    draft = target.with_name(f".rag-titan-{os.urandom(16).hex()}.tmp")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.is_file():
            draft.chmod(target.stat().st_mode & 0o7777)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
