"""What the bytes of a model justify: how large its constants may become, and how many operations and results it has.

A few bytes can claim anything: a constant that repeats its last value, a Fill, functions that each call the next one
twice. The limits here hold for a whole conversion, whatever its many parts are, and do not hang on time or on the
machine, so that the same model is refused everywhere or nowhere.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path

import numpy as np

from fuseconv.errors import InputError

# Constants may take so many bytes whatever the model's size is, and so many for each byte of the model. Folding and
# lowering make a few others of each weight: the 616 models of testdata and of the operators' cases spend 27 kB at most,
# MobileNetV2, UNet and BERT 1 to 1.4 bytes for each of their own.
_LEAST_BYTES = 256 << 20
_GROWTH = 16
# A string is an object of Python's, which is looked at one by one.
_STRING_BYTES = 256
# The work of folding, in bytes that are read, made or multiplied: some seconds.
_LEAST_WORK = 4 << 30
_WORK_GROWTH = 64
# A node with one result takes 40 bytes or more in a model. What calls add when they are written out counts as well.
_LEAST_OPERATIONS = 1 << 15
_BYTES_PER_OPERATION = 16
# A node may have results that nothing reads, and that take no byte.
_LEAST_RESULTS = 1 << 14
_BYTES_PER_RESULT = 16
# Outside of a conversion: what one node may claim, and one array. Protobuf's messages stop at this size.
_MOST_RESULTS = 1 << 20
_MOST_BYTES = 1 << 31

OPTION = "--max-constant-bytes"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Exhausted(Exception):
    """What was to be computed takes more than the conversion may spend on it."""


class Budget:
    """The limits of one conversion, and what is spent of them.

    measure: returns the size of the model on disk, which is asked for once a model takes more than any may.
    constant_bytes: what all constants that the conversion loads or makes may take together. By default it is 256 MB, or
    16 bytes for each byte of the model where that is more. least: what they may take whatever its size."""

    def __init__(self, measure: Callable[[], int], constant_bytes: int | None = None) -> None:
        self._measure = measure
        self._constant_bytes = constant_bytes
        self.least = _LEAST_BYTES if constant_bytes is None else constant_bytes
        self.spent = 0
        self.worked = 0

    @cached_property
    def model_bytes(self) -> int:
        return self._measure()

    @cached_property
    def limit(self) -> int:
        given = self._constant_bytes
        return max(_LEAST_BYTES, _GROWTH * self.model_bytes) if given is None else given

    @cached_property
    def operations(self) -> int:
        return max(_LEAST_OPERATIONS, self.model_bytes // _BYTES_PER_OPERATION)

    @cached_property
    def results(self) -> int:
        return max(_LEAST_RESULTS, self.model_bytes // _BYTES_PER_RESULT)

    @cached_property
    def work(self) -> int:
        return max(_LEAST_WORK, _WORK_GROWTH * self.model_bytes, 16 * (self._constant_bytes or 0))

    def has_room(self, size: float) -> bool:
        """Return whether further constants may take so many bytes."""
        return size <= self.least - self.spent or size <= self.limit - self.spent


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def limited(budget: Budget) -> Iterator[None]:
    """Hold what runs inside to a budget; outside of all of them, only what one node claims is limited."""
    token = _current.set(budget)
    try:
        yield
    finally:
        _current.reset(token)


def charge(array: np.ndarray, name: str) -> None:
    """Count the array of a constant. Raises InputError, which names it, if there is no room for it."""
    budget = _current.get()
    if budget is None:
        return
    size = array.nbytes
    if array.dtype.hasobject:
        size = _STRING_BYTES * array.size
        _require(budget, size, name)
        size += sum(map(len, array.flat)) if array.size and isinstance(array.flat[0], bytes) else 0
    if size > budget.least - budget.spent:
        _require(budget, size, name)
    budget.spent += size


def require_room(count: float, itemsize: int, name: str) -> None:
    """Refuse an array of so many elements that is about to be made, before it is, if there is no room for it.

    name: of the constant or the node that it is for. Raises InputError."""
    _require(_current.get() or Budget(lambda: 0, _MOST_BYTES), count * itemsize, name)


def require_elements(dims: tuple[int, ...], dtype: np.dtype, name: str) -> None:
    """Do as `require_room`, for an array of this shape and type."""
    require_room(math.prod(dims), _STRING_BYTES if dtype.hasobject else dtype.itemsize, name)


def spend_work(work: float) -> None:
    """Count work that may as well be left to the runtime. Raises Exhausted, and counts nothing, if too much was done.
    """
    budget = _current.get()
    if budget is not None:
        worked = budget.worked + work
        if worked > _LEAST_WORK and worked > budget.work:
            raise Exhausted
        budget.worked += int(work)


def has_room(size: int) -> bool:
    """Return whether constants of so many bytes may be made."""
    budget = _current.get()
    return budget is None or budget.has_room(size)


def most_operations(otherwise: int) -> int:
    """Return how many operations a model may have when its calls are written out; no more than `otherwise`."""
    budget = _current.get()
    return otherwise if budget is None else min(otherwise, budget.operations)


def allows_operations(count: int, otherwise: int) -> bool:
    """Return whether a model may have so many operations when its calls are written out; `otherwise` is the most."""
    return count <= _LEAST_OPERATIONS <= otherwise or count <= most_operations(otherwise)


def spend_results(count: int, node: str) -> None:
    """Count the results of a node. Raises InputError if the model has more than its bytes justify."""
    budget = _current.get()
    if budget is None or count > budget.results:
        require_results(count, node)
    else:
        budget.results -= count


def require_results(count: int, node: str) -> None:
    """Do as `spend_results`, for results that are not counted yet."""
    budget = _current.get()
    if count > (_MOST_RESULTS if budget is None else budget.results):
        raise InputError(
            f"the node '{node}' claims {count} results, which makes more in all than a model of its size has: "
            "the model file is damaged."
        )


def _require(budget: Budget, size: float, name: str) -> None:
    if not budget.has_room(size):
        raise InputError(
            f"'{name or 'a constant'}' would take {_told(size)}, and the constants of the model more than "
            f"{_told(budget.limit)} in all, which is much for its size; if it is right, allow them with {OPTION} "
            f"{_option(size + budget.spent)}"
        )


def _told(size: float) -> str:
    """Write a number of bytes as text: 1536 -> "1.5 kB", in units of 1024 as the option takes them."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} TB"


