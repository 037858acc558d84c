"""Canonicalize TFLite ops: reshapes and transposes that cancel, ops that do nothing, ops that are made twice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Module, Op, Value, constant
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.ir.slice_spec import Pick, SliceSpec, Take
from fuseconv.ir.terms import op_of, operand_of
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder, with_shape
from fuseconv.tfl.kernel_limits import BROADCAST_RANK, TYPES
from fuseconv.tfl.layout_rules import moves_only_units
from fuseconv.tfl.traits import RESHAPES

# Given an op and a builder, the value that can stand for its result, or None.
Rule = Callable[[Op, Builder], Value | None]
_RULES: dict[str, list[Rule]] = {}
# Those for the graphs of loops and branches alone.
_FUNCTION_RULES: dict[str, list[Rule]] = {}

# Ops on two values that need not have the same number of dimensions.
_BROADCASTING = frozenset({
    "tfl.ADD", "tfl.DIV", "tfl.MAXIMUM", "tfl.MINIMUM", "tfl.MUL", "tfl.SQUARED_DIFFERENCE", "tfl.SUB",
})  # fmt: skip
# Ops whose operands broadcast, where a number takes less time than as many equal ones, or less of the file.
_COMPARED_AND_SELECTED = (
    "EQUAL", "FLOOR_DIV", "FLOOR_MOD", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL", "POW", "SELECT",
    "SELECT_V2",
)
# How many elements the kernels have to find in a row, each with its own of the constant or all with the same one, to
# take no longer than on operands of one shape.
_SHORTEST_RUN = 32
_CLAMPS = frozenset({"RELU", "RELU6", "RELU_0_TO_1"})
_KEEPS_SIGNS = frozenset({
    "AVERAGE_POOL_2D", "EXPAND_DIMS", "MAX_POOL_2D", "RESHAPE", "SLICE", "SQUEEZE", "STRIDED_SLICE", "TRANSPOSE",
})  # fmt: skip


@module_pass("canonicalize-tfl", requires=(TFL_ONLY,))
def canonicalize_tfl(module: Module, report: Report) -> None:
    """Simplify TFLite ops by local rules: RESHAPE(RESHAPE(x)) -> RESHAPE(x), ADD(x, 0) -> x."""

    def rewrite(op: Op, out: list[Op], rules: dict[str, list[Rule]]) -> list[Value] | None:
        made: list[Op] = []
        # The write of a variable tensor is no waste, even of a value that is there already.
        for rule in () if op.result.variable else rules[op.kind]:
            value = rule(op, Builder(made, op.name, op.sources))
            if value is None:
                continue
            if value.op is not None and value.op in made:
                value.name = op.result.name
            out.extend(made)
            if not made:
                report.removed(op, rule.__name__, (rule.__doc__ or "").partition("\n")[0])
            return [value]
        return None

    for graph in module.graphs():
        rewrite_ops(graph, _RULES, partial(rewrite, rules=_RULES))
    for graph in module.functions.values():
        rewrite_ops(graph, _FUNCTION_RULES, partial(rewrite, rules=_FUNCTION_RULES))


def _is_known(operand: Value | None) -> bool:
    return operand is None or operand.is_const


def _rewrites(*kinds: str, rules: dict[str, list[Rule]] = _RULES) -> Callable[[Rule], Rule]:
    def declare(rule: Rule) -> Rule:
        for kind in kinds:
            rules.setdefault(f"tfl.{kind}", []).append(rule)
        return rule

    return declare


@_rewrites(
    "RESHAPE", "EXPAND_DIMS", "SQUEEZE", "BROADCAST_TO", "TILE", "PAD", "PADV2", "MIRROR_PAD", "SLICE", "MEAN", "SUM",
    "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD",
)  # fmt: skip
def same_shape(op: Op, tfl: Builder) -> Value | None:
    """it leaves its operand's shape as it is"""
    operand = op.operands[0]
    assert operand is not None
    if operand.shape is not None and operand.shape == op.result.shape and not operand.variable:
        return operand
    return None


