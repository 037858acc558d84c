"""Loops: what WHILE carries has one scale, as operand, in the condition, in the body and as result; steps of unrolled
ones have ranges that are alike. What is summed up over steps has 16 bits, or is float with the gates around it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping, Sequence, Set

from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Quantization, Value
from fuseconv.ir.types import DType
from fuseconv.quantize.affine import Range, parameters
from fuseconv.quantize.copies import FEWEST_STEPS, kinds_of
from fuseconv.tfl.traits import ELEMENTWISE

# By which part of itself a range grows on each side, at most, where copies of its op have larger ones.
_ROOM = 0.25
# Of each WHILE, the scales of what it carries; None for what is no number, or stays float.
Carried = dict[Op, list[Quantization | None]]
# By these, a number of one step becomes one of the next with its rounding errors, which add up.
_ACCUMULATE = frozenset({"ADD", "MUL", "SELECT", "SELECT_V2", "SUB"})
# Ops of more kinds between steps are those of a deep network.
_MOST_KINDS = 32


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
    """Give inputs of conditions and bodies, which are not measured, the range of what they are over all iterations.

    So gets what a loop starts from if it had no elements in any sample, as a list that grows by concatenation."""
    for op, condition, body in loops(module):
        for index, value in enumerate(op.operands):
            if value is None or value.dtype is not types.FLOAT32:
                continue
            known = [
                Range.of(each.data) if each.data is not None else ranges.get(each)
                for each in (value, body.outputs[index], op.results[index])
            ]
            if any(each is None for each in known[1:]):
                continue
            first, *rest = [each for each in known if each is not None]
            for each in rest:
                first |= each
            ranges[condition.inputs[index]] = ranges[body.inputs[index]] = first
            if known[0] is None:
                ranges[value] = first


def join_steps(module: Module, ranges: MutableMapping[Value, Range]) -> None:
    """Widen the ranges of an op's copies, such as the steps of an unrolled loop have, towards those of all of them.

    What one step meets in the samples, another meets later. No range grows by more than a part of itself on each side,
    for copies may be of different size: a state that grows, or terms of a series."""
    alike: dict[Hashable, list[tuple[Op, Value]]] = defaultdict(list)
    of_makers: dict[Op, Hashable] = {}
    for graph in module.graphs():
        kinds = kinds_of(graph)
        for op in graph.ops:
            for index, value in enumerate(op.results):
                if op.sources and value in ranges and not ranges[value].fixed:
                    alike[graph.name, kinds[op], index, value.shape].append((op, value))
        of_makers |= kinds
    copies: dict[Hashable, list[Value]] = defaultdict(list)
    for key, found in alike.items():
        for op, value in found if len(found) > 1 else ():
            makers = tuple(None if each is None or each.op is None else of_makers[each.op] for each in op.operands)
            copies[key, makers].append(value)
    for values in copies.values():
        whole = ranges[values[0]]
        for value in values[1:]:
            whole |= ranges[value]
        for value in values:
            own = ranges[value]
            room = _ROOM * (own.largest - own.least)
            ranges[value] = Range(max(whole.least, own.least - room), min(whole.largest, own.largest + room))


def wide_values(module: Module, integer: Set[Op]) -> set[Value]:
    """Return the tensors that have 16 bits where others have 8: cell states of LSTMs, and states of GRUs.

    A step makes them of those of the step before by sums and products alone, as c = f * c + i * g, and rounds them each
    time. With 8 bits that is most of the error of a loop. integer: the ops that compute in integers."""
    wide = {op.result for graph in module.graphs() for op in _between_copies(graph, integer)}
    for op, condition, body in loops(module):
        for index, (given, made) in enumerate(zip(body.inputs, body.outputs)):
            between = _between({given}, {made}, body, integer)
            if between:
                wide.update(each.result for each in between)
                wide.update((given, condition.inputs[index], op.results[index]))
    return wide


def _between(first: Set[Value], last: Set[Value], graph: Graph, integer: Set[Op]) -> list[Op]:
    """Return the ops that make what is in `last` of what is in `first`, by sums and products."""
    reached, wanted, forward = set(first), set(last), []
    for op in graph.ops:
        if op in integer and op.type in _ACCUMULATE and not reached.isdisjoint(op.operands):
            reached.add(op.result)
            forward.append(op)
    for op in reversed(forward):
        if op.result in wanted:
            wanted.update(value for value in op.operands if value in reached)
    return [op for op in forward if op.result in wanted]


def _between_copies(graph: Graph, integer: Set[Op]) -> list[Op]:
    """Return the ops of unrolled loops that make sums and products of their own copies' results in other steps."""
    ops = [op for op in graph.ops if op in integer and op.type in _ACCUMULATE and op.sources]
    kinds = kinds_of(graph)
    counts = Counter(kinds[op] for op in ops)
    ops = [op for op in ops if counts[kinds[op]] >= FEWEST_STEPS]
    before = _kinds_on_the_way(ops, kinds, [op.operands for op in ops], [op.results for op in ops])
    back = ops[::-1]
    after = _kinds_on_the_way(back, kinds, [op.results for op in back], [op.operands for op in back])
    return [op for op in ops if kinds[op] in before[op] or kinds[op] in after[op]]


