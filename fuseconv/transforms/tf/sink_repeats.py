"""Sink what repeats elements within a dimension below what computes element by element, as group norms need it.

Flax repeats the mean and the variance of each group of channels, so that data of all channels can be normalized. The
data is there in groups too, of which its mean was taken, and TFLite's kernels broadcast along a group by themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fuseconv.ir.dims import Shape, open_sizes
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, detach
from fuseconv.ir.rewriter import has_kind, rewrite_ops
from fuseconv.ir.terms import look_through, operand_of
from fuseconv.pass_manager import module_pass
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import added_units
from fuseconv.tf.shape_functions.elementwise import BINARY, UNARY
from fuseconv.tf.traits import RESHAPES

_ELEMENTWISE = frozenset(f"tf.{name}" for name in (*UNARY, *BINARY))
# More dimensions broadcast slowly, or not at all.
_MOST_DIMENSIONS = 5


class _Groups(NamedTuple):
    """How a dimension is split: its place, from the end, and the number and size of its groups."""

    place: int
    number: int
    size: int

    def split(self, shape: Shape, size: int) -> Shape:
        """Return a shape with groups of this size instead of the dimension."""
        axis = len(shape) + self.place
        return (*shape[:axis], self.number, size, *shape[axis + 1 :])


class _Core(NamedTuple):
    """What a value is in groups, but for a reshape; of groups of size 1, each element is repeated."""

    value: Value
    shape: Shape
    groups: _Groups

    @property
    def repeats(self) -> bool:
        return self.shape[self.groups.place] == 1


@module_pass("sink-repeats")
def sink_repeats(module: Module) -> bool:
    """Compute in groups what repeats: Sub(x, Reshape(BroadcastTo(mean))) -> Reshape(Sub(Reshape(x), mean)).

    Requires inferred shapes; dead ops stay. Returns whether anything changed."""
    changed = [_Sinking().run(graph) for graph in module.graphs() if has_kind(graph, ["tf.BroadcastTo"])]
    return any(changed)


class _Sinking:
    """One walk through a graph. cores: of values whose groups repeat, what they are in groups."""

    def __init__(self) -> None:
        self.cores: dict[Value, _Core] = {}
        # The reshapes of values that came so far.
        self.reshapes: dict[Value, list[Value]] = {}

    def run(self, graph: Graph) -> bool:
        return rewrite_ops(graph, _ELEMENTWISE | RESHAPES, self.rewrite)

    def rewrite(self, op: Op, out: list[Op]) -> list[Value] | None:
        if op.kind in RESHAPES:
            self.see(op)
            return None
        if self.cores.keys().isdisjoint(op.operands):
            return None
        count = len(out)
        core = self.elementwise(op, TfBuilder(out, op))
        if core is None:
            for unused in out[count:]:
                detach(unused)
            del out[count:]
            return None
        assert op.result.shape is not None
        made = _restored(core, op.result.shape, TfBuilder(out, op))
        self.cores[made] = core
        return [made]

    def see(self, op: Op) -> None:
        """Note a reshape, whose result may be a value in groups, or one with more dimensions of size 1."""
        x, shape = op.operands[0], op.result.shape
        if x is None or x.shape is None or shape is None:
            return
        self.reshapes.setdefault(x, []).append(op.result)
        core, before = (self.cores[x], x.shape) if x in self.cores else _repeated(x)
        if core is not None:
            core = _with_units(core, before, shape)
        if core is not None:
            self.cores[op.result] = core

    def elementwise(self, op: Op, tf: TfBuilder) -> _Core | None:
        shape = op.result.shape
        cores = [self.cores[value] for value in op.operands if value in self.cores]
        groups = cores[0].groups
        if shape is None or any(core.groups != groups for core in cores) or len(shape) >= _MOST_DIMENSIONS:
            return None
        if len(shape) < -groups.place or shape[groups.place] != groups.number * groups.size:
            return None
        if sum(not isinstance(size, int) for size in shape) > 1 or 0 in shape:
            return None  # no constant tells a reshape of such sizes
        # One value in groups, of which none repeats an element, gains nothing from them.
        if len(cores) == 1 and not cores[0].repeats:
            return None
        operands = [self.grouped(value, groups, tf) for value in op.operands]
        made = [value for value in operands if value is not None]
        if len(made) != len(operands):
            return None
        wide = any(_is_wide(value, groups) for value in made)
        result = groups.split(shape, groups.size if wide else 1)
        return _Core(tf.add(op.type, made, dict(op.attrs), op.result.dtype, result), result, groups)

    def grouped(self, value: Value | None, groups: _Groups, tf: TfBuilder) -> Value | None:
        """Return an operand in groups; None if it is not there in groups yet."""
        if value in self.cores:
            core = self.cores[value]
            return _reshaped(core.value, core.shape, tf)
        if value is None or value.shape is None:
            return None
        if len(value.shape) < -groups.place:
            return value
        size = value.shape[groups.place]
        if size == 1:
            axis = len(value.shape) + groups.place
            return _reshaped(value, (*value.shape[:axis], 1, *value.shape[axis:]), tf)
        shape = groups.split(value.shape, groups.size)
        if value.is_const:
            return _reshaped(value, shape, tf)
        return next((made for made in self.reshapes.get(value, ()) if made.shape == shape), None)


def _repeated(x: Value) -> tuple[_Core | None, Shape]:
    """Return what a reshape repeats within a dimension, and the shape that it then has at least: of the reshape of
    BroadcastTo(x: [n,4,1], [n,4,2]), x and [n,8]."""
    source = operand_of(x, "tf.BroadcastTo")
    if source is None or source.shape is None or x.shape is None or len(source.shape) != len(x.shape):
        return None, ()
    wider = [axis for axis, (small, large) in enumerate(zip(source.shape, x.shape)) if small != large]
    if len(wider) != 1 or not wider[0]:
        return None, ()
    axis = wider[0]
    count, size = x.shape[axis - 1 : axis + 1]
    if not isinstance(count, int) or not isinstance(size, int) or not count or source.shape[axis] != 1:
        return None, ()
    merged = (*x.shape[: axis - 1], count * size, *x.shape[axis + 1 :])
    return _Core(source, source.shape, _Groups(axis - 1 - len(merged), count, size)), merged


def _with_units(core: _Core, before: Shape, after: Shape) -> _Core | None:
    """Return the core of a value that gets dimensions of size 1; None if its reshape does anything else."""
    units = added_units(before, after)
    groups = core.groups
    if units is None:
        return None
    kept = [axis - len(after) for axis in range(len(after)) if axis not in units]
    moved = groups._replace(place=kept[groups.place])
    return _Core(core.value, moved.split(after, 1 if core.repeats else groups.size), moved)


def _is_wide(value: Value, groups: _Groups) -> bool:
    shape = value.shape
    return shape is not None and len(shape) >= -groups.place and shape[groups.place] != 1


def _restored(core: _Core, shape: Shape, tf: TfBuilder) -> Value:
    """Return a value in groups as it is without them."""
    value, groups = core.value, core.groups
    if core.repeats:
        times = [1] * len(core.shape)
        times[groups.place] = groups.size
        value = tf.add("Tile", [value, tf.ints(times)], {}, value.dtype, groups.split(shape, groups.size))
    made = _reshaped(value, shape, tf)
    assert made is not None  # `elementwise` has seen to it
    return made


def _reshaped(value: Value, shape: Shape, tf: TfBuilder) -> Value | None:
    """Return a value in another shape; None if two of its sizes are known only to a run."""
    sizes = open_sizes(shape)
    if value.data is not None:
        return constant(np.reshape(value.data, sizes), value.dtype, value.name)
    if value.shape == shape:
        return value
    if sizes.count(-1) > 1 or 0 in sizes:
        return None
    value = look_through(value, RESHAPES)
    return tf.add("Reshape", [value, tf.ints(sizes)], {}, value.dtype, shape)
