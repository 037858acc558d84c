"""Sink broadcasts below what computes element by element: f(broadcast(x), y) -> f(x, y), which broadcasts by itself.

StableHLO's ops take operands of one shape, so that a module broadcasts each bias, scale and scalar first, and with a
batch that is not known it computes the shape for each. TFLite's kernels broadcast by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Shape, is_static, open_sizes
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, detach, replace_uses
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import added_units
from fuseconv.tf.shape_functions.elementwise import BINARY, UNARY
from fuseconv.tf.traits import RESHAPES

_BROADCAST = "tf.BroadcastTo"
# Larger constants are not looked through.
_MOST_ELEMENTS = 1 << 16
_UNARY = frozenset(f"tf.{name}" for name in UNARY)
_ELEMENTWISE = _UNARY | {f"tf.{name}" for name in (*BINARY, "SelectV2")}


@module_pass("sink-broadcasts")
def sink_broadcasts(module: Module) -> bool:
    """Let ops broadcast by themselves: AddV2(x, BroadcastTo(y)) -> AddV2(x, y).

    Where all operands are broadcast, the result is: f(BroadcastTo(x), 2) -> BroadcastTo(f(x, 2)). Requires inferred
    shapes; dead broadcasts stay. Returns whether anything changed."""
    changed = [_sink(graph) for graph in module.graphs()]
    return any(changed)


def _sink(graph: Graph) -> bool:
    changed = False
    ops: list[Op] = []
    for op in graph.ops:
        ops.append(op)
        if op.kind in _ELEMENTWISE:
            changed |= _bare(op, ops)
        elif op.kind in RESHAPES:
            changed |= _squeeze(op, ops)
        elif op.kind == _BROADCAST and _reach_through(op, ops):
            changed = True
        elif op.kind == _BROADCAST and op.operands[0].shape == op.result.shape:  # type: ignore[union-attr]
            changed |= bool(op.result.uses) and op.result.shape is not None
            if op.result.shape is not None:
                replace_uses(op.result, op.operands[0])  # type: ignore[arg-type]
    graph.ops = ops
    return changed


def _squeeze(op: Op, out: list[Op]) -> bool:
    """Broadcast without the dimensions of size 1 that a reshape drops again, as `jnp.tile` adds them:
    Reshape(BroadcastTo(x, [1, b, 4, 1]), [b, 4]) -> BroadcastTo(Reshape(x, [b, 1]), [b, 4])."""
    wide, shape = op_of(op.operands[0], _BROADCAST), op.result.shape
    x = None if wide is None else wide.operands[0]
    if wide is None or x is None or x.shape is None or shape is None or wide.result.shape is None:
        return False
    units = added_units(shape, wide.result.shape)
    sizes = [1] * (len(wide.result.shape) - len(x.shape)) + open_sizes(x.shape)
    if not units or sizes.count(-1) > 1 or 0 in sizes:
        return False
    target = constant(np.array(shape, np.int32), types.INT32) if is_static(shape) else None
    if target is None:
        # One with a -1 in it is no shape to broadcast to.
        target = op.operands[1] if op.kind == "tf.Reshape" else None
        if target is None or target.is_const:
            return False
    kept = [size for axis, size in enumerate(sizes) if axis not in units]
    known = [*([1] * (len(sizes) - len(x.shape))), *x.shape]
    out.pop()
    tf = TfBuilder(out, op)
    narrow = tf.add("Reshape", [x, tf.ints(kept)], {}, x.dtype, tuple(d for a, d in enumerate(known) if a not in units))
    replace_uses(op.result, tf.add("BroadcastTo", [narrow, target], {}, x.dtype, shape))
    detach(op)
    return True


def _reach_through(op: Op, out: list[Op]) -> bool:
    """Let a broadcast of a broadcast with more dimensions of size 1 read what that one reads:
    BroadcastTo(ExpandDims(BroadcastTo(x))) -> BroadcastTo(Reshape(x))."""
    reshape = op_of(op.operands[0], RESHAPES)
    inner = None if reshape is None else op_of(reshape.operands[0], _BROADCAST)
    if reshape is None or inner is None or inner.result.shape is None or reshape.result.shape is None:
        return False
    x = inner.operands[0]
    units = added_units(inner.result.shape, reshape.result.shape)
    if units is None or x is None or x.shape is None or not all(isinstance(size, int) for size in x.shape):
        return False
    sizes: list[int] = [1] * (len(inner.result.shape) - len(x.shape)) + list(x.shape)  # type: ignore[arg-type]
    for axis in sorted(units):
        sizes.insert(axis, 1)
    if x.data is not None:
        made = constant(x.data.reshape(sizes), x.dtype, x.name)
    else:
        out.pop()
        tf = TfBuilder(out, op)
        made = tf.add("Reshape", [x, tf.ints(sizes)], {}, x.dtype, tuple(sizes))
        out.append(op)
    op.set_operand(0, made)
    return True


def _bare(op: Op, out: list[Op]) -> bool:
    """Let an op read what its operands are broadcast of; append the broadcast of its result if it then needs one."""
    shape = op.result.shape
    sources = [_source(value) for value in op.operands]
    if shape is None or sources == op.operands:
        return False
    made = _joined([None if source is None else source.shape for source in sources], shape)
    broadcasts = [value.op for value in op.operands if value is not None and value.op is not None]
    wide = next((other for other in broadcasts if _is_told_shape(other) and other.result.shape == shape), None)
    if made is None or (made != shape and wide is None):
        return False
    op.set_operands(sources)
    if made != shape:
        assert wide is not None
        again = Op(_BROADCAST, (), {}, op.name, op.sources)
        replace_uses(op.result, again.add_result(op.result.dtype, shape))
        again.set_operands([op.result, wide.operands[1]])
        op.result.shape, op.result.content = made, None
        out.append(again)
    return True


def _source(value: Value | None) -> Value | None:
    """Return what a value is a broadcast of, or a scalar that was broadcast and reshaped; the value itself if it is
    none."""
    while value is not None and value.op is not None:
        source = value.op.operands[0] if _is_broadcast(value.op) else _spread_scalar(value.op)
        if source is None:
            break
        value = source
    return _shrunk(value) if value is not None and value.data is not None else value


def _is_broadcast(op: Op) -> bool:
    """Return whether an op broadcasts, as a Tile along dimensions of size 1 does. One that other readers need is made
    anyway, and kernels compute faster with it."""
    if _is_told_shape(op):
        return True
    if op.kind != "tf.Tile":
        return False
    small, wide = op.operands[0].shape, op.result.shape  # type: ignore[union-attr]
    if small is None or wide is None or not all(reader.kind in _ELEMENTWISE for reader in op.result.uses):
        return False
    return all(size == 1 or size == whole for size, whole in zip(small, wide))


def _is_told_shape(op: Op) -> bool:
    """Return whether an op broadcasts to a shape that its second operand holds, as a Tile of a single element does."""
    if op.kind != "tf.Tile":
        return op.kind == _BROADCAST
    shape = op.operands[0].shape  # type: ignore[union-attr]
    return shape is not None and all(size == 1 for size in shape)


def _spread_scalar(op: Op) -> Value | None:
    """Return x of Reshape(BroadcastTo(x)) if x is a scalar."""
    inner = op.operands[0].op if op.kind in RESHAPES and op.operands[0] is not None else None
    source = inner.operands[0] if inner is not None and inner.kind == _BROADCAST else None
    return source if source is not None and source.shape == () else None


def _shrunk(value: Value) -> Value:
    """Return a constant without the dimensions along which its elements repeat; itself if there is none."""
    data = value.data
    if data is None or not data.ndim or not 0 < data.size <= _MOST_ELEMENTS or data.dtype.hasobject:
        return value
    # As bits: 0.0 and -0.0 are two numbers here, and NaN is one.
    small = data.view(f"V{data.itemsize}")
    for axis, size in enumerate(data.shape):
        # Most that differ do so in the first two elements.
        first = small[(slice(None),) * axis + (slice(0, 1),)]
        second = small[(slice(None),) * axis + (slice(1, 2),)]
        if size < 2 or first.item(0) != second.item(0):
            continue
        if np.array_equal(small, np.broadcast_to(first, small.shape)):
            small = first
    while small.ndim and small.shape[0] == 1:
        small = small[0]
    return value if small.shape == data.shape else constant(small.copy().view(data.dtype), value.dtype, value.name)


def _joined(shapes: Sequence[Shape | None], whole: Shape) -> Shape | None:
    """Return the shape that shapes broadcast to, each of whose sizes is 1 or that of `whole`; None if they are not
    known to be such."""
    rank = max((len(shape) for shape in shapes if shape is not None), default=0)
    made: list = [1] * rank
    for shape in shapes:
        if shape is None or len(shape) > len(whole):
            return None
        for axis in range(-len(shape), 0):
            if shape[axis] == 1:
                continue
            if shape[axis] != whole[axis]:
                return None
            made[axis] = shape[axis]
    return tuple(made)
