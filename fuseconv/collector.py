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


@contextmanager
def importing() -> Iterator[None]:
    """Pause the collector while modules are imported, and call old what there is then: it is about to stay. Else the
    collector would search the new objects, 80,000 before a first conversion, as soon as it may."""
    with collector_paused():
        yield
        if not gc.get_freeze_count():  # what the caller has frozen stays so
            gc.freeze()
            gc.unfreeze()