@_rewrites("STRIDED_SLICE")
def whole_slice(op: Op, tfl: Builder) -> Value | None:
    """it takes the whole of its operand"""
    x, spec = op.operands[0], SliceSpec.of(op)
    assert x is not None
    if x.shape is None or x.shape != op.result.shape or x.variable or spec is None:
        return None
    entries = spec.unfold(len(x.shape)) or ()
    return x if all(isinstance(entry, Take) and entry.stride == 1 for entry in entries) else None


@_rewrites("SLICE")
def slice_to_the_end(op: Op, tfl: Builder) -> Value | None:
    """it takes what is left of a dimension, which delegates know in STRIDED_SLICE only"""
    x, size = op.operands[0], op.operands[2]
    is_open = size is not None and size.data is not None and (size.data < 0).any()
    return _as_strided_slice(op, tfl) if is_open and x is not None and x.dtype is types.FLOAT32 else None


# What LiteRT's SLICE makes of a tensor that is written with an unknown size is of dynamic size, and so is all behind
# it: in the body of a loop, the heap is damaged where the loop runs again after a resize. Elsewhere it is faster than
# STRIDED_SLICE, 7 times for 100,000 integers.
@_rewrites("SLICE", rules=_FUNCTION_RULES)
def slice_of_unknown_sizes(op: Op, tfl: Builder) -> Value | None:
    """it takes all of the unknown sizes, which are of no size that is known ahead in SLICE"""
    x, size = op.operands[0], op.operands[2]
    if x is None or x.shape is None or x.dtype not in TYPES["STRIDED_SLICE"] or size is None or size.data is None:
        return None
    # Of a size that is given, STRIDED_SLICE may take less where SLICE refuses to run.
    open_ends = [count < 0 for dim, count in zip(x.shape, size.data, strict=True) if not isinstance(dim, int)]
    return _as_strided_slice(op, tfl) if open_ends and all(open_ends) else None


def _as_strided_slice(op: Op, tfl: Builder) -> Value | None:
    x, begin = op.operands[0], op.operands[1]
    spec = SliceSpec.of(op)
    if x is None or begin is None or begin.data is None or spec is None or op.result.shape is None:
        return None
    return _strided_slice(tfl, x, spec, op.result.shape)


@_rewrites("STRIDED_SLICE")
def kept_dimension(op: Op, tfl: Builder) -> Value | None:
    """it takes one element of a dimension, which need not go for those who read it in any shape"""
    x, *bounds = op.operands
    if x is None or x.dtype is not types.FLOAT32 or x.shape is None or not op.attrs.get("shrink_axis_mask"):
        return None
    spec = SliceSpec.of(op) if all(map(_is_known, bounds)) else None
    entries = spec.dimensions() if spec is not None else None
    if entries is None or len(entries) != len(x.shape) or isinstance(entries[-1], Pick):
        return None
    if not op.result.uses or not all(_reads_any_shape(reader, op.result) for reader in op.result.uses):
        return None
    taken = [isinstance(entry, Pick) for entry in entries]
    shape = _shape_with_units(op.result.shape, taken)
    if shape is None:
        return None
    # What begins at -1 ends at the end, which has no number.
    kept = (Take(e.index, None if e.index == -1 else e.index + 1) if isinstance(e, Pick) else e for e in entries)
    return _strided_slice(tfl, x, SliceSpec(tuple(kept)), shape)


def _strided_slice(tfl: Builder, x: Value, spec: SliceSpec, shape: Shape | None) -> Value:
    begin, end, strides, masks = spec.operands()
    operands = [x, tfl.ints(begin), tfl.ints(end), tfl.ints(strides)]
    return tfl.typed_op("STRIDED_SLICE", operands, [(x.dtype, shape)], masks)[0]


def _shape_with_units(shape: Shape | None, units: list[bool]) -> Shape | None:
    """Return the shape with dimensions of 1 in these places."""
    if shape is None:
        return None
    left = iter(shape)
    return tuple(1 if unit else next(left) for unit in units)


def _reads_any_shape(reader: Op, value: Value) -> bool:
    """Return whether readers heed the elements of a value, and only the last of its dimensions."""
    if reader.operands[0] is not value or value.uses[reader] > 1:
        return False
    dense = reader.kind == "tfl.FULLY_CONNECTED" and not reader.attrs.get("keep_num_dims")
    return reader.kind == "tfl.RESHAPE" or dense