def _kinds_on_the_way(
    ops: Sequence[Op], kinds: Mapping[Op, Hashable], read: Sequence[Sequence[Value | None]],
    made: Sequence[Sequence[Value | None]],
) -> dict[Op, frozenset[Hashable]]:  # fmt: skip
    """Return for each op the kinds of those that lead to it. ops: in the order of the way; read, made: the values that
    each meets on it, and hands on."""
    leading: dict[Op, frozenset[Hashable]] = {}
    of_values: dict[Value | None, frozenset[Hashable]] = {}
    none: frozenset[Hashable] = frozenset()
    for op, own, handed in zip(ops, read, made):
        leading[op] = none.union(*(of_values.get(value, none) for value in own if value is not None))
        if len(leading[op]) < _MOST_KINDS:
            for value in handed:
                of_values[value] = of_values.get(value, none) | leading[op] | {kinds[op]}
    return leading


def gates(graph: Graph, sums: Set[Value], integer: Set[Op], moves: Callable[[Op], bool]) -> set[Op]:
    """Return the ops that hand numbers to sums over steps, or take them from these, element by element: up to the
    products on both sides, such as tanh(c), and LOGISTIC(ADD(x, h)).

    Each would round to 8 bits once more. sums: the tensors that sum up over steps. integer: the ops that would compute
    in integers. moves: whether an op only hands on numbers. Of unrolled loops, gates are ops that each step has."""
    if sums.isdisjoint(value for op in graph.ops for value in op.results):
        return set()
    kinds = kinds_of(graph)
    counts = Counter(kinds.values())
    fewest = FEWEST_STEPS if sums.isdisjoint(graph.inputs) else 1
    near = [op for op in graph.ops if op in integer and (moves(op) or op.type in ELEMENTWISE)]
    near = [op for op in near if moves(op) or counts[kinds[op]] >= fewest]
    found, reached = set(), set(sums)
    for op in near:
        if not reached.isdisjoint(op.operands):
            found.add(op)
            reached.update(op.results)
    floats = found | {op for op in graph.ops if any(value in sums for value in op.results)}
    for op in reversed(near):
        if op not in floats and all(reader in floats for value in op.results for reader in value.uses):
            found.add(op)
            floats.add(op)
    return {op for op in found if not moves(op)}


def carried_scales(
    module: Module, integer: Set[Op], ranges: MutableMapping[Value, Range], type_of: Callable[[Value], DType]
) -> Carried:
    """Return the scales of what loops carry between ops that compute in integers. type_of: the type of a tensor."""
    carried: Carried = {}
    for op, _, body in loops(module):
        scales = [
            parameters(ranges[given], type_of(given)) if given in ranges and _is_integer(given, made, integer) else None
            for given, made in zip(body.inputs, body.outputs)
        ]
        if any(scales):
            carried[op] = scales
    return carried


def _is_integer(given: Value, made: Value, integer: Set[Op]) -> bool:
    """Return whether an input of a body is read by ops of integers, and what it becomes is made by one, or is it."""
    read = any(reader in integer for reader in given.uses)
    return given.dtype is types.FLOAT32 and read and (made is given or made.op in integer)
