"""The types of functions and regions: what they are called with, take, return and join.

As in `op_shapes.py`, a function returns the shapes of the results of an op.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.ir import types
from fuseconv.load.stablehlo.attributes import FunctionType, TensorType
from fuseconv.load.stablehlo.bytecode import Operation, Region
from fuseconv.load.stablehlo.op_shapes import (
    SCALAR,
    Shapes,
    agree,
    alike,
    as_operands,
    fits,
    indices_batch,
    placed,
    refuse_outside,
    shapes_of,
    types_of,
    window_count,
)
from fuseconv.load.stablehlo.ops.custom_calls import OF_OPERAND
from fuseconv.load.stablehlo.ops.folds import Windows
from fuseconv.load.stablehlo.ops.scatter import scatter_numbers
from fuseconv.load.stablehlo.scope import axes, number, text


def refuse_calls(name: str, function: Operation) -> None:
    """Raise DamagedError if a function takes or returns other types than it says."""
    said, region = function.attribute("function_type"), function.regions[0]
    if not isinstance(said, FunctionType) or not region.ops:
        return
    for what, kinds, vars in (("takes", said.inputs, region.arguments), ("returns", said.outputs, region.returned)):
        agree(alike(kinds, types_of(vars)), "the function {} {} other types than it says", name, what)


@shapes_of()
def call(op: Operation, *operands: TensorType) -> Shapes:
    _call(op, "callee")
    return None


@shapes_of()
def composite(op: Operation, *operands: TensorType) -> Shapes:
    _call(op, "decomposition")
    return None


@shapes_of()
def custom_call(op: Operation, *operands: TensorType) -> Shapes:
    place = OF_OPERAND.get(text(op.attribute("call_target_name")), len(operands))
    plain = place >= len(operands) or alike(operands[place : place + 1], types_of(op.results[:1]))
    agree(plain, "its result is of another type than its operand")
    return None


def _call(op: Operation, attribute: str) -> None:
    function = op.module.functions.get(text(op.attribute(attribute)))
    said = function.attribute("function_type") if function is not None else None
    if isinstance(said, FunctionType):
        plain = alike(said.inputs, types_of(op.operands)) and alike(said.outputs, types_of(op.results))
        agree(plain, "it calls a function of other types")


@shapes_of("if", "case")
def branches(op: Operation, index: TensorType) -> Shapes:
    for region in op.regions:
        _region(region, [], types_of(op.results))
    return None


@shapes_of("while")
def loop(op: Operation, *carried: TensorType) -> Shapes:
    agree(len(op.regions) == 2, "it has {} regions", len(op.regions))
    _region(op.regions[0], carried, [TensorType(types.BOOL, SCALAR)])
    _region(op.regions[1], carried, carried)
    return as_operands(op, carried)


@shapes_of("map")
def mapped(op: Operation, *operands: TensorType) -> Shapes:
    _joins(op.regions, operands, types_of(op.results))
    return None


@shapes_of()
def sort(op: Operation, *operands: TensorType) -> Shapes:
    agree(operands, "it has no operands")
    number(op.attribute("dimension"), operands[0].rank)
    pairs = [kind for kind in operands for _ in range(2)]
    _joins(op.regions, pairs, [TensorType(types.BOOL, SCALAR)])
    return as_operands(op, operands)


@shapes_of()
def reduce(op: Operation, *operands: TensorType) -> Shapes:
    xs, starts = _halves(op, operands)
    dims = axes(op.attribute("dimensions"), xs[0].rank)
    _joins(op.regions, [*starts, *starts], starts)
    return [tuple(size for axis, size in enumerate(x.shape) if axis not in dims) for x in xs]


@shapes_of()
def reduce_window(op: Operation, *operands: TensorType) -> Shapes:
    xs, starts = _halves(op, operands)
    windows = Windows.of(op, xs[0].rank)
    _joins(op.regions, [*starts, *starts], starts)
    return [tuple(map(window_count, x.shape, windows.sizes, windows.ends, *windows[1:4])) for x in xs]


def _halves(op: Operation, operands: Sequence[TensorType]) -> tuple[Sequence[TensorType], Sequence[TensorType]]:
    """Return what is reduced, and what each reduction starts with; results are of the same types."""
    count = len(operands) // 2
    agree(count and len(operands) % 2 == 0, "it has {} operands", len(operands))
    xs, starts = operands[:count], operands[count:]
    agree(all(fits(x.shape, xs[0].shape) for x in xs), "its operands are of different shapes")
    agree(all(x.dtype is start.dtype and not start.rank for x, start in zip(xs, starts)), "it starts with other types")
    as_operands(op, xs)
    return xs, starts


@shapes_of()
def scatter(op: Operation, *operands: TensorType) -> Shapes:
    count = len(operands) // 2
    agree(len(operands) % 2 and count, "it has {} operands", len(operands))
    xs, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    agree(indices.dtype.is_integer, "its indices are {}", indices)
    for x, update in zip(xs, updates):
        numbers = scatter_numbers(op, x, indices)
        agree(all(place < update.rank for place in numbers.window), "its windows are of another rank")
        window = [update.shape[place] for place in numbers.window]
        refuse_outside(window, [x.shape[axis] for axis in numbers.kept(x.rank)])
        shape = placed(numbers, indices_batch(numbers, x, indices), window)
        agree(fits(shape, update.shape), "{} is no update", update)
        agree(x.dtype is update.dtype, "its updates are of another type")
    _joins(op.regions, [*xs, *updates], xs)
    return as_operands(op, xs)


@shapes_of()
def select_and_scatter(op: Operation, x: TensorType, source: TensorType, start: TensorType) -> Shapes:
    agree(len(op.regions) == 2, "it has {} regions", len(op.regions))
    scalar = TensorType(x.dtype, SCALAR)
    _region(op.regions[0], [scalar, scalar], [TensorType(types.BOOL, SCALAR)])
    _region(op.regions[1], [scalar, scalar], [scalar])
    return [x.shape]


def _joins(regions: Sequence[Region], takes: Sequence[TensorType], makes: Sequence[TensorType]) -> None:
    """Hold the one region of an op to scalars of the types of these tensors."""
    agree(len(regions) == 1, "it has {} regions", len(regions))
    _region(regions[0], *([TensorType(kind.dtype, SCALAR) for kind in kinds] for kinds in (takes, makes)))


def _region(region: Region, takes: Sequence[TensorType], makes: Sequence[TensorType]) -> None:
    agree(region.ops and region.ops[-1].name == "return", "a region does not end with a return")
    plain = alike(takes, types_of(region.arguments)) and alike(makes, types_of(region.returned))
    agree(plain, "a region takes or makes other types")
