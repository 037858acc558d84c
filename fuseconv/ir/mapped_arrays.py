"""The memory that arrays take up which are views of a mapped file."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

# Less is not worth a system call.
_LARGE_BYTES = 1 << 20


def drop_pages(array: np.ndarray) -> None:
    """Give back the memory that the file behind a large array takes up, to be called when the array has been read.

    What was read of a mapped file counts as the process's memory until it ends. The array stays as it is: whatever is
    read again comes from the system's cache of the file. Does nothing for an array that is no view of such a file."""
    if array.nbytes < _LARGE_BYTES:
        return
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, memoryview):
        owner = owner.obj
    mapped = isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED")
    # A mapping that may be written to could hold what no file does.
    if mapped and memoryview(owner).readonly:
        owner.madvise(mmap.MADV_DONTNEED)
