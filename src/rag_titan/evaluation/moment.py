"""When a report was made."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from rag_titan.errors import SettingsError
from rag_titan.evaluation.limits import said

VARIABLE = "SOURCE_DATE_EPOCH"
_LATEST = 253_402_300_799  # the last second of the year 9999, the last that a date can have


def moment() -> datetime:
    """Now; SOURCE_DATE_EPOCH (whole seconds since 1970) in its place makes reports equal byte for byte.

    Raises SettingsError for a text that is no such number: a build that asks for a fixed time must not get another.
    Source: the specification at reproducible-builds.org, by which a malformed value should be an error.
    """
    epoch = os.environ.get(VARIABLE, "")
    if not epoch:
        return datetime.now(UTC)
    if not (epoch.isascii() and epoch.isdecimal() and len(epoch) <= len(str(_LATEST)) and int(epoch) <= _LATEST):
        rule = f"must be whole seconds since 1970, from 0 to {_LATEST}"
        raise SettingsError(f"{VARIABLE}: {rule}, got {said(epoch)}. Correct it, or unset it.")
    return datetime.fromtimestamp(int(epoch), UTC)
