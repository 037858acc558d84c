"""Which tiles of its operands a TFLite op needs to make the tiles of its result, in floats or in integers.

Besides what `slice_rules.py` tells, the channels of a linear op's result are parts of its weights, heads of attention
are parts of the channels, and what a CONCATENATION joins is cut already.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fuseconv.ir import types
from fuseconv.ir.dims import is_static
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.op_table import OpTable
from fuseconv.tfl.linear import LAYOUTS
from fuseconv.tfl.slice_rules import Needs, Part, needs
from fuseconv.tfl.traits import POOLS, activation_of


class Tiles(NamedTuple):
    """A cut of a value: along the dimension `axis`, at `bounds`, of which the first is 0 and the last its size."""

    axis: int
    bounds: tuple[int, ...]

    def parts(self) -> list[Part]:
        return [Part(self.axis, begin, end) for begin, end in itertools.pairwise(self.bounds)]


_RULES: OpTable[Callable[[Op, Part], Needs]] = OpTable()
_rule = _RULES.declare


def operand_tiles(op: Op, tiles: Tiles) -> list[Tiles | None] | None:
    """Return how the operands of an op are to be cut for tiles of its only result, None for those that each tile reads
    whole; None instead of a list if it cannot be made in tiles.

    Of a CONCATENATION along the same dimension each operand is in one tile, as it is."""
    if len(op.results) != 1 or not all(value is None or is_static(value.shape) for value in (*op.operands, op.result)):
        return None
    if joins_along(op, tiles.axis):
        plain = activation_of(op) == "NONE"
        plain &= all(value is not None and value.quantization == op.result.quantization for value in op.operands)
        return [None] * len(op.operands) if plain and set(tiles.bounds) <= set(joints(op)) else None
    rows = [_needs(op, part) for part in tiles.parts()]
    columns = [list(column) for column in zip(*rows)] if all(row is not None for row in rows) else None  # type: ignore[arg-type]
    if columns is None or not all(map(_follow, columns)):
        return None
    return [_cut(column) for column in columns]


def joins_along(op: Op, axis: int) -> bool:
    """Return whether an op is a CONCATENATION along this dimension."""
    return op.type == "CONCATENATION" and int(op.attrs.get("axis", 0)) % len(op.result.shape or ()) == axis


def joints(op: Op) -> tuple[int, ...]:
    """Return where the operands of a CONCATENATION begin and end in its result."""
    axis = int(op.attrs.get("axis", 0))
    sizes: list[int] = [value.shape[axis] for value in op.operands]  # type: ignore[index,misc,union-attr]
    return 0, *itertools.accumulate(sizes)


def _needs(op: Op, part: Part) -> Needs:
    found = needs(op, part)
    rule = _RULES.get(op.type)
    return rule(op, part) if found is None and rule is not None else found


def _follow(parts: Sequence[Part | None]) -> bool:
    """Return whether parts are of one dimension and follow on each other, or are all None."""
    return all(
        one is other is None or (one is not None and other is not None and one[::2] == (other.axis, other.begin))
        for one, other in itertools.pairwise(parts)
    )


def _cut(parts: Sequence[Part | None]) -> Tiles | None:
    known = [part for part in parts if part is not None]
    return Tiles(known[0].axis, (known[0].begin, *(part.end for part in known))) if known else None


@_rule("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
def _channels(op: Op, part: Part) -> Needs:
    """Cut the weights and the bias, both constants; of a depthwise convolution the data too. A convolution has no other
    groups."""
    layout = LAYOUTS[op.type]
    data, weights = op.operands[layout.data], op.operands[layout.weights]
    bias = op.operands[layout.bias] if layout.bias < len(op.operands) else None
    if data is None or not data.shape or not _is_plain(weights) or not (bias is None or _is_plain(bias)):
        return None
    if op.attrs.get("weights_format", "DEFAULT") != "DEFAULT" or part.axis != op.result.rank - 1:  # type: ignore[operator]
        return None
    sizes: Sequence[int] = weights.shape  # type: ignore[assignment,union-attr]
    wanted: list[Part | None] = [None] * len(op.operands)
    wanted[layout.weights] = part._replace(axis=layout.outputs)
    if bias is not None:
        wanted[layout.bias] = part._replace(axis=0)
    if op.type == "DEPTHWISE_CONV_2D":
        channels: int = data.shape[-1]  # type: ignore[assignment]
        wanted[layout.data] = _divided(part, sizes[layout.outputs] // channels)
        return wanted if wanted[layout.data] is not None else None
    grouped = op.type != "FULLY_CONNECTED" and sizes[layout.inputs] != data.shape[-1]
    return None if grouped else wanted


def _is_plain(value: Value | None) -> bool:
    """Return whether a value is a constant whose elements stand alone in memory, with a scale each or one for all."""
    if value is None or not value.is_const or value.dtype not in (types.FLOAT32, types.INT8, types.INT32, types.INT64):
        return False
    return value.quantization is None or value.quantization.blocks is None


@_rule(*POOLS, "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def _channel_by_channel(op: Op, part: Part) -> Needs:
    return [part, *[None] * (len(op.operands) - 1)] if part.axis == 3 else None


@_rule("BATCH_MATMUL")
def _products(op: Op, part: Part) -> Needs:
    """Cut both operands along a dimension that tells products apart."""
    x, y = op.operands
    same = x is not None and y is not None and (x.shape or ())[:-2] == (y.shape or ())[:-2]
    return [part, part] if same and part.axis < op.result.rank - 2 else None  # type: ignore[operator]


@_rule("RESHAPE")
def _heads(op: Op, part: Part) -> Needs:
    """Cut channels that are split in heads, or heads that are joined to channels: the last dimension of one shape is
    the last two of the other."""
    before, after = op.operands[0].shape or (), op.result.shape or ()  # type: ignore[union-attr]
    found = None
    if before[:-1] == after[:-2] and part.axis == len(after) - 2:
        size: int = after[-1]  # type: ignore[assignment]
        found = Part(part.axis, part.begin * size, part.end * size)
    elif before[:-2] == after[:-1] and part.axis == len(after) - 1:
        found = _divided(part, before[-1])  # type: ignore[arg-type]
    return None if found is None else [found, *[None] * (len(op.operands) - 1)]


def _divided(part: Part, size: int) -> Part | None:
    whole = size > 0 and part.begin % size == 0 and part.end % size == 0
    return Part(part.axis, part.begin // size, part.end // size) if whole else None
