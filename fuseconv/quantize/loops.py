"""Loops: what WHILE carries has one scale, as operand, in the condition, in the body and as result; steps of unrolled
ones have ranges that are alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, MutableMapping, Set

from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Quantization, Value
from fuseconv.ir.types import DType
from fuseconv.quantize.affine import Range, parameters

# By which part of itself a range grows on each side, at most, where copies of its op have larger ones.
_ROOM = 0.25
# Of each WHILE, the scales of what it carries; None for what is no number, or stays float.
Carried = dict[Op, list[Quantization | None]]


def loops(module: Module) -> Iterator[tuple[Op, Graph, Graph]]:
    """Yield each WHILE of a module whose condition and body are its own, with both."""
    found = [op for graph in module.graphs() for op in graph.ops if op.kind == "tfl.WHILE"]
    uses = Counter(
        attr.name for graph in module.graphs() for op in graph.ops for attr in op.attrs.values()
        if isinstance(attr, FuncRef)
    )  # fmt: skip
    for op in found:
        names = [op.attrs[f"{part}_subgraph_index"].name for part in ("cond", "body")]
        if all(uses[name] == 1 for name in names):
            yield op, module.functions[names[0]], module.functions[names[1]]


def join_ranges(module: Module, ranges: MutableMapping[Value, Range]) -> None:
    """Give inputs of conditions and bodies, which are not measured, the range of what they are over all iterations."""
    for op, condition, body in loops(module):
        for index, value in enumerate(op.operands):
            if value is None or value.dtype is not types.FLOAT32:
                continue
            known = [
                Range.of(each.data) if each.data is not None else ranges.get(each)
                for each in (value, body.outputs[index], op.results[index])
            ]
            if any(each is None for each in known):
                continue
            first, *rest = [each for each in known if each is not None]
            for each in rest:
                first |= each
            ranges[condition.inputs[index]] = ranges[body.inputs[index]] = first


def join_steps(module: Module, ranges: MutableMapping[Value, Range]) -> None:
    """Widen the ranges of an op's copies, such as the steps of an unrolled loop have, towards those of all of them.

    What one step meets in the samples, another meets later. No range grows by more than a part of itself on each side,
    for copies may be of different size: a state that grows, or terms of a series."""
    copies: dict[Hashable, list[Value]] = defaultdict(list)
    for graph in module.graphs():
        for op in graph.ops:
            makers = tuple(None if each is None or each.op is None else _kind(each.op) for each in op.operands)
            for index, value in enumerate(op.results):
                if op.sources and value in ranges and not ranges[value].fixed:
                    copies[graph.name, _kind(op), makers, index, value.shape].append(value)
    for values in copies.values():
        whole = ranges[values[0]]
        for value in values[1:]:
            whole |= ranges[value]
        for value in values:
            own = ranges[value]
            room = _ROOM * (own.largest - own.least)
            ranges[value] = Range(max(whole.least, own.least - room), min(whole.largest, own.largest + room))


def _kind(op: Op) -> Hashable:
    return op.type, op.sources


def carried_scales(module: Module, integer: Set[Op], ranges: MutableMapping[Value, Range], dtype: DType) -> Carried:
    """Return the scales of what loops carry between ops that compute in integers."""
    carried: Carried = {}
    for op, _, body in loops(module):
        scales = [
            parameters(ranges[given], dtype) if given in ranges and _is_integer(given, made, integer) else None
            for given, made in zip(body.inputs, body.outputs)
        ]
        if any(scales):
            carried[op] = scales
    return carried


def _is_integer(given: Value, made: Value, integer: Set[Op]) -> bool:
    """Return whether an input of a body is read by ops of integers, and what it becomes is made by one, or is it."""
    read = any(reader in integer for reader in given.uses)
    return given.dtype is types.FLOAT32 and read and (made is given or made.op in integer)
