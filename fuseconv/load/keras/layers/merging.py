"""Layers that merge several tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.activations import number
from fuseconv.load.keras.layers.settings import axes_of
from fuseconv.load.keras.registry import PASS, layer


def _merged(k: Call, inputs: Any, combine: Callable[[Value, Value], Value]) -> Value:
    """Combine tensors one after the other; those of lower rank get dimensions behind the batch."""
    if not isinstance(inputs, list) or len(inputs) < 1:
        k.refuse("it is called on no list of tensors")
    rank = max(len(k.shape(x)) for x in inputs)
    wide = []
    for x in inputs:
        for _ in range(rank - len(k.shape(x))):
            x = k.tf.ExpandDims(x, 1)
        wide.append(x)
    made = wide[0]
    if len({x.dtype for x in wide}) > 1:
        k.refuse("its inputs are of several types")
    for x in wide[1:]:
        made = combine(made, x)
    return made


def _combiner(k: Call, kind: str) -> Callable[[Value, Value], Value]:
    return lambda a, b: k.tf.add(kind, [a, b], {}, a.dtype)


@layer("Add", masks=PASS)
def add(k: Call, inputs: Any) -> Value:
    return _merged(k, inputs, _combiner(k, "AddV2"))


@layer("Subtract", masks=PASS)
def subtract(k: Call, inputs: Any) -> Value:
    if not isinstance(inputs, list) or len(inputs) != 2:
        k.refuse("it is called on other than two tensors")
    return _merged(k, inputs, _combiner(k, "Sub"))


@layer("Multiply", masks=PASS)
def multiply(k: Call, inputs: Any) -> Value:
    return _merged(k, inputs, _combiner(k, "Mul"))


@layer("Maximum", masks=PASS)
def maximum(k: Call, inputs: Any) -> Value:
    return _merged(k, inputs, _combiner(k, "Maximum"))


@layer("Minimum", masks=PASS)
def minimum(k: Call, inputs: Any) -> Value:
    return _merged(k, inputs, _combiner(k, "Minimum"))


@layer("Average", masks=PASS)
def average(k: Call, inputs: Any) -> Value:
    made = _merged(k, inputs, _combiner(k, "AddV2"))
    if not made.dtype.is_float:
        k.refuse("an average of integers")
    return k.tf.RealDiv(made, number(k, made, len(inputs)))


@layer("Concatenate", masks=PASS)
def concatenate(k: Call, inputs: Any, *, axis: int = -1) -> Value:
    if not isinstance(inputs, list) or not inputs or len({x.dtype for x in inputs}) > 1:
        k.refuse("it is called on no list of tensors of one type")
    (axis,) = axes_of(k, axis, len(k.shape(inputs[0])))
    return k.tf.ConcatV2(*inputs, k.tf.ints(axis), dtype=inputs[0].dtype)
