"""Keeps libraries from setting up the logging of whoever imports them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quietly(*names: str) -> Iterator[None]:
    """Import inside: the root logger stays as it was, and the loggers of these names say warnings only."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
        for name in names:
            logging.getLogger(name).setLevel(logging.WARNING)
