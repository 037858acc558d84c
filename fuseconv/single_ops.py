"""Files of one op each, cut out of a file: what each op of a file is timed with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fuseconv.errors import FuseconvError
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Module, Op, Signature, Value
from fuseconv.ir.value_numbering import attrs_key
from fuseconv.write.flatbuffer_export import to_bytes


class SingleOp(NamedTuple):
    """A file of one op, the arrays that it takes in their order, and what tells it from ops that take as long."""

    data: bytes
    feed: list[np.ndarray]
    key: tuple


class NotAlone(FuseconvError):
    """An op cannot run in a file of its own."""


def single_op(op: Op, module: Module, arrays: Mapping[Value, np.ndarray]) -> SingleOp:
    """Return the file of an op: constants stay what they are, states are empty, and everything else is an input.

    arrays: what a run of the whole file made of each value, by which sizes that are not fixed are known. The
    subgraphs of loops and branches come along. Raises NotAlone for what depends on more than its operands."""
    if any(value is not None and value.dtype.is_handle for value in (*op.operands, *op.results)):
        raise NotAlone("it reads or writes a variable or a table")
    if not op.results:
        raise NotAlone("it has no result")
    graph, feed = Graph("main"), []
    new: dict[Value, Value] = {}
    for value in dict.fromkeys(value for value in op.operands if value is not None and not value.is_const):
        new[value] = _like(value, _array(value, arrays).shape)
        if not value.variable:
            graph.inputs.append(new[value])
            feed.append(_array(value, arrays))
    operands = [None if value is None else new.get(value, value) for value in op.operands]
    alone = Op(op.kind, operands, dict(op.attrs), op.name)
    for value in op.results:
        result = alone.add_result(value.dtype, _shape(value, arrays), value.name)
        result.quantization, result.variable = value.quantization, value.variable
    graph.ops, graph.outputs = [alone], list(alone.results)
    names = [f"x{place}" for place in range(len(feed))]
    signature = Signature(["serve"], graph, names, [f"y{place}" for place in range(len(alone.results))])
    small = Module([signature], module.functions)
    return SingleOp(to_bytes(small), feed, _key(op, arrays))


def _array(value: Value, arrays: Mapping[Value, np.ndarray]) -> np.ndarray:
    if value not in arrays:
        raise NotAlone("the runtime has nothing for one of its tensors")
    return arrays[value]


def _shape(value: Value, arrays: Mapping[Value, np.ndarray]) -> Shape | None:
    """Return the shape that a result had, or is declared with: of what a loop makes and nothing reads there is none."""
    return arrays[value].shape if value in arrays else value.shape


def _like(value: Value, shape: tuple[int, ...]) -> Value:
    copy = Value(value.dtype, shape, value.name)
    copy.quantization, copy.variable = value.quantization, value.variable
    return copy


def _key(op: Op, arrays: Mapping[Value, np.ndarray]) -> tuple:
    """Return what an op's time depends on: its type, options, types and shapes, but not the numbers."""
    operands = tuple(
        None if value is None else
        (value.dtype.name, value.shape if value.is_const else arrays[value].shape, value.is_const, value.variable)
        for value in op.operands
    )  # fmt: skip
    return op.kind, attrs_key(op.attrs), operands, repr([_shape(value, arrays) for value in op.results])
