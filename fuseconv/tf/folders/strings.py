"""Folders of ops on strings, as arrays of bytes objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fuseconv.ir import budget
from fuseconv.ir.graph import Op
from fuseconv.tf.folders.registry import kernel, require

_ON_BYTES: dict[str, Callable[[bytes], bytes]] = {
    "StringLower": bytes.lower, "StringUpper": bytes.upper, "StringStrip": bytes.strip,
}  # fmt: skip


def _each(function: Callable[..., Any], *arrays: np.ndarray, dtype: Any = object) -> np.ndarray:
    """Return the function of the elements of arrays that broadcast."""
    made = np.empty(np.broadcast_shapes(*(x.shape for x in arrays)), dtype)
    made.reshape(-1)[:] = [function(*elements) for elements in np.broadcast(*arrays)]
    return made


def _words(*arrays: np.ndarray) -> None:
    """Decline unless the arrays hold strings."""
    require(all(isinstance(word, bytes) for x in arrays for word in x.flat))


@kernel("AsString")
def as_string(
    op: Op, x: np.ndarray, *, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1,
    fill: str = "",
) -> np.ndarray:  # fmt: skip
    made = x.size * max(width, precision, 0)
    if not budget.has_room(made):
        raise budget.Exhausted  # which TensorFlow's kernel has no room for either
    budget.spend_work(made)
    form = "%" + fill + (str(width) if width > -1 else "")
    if x.dtype.kind == "b":
        return _each(lambda value: b"true" if value else b"false", x)
    if x.dtype.kind in "iu":
        require(precision == -1 and not scientific and not shortest)
        return _each(lambda value: (form + "d").encode() % int(value), x)
    require(x.dtype.kind == "f" and x.dtype.itemsize >= 4 and np.isfinite(x).all() and not (scientific and shortest))
    form += (f".{precision}" if precision > -1 else "") + ("e" if scientific else "g" if shortest else "f")
    return _each(lambda value: form.encode() % float(value), x)


@kernel("StringJoin")
def string_join(op: Op, *inputs: np.ndarray, separator: str | bytes = "") -> np.ndarray:
    _words(*inputs)
    between = separator.encode() if isinstance(separator, str) else separator
    longest = sum(max(map(len, x.flat), default=0) + len(between) for x in inputs)
    budget.spend_work(longest * np.broadcast(*inputs).size if inputs else 0)
    return _each(lambda *words: between.join(words), *inputs)


@kernel(*_ON_BYTES)
def string_method(op: Op, x: np.ndarray) -> np.ndarray:
    _words(x)
    return _each(_ON_BYTES[op.type], x)


@kernel("StringLength")
def string_length(op: Op, x: np.ndarray) -> np.ndarray:
    _words(x)
    return _each(len, x, dtype=np.int32)
