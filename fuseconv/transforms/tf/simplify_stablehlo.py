"""Rewrite what StableHLO has no op for into the TF ops that fusions and rules know: 1 / (1 + exp(-x)) -> Sigmoid(x)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, is_static, product
from fuseconv.ir.graph import Module, Op, Value, constant
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.ir.terms import either_way, number_of, op_of, operand_of, shaped
from fuseconv.pass_manager import module_pass
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.iota import counts_up
from fuseconv.tf.operands import content_of
from fuseconv.tf.traits import ADDS, DIVISIONS, REDUCTIONS, RESHAPES, SLICES
from fuseconv.transforms.tf.average_windows import average_pool, constant_sums
from fuseconv.transforms.tf.batch_gathers import batch_gather
from fuseconv.transforms.tf.bilinear_gathers import bilinear_resize
from fuseconv.transforms.tf.exponential_units import elu, elu_below_zero, softplus
from fuseconv.transforms.tf.floor_division import floor_division, floor_remainder, fold_comparison
from fuseconv.transforms.tf.keep_dimensions import keep_dimensions, kept_shape
from fuseconv.transforms.tf.known_conditions import TESTS, plain_choice, test_of_boolean
from fuseconv.transforms.tf.known_slices import (
    grid_slice,
    open_slice,
    placed_slice,
    shrunk_slice,
    strided_slice,
    transposed_slice,
)
from fuseconv.transforms.tf.mirrored_padding import mirrored_padding
from fuseconv.transforms.tf.one_hot_rows import one_hot
from fuseconv.transforms.tf.plain_reshapes import plain_reshape
from fuseconv.transforms.tf.transposed_products import transposed_einsum, transposed_product

# A mean of so many elements at most is told apart from another quotient, by its divisor as float32.
_MOST_ELEMENTS = 1 << 24


@module_pass("simplify-stablehlo")
def simplify_stablehlo(module: Module) -> bool:
    """Name what StableHLO spells out: RealDiv(1, AddV2(1, Exp(Neg(x)))) -> Sigmoid(x).

    Maximum(x, 0) -> Relu(x), Sum(x) / n -> Mean(x), Reshape(Sum(x)) -> Sum(x, keep_dims=True). Requires inferred
    shapes; dead ops stay. Returns whether anything changed."""
    changed = False
    for graph in module.graphs():
        changed |= rewrite_ops(graph, _RULES.keys(), _rewrite, revisit=True)
        changed |= keep_dimensions(graph)
    return changed


def _rewrite(op: Op, out: list[Op]) -> list[Value] | None:
    return _RULES[op.kind](op, TfBuilder(out, op))


def _maximum(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Drop the maximum with minus infinity, or of a variance with 0; another one with 0 is Relu."""
    for x, bound in either_way(op):
        number = number_of(bound)
        if number is not None and x.shape is not None and x.shape == op.result.shape:
            # Squares of integers may wrap around below 0.
            squares = x.dtype.is_float and _squared(operand_of(x, "tf.Mean")) is not None
            if np.isneginf(number) or (number == 0 and squares):
                return [x]
            if number == 0 and x.dtype is types.FLOAT32:
                return [shaped(tf.Relu(x), op)]
    return _place(op, tf)