@_rewrites("RESHAPE", "EXPAND_DIMS", "SQUEEZE")
def merge_reshapes(op: Op, tfl: Builder) -> Value | None:
    """it reshapes what was reshaped before"""
    operand = op.operands[0]
    assert operand is not None
    inner = operand.op
    if inner is None or inner.type not in RESHAPES:
        return None
    source = inner.operands[0]
    target = tfl.static_shape(op.result.shape)
    if source is None or target is None:
        return None
    if source.shape == op.result.shape:
        return source
    tfl.sources = tuple(dict.fromkeys((*inner.sources, *op.sources)))
    return _reshape(tfl, source, op.result)


@_rewrites("TRANSPOSE")
def merge_transposes(op: Op, tfl: Builder) -> Value | None:
    """it undoes what is before it, or moves nothing"""
    x, perm = op.operands
    assert x is not None and perm is not None
    if perm.data is None or x.shape is None:
        return None
    order = [int(axis) for axis in perm.data]
    if order == sorted(order):
        return x
    if x.op is not None and x.op.kind == "tfl.TRANSPOSE":
        source, first = x.op.operands
        if source is not None and first is not None and first.data is not None:
            order = [int(first.data[axis]) for axis in order]
            if order == sorted(order):
                return source
            tfl.sources = tuple(dict.fromkeys((*x.op.sources, *op.sources)))
            return tfl.transpose(source, order)
    if moves_only_units(x.shape, order) and tfl.static_shape(op.result.shape) is not None:
        if x.op is not None and x.op.type in RESHAPES and x.op.operands[0] is not None:
            tfl.sources = tuple(dict.fromkeys((*x.op.sources, *op.sources)))
            x = x.op.operands[0]
        return x if x.shape == op.result.shape else _reshape(tfl, x, op.result)
    return None


@_rewrites("CONCATENATION")
def single_concatenation(op: Op, tfl: Builder) -> Value | None:
    """it joins a single value, or empty ones besides"""
    if op.attrs.get("fused_activation_function"):
        return None
    joined = [value for value in op.operands if value is None or value.shape is None or 0 not in value.shape]
    if len(joined) > 1 and len(joined) < len(op.operands):
        return tfl.typed_op(op.type, joined, [(op.result.dtype, op.result.shape)], dict(op.attrs))[0]
    return joined[0] if len(joined) == 1 else None


@_rewrites("CAST")
def same_type(op: Op, tfl: Builder) -> Value | None:
    """it casts to the type that its operand has, or back from one that holds its numbers"""
    (value,) = op.operands
    if value is None or value.dtype is op.result.dtype:
        return value
    source = operand_of(value, "tfl.CAST")
    fits = source is not None and source.dtype is op.result.dtype and value.dtype.holds(source.dtype)
    return source if fits else None


@_rewrites("REAL", "IMAG")
def part_of_pairs(op: Op, tfl: Builder) -> Value | None:
    """the parts are there already: the complex numbers were put together from them"""
    numbers = op.operands[0]
    pairs = numbers.op.operands[0] if numbers is not None and numbers.op is not None else None
    if pairs is None or pairs.op is None or numbers.op.kind != "tfl.BITCAST" or pairs.op.kind != "tfl.PACK":  # type: ignore[union-attr]
        return None
    parts = pairs.op.operands
    if len(parts) != 2 or parts[0] is None or pairs.op.attrs.get("axis") not in (-1, len(parts[0].shape or ())):
        return None
    part = parts[op.type == "IMAG"]
    return part if part is not None and part.dtype is op.result.dtype and part.shape == op.result.shape else None


_NEUTRAL = {"ADD": 0, "SUB": 0, "MUL": 1, "DIV": 1}


