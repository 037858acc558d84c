"""Slices of the elements of one dimension, one each -> one UNPACK; slices of equal parts of it -> one SPLIT.

    x[..., 0], x[..., 1], x[..., 2]  ->  UNPACK(x, axis=-1)
    x[:, :4], x[:, 4:8], x[:, 8:]    ->  SPLIT(x, axis=1, num_splits=3)

Code that decodes boxes, coordinates or states writes such columns. No delegate takes the slices; UNPACK takes half of
their time, and a tensor of the file each instead of an op. It wants data that is not empty, hence known sizes. Gates of
recurrent layers, and queries, keys and values, are such parts; JAX has no other form of them. Integers of 32 and 64
bits are left, as these may be sizes, of which LiteRT knows slices ahead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder
from fuseconv.transforms.tfl.bubble_up_slices import slice_part

_KINDS = frozenset({"tfl.STRIDED_SLICE"})
_TYPES = frozenset({types.FLOAT32, types.INT8, types.UINT8, types.INT16})
_MOST_PARTS = 4  # that XNNPACK splits into; more slices run within the delegate, where a SPLIT would end it


class _Source(NamedTuple):
    """A value, the axis of which elements or parts are taken, into how many parts it comes apart, and whether these are
    single elements without that axis."""

    x: Value
    axis: int
    pieces: int
    single: bool

    def is_worth(self, taken: int) -> bool:
        """Return whether to make all parts at once where so many are taken: UNPACK takes half of the time of slices, a
        SPLIT as long as they."""
        return taken >= 2 and (taken > self.pieces / 2 if self.single else taken == self.pieces <= _MOST_PARTS)

    def parts(self, tfl: Builder) -> list[Value]:
        if self.single:
            return tfl.op("UNPACK", (self.x,), {"num": self.pieces, "axis": self.axis})
        return tfl.op("SPLIT", (np.array(self.axis, np.int32), self.x), {"num_splits": self.pieces})


@module_pass("unpack-slices", requires=(TFL_ONLY,), kinds=_KINDS)
def unpack_slices(module: Module) -> None:
    """Take parts of a dimension at once: x[:, 0], x[:, 1] -> UNPACK(x); x[:, :2], x[:, 2:] -> SPLIT(x).

    UNPACK requires data of known sizes."""
    for graph in module.graphs():
        slices = _slices(graph)
        places: dict[_Source, set[int]] = {}
        for source, place in slices.values():
            places.setdefault(source, set()).add(place)
        slices = {op: at for op, at in slices.items() if at[0].is_worth(len(places[at[0]]))}
        if slices:
            _unpack(graph, slices)


def _slices(graph: Graph) -> dict[Op, tuple[_Source, int]]:
    """Return the slices that take an element, or one of equal parts, of one dimension, what of, and its place there."""
    found: dict[Op, tuple[_Source, int]] = {}
    for op in graph.ops:
        x = op.operands[0] if op.kind in _KINDS else None
        part = slice_part(op) if x is not None and not x.is_const and x.dtype in _TYPES else None
        size = x.shape[part.axis] if part is not None else None  # type: ignore[union-attr, index]
        if x is None or x.shape is None or part is None or not isinstance(size, int):
            continue
        length = part.end - part.begin
        around = x.shape[: part.axis], x.shape[part.axis + 1 :]
        if op.result.shape == around[0] + around[1]:
            if x.is_static and 0 not in x.shape:
                found[op] = _Source(x, part.axis, size, single=True), part.begin
        elif op.result.shape == (*around[0], length, *around[1]) and size % length == part.begin % length == 0:
            found[op] = _Source(x, part.axis, size // length, single=False), part.begin // length
    return found


def _unpack(graph: Graph, slices: dict[Op, tuple[_Source, int]]) -> None:
    unpacked: dict[_Source, list[Value]] = {}
    names: dict[_Source, dict[str, None]] = {}
    for op, (source, _) in slices.items():
        names.setdefault(source, {}).update(dict.fromkeys(op.sources))

    def element(op: Op, out: list[Op]) -> list[Value] | None:
        if op not in slices:
            return None
        source, place = slices[op]
        if source not in unpacked:
            unpacked[source] = source.parts(Builder(out, op.name, tuple(names[source])))
        made = unpacked[source][place]
        made.quantization = op.result.quantization
        return [made]

    rewrite_ops(graph, _KINDS, element)