def _relu(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Drop Relu of a variance, which may have been named after the maximum with 0 was."""
    x = op.operands[0]
    return None if x is None or not x.dtype.is_float or _squared(operand_of(x, "tf.Mean")) is None else [x]


def _minimum(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Drop the minimum with infinity; that of Relu and 6 is Relu6."""
    for x, bound in either_way(op):
        number = number_of(bound)
        if number is not None and x.shape is not None and x.shape == op.result.shape:
            if np.isposinf(number):
                return [x]
            if number == 6 and x.op is not None and x.op.kind == "tf.Relu":
                return [shaped(tf.Relu6(x.op.operands[0]), op)]  # type: ignore[arg-type]
    return None


def _quotient(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Name a logistic function, or a mean."""
    x, y = op.operands
    assert x is not None and y is not None
    power = _one_more(y) if number_of(x) == 1 and x.dtype.is_float else None
    negated = operand_of(operand_of(power, "tf.Exp"), "tf.Neg")
    if negated is not None and negated.shape is not None and negated.shape == op.result.shape:
        return [shaped(tf.Sigmoid(negated), op)]
    count: Dim | float | None = number_of(y)
    if count is None:
        count = _size_of(y)
    same = op.result.shape == x.shape
    pool = average_pool(x, tf, divisor=y.data) if same and y.data is not None else None
    if pool is not None:
        return [pool]
    return None if count is None else _mean(op, x, count, tf)


def _size_of(value: Value) -> Dim | None:
    """Return the product of sizes that a float was cast from."""
    content = content_of(operand_of(value, "tf.Cast"))
    return None if content is None or content.size != 1 else content.reshape(-1)[0]


def _product(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Simplify a product with a number: x * 1 -> x; an exponent * -1, as in PyTorch's exports, -> Neg, by which
    functions of it are recognized; a sum times the inverse of its count, as canonicalization leaves it, -> Mean."""
    for x, factor in either_way(op):
        number = number_of(factor)
        same = op.result.shape == x.shape
        if number == 1 and same:
            return [x]
        if number == -1 and same and all(reader.kind == "tf.Exp" for reader in op.result.uses):
            return [shaped(tf.Neg(x), op)]
        pool = average_pool(x, tf, factor=factor.data) if same and factor.data is not None else None
        if pool is not None:
            return [pool]
        count = round(1 / number) if number is not None and 0 < number <= 1 else 0
        if 0 < count < _MOST_ELEMENTS and np.float32(1 / count) == np.float32(number):
            return _mean(op, x, count, tf)
    return None


def _mean(op: Op, x: Value, count: Dim | float, tf: TfBuilder) -> list[Value] | None:
    """Return the mean if x is a sum of so many floats."""
    total = op_of(x, "tf.Sum")
    if total is None or x.dtype is not types.FLOAT32 or op.result.shape != x.shape:
        return None
    value, axes = total.operands
    assert value is not None and axes is not None
    along = content_of(axes)
    if along is None or value.shape is None:
        return None
    if product(value.shape[axis] for axis in np.reshape(along, -1)) != count:
        return None
    attrs = {"keep_dims": True} if total.attrs.get("keep_dims") else {}
    return [tf.add("Mean", [value, axes], attrs, x.dtype, op.result.shape)]


def _shared_weights(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Multiply by one matrix where each of a batch has the same, as PyTorch expands the weights of a layer:
    BatchMatMulV2(x, BroadcastTo(w)) -> BatchMatMulV2(x, w)."""
    x, weights = op.operands
    source = operand_of(weights, "tf.BroadcastTo") or weights
    if x is None or source is None or source.shape is None or x.shape is None or op.result.shape is None:
        return None
    if len(source.shape) < 3 or x.shape[:-2] != op.result.shape[:-2]:
        return None
    matrix = source.shape[-2:]
    if source.data is not None and is_static(source.shape):
        data = source.data.reshape(-1, *source.data.shape[-2:])
        first = data[0].tobytes() if data.size else b""
        if not data.size or any(each.tobytes() != first for each in data[1:]):
            return None
        one = constant(data[0], source.dtype, source.name)
    elif set(source.shape[:-2]) == {1} and is_static(matrix):
        sizes = [size for size in matrix if isinstance(size, int)]
        one = tf.add("Reshape", [source, tf.ints(sizes)], {}, source.dtype, matrix)
    else:
        return None
    return [tf.add(op.type, [x, one], dict(op.attrs), op.result.dtype, op.result.shape)]


def _difference(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Forward x - 0, which Flax writes for a mean that it does not take; else name a variance."""
    x, y = op.operands
    assert x is not None and y is not None
    zero = y.data is not None and y.data.size == 1 and not any(y.data.tobytes())  # less -0, -0 is 0
    if zero and x.shape is not None and x.shape == op.result.shape:
        return [x]
    return _variance(op, tf)


def _variance(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Name a variance: Mean(x * x) - Mean(x) * Mean(x) -> Mean((x - Mean(x)) ** 2), where x - Mean(x) is needed anyway.

    So Flax writes its norms. What is centered first loses no digits of what varies little about a large mean."""
    if not op.result.dtype.is_float:
        return None  # the mean of integers is cut
    squares, mean = op.operands[0], _squared(op.operands[1])
    x = _squared(operand_of(squares, "tf.Mean"))
    if x is None or mean is None or operand_of(mean, "tf.Mean") is not x or squares is None or op.result.shape is None:
        return None
    total, other = mean.op, squares.op
    assert total is not None and other is not None
    axes, again = (content_of(each.operands[1]) for each in (total, other))
    if axes is None or again is None or not np.array_equal(axes, again) or mean.shape != squares.shape:
        return None
    if not _is_centered(x, mean):
        return None
    kept = tf.add("Mean", [x, total.operands[1]], {"keep_dims": True}, x.dtype, kept_shape(total))
    centered = tf.add("Sub", [x, kept], {}, x.dtype, x.shape)
    powers = tf.add("Mul", [centered, centered], {}, x.dtype, x.shape)
    return [tf.add("Mean", [powers, other.operands[1]], dict(other.attrs), x.dtype, op.result.shape)]


def _is_centered(x: Value, mean: Value) -> bool:
    """Return whether something computes x less its mean."""
    kept = {mean, *(reader.result for reader in mean.uses if reader.kind in RESHAPES)}
    return any(reader.kind == "tf.Sub" and reader.operands[0] is x and reader.operands[1] in kept for reader in x.uses)


def _select(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Take 0, 1, 2, ... for what counts no element from the end; else name an exponential linear unit, or a division
    that rounds down."""
    condition, _, counted = op.operands
    test = op_of(condition, "tf.Less")
    if test is not None and test.operands[0] is counted is not None and counts_up(counted):
        negative = number_of(test.operands[1]) == 0 and op.result.shape == counted.shape  # type: ignore[arg-type]
        return [counted] if negative else None
    return (
        plain_choice(op, tf) or elu(op, tf) or softplus(op, tf) or floor_division(op, tf) or floor_remainder(op, tf)
    )


def _comparison(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Forward a boolean that is compared; fold what sizes and divisors never are."""
    return test_of_boolean(op, tf) or fold_comparison(op, tf)


def _squared(value: Value | None) -> Value | None:
    """Return x of x * x; None of any other value."""
    op = op_of(value, "tf.Mul")
    return op.operands[0] if op is not None and op.operands[0] is op.operands[1] else None


def _in_bounds(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Compare an index with what it is clamped to, as lookups of JAX do besides: i >= 0 & i <= 9 -> i == clamp(i)."""
    tests = {value.op.kind: value.op for value in op.operands if value is not None and value.op is not None}
    lower, upper = tests.get("tf.GreaterEqual"), tests.get("tf.LessEqual")
    if lower is None or upper is None or lower.operands[0] is not upper.operands[0]:
        return None
    index, low = lower.operands
    high = upper.operands[1]
    if index is None or index.dtype.is_float or low is None or high is None or not (low.is_const and high.is_const):
        return None
    if np.any(low.data > high.data) or op.result.shape != index.shape:  # type: ignore[operator]
        return None
    if not any(reader.kind in ("tf.Minimum", "tf.Maximum") for reader in index.uses):
        return None
    source = operand_of(index, "tf.Cast") or index
    if op_of(source, RESHAPES) is not None:
        return None  # sink-unit-dimensions lets the index itself be compared, if that is what a reshape adds
    wrapped = _wrapped(index, low, high)
    held = _held(index, low, high, tf) if wrapped is None else _held_from(*wrapped, tf)
    plain = index if wrapped is None else wrapped[0]
    return [tf.add("Equal", [held, plain], {}, types.BOOL, op.result.shape)]


def _place(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Clamp an index, then count one from the end: clamp(i < 0 ? i + 9 : i, 0, 8) -> FloorMod(clamp(i, -9, 8), 9). One
    of 64 bits that is made one of 32, as those of PyTorch are, is so once it is clamped."""
    for inner, low in either_way(op):
        minimum = op_of(inner, "tf.Minimum")
        if minimum is None or number_of(low) != 0:
            continue
        for index, high in either_way(minimum):
            wrapped = _wrapped(index, low, high)
            if wrapped is not None and op.result.shape == wrapped[0].shape:
                source, count = wrapped
                held = _held_from(source, count, tf)
                if held.dtype is not index.dtype:
                    held = tf.add("Cast", [held], {}, index.dtype, source.shape)
                count_of = constant(np.array(count, index.dtype.numpy), index.dtype)
                return [tf.add("FloorMod", [held, count_of], {}, index.dtype, source.shape)]
    return None


def _wrapped(value: Value, low: Value, high: Value) -> tuple[Value, int] | None:
    """Return (i, n) of `i + n if i < 0 else i`, an index of n elements, if the bounds are 0 and n - 1. That may be cast
    from int64 to int32: where such a number goes beyond int32, StableHLO leaves open whether it wraps or is clamped."""
    select = value.op
    if select is not None and select.kind == "tf.Cast" and value.dtype is types.INT32:
        whole = select.operands[0]
        select = whole.op if whole is not None and whole.dtype is types.INT64 else None
    if select is None or select.kind != "tf.SelectV2" or value.dtype not in (types.INT32, types.INT64):
        return None
    condition, moved, index = select.operands
    test, add = (each.op if each is not None else None for each in (condition, moved))
    if test is None or add is None or index is None or test.kind != "tf.Less" or add.kind not in ADDS:
        return None
    count = next((number_of(n) for x, n in either_way(add) if x is index), None)
    negative = test.operands[0] is index and number_of(test.operands[1]) == 0  # type: ignore[arg-type]
    if count is None or count < 1 or number_of(low) != 0 or number_of(high) != count - 1:
        return None
    return (index, int(count)) if negative and value.shape == index.shape else None


def _held_from(index: Value, count: int, tf: TfBuilder) -> Value:
    low, high = (constant(np.array(bound, index.dtype.numpy), index.dtype) for bound in (-count, count - 1))
    return _held(index, low, high, tf)


def _held(index: Value, low: Value, high: Value, tf: TfBuilder) -> Value:
    made = tf.add("Minimum", [index, high], {}, index.dtype, index.shape)
    return tf.add("Maximum", [made, low], {}, index.dtype, index.shape)


def _absolute(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Forward what is not negative, as `jax.nn.logsumexp` has it: Abs(Sum(Exp(x))) -> Sum(Exp(x))."""
    x = op.operands[0]
    power = operand_of(x, "tf.Sum") or x
    return None if x is None or operand_of(power, "tf.Exp") is None else [x]


def _filled(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Name a broadcast of one number: BroadcastTo(0, shape) -> Fill(shape, 0)."""
    x, shape = op.operands
    assert x is not None and shape is not None
    if x.data is None or x.data.size != 1:
        return None
    number = x if x.rank == 0 else constant(x.data.reshape(()), x.dtype, x.name)
    return [tf.add("Fill", [shape, number], {}, x.dtype, op.result.shape)]


def _windows(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Count the elements of windows: XlaReduceWindow(1, Add) -> 9."""
    sums = constant_sums(op)
    return None if sums is None else [constant(sums, op.result.dtype, op.name)]


def _of_one(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Forward what a reduction over dimensions of size 1 would reduce."""
    value, axes = op.operands
    along = content_of(axes)
    if value is None or value.shape is None or along is None:
        return None
    reduced = {int(axis) % len(value.shape) for axis in np.reshape(along, -1)}
    if any(value.shape[axis] != 1 for axis in reduced):
        return None
    if op.attrs.get("keep_dims") or not reduced:
        return [value]
    return [tf.add("Squeeze", [value], {"squeeze_dims": sorted(reduced)}, value.dtype, op.result.shape)]


def _transposed(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Transpose what products are made of, or make a product in that order; else reduce what is transposed anyway, or
    slice what is transposed back."""
    made = transposed_product(op, tf) or transposed_einsum(op, tf) or _transposed_reduction(op, tf)
    return made or transposed_slice(op, tf)


def _transposed_reduction(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Reduce what is transposed anyway: Transpose(Max(x)) -> Max(Transpose(x)), as `jax.vmap` of a softmax is."""
    value, order = op.operands
    total = value.op if value is not None else None
    if value is None or total is None or total.kind not in REDUCTIONS or len(value.uses) != 1:
        return None
    x, axes = total.operands
    along, order_of = content_of(axes), content_of(order)
    if x is None or x.shape is None or along is None or order_of is None:
        return None
    reduced = {int(axis) % len(x.shape) for axis in np.reshape(along, -1)}
    kept = [axis for axis in range(len(x.shape)) if total.attrs.get("keep_dims") or axis not in reduced]
    wanted = [kept[axis] for axis in order_of]
    for reader in x.uses:
        moved = content_of(reader.operands[1]) if reader.kind == "tf.Transpose" else None
        if moved is not None and [axis for axis in moved if axis in kept] == wanted:
            same = tf.add("Transpose", [x, reader.operands[1]], {}, x.dtype, reader.result.shape)
            places = [place for place, axis in enumerate(moved) if axis in reduced]
            return [tf.add(total.type, [same, tf.ints(places)], dict(total.attrs), value.dtype, op.result.shape)]
    return None


def _reshaped(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Fill a part of what is filled with one number in its own shape: Reshape(Fill([2, b, 4], 0)[0], [b, 4]) ->
    Fill([b, 4], 0), as PyTorch starts the states of recurrent layers; else slice what was taken as a scalar, or do
    without sizes."""
    fill = op_of(operand_of(op.operands[0], SLICES), "tf.Fill")
    shape = op.operands[1] if op.kind == "tf.Reshape" else None
    if fill is None or shape is None or shape.is_const:
        made = _element(op, tf) or shrunk_slice(op, tf)
        return made or (plain_reshape(op, tf) if shape is not None else None)
    return [tf.add("Fill", [shape, fill.operands[1]], {}, fill.result.dtype, op.result.shape)]


def _gathered(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Slice a grid, or gather in each element of a batch."""
    return grid_slice(op, tf) or batch_gather(op, tf)


def _element(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Slice a vector of one element, which was taken as a scalar: Reshape(x[2], [1]) -> x[2:3].

    So JAX makes shapes. The runtime knows the sizes of what they are for before a run if there is no reshape."""
    scalar = op.operands[0]
    cut = scalar.op if scalar is not None and op.result.shape == (1,) else None
    if cut is None or cut.kind != "tf.StridedSlice" or cut.attrs != {"shrink_axis_mask": 1}:
        return None
    vector, *bounds = cut.operands
    begin, end, _ = (content_of(bound) for bound in bounds)
    if vector is None or vector.rank != 1 or begin is None or end is None or begin.size != 1 or end.size != 1:
        return None
    if not isinstance(begin[0], int) or begin[0] < 0 or end[0] != begin[0] + 1:
        return None
    made = tf.add("StridedSlice", cut.operands, {}, op.result.dtype, (1,))
    made.content = op.result.content
    return [made]


def _one_more(value: Value) -> Value | None:
    """Return x of x + 1."""
    op = op_of(value, ADDS)
    return next((x for x, other in either_way(op) if number_of(other) == 1), None) if op is not None else None


_RULES: dict[str, Callable[[Op, TfBuilder], list[Value] | None]] = {
    "tf.Abs": _absolute, "tf.BatchMatMulV2": _shared_weights,
    "tf.BroadcastTo": _filled, "tf.Cast": one_hot, "tf.ConcatV2": mirrored_padding, "tf.Expm1": elu_below_zero,
    "tf.GatherNd": _gathered,
    "tf.GatherV2": strided_slice, "tf.LogicalAnd": _in_bounds,
    "tf.Maximum": _maximum, "tf.Minimum": _minimum, "tf.Mul": _product, "tf.Relu": _relu, "tf.SelectV2": _select,
    "tf.StridedSlice": open_slice, "tf.Sub": _difference,
    "tf.Transpose": _transposed, "tf.XlaDynamicSlice": placed_slice, "tf.XlaReduceWindow": _windows,
    **dict.fromkeys(ADDS, bilinear_resize), **dict.fromkeys(DIVISIONS, _quotient), **dict.fromkeys(REDUCTIONS, _of_one),
    **dict.fromkeys(RESHAPES, _reshaped), **dict.fromkeys(TESTS, test_of_boolean),
    **dict.fromkeys(("tf.Equal", "tf.Less"), _comparison),
}  # fmt: skip