@_rewrites("ADD", "SUB", "MUL", "DIV")
def neutral_constant(op: Op, tfl: Builder) -> Value | None:
    """it adds nothing, or multiplies by one"""
    x, y = op.operands
    assert x is not None and y is not None
    # -0 + 0 is 0, which the parts of complex numbers may need to be (lower/fourier).
    if op.attrs or (op.type == "ADD" and x.op is not None and x.op.kind == "tfl.BITCAST"):
        return None
    pairs = [(x, y)] if op.type in ("SUB", "DIV") else [(x, y), (y, x)]
    for value, neutral in pairs:
        keeps_shape = value.shape is not None and value.shape == op.result.shape and not value.is_const
        if keeps_shape and neutral.data is not None and bool(np.all(neutral.data == _NEUTRAL[op.type])):
            return value
    return None


@_rewrites("NEG")
def negated_twice(op: Op, tfl: Builder) -> Value | None:
    """it negates what was negated"""
    return operand_of(op.operands[0], "tfl.NEG")


@_rewrites("RELU")
def not_negative(op: Op, tfl: Builder) -> Value | None:
    """its operand has no negative elements"""
    operand = op.operands[0]
    return operand if operand is not None and _is_clamped(operand) else None


def _is_clamped(value: Value) -> bool:
    """Return whether a RELU of any kind made the elements, and no more has been done to them than to move or pool
    them."""
    while value.op is not None and value.op.dialect == "tfl" and value.quantization is None:
        op = value.op
        if op.type in _CLAMPS or op.attrs.get("fused_activation_function") in _CLAMPS:
            return True
        if op.type not in _KEEPS_SIGNS or op.operands[0] is None:
            return False
        value = op.operands[0]
    return False


@_rewrites("RESHAPE", "EXPAND_DIMS", "SQUEEZE")
def outer_units(op: Op, tfl: Builder) -> Value | None:
    """it adds or drops dimensions of 1 in front, and what reads it broadcasts"""
    x, result = op.operands[0], op.result
    assert x is not None
    if not x.shape or not result.shape or x.variable or _without_units(x.shape) != _without_units(result.shape):
        return None
    rank = len(x.shape)
    return x if result.uses and all(_broadcasts(reader, result, rank) for reader in result.uses) else None


def _without_units(shape: Shape) -> Shape:
    """Return the shape from the first dimension on that is not 1."""
    return shape[next((axis for axis, dim in enumerate(shape) if dim != 1), len(shape)) :]


def _broadcasts(reader: Op, value: Value, rank: int) -> bool:
    """Return whether the reader makes the same of the value with so many dimensions: another operand has all of
    them."""
    if reader.kind not in _BROADCASTING:  # the end of a graph has no result, others have several
        return False
    others = (operand for operand in reader.operands if operand is not None and operand is not value)
    whole = any(operand.rank == reader.result.rank for operand in others)
    return whole and rank <= (reader.result.rank or 0)


@_rewrites(*sorted(kind.removeprefix("tfl.") for kind in _BROADCASTING))
def repeated_constant(op: Op, tfl: Builder) -> Value | None:
    """its constant repeats itself along dimensions in which it can be broadcast"""
    if len(op.result.shape or ()) > BROADCAST_RANK[op.type]:
        return None
    for index, (value, other) in enumerate(zip(op.operands, op.operands[::-1])):
        if value is None or value.data is None or other is None or other.is_const or value.quantization is not None:
            continue
        once = _with_long_runs(value.data, _once(value.data))
        # A number that a kernel broadcasts slowly becomes a FILL (`fill-broadcasts`).
        if value.dtype.is_integer and once.size > 1:
            return None
        if other.shape == op.result.shape and once.size < value.data.size:
            operands = [other, other]
            operands[index] = tfl.const(once, value.dtype)
            return tfl.typed_op(op.type, operands, [(op.result.dtype, op.result.shape)], dict(op.attrs))[0]
    return None


@_rewrites(*_COMPARED_AND_SELECTED)
def splat_constant(op: Op, tfl: Builder) -> Value | None:
    """its constant holds one number everywhere, which broadcasts"""
    # Rows that repeat themselves stay: the kernels take longer to broadcast these.
    return _reading(op, tfl, _number_everywhere)


