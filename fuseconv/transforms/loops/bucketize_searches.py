"""Bucketize loops that search constants: those of `jnp.searchsorted`, `jnp.digitize`, `jnp.interp`, `jnp.histogram`.

What such a loop makes of an element depends on how that compares with the constants, and on nothing else. So it is the
same for all numbers between two of them, and a run of the loop on these tells what it computes.
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Sym, product, substitute_dim
from fuseconv.ir.graph import Graph, Module, Op, Value, detach, replace_uses
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.folders.registry import Declined, require
from fuseconv.tf.interpreter import declining
from fuseconv.tf.operands import content_of
from fuseconv.tf.shape_functions.elementwise import BINARY, UNARY
from fuseconv.tf.traits import COMPARISONS, EQUALITIES, LOOPS, REPEATS, RESHAPES
from fuseconv.transforms.loops.fold_constant_loops import LoopRun
from fuseconv.transforms.loops.loop_info import LoopForm, for_each_loop

_RULE = "bucketize-searches"
_TESTS = COMPARISONS | EQUALITIES
_ELEMENTWISE = frozenset(f"tf.{kind}" for kind in (*UNARY, *BINARY, "Bitcast", "Identity", "SelectV2"))
# Ops whose result holds the number everywhere that an operand holds.
_SPREADS = RESHAPES | REPEATS | {"tf.Bitcast", "tf.Cast", "tf.Fill", "tf.Identity"}
_MOST_CONSTANTS = 1 << 12
# BUCKETIZE compares with float32, which holds whole numbers up to this one.
_END = 1 << 24


@module_pass(_RULE, kinds=LOOPS)
def bucketize_searches(module: Module, report: Report) -> bool:
    """Replace loops that search constants for each element of a tensor: While(halves of a range) -> Bucketize(x).

    Returns whether there was one."""
    found: list[Op] = []

    def visit(op: Op, graph: Graph) -> None:
        used = [result for result in op.results if result.uses]
        if len(used) != 1 or not used[0].dtype.is_integer:
            return
        try:
            with declining():
                search = _Search(op, module, used[0])
                boundaries = search.boundaries()
        except Declined:
            return
        out: list[Op] = []
        tf = TfBuilder(out, op)
        bucket = tf.add("Bucketize", [search.x], {"boundaries": boundaries}, types.INT32, search.x.shape)
        for use in list(used[0].uses):
            if use.kind == "tf.Cast" and use.result.dtype is types.INT32:
                replace_uses(use.result, bucket)
        if used[0].dtype is not types.INT32:
            bucket = tf.add("Cast", [bucket], {}, used[0].dtype, search.x.shape)
        replace_uses(used[0], bucket)
        at = graph.ops.index(op)
        graph.ops[at : at + 1] = out
        report.record("lowered", _RULE, op.sources, why="it searches constants")
        detach(op)
        found.append(op)

    for_each_loop(module, visit)
    return bool(found)


class _Search:
    """A loop that may search constants for each element of `x`, and count them in one result.

    Raises Declined if what it makes of an element may depend on more than how that compares with the constants."""

    def __init__(self, op: Op, module: Module, result: Value) -> None:
        self.op, self.module, self.result = op, module, result
        form = LoopForm(op, module)
        require(isinstance(form.steps(), int))
        inputs = [
            i for i, value in enumerate(op.operands)
            if value is not None and value.data is None and value.dtype in (types.FLOAT32, types.INT32)
            and value.shape == result.shape and form.is_invariant(i)
        ]  # fmt: skip
        require(len(inputs) == 1 and result.shape is not None)
        (self.at,) = inputs
        self.x: Value = op.operands[self.at]  # type: ignore[assignment]
        self._constants: list[np.ndarray] = []
        for graph in (form.cond, form.body):
            counters = {graph.inputs[i] for i in form.counters}
            _Elements(graph, graph.inputs[self.at], counters, self._constants)

    def boundaries(self) -> list[float]:
        """Return what Bucketize takes to make the loop's result."""
        numbers = self._numbers()
        made = self._run(numbers)
        steps = np.diff(made, prepend=0)
        ordered = numbers == numbers  # NaN, the last one, is not
        require(np.all(steps[ordered] >= 0) and np.sum(steps[ordered]) <= 2 * _MOST_CONSTANTS)
        boundaries = np.repeat(numbers[ordered], steps[ordered])
        require(np.array_equal(np.searchsorted(boundaries, numbers, side="right"), made))
        require(self.x.dtype.is_float or np.all(np.abs(boundaries.astype(np.int64)) < _END))
        return [float(boundary) for boundary in boundaries]

    def _numbers(self) -> np.ndarray:
        """Return each constant and what is next to it, the least and the largest number, and NaN, in ascending order.
        """
        dtype = self.x.dtype.numpy
        constants = np.unique(np.concatenate([np.zeros(1, dtype), *self._constants]))
        require(constants.dtype == dtype and len(constants) <= _MOST_CONSTANTS)
        if self.x.dtype.is_float:
            constants = constants[constants == constants]
            ends = np.array([-np.inf, np.inf], dtype)
            near = [np.nextafter(constants, end) for end in ends]
            return np.concatenate([np.unique(np.concatenate([constants, *near, ends])), np.array([np.nan], dtype)])
        limits = np.iinfo(dtype)
        wide = constants.astype(np.int64)
        numbers = np.concatenate([wide - 1, wide, wide + 1, [limits.min, limits.max]])
        return np.unique(np.clip(numbers, limits.min, limits.max)).astype(dtype)

    def _run(self, numbers: np.ndarray) -> np.ndarray:
        """Return what the loop makes of these numbers, given it in tensors of a shape that it takes."""
        shape = self.x.shape or ()
        symbols = sorted({name for dim in shape if isinstance(dim, Sym) for name in dim.symbols()})
        sizes: dict[str, Dim] = {}
        row = _number(product(shape), sizes)
        if symbols:
            sizes[symbols[0]] = -(-len(numbers) // row)
            row = _number(product(shape), sizes)
        require(row > 0)
        run = LoopRun(self.module)
        made: list[np.ndarray] = []
        for start in range(0, len(numbers), row):
            part = np.resize(numbers[start : start + row], [_number(dim, sizes) for dim in shape])
            items = [part if value is self.x else self._start(value, sizes) for value in self.op.operands]
            made.append(run.run_loop(self.op, items)[self.result.index].reshape(-1))
        return np.concatenate(made)[: len(numbers)].astype(np.int64)

    def _start(self, value: Value | None, sizes: dict[str, Dim]) -> np.ndarray:
        """Return what an operand holds before the loop, where sizes are these: a constant, sizes or one number."""
        assert value is not None
        if value.data is not None:
            return value.data
        content = content_of(value)
        if content is not None:
            require(value.shape == () or all(isinstance(dim, int) for dim in content.flat))
            return np.vectorize(lambda dim: _number(dim, sizes), otypes=[value.dtype.numpy])(content)
        casts, source = [], value
        while source.op is not None and source.data is None:
            op = source.op
            require(op.kind in _SPREADS)
            if op.kind in ("tf.Bitcast", "tf.Cast"):
                casts.append(op.result.dtype)
            source = op.operands[op.kind == "tf.Fill"]  # type: ignore[assignment]
        data = source.data
        require(data is not None and data.size and value.shape is not None)
        assert data is not None and value.shape is not None
        number = data.reshape(-1)[0]
        require(np.all(data == number))
        for dtype in (source.dtype, *casts):
            require(dtype.is_integer)
            number = number.astype(dtype.numpy)
        return np.full([_number(dim, sizes) for dim in value.shape], number)


class _Elements:
    """What the ops of a loop's body or condition compute with the elements of x, each by itself.

    constants: takes what they are compared with. Raises Declined for an op of another kind."""

    def __init__(self, graph: Graph, x: Value, counters: set[Value], constants: list[np.ndarray]) -> None:
        self._x, self._count, self._constants = x, product(x.shape or ()), constants
        # Values that elements of x have no part in; those of them that hold one number everywhere, which no size has a
        # part in; and what holds elements of a table.
        self._apart = {value for value in graph.inputs if value.shape == ()} - {x}
        self._splats = counters - {x}
        self._tables: dict[Value, np.ndarray] = {}
        for op in graph.ops:
            self._follow(op)

    def _follow(self, op: Op) -> None:
        operands = [value for value in op.operands if value is not None]
        if op.kind == "tf.Shape" or all(value.is_const or value in self._apart for value in operands):
            self._apart.update(op.results)
            if op.kind in RESHAPES | REPEATS:
                operands = operands[:1]
            elif op.kind == "tf.Fill":
                operands = operands[1:]
            elif op.kind not in _ELEMENTWISE:
                return
            if all(map(self._is_splat, operands)):
                self._splats.update(op.results)
            return
        result = op.result
        require(result.shape is not None and product(result.shape) == self._count)
        if self._x in operands:
            require(op.kind in _TESTS)
            for value in operands:
                self._compare(value)
        elif op.kind in RESHAPES or op.kind == "tf.Identity":
            if operands[0] in self._tables:
                self._tables[result] = self._tables[operands[0]]
        elif op.kind == "tf.GatherV2":
            table = operands[0].data
            require(table is not None and table.ndim == 1 and not op.attrs.get("batch_dims"))
            self._tables[result] = table  # type: ignore[assignment]
        else:
            others = [value for value in operands if not self._is_splat(value)]
            require(op.kind in _ELEMENTWISE and all(self._is_whole(value, others[0]) for value in others))

    def _compare(self, value: Value) -> None:
        """Note the constants that x is compared with."""
        if value is not self._x:
            data = self._tables.get(value, value.data)
            require(data is not None and (value in self._tables or self._is_splat(value)))
            require(value not in self._tables or self._is_whole(value, self._x))
            self._constants.append(np.ravel(data))  # type: ignore[arg-type]

    def _is_splat(self, value: Value) -> bool:
        data = value.data
        return value in self._splats if data is None else data.size > 0 and bool(np.all(data == data.flat[0]))

    def _is_whole(self, value: Value, like: Value) -> bool:
        """Return whether a value has an element for each of x, and the shape of another, so that none meets a stranger.
        """
        return value.data is None and value not in self._apart and value.shape == like.shape


def _number(dim: Dim, sizes: dict[str, Dim]) -> int:
    number = substitute_dim(dim, sizes, 1)
    require(isinstance(number, int))
    return number  # type: ignore[return-value]
