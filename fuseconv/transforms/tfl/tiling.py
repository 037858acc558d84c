"""Compute the result of an op in tiles, each from the ops before it on: they are fused with it.

Tiles of the result are joined by CONCATENATION. Or the op is a linear one that computes with tiles of its input
channels, and its results are added up.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fuseconv.ir.graph import Op, Value, constant, copy_op
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import FUSED_ACTIVATIONS, Linear, linear
from fuseconv.tfl.slice_rules import Part
from fuseconv.tfl.tile_rules import Tiles, joins_along, joints, operand_tiles
from fuseconv.tfl.traits import activation_of

_MOST_FUSED = 64
# Where ops have the sizes of their results as an operand.
_SIZES = {"RESHAPE": 1, "TRANSPOSE_CONV": 0}


class Tiling(NamedTuple):
    """A way to compute the result of an op, `last`, in tiles, as many as `tiles` says.

    region: the ops that run once for each tile, in their order, and how the operands of each are cut. cuts: how their
    results are. It has none for the last one's if tiles are of its input channels, so that its results are added up."""

    last: Op
    tiles: int
    region: Mapping[Op, Sequence[Tiles | None]]
    cuts: Mapping[Value, Tiles]

    @property
    def sums(self) -> bool:
        return self.last.result not in self.cuts


def tiled_result(last: Op, tiles: Tiles, places: Mapping[Op, int]) -> Tiling | None:
    """Return how an op's result is computed in these tiles; None if it cannot be. places: of the ops of the graph."""
    grown = _Region(last, places)
    grown.ask(last.result, tiles)
    return grown.tiling(len(tiles.bounds) - 1)


def tiled_inputs(last: Op, bounds: tuple[int, ...], places: Mapping[Op, int]) -> Tiling | None:
    """Return how a linear op computes with tiles of its input channels; None if it cannot."""
    found = _contraction(last)
    if found is None or found.inputs != bounds[-1]:
        return None
    grown = _Region(last, places)
    row: list[Tiles | None] = [None] * len(last.operands)
    row[found.layout.data] = Tiles(found.data.rank - 1, bounds)  # type: ignore[operator]
    row[found.layout.weights] = Tiles(found.layout.inputs, bounds)
    grown.fuse(last, row)
    return grown.tiling(len(bounds) - 1)


def _contraction(op: Op) -> Linear | None:
    """Read an op as a linear one that adds up products of input channels; None if it is none."""
    found = linear(op)
    if found is None or op.type == "DEPTHWISE_CONV_2D" or found.activation not in ("NONE", *FUSED_ACTIVATIONS):
        return None
    return found if found.data.shape and found.inputs == found.data.shape[-1] else None


class _Region:
    """Ops that can be computed in tiles: an op is fused if all that read its result are, and read the same tiles."""

    def __init__(self, last: Op, places: Mapping[Op, int]) -> None:
        self.last, self.places = last, places
        self.region: dict[Op, Sequence[Tiles | None]] = {}
        self.cuts: dict[Value, Tiles] = {}
        self._asked: dict[Value, Tiles] = {}
        self._whole: set[Value] = set()
        self._queue: list[tuple[int, Op]] = []

    def ask(self, value: Value | None, tiles: Tiles | None) -> None:
        """Take down which tiles of a value are read, None if it is read whole."""
        op = None if value is None else value.op
        if value is None or op is None or op not in self.places or len(op.results) != 1:
            return
        if tiles is None or self._asked.setdefault(value, tiles) != tiles:
            self._whole.add(value)
        heapq.heappush(self._queue, (-self.places[op], op))

    def fuse(self, op: Op, row: Sequence[Tiles | None]) -> None:
        self.region[op] = row
        for value, tiles in zip(op.operands, row):
            self.ask(value, tiles)

    def tiling(self, count: int) -> Tiling | None:
        """Fuse all that can be fused."""
        # The last op first: all readers of a value are known before its own op is looked at.
        while self._queue and len(self.region) < _MOST_FUSED:
            _, op = heapq.heappop(self._queue)
            value = op.result
            if op in self.region or value in self._whole or not _is_plain(value):
                continue
            if op is self.last or all(reader in self.region for reader in value.uses):
                row = operand_tiles(op, self._asked[value])
                if row is not None:
                    self.cuts[value] = self._asked[value]
                    self.fuse(op, row)
        if self.last not in self.region:
            return None
        ordered = sorted(self.region, key=self.places.__getitem__)
        return Tiling(self.last, count, {op: self.region[op] for op in ordered}, self.cuts)


def _is_plain(value: Value) -> bool:
    """Return whether a value is no state, nor sizes that are known apart from the tensor, and has one scale or none."""
    scaled = value.quantization
    return value.content is None and not value.variable and (scaled is None or len(scaled.scale) == 1)


