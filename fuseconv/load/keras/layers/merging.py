"""Layers that merge several tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.activations import added, number
from fuseconv.load.keras.layers.settings import axes_of
from fuseconv.load.keras.layers.tensors import operands
from fuseconv.load.keras.registry import ANY, OWN, builtin


def _of_one_type(k: Call, inputs: Any) -> list[Value]:
    """Return tensors as those of one type, as Keras 3 brings them together; with their masks."""
    if not isinstance(inputs, list) or not inputs or not all(isinstance(x, Value) for x in inputs):
        k.refuse("it is called on no list of tensors")
    if len({x.dtype for x in inputs}) < 2:
        return inputs
    made = operands(k, *inputs)
    for x, cast in zip(inputs, made):
        if cast is not x:
            k.set_mask(cast, k.mask(x))
    return made


def _merged(k: Call, inputs: Any, combine: Callable[[Value, Value], Value]) -> Value:
    """Combine tensors one after the other; those of lower rank get dimensions behind the batch."""
    inputs = _of_one_type(k, inputs)
    rank = max(len(k.shape(x)) for x in inputs)
    wide = []
    for x in inputs:
        for _ in range(rank - len(k.shape(x))):
            x = k.tf.ExpandDims(x, 1)
        wide.append(x)
    made = wide[0]
    for x in wide[1:]:
        made = combine(made, x)
    k.set_mask(made, _mask(k, inputs))
    return made


def _mask(k: Call, inputs: list[Value]) -> Value | None:
    """Return the mask of tensors that are merged: where any has an element in Keras 3, if all have a mask; where all
    that have one do, in tf-keras."""
    k.option("mask")
    masks = [k.mask(x) for x in inputs]
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    if len({len(k.shape(x)) for x in inputs}) > 1 or k.option("mask") is not None:
        k.refuse("its inputs are masked and of several ranks, or it is called with a mask")
    if k.model.keras3 and len(given) < len(masks):
        return None
    made = given[0]
    for mask in given[1:]:
        made = k.tf.add("LogicalOr" if k.model.keras3 else "LogicalAnd", [made, mask], {}, types.BOOL)
    return made


def _combiner(k: Call, kind: str) -> Callable[[Value, Value], Value]:
    return lambda a, b: k.tf.add(kind, [a, b], {}, a.dtype)


@builtin("Add", masks=OWN, takes=ANY, half=True)
def add(k: Call, inputs: Any) -> Value:
    return _merged(k, inputs, lambda a, b: added(k, a, b))


@builtin("Subtract", masks=OWN, takes=ANY, half=True)
def subtract(k: Call, inputs: Any) -> Value:
    if not isinstance(inputs, list) or len(inputs) != 2:
        k.refuse("it is called on other than two tensors")
    return _merged(k, inputs, _combiner(k, "Sub"))


@builtin("Multiply", masks=OWN, takes=ANY, half=True)
def multiply(k: Call, inputs: Any) -> Value:
    """Multiply tensors; what a mask leaves out counts as 1, and is 0 where all of them leave it out."""
    inputs = _of_one_type(k, inputs)
    masks = _spread_masks(k, inputs)
    if not any(mask is not None for mask in masks):
        return _merged(k, inputs, _combiner(k, "Mul"))
    tf, made = k.tf, None
    for x, mask in zip(inputs, masks):
        x = x if mask is None else tf.SelectV2(mask, x, number(k, x, 1), dtype=x.dtype)
        made = x if made is None else tf.Mul(made, x)
    assert made is not None
    if all(mask is not None for mask in masks):
        mask = _any_of(k, *masks)
        made = tf.SelectV2(mask, made, number(k, made, 0), dtype=made.dtype)
        k.set_mask(made, tf.Any(mask, tf.ints(-1), dtype=types.BOOL))
    return made


@builtin("Maximum", "Minimum", masks=OWN, takes=ANY, half=True)
def extreme(k: Call, inputs: Any) -> Value:
    """Return the greatest or least of tensors, of those at each place that their masks let count."""
    inputs = _of_one_type(k, inputs)
    kind, masks = k.owner.class_name, _spread_masks(k, inputs)
    if not any(mask is not None for mask in masks):
        return _merged(k, inputs, _combiner(k, kind))
    tf, made, seen = k.tf, inputs[0], masks[0]
    for x, mask in zip(inputs[1:], masks[1:]):
        x = x if mask is None else tf.SelectV2(mask, x, made, dtype=x.dtype)
        made = made if seen is None else tf.SelectV2(seen, made, x, dtype=x.dtype)
        seen = None if mask is None or seen is None else _any_of(k, seen, mask)
        made = tf.add(kind, [made, x], {}, x.dtype)
    if seen is not None:
        k.set_mask(made, tf.Any(seen, tf.ints(-1), dtype=types.BOOL))
    return made


def _spread_masks(k: Call, inputs: list[Value]) -> list[Value | None]:
    """Return the masks of tensors that Keras 3 merges where they are true, of their shapes; none in tf-keras."""
    if not k.model.keras3:
        return []
    masks = [k.mask(x) for x in inputs]
    if any(mask is not None for mask in masks):
        ranks = {len(k.shape(x)) for x in inputs} | {len(k.shape(mask)) + 1 for mask in masks if mask is not None}
        if k.option("mask") is not None or len(ranks) > 1 or len({k.shape(x)[1:] for x in inputs}) > 1:
            k.refuse("its inputs are masked and of several shapes, or it is called with a mask")
    return [None if mask is None else _spread(k, mask, x) for x, mask in zip(inputs, masks)]


def _spread(k: Call, mask: Value, x: Value) -> Value:
    """Return the mask [batch, time] of a tensor [batch, time, n] for each of its elements."""
    return k.tf.BroadcastTo(k.tf.ExpandDims(mask, -1), k.tf.shape(x), dtype=types.BOOL)


def _any_of(k: Call, *masks: Value | None) -> Value:
    made: Value | None = None
    for mask in masks:
        if mask is not None:
            made = mask if made is None else k.tf.LogicalOr(made, mask, dtype=types.BOOL)
    assert made is not None
    return made


@builtin("Average", masks=OWN, takes=ANY, half=True)
def average(k: Call, inputs: Any) -> Value:
    made = _merged(k, inputs, lambda a, b: added(k, a, b))
    if not made.dtype.is_float:
        k.refuse("an average of integers")
    mean = k.tf.RealDiv(made, number(k, made, len(inputs)))
    k.set_mask(mean, k.mask(made))
    return mean


@builtin("Concatenate", masks=OWN, takes=ANY, half=True)
def concatenate(k: Call, inputs: Any, *, axis: int = -1) -> Value:
    inputs = _of_one_type(k, inputs)
    (axis,) = axes_of(k, axis, len(k.shape(inputs[0])))
    made = k.tf.ConcatV2(*inputs, k.tf.ints(axis), dtype=inputs[0].dtype)
    k.set_mask(made, _concatenated_mask(k, inputs, axis))
    return made


def _concatenated_mask(k: Call, inputs: list[Value], axis: int) -> Value | None:
    """Return the mask of concatenated tensors [batch, time, ...]: the masks spread over the elements, and of those
    whether any of a step is true (in Keras 3) or all are (in tf-keras)."""
    masks = [k.mask(x) for x in inputs]
    if k.option("mask") is not None:
        k.refuse("it is called with a mask")
    if all(mask is None for mask in masks):
        return None
    tf, ranks, spread = k.tf, {len(k.shape(x)) for x in inputs}, []
    if ranks != {3} or any(mask is not None and len(k.shape(mask)) != 2 for mask in masks):
        k.refuse("its inputs are masked, and of another rank than 3")
    for x, mask in zip(inputs, masks):
        if mask is None:
            spread.append(tf.Fill(tf.shape(x), tf.array(True, types.BOOL), dtype=types.BOOL))
        else:
            spread.append(_spread(k, mask, x) if k.model.keras3 else tf.ExpandDims(mask, 2))
    together = tf.ConcatV2(*spread, tf.ints(axis), dtype=types.BOOL)
    return tf.add("Any" if k.model.keras3 else "All", [together, tf.ints(2)], {}, types.BOOL)


@builtin("Dot")
def dot(k: Call, inputs: Any, *, axes: int | list[int], normalize: bool = False) -> Value:
    """Sum products along an axis of each of two tensors, for each example."""
    if not isinstance(inputs, list) or len(inputs) != 2:
        k.refuse("it is called on other than two tensors")
    ranks = [len(k.shape(x)) for x in inputs]
    pair = [axes, axes] if isinstance(axes, int) else axes
    if not all(2 <= rank <= 8 for rank in ranks) or len(pair) != 2:
        k.refuse(f"axes={axes!r} of tensors of the ranks {ranks}")
    a, b = ((axis + rank) % rank for axis, rank in zip(pair, ranks))
    if 0 in (a, b):
        k.refuse("axes of the batch")
    if normalize:
        inputs = [_normalized(k, x, axis) for x, axis in zip(inputs, (a, b))]
    if set(ranks) <= {2, 3}:
        return _dot_of_matrices(k, inputs, a, b)
    x, y = (_with_last(k, each, axis) for each, axis in zip(inputs, (a, b)))
    kept = [k.tf.dim(each, at) for each in (x, y) for at in range(1, len(k.shape(each)) - 1)]
    flat = [k.tf.reshaped(each, ["0", -1, k.known(each, -1)]) for each in (x, y)]
    made = k.tf.BatchMatMulV2(*flat, adj_y=True)
    return k.tf.reshaped(made, ["0", *(kept or [k.tf.ints(1)])])


def _dot_of_matrices(k: Call, inputs: list[Value], a: int, b: int) -> Value:
    """Sum along axes of vectors and matrices."""
    ranks = [len(k.shape(x)) for x in inputs]
    x = k.tf.ExpandDims(inputs[0], 1) if ranks[0] == 2 else inputs[0]
    y = k.tf.ExpandDims(inputs[1], 2) if ranks[1] == 2 else inputs[1]
    made = k.tf.BatchMatMulV2(x, y, adj_x=ranks[0] == 3 and a == 1, adj_y=ranks[1] == 3 and b == 2)
    if ranks[0] == 2:
        return k.tf.Squeeze(made, squeeze_dims=[1])
    return k.tf.Squeeze(made, squeeze_dims=[2]) if ranks[1] == 2 else made


def _with_last(k: Call, x: Value, axis: int) -> Value:
    rest = [at for at in range(len(k.shape(x))) if at != axis]
    return k.tf.transpose(x, [*rest, axis])


def _normalized(k: Call, x: Value, axis: int) -> Value:
    """Divide by the length along an axis, which Keras holds above a least one: each of the two in its own way."""
    tf, total = k.tf, k.tf.Sum(k.tf.Square(x), k.tf.ints([axis]), keep_dims=True)
    if not k.model.keras3:
        return tf.Mul(x, tf.Rsqrt(tf.Maximum(total, number(k, x, 1e-12))))
    return tf.Mul(x, tf.Minimum(tf.Rsqrt(total), number(k, x, 1e7)))
