"""Random sizes and arrays on which the body of a composite is compared with its fused op."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from fuseconv.errors import module_error
from fuseconv.fuse.match import Fusion, Match
from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Graph, Value
from fuseconv.tf.side_effects import references
from fuseconv.tfl.opdef import TABLE

# What these make of a tensor does not hang on its numbers.
_SHAPES = frozenset({"SHAPE", "RANK"})
# Sizes of other operands that are larger than this are no batches or times that an unknown one is likely to equal.
_LARGEST_SIZE = 64


def sizes(operands: Iterable[Value | None]) -> list[dict[str, int]]:
    """Return small values for the unknown sizes of operands, in the order in which to try them.

    As far as anybody knows, each input has a batch of its own. So a size goes by the axis where it first stands: sizes
    that must be equal mostly are, and axes that are mixed up show. Failing that, all are the same, and then all are
    what another size is that they may have to equal."""
    unknown: dict[str, int] = {}
    known: set[int] = set()
    for value in operands:
        for axis, dim in enumerate(value.shape or () if value is not None else ()):
            if isinstance(dim, Sym):
                for name in sorted(dim.symbols()):
                    unknown.setdefault(name, 3 + axis)
            elif dim <= _LARGEST_SIZE:
                known.add(dim)
    tries = [unknown]
    for size in (3, *sorted(known)) if unknown else ():
        same = dict.fromkeys(unknown, size)
        if same not in tries:
            tries.append(same)
    return tries


def draw_special(fusion: Fusion, rng: np.random.Generator, match: Match) -> dict[Value, np.ndarray]:
    """Draw the operands that the fusion itself has a function for, and return these arrays by operand."""
    if fusion.draw is None:
        return {}
    given: dict[Value, np.ndarray] = {}
    try:
        for name, array in fusion.draw(rng, match).items():
            value = getattr(match, name)
            given[value] = np.asarray(array, value.dtype.numpy)
            if given[value].shape != value.shape:
                raise ValueError(f"{name} is of the shape {list(value.shape)}, not {list(given[value].shape)}")
    except Exception as error:
        # A converter module is anybody's code and may raise anything.
        raise module_error(f"the fusion {fusion.name}", fusion.draw, error) from error
    return given


def index_operands(graph: Graph) -> set[Value]:
    """Return the operands that may hold indices or sizes: by the op table, all operands of unknown ops and of ops that
    run functions, and the values these are computed from."""
    found: set[Value] = set()
    pending: list[Value | None] = []
    for op in graph.ops:
        known = op.kind != "tfl.CUSTOM" and not references(op)
        pending += [v for n, v in enumerate(op.operands) if not known or n in TABLE[op.type].indices]
    while pending:
        value = pending.pop()
        if value is not None and value not in found:
            found.add(value)
            pending += value.op.operands if value.op is not None and value.op.type not in _SHAPES else []
    return found


def draw(rng: np.random.Generator, dtype: np.dtype, shape: Any, scale: float, data: bool) -> np.ndarray:
    """Draw a random array of a type and shape. data: its numbers are neither indices nor sizes."""
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "O":
        words = rng.integers(97, 123, (math.prod(shape), 3)).astype(np.uint8)
        return np.array([bytes(word) for word in words], object).reshape(shape)
    if dtype.kind in "iu":
        # Nobody knows how large that is in which whole numbers are places.
        info, most = np.iinfo(dtype), max(round(8 * scale), 1)
        low, high = (max(info.min, -most), min(info.max, most)) if data else (0, 1)
        return rng.integers(low, high, shape, endpoint=True).astype(dtype)
    real = rng.standard_normal(shape) * scale
    return (real + 1j * rng.standard_normal(shape) * scale if dtype.kind == "c" else real).astype(dtype)