class Tiler:
    """Build the ops of tilings. Equal parts of a constant are one constant, which views the whole one's array."""

    def __init__(self) -> None:
        self._constants: dict[tuple[Value, Part], Value] = {}

    def build(self, plan: Tiling, out: list[Op]) -> Value:
        """Append the ops of a tiling; return what stands for the result."""
        last = plan.last
        tiles = []
        for index in range(plan.tiles):
            made: dict[Value, Value] = {}
            slices: dict[tuple[Value, Part], Value] = {}
            for op, row in plan.region.items():
                cut = plan.cuts.get(op.result)
                if cut is not None and joins_along(op, cut.axis):
                    made[op.result] = _group(op, cut.parts()[index], out)
                    continue
                operands = [
                    self._operand(value, wanted, index, made, slices, Builder(out, op.name, op.sources))
                    for value, wanted in zip(op.operands, row)
                ]
                made[op.result] = _built(op, operands, cut, index, out)
            tiles.append(made[last.result])
        tfl = Builder(out, last.name, last.sources)
        if not plan.sums:
            return _joined(tfl, tiles, plan.cuts[last.result].axis)
        for index in range(1, len(tiles)):
            activation = activation_of(last) if index == len(tiles) - 1 else "NONE"
            tiles[0] = tfl.add(tiles[0], tiles[index], fused_activation_function=activation)
        return tiles[0]

    def _operand(
        self, value: Value | None, tiles: Tiles | None, index: int, made: Mapping[Value, Value],
        slices: dict[tuple[Value, Part], Value], tfl: Builder,
    ) -> Value | None:  # fmt: skip
        if value is None or tiles is None:
            return value
        if value in made:
            return made[value]
        part = tiles.parts()[index]
        known = self._constants if value.is_const else slices
        if (value, part) not in known:
            known[value, part] = _view(value, part) if value.is_const else _sliced(tfl, value, part)
        return known[value, part]


def _group(op: Op, part: Part, out: list[Op]) -> Value:
    """Return those operands of a CONCATENATION that are in a part of its result, joined."""
    places = zip(op.operands, itertools.pairwise(joints(op)))
    group = [value for value, (begin, end) in places if part.begin <= begin and end <= part.end]
    return _joined(Builder(out, op.name, op.sources), group, part.axis)  # type: ignore[arg-type]


def _joined(tfl: Builder, tiles: Sequence[Value], axis: int) -> Value:
    """Return tiles side by side; all have one scale, if any."""
    if len(tiles) == 1:
        return tiles[0]
    made: Value = tfl.concatenation(*tiles, axis=axis)
    made.quantization = tiles[0].quantization
    return made


def _built(op: Op, operands: list[Value | None], cut: Tiles | None, index: int, out: list[Op]) -> Value:
    """Append an op like another on tiles of its operands. cut: how its result is cut; None of a part of a sum."""
    shape: tuple[int, ...] = op.result.shape  # type: ignore[assignment]
    if cut is not None:
        _, begin, end = cut.parts()[index]
        shape = (*shape[: cut.axis], end - begin, *shape[cut.axis + 1 :])
        if op.type in _SIZES:
            operands[_SIZES[op.type]] = Builder([]).ints(shape)
    found = linear(op) if cut is None and index else None
    if found is not None and found.bias is not None:
        # The first part has it. Kernels of convolutions take none that is left out.
        operands[found.layout.bias] = constant(np.zeros_like(found.bias))
    made = copy_op(op, operands)
    if cut is None:
        made.attrs.pop("fused_activation_function", None)
    out.append(made)
    made.add_result(op.result.dtype, shape).quantization = op.result.quantization
    return made.result


def _view(value: Value, part: Part) -> Value:
    """Return a part of a constant that shares its memory, and is not counted, as it is on trial."""
    assert value.data is not None
    data = value.data[(slice(None),) * part.axis + (slice(part.begin, part.end),)]
    made = Value(value.dtype, data.shape, value.name)
    made.data, made.quantization = data, value.quantization
    scaled = value.quantization
    if scaled is not None and scaled.axis == part.axis and len(scaled.scale) > 1:
        inside = slice(part.begin, part.end)
        made.quantization = replace(scaled, scale=scaled.scale[inside], zero_point=scaled.zero_point[inside])
    return made


def _sliced(tfl: Builder, value: Value, part: Part) -> Value:
    shape: tuple[int, ...] = value.shape  # type: ignore[assignment]
    begins, ends = [0] * len(shape), list(shape)
    begins[part.axis], ends[part.axis] = part.begin, part.end
    made: Value = tfl.strided_slice(value, begins, ends, [1] * len(shape))
    made.quantization = value.quantization
    return made