def _option(size: float) -> str:
    """Return a value of the option that suffices for what is known to be needed, twice as much for what follows."""
    gigabytes = math.ceil(size / (1 << 29))
    return f"{gigabytes}G"


def parse_size(text: str | int) -> int:
    """Parse a size in bytes: "64M" or "2GB" (units of 1024), or a number. Raises InputError."""
    if isinstance(text, int) and not isinstance(text, bool) and text > 0:
        return text
    found = re.fullmatch(r"([1-9][0-9]{0,14})\s*([KMGT]?)(?:i?B)?", str(text).strip(), re.IGNORECASE)
    if found is None:
        raise InputError(f"{OPTION} takes a number of bytes, such as 500M or 2G, not {text!r}")
    return int(found[1]) * _UNITS[found[2].upper()]


def size_on_disk(model: Path, follow_links: bool = False) -> int:
    """Return the bytes of a model: of the file, or of the files in a SavedModel's folder and the folders in it.

    Links below the folder count only if `follow_links`: what they lead to may not be the model's."""
    try:
        return sum(_sizes(os.fspath(model), follow_links, ("variables", "assets")))
    except NotADirectoryError:
        return os.stat(model).st_size
    except OSError:
        return 0  # whoever reads it says what is wrong


def _sizes(folder: str, follow_links: bool, inner: Collection[str] = ()) -> Iterator[int]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in inner and entry.is_dir(follow_symlinks=follow_links):
                yield from _sizes(entry.path, follow_links)
            elif entry.is_file(follow_symlinks=follow_links):
                yield entry.stat(follow_symlinks=follow_links).st_size
