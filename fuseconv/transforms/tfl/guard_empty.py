"""Keep ops from tensors that have no elements when data choose none: no box is kept, no element is true.

UNPACK refuses such a tensor, and REDUCE_MAX makes the least number of it, not minus infinity. Of empty tensors, XNNPACK
fails to size products of matrices and SOFTMAX, and it gives convolutions and pools shapes that make no sense.
TensorFlow 2.21's XNNPACK leaves a sum or mean of nothing as the memory was.

WHILE prepares its body for lists of no elements, too, into which DYNAMIC_UPDATE_SLICE cannot write one. Of n - 1 rows
there are none where n is 1, as it is when an interpreter allocates a file before a size is set.

Sizes that count chosen elements cost a row behind them, which is cut off the result. Other sizes that depend on data,
as those of sequences that a loop lets grow from one element on, are not worth two copies.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.dims import counts_choices, may_vanish, vanishes_at_ones
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.pass_manager import rewrite_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import RANK, TYPES

# That PAD and STRIDED_SLICE take.
_MOST_DIMENSIONS = min(RANK["PAD"], RANK["STRIDED_SLICE"])
_Rewrite = Callable[[Op, Builder], "list[Value] | None"]


def _unpack(op: Op, tfl: Builder) -> list[Value] | None:
    """Build SPLIT, and SQUEEZE of each part."""
    (x,), axis = op.operands, op.attrs.get("axis", 0)
    if x is None or x.shape is None or x.dtype not in TYPES["SPLIT"]:
        return None
    parts = tfl.op("SPLIT", (np.array(axis, np.int32), x), {"num_splits": len(op.results)})
    return [tfl.squeeze(part, squeeze_dims=[axis % len(x.shape)]) for part in parts]


def _reduction(op: Op, tfl: Builder) -> None:
    """Compute the axes, if one of them may have no elements, so that XNNPACK does not take the op."""
    x, axes = op.operands
    if x is None or axes is None or axes.data is None or x.dtype is not types.FLOAT32:
        return
    if any(may_vanish(x.shape[axis]) for axis in axes.data.reshape(-1)):  # type: ignore[index]
        count = tfl.ints([axes.data.size])
        (computed,) = tfl.typed_op("RESHAPE", [axes, count], [(types.INT32, (axes.data.size,))], {})
        op.set_operands([x, computed])


def _images(op: Op, tfl: Builder) -> list[Value] | None:
    """Append one image of zeros, and take its result away."""
    x, *others = op.operands
    if x is None or x.shape is None or not counts_choices(x.shape[0]):
        return None
    y = tfl.op(op.kind[4:], (_longer(tfl, x, {0}), *others), op.attrs)[0]
    return [_shorter(tfl, y, {0})]


def _transposed_convolution(op: Op, tfl: Builder) -> list[Value] | None:
    """Append one image of zeros, in the shape of the result too, and take its result away."""
    shape, w, x, *bias = op.operands
    if x is None or shape is None or x.shape is None or not counts_choices(x.shape[0]):
        return None
    longer = tfl.add(shape, np.array([1, 0, 0, 0], np.int32))
    y = tfl.op("TRANSPOSE_CONV", (longer, w, _longer(tfl, x, {0}), *bias), op.attrs)[0]
    return [_shorter(tfl, y, {0})]


def _matmul(op: Op, tfl: Builder) -> list[Value] | None:
    """Append zeros to rows and columns: they add nothing to the products, and the products of their own are cut off."""
    a, b = op.operands
    if a is None or b is None or a.shape is None or b.shape is None:
        return None
    grown = [{axis for axis in (-2, -1) if counts_choices(each.shape[axis])} for each in (a, b)]  # type: ignore[index]
    if not any(grown):
        return None
    left, right = (bool(op.attrs.get(name)) for name in ("adj_x", "adj_y"))
    rows, columns = (-1 if left else -2), (-2 if right else -1)
    cut = {at for at, axis, each in ((-2, rows, grown[0]), (-1, columns, grown[1])) if axis in each}
    y = tfl.op("BATCH_MATMUL", (_longer(tfl, a, grown[0]), _longer(tfl, b, grown[1])), op.attrs)[0]
    return [_shorter(tfl, y, cut)]


def _softmax(op: Op, tfl: Builder) -> list[Value] | None:
    """Append minus infinity to rows, which adds nothing to their sums, and take its result away."""
    (x,) = op.operands
    if x is None or not counts_choices(x.shape[-1]):  # type: ignore[index]
        return None
    (y,) = tfl.op("SOFTMAX", (_longer(tfl, x, {-1}, -np.inf),), op.attrs)
    return [_shorter(tfl, y, {-1})]


def _extreme(op: Op, tfl: Builder) -> None:
    """Append what is the largest, or least, only where there is nothing else."""
    x, axes = op.operands
    if x is None or axes is None or axes.data is None or x.dtype is not types.FLOAT32:
        return
    grown = {int(axis) for axis in axes.data.reshape(-1) if counts_choices(x.shape[axis])}  # type: ignore[index]
    if grown:
        op.set_operands([_longer(tfl, x, grown, -np.inf if op.kind == "tfl.REDUCE_MAX" else np.inf), axes])


def _loop(op: Op, tfl: Builder, module: Module) -> list[Value] | None:
    """Append a row to lists that the body only writes, and take it away behind the loop."""
    cond, body = (module.functions[op.attrs[f"{name}_subgraph_index"].name] for name in ("cond", "body"))
    writes = {i: found for i, x in enumerate(op.operands) if (found := _only_write(x, i, cond, body)) is not None}
    if not writes:
        return None
    operands, results = list(op.operands), [(result.dtype, result.shape) for result in op.results]
    for i, (write, x) in writes.items():
        operands[i] = longer = _longer(tfl, x, {0})
        for value in (cond.inputs[i], body.inputs[i], write.result):
            value.shape = longer.shape
        results[i] = (x.dtype, longer.shape)
    made = tfl.typed_op("WHILE", operands, results, op.attrs)
    for value, old in zip(made, op.results):
        value.quantization = old.quantization
    results_of = [_shorter(tfl, y, {0}) if i in writes else y for i, y in enumerate(made)]
    for value, old in zip(results_of, op.results):
        value.shape = old.shape
    return results_of


def _only_write(x: Value | None, index: int, cond: Graph, body: Graph) -> tuple[Op, Value] | None:
    """Return the op that writes to a list which a loop carries, and the list as it begins, if it may have no elements
    and nothing else uses it."""
    before, after = body.inputs[index], body.outputs[index]
    write = after.op
    if x is None or not x.shape or x.dtype not in TYPES["PAD"] or len(x.shape) > _MOST_DIMENSIONS:
        return None
    rows = x.shape[0]
    if not (counts_choices(rows) or vanishes_at_ones(rows)) or before.shape != x.shape or after.shape != x.shape:
        return None
    if write is None or write.kind != "tfl.DYNAMIC_UPDATE_SLICE" or write.operands[0] is not before:
        return None
    alone = not cond.inputs[index].uses and sum(before.uses.values()) == sum(after.uses.values()) == 1
    return (write, x) if alone else None


def _longer(tfl: Builder, x: Value, axes: set[int], more: float = 0.0) -> Value:
    """Return x with one element more in some dimensions."""
    assert x.shape is not None
    counts = [int(axis in axes or axis - len(x.shape) in axes) for axis in range(len(x.shape))]
    paddings = np.array([[0, count] for count in counts], np.int32)
    if not any(counts):
        return x
    longer: Value = tfl.padv2(x, paddings, np.array(more, np.float32)) if more else tfl.pad(x, paddings)
    longer.quantization = x.quantization
    return longer


def _shorter(tfl: Builder, x: Value, axes: set[int]) -> Value:
    """Return x without the last element of some dimensions."""
    assert x.shape is not None
    kept = [axis not in axes and axis - len(x.shape) not in axes for axis in range(len(x.shape))]
    if all(kept):
        return x
    mask = sum(1 << axis for axis, whole in enumerate(kept) if whole)
    zeros, ones = [0] * len(kept), [1] * len(kept)
    ends = [-1 * (not whole) for whole in kept]
    shorter: Value = tfl.strided_slice(x, zeros, ends, ones, begin_mask=mask, end_mask=mask)
    shorter.quantization = x.quantization
    return shorter


_REWRITES: dict[str, _Rewrite] = {
    "tfl.UNPACK": _unpack, "tfl.SUM": _reduction, "tfl.MEAN": _reduction, "tfl.CONV_2D": _images,
    "tfl.DEPTHWISE_CONV_2D": _images, "tfl.MAX_POOL_2D": _images, "tfl.AVERAGE_POOL_2D": _images,
    "tfl.SPACE_TO_DEPTH": _images, "tfl.DEPTH_TO_SPACE": _images, "tfl.TRANSPOSE_CONV": _transposed_convolution,
    "tfl.BATCH_MATMUL": _matmul, "tfl.SOFTMAX": _softmax, "tfl.REDUCE_MAX": _extreme, "tfl.REDUCE_MIN": _extreme,
}  # fmt: skip
_LOOP = "tfl.WHILE"


@rewrite_pass("guard-empty", {*_REWRITES, _LOOP}, requires=(TFL_ONLY,))
def guard_empty(op: Op, out: list[Op], module: Module) -> list[Value] | None:
    """Give ops elements where data may choose none: CONV_2D(x, w) -> CONV_2D(PAD(x), w)[:-1].

    UNPACK(x) becomes SPLIT(x), and SUM(x, axes) SUM(x, RESHAPE(axes)), which XNNPACK leaves alone."""
    if op.kind == _LOOP:
        return _loop(op, Builder(out, op.name, op.sources), module)
    shapes = [value.shape for value in op.operands if value is not None and value.shape is not None]
    if not any(may_vanish(dim) for shape in shapes for dim in shape):
        return None
    if max(map(len, shapes)) > _MOST_DIMENSIONS or any(value and value.quantization for value in op.operands):
        return None
    made = _REWRITES[op.kind](op, Builder(out, op.name, op.sources))
    for value, old in zip(made or (), op.results):
        value.shape = old.shape
    return made
