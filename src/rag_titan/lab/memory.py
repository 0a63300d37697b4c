"""How much memory is free, so that it is asked for before it is taken."""

from __future__ import annotations

from pathlib import Path

GIB = 2**30
_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")  # of a container, which may have less than its machine


def free_bytes() -> int | None:
    """What a program may still take without pushing another out; None where the system does not say."""
    known = [found for found in (_of_machine(), _of_group()) if found is not None]
    return min(known, default=None)


def _of_machine() -> int | None:
    kib = _pairs(_MEMINFO).get("MemAvailable:")
    return None if kib is None else 1024 * kib


def _of_group() -> int | None:
    limit, used = _number(_GROUP / "memory.max"), _number(_GROUP / "memory.current")
    if limit is None or used is None:
        return None
    return max(0, limit - used + _pairs(_GROUP / "memory.stat").get("inactive_file", 0))


def _number(file: Path) -> int | None:
    text = _read(file).strip()
    return int(text) if text.isdecimal() else None  # "max" is no limit


def _pairs(file: Path) -> dict[str, int]:
    """Of lines "name number"."""
    parts = (line.split() for line in _read(file).splitlines())
    return {part[0]: int(part[1]) for part in parts if len(part) > 1 and part[1].isdecimal()}


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