@_rewrites(*_COMPARED_AND_SELECTED, *sorted(kind.removeprefix("tfl.") for kind in _BROADCASTING))
def broadcast_operand(op: Op, tfl: Builder) -> Value | None:
    """an operand is broadcast, which the kernel does by itself"""
    return _reading(op, tfl, _source_of_broadcast)


def _reading(op: Op, tfl: Builder, smaller: Callable[[Value], Value]) -> Value | None:
    """Return what an op makes of smaller operands, which broadcast to those that have the result's shape; None if it
    reads the same."""
    shape, operands = op.result.shape, list(op.operands)
    # SELECT broadcasts nothing, but may take one truth for each row.
    kind = "SELECT_V2" if op.type == "SELECT" else op.type
    if shape is None or len(shape) > BROADCAST_RANK[kind] or (op.type == "SELECT" and _shape(operands[0]) != shape):
        return None
    for index, value in enumerate(operands):
        if value is not None and value.quantization is None:
            read = smaller(value)
            if read is not value and _broadcast_to([*operands[:index], read, *operands[index + 1 :]], shape):
                operands[index] = read
    if operands == op.operands:
        return None
    return tfl.typed_op(kind, operands, [(op.result.dtype, shape)], dict(op.attrs))[0]


def _source_of_broadcast(value: Value) -> Value:
    """Return what a value repeats along dimensions of 1; itself if it repeats nothing."""
    op = op_of(value, ("tfl.BROADCAST_TO", "tfl.TILE"))
    if op is None or value.shape is None:
        return value
    x = op.operands[0]
    if x is None or x.shape is None or x.quantization is not None:
        return value
    # BROADCAST_TO sees to it that sizes agree that are not known here; TILE repeats sizes other than 1 as well.
    tiles = op.type == "TILE" and any(a not in (1, b) for a, b in zip(x.shape, value.shape))
    return value if tiles else x


def _broadcast_to(operands: Sequence[Value | None], shape: Shape) -> bool:
    """Return whether operands that broadcast to a shape, some repeated, have each of its sizes without."""
    shapes = [_shape(value) or () for value in operands]
    aligned = [(1,) * (len(shape) - len(each)) + each for each in shapes]
    return all(size in sizes for size, *sizes in zip(shape, *aligned))


def _shape(value: Value | None) -> Shape | None:
    return None if value is None else value.shape


def _number_everywhere(value: Value) -> Value:
    """Return the number that a constant holds everywhere as a scalar; itself if it holds several."""
    array = value.data
    if array is None or array.size < 2 or array.dtype.kind not in "fiub":
        return value
    first = array.flat[0]
    same = array.flat[1] == first and (array == first).all()
    return constant(first, value.dtype) if same else value


def _once(array: np.ndarray) -> np.ndarray:
    """Return the array with one element along each dimension in which all are the same."""
    for axis in range(array.ndim):
        first = array.take([0], axis) if array.shape[axis] > 1 else array
        # Most that differ do so at once.
        if first is not array and (array.take([1], axis) == first).all() and (array == first).all():
            array = first
    return array


def _with_long_runs(array: np.ndarray, once: np.ndarray) -> np.ndarray:
    """Return the array with one element along the dimensions in which `once` has one, but for inner ones that would
    leave the kernels short runs: [8,32,32,4] that repeats itself along 0 and 2 -> [1,32,32,4]."""
    repeated = [size != least for size, least in zip(array.shape, once.shape)]
    while _run(array.shape, repeated) < _SHORTEST_RUN:
        repeated[len(repeated) - 1 - repeated[::-1].index(True)] = False
    return array[tuple(slice(0, 1) if repeats else slice(None) for repeats in repeated)]


def _run(shape: tuple[int, ...], repeated: list[bool]) -> float:
    """Return how many elements in a row a kernel takes at once; infinity, if that is all."""
    run, inner = 1, None
    for size, repeats in zip(shape[::-1], repeated[::-1]):
        if size != 1 and inner not in (None, repeats):
            return run
        if size != 1:
            run, inner = run * size, repeats
    return math.inf


def _reshape(tfl: Builder, x: Value, like: Value) -> Value:
    return with_shape(tfl.reshape(x, tfl.static_shape(like.shape)), like.shape)
