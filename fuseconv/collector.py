"""Python's collector of garbage, which costs more than it finds where many objects are made to stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector until the end. In a graph of small objects that refer to each other, and among modules that
    are being imported, its search for garbage takes up to a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
