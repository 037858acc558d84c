"""Legalize outputs of subgraphs for the runtime: each a tensor of its own, and growth in loops visible."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.dims import Shape, Sym, counts_choices, product
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import RANK, TYPES
from fuseconv.tfl.once import computed_on_every_invoke, is_computed_once
from fuseconv.tfl.opdef import TABLE
from fuseconv.tfl.traits import CONTROL_FLOW

# Ops whose indices tell which elements, never how many.
INDEXED = frozenset({"GATHER", "GATHER_ND", "DYNAMIC_UPDATE_SLICE", "EMBEDDING_LOOKUP", "REVERSE_SEQUENCE"})
# Ops of which the runtime may not know the results' sizes before they run, whatever their operands are.
SIZED_BY_DATA = frozenset({"CUSTOM", "RANGE", "READ_VARIABLE", "WHERE", "UNIQUE", "DENSIFY"})
_FUNCTIONS = ("cond_subgraph_index", "body_subgraph_index")
_SIDES = ("then_subgraph_index", "else_subgraph_index")
# Types of which TF 2.21 has a SLICE of the version that is written; that for halves is newer.
_SLICED = frozenset(TYPES["SLICE"]) - {types.FLOAT16, types.BFLOAT16}


@module_pass("legalize-outputs", requires=(TFL_ONLY,))
def legalize_outputs(module: Module) -> None:
    """Copy outputs that are inputs, constants, other outputs or a branch's sizes: return x, x -> return x, SLICE(x).

    So are those that may hold nothing, as data choose it: return WHERE(x) -> return STRIDED_SLICE(WHERE(x))."""
    loops = [op for graph in module.graphs() for op in graph.ops if op.kind == "tfl.WHILE"]
    for op in loops:
        body = module.functions[op.attrs["body_subgraph_index"].name]
        _show_growth(op, body)
        if _overwritten(body) and not _shares_functions(op, loops):
            _order_variables(op, module.functions)
    for signature in module.signatures:
        _show_empty(signature.graph)
        separate_outputs(signature.graph)
    kept: dict[str, set[int]] = {}
    for op in (op for graph in module.graphs() for op in graph.ops if op.type in CONTROL_FLOW):
        for name, indices in _handing_on(op, module.functions):
            kept[name] = kept.get(name, indices) & indices
    conditionals = [op for graph in module.graphs() for op in graph.ops if op.type == "IF"]
    branches = {op.attrs[side].name for op in conditionals for side in _SIDES}
    for graph in module.functions.values():
        if graph.name in branches:
            _compute_on_every_invoke(graph)
        separate_outputs(graph, kept.get(graph.name, ()), keep_constants=True)


def _shares_functions(loop: Op, loops: list[Op]) -> bool:
    names = [[op.attrs[name].name for name in _FUNCTIONS] for op in loops if op is not loop]
    return any(loop.attrs[name].name in other for name in _FUNCTIONS for other in names)


def separate_outputs(graph: Graph, keep: Container[int] = (), keep_constants: bool = False) -> None:
    """Give each output a tensor of its own: a copy, where it is an input, a constant or another output as well.

    keep: it is a branch or a loop's body which may hand on inputs as these outputs. keep_constants: it is either: the
    runtime copies constants that it returns, but crashes on what RESHAPE makes of one."""
    inputs = set(graph.inputs)
    seen = set(inputs)
    for index, value in enumerate(graph.outputs):
        # What WHILE carries of strings it frees as it copies.
        kept = index in keep and value in inputs and value.dtype is not types.STRING
        if kept or (keep_constants and value.is_const):
            continue
        if value in seen or value.is_const or value.variable:
            graph.terminator.set_operand(index, _copy(graph, value))
        seen.add(graph.outputs[index])


def _show_empty(graph: Graph) -> None:
    """Copy outputs that ops make of a size that they see as they run, where data may choose nothing: LiteRT's Python
    reads no such tensor without elements, but what the arena holds."""
    for index, value in enumerate(graph.outputs):
        if value.op is not None and any(map(counts_choices, value.shape or ())) and _sizes_itself(value.op):
            tfl = Builder(graph.ops, value.name, value.op.sources[:1])
            graph.terminator.set_operand(index, copied(tfl, value, ahead=True))


def _compute_on_every_invoke(branch: Graph) -> None:
    """Copy outputs of a branch that the runtime computes once: return SHAPE(x) -> return SLICE(SHAPE(x)).

    As IF is allocated, it lets its result share the memory of what a branch made, and both free it. Where the branch is
    not allocated anew, the result is what that memory held before."""
    for index, value in enumerate(branch.outputs):
        if value.is_const or not is_computed_once(value):
            continue
        assert value.op is not None  # no input is computed
        tfl = Builder(branch.ops, value.name, value.op.sources)
        copy = copied if value.rank and value.dtype in _SLICED else computed_on_every_invoke
        branch.terminator.set_operand(index, copy(tfl, value))


def _handing_on(op: Op, functions: dict[str, Graph]) -> Iterator[tuple[str, set[int]]]:
    """Yield the branches or the body that an op runs, by name, and which of their outputs may be inputs without a copy.

    IF copies its own operand to its result there, of known sizes or not (`OutputIsInput` in if.cc)."""
    if op.type == "IF":
        for name in _SIDES:
            yield op.attrs[name].name, set(range(len(op.results)))
    else:
        body = functions[op.attrs["body_subgraph_index"].name]
        yield body.name, _may_hand_on(op, body, functions)


def _may_hand_on(loop: Op, body: Graph, functions: dict[str, Graph]) -> set[int]:
    """Return the outputs of a loop's body that may be its inputs without a copy.

    If no size changes, all but those that come behind what writes over the input: the runtime copies one output after
    another into the inputs of the next step. Else what keeps its place and a known size, and which nobody reads behind
    the loop: the runtime lets that alone."""
    if has_fixed_sizes(body, functions):
        return set(range(len(body.outputs))) - _overwritten(body)
    return {
        i for i, value in enumerate(body.inputs)
        if value is body.outputs[i] and value.is_static and not loop.results[i].uses
    }  # fmt: skip


def _overwritten(body: Graph) -> set[int]:
    """Return the outputs of a loop's body that are inputs over which an earlier output is copied."""
    return {i for i, other in _handed_on(body).items() if other < i}


def _handed_on(body: Graph) -> dict[int, int]:
    """Return, for each output of a loop's body that is an input which changes, the place of that input."""
    places = {value: i for i, value in enumerate(body.inputs) if value is not body.outputs[i]}
    return {i: places[value] for i, value in enumerate(body.outputs) if value in places}


def _order_variables(loop: Op, functions: dict[str, Graph]) -> None:
    """Let what is copied from an input come before what is copied over it: While(x, last; x', x) -> While(last, x; x,
    x'). What changes places in a ring takes one copy."""
    cond, body = (functions[loop.attrs[name].name] for name in _FUNCTIONS)
    follows = _handed_on(body)
    waits = Counter(follows.values())
    order: dict[int, None] = {}
    for rings in (False, True):
        for start in range(len(body.inputs)):
            at: int | None = start
            while at is not None and at not in order and (rings or not waits[at]):
                order[at] = None
                at = follows.get(at)
                if at is not None:
                    waits[at] -= 1
    for graph in (cond, body):
        graph.inputs = [graph.inputs[i] for i in order]
    body.outputs = [body.outputs[i] for i in order]
    loop.set_operands([loop.operands[i] for i in order])
    loop.results = [loop.results[i] for i in order]
    for index, result in enumerate(loop.results):
        result.index = index


def has_fixed_sizes(body: Graph, functions: dict[str, Graph]) -> bool:
    """Return whether the runtime knows the shapes in a loop's body before it runs.

    Then it keeps an input that the body hands on as it is, without copying; else WHILE fails where it resizes one."""
    if any(a.shape is None or a.shape != b.shape for a, b in zip(body.inputs, body.outputs)):
        return False
    return _has_fixed_ops(body, functions)


def _has_fixed_ops(graph: Graph, functions: dict[str, Graph]) -> bool:
    """Return whether the sizes of what a graph computes follow from those of its inputs alone."""
    known = {name for value in graph.inputs for name in _unknowns(value)}
    for op in graph.ops:
        if any(r.shape is None or _unknowns(r) - known for r in op.results) or _sizes_itself(op):
            return False
        if op.type in CONTROL_FLOW and not _has_fixed_results(op, functions):
            return False
    return True


def _sizes_itself(op: Op) -> bool:
    """Return whether the runtime may not know the sizes of an op's results before it runs, though it knows those of its
    operands."""
    indices = TABLE[op.type].indices if op.type not in INDEXED | SIZED_BY_DATA else ()
    operands = [op.operands[index] for index in indices if index < len(op.operands)]
    return op.type in SIZED_BY_DATA or any(value is not None and not value.is_const for value in operands)


def _has_fixed_results(op: Op, functions: dict[str, Graph]) -> bool:
    """Return True for a branch whose sides make the same sizes, and of a loop that changes none."""
    if op.type == "WHILE":
        return has_fixed_sizes(functions[op.attrs["body_subgraph_index"].name], functions)
    sides = [functions[op.attrs[name].name] for name in _SIDES]
    same = all(a.shape is not None and a.shape == b.shape for a, b in zip(*(side.outputs for side in sides)))
    return same and all(_has_fixed_ops(side, functions) for side in sides)


def _show_growth(loop: Op, body: Graph) -> None:
    """Let the runtime see that a value which may begin empty grows.

    WHILE takes the shapes [0, ...] and [1, ...] for those of a scalar and a vector of one element, and then for equal.
    So it does not resize what it carries, unless it finds a tensor in the body whose size only a run tells. One is
    enough for all that the loop carries: the smallest value that grows is copied."""
    growing = [index for index in range(len(body.outputs)) if _may_begin_empty(loop, body, index)]
    if not growing:
        return
    index = min(growing, key=lambda each: _least_elements(body.outputs[each].shape or ()))
    after = body.outputs[index]
    tfl = Builder(body.ops, after.name, loop.sources)
    zeros = tfl.ints([0] * len(after.shape or ()))
    # The sum is what only a run tells: SHAPE alone is known before.
    size = tfl.typed_op("ADD", [tfl.shape_(after), zeros], [(types.INT32, zeros.shape)], {})[0]
    made = tfl.typed_op("SLICE", [after, zeros, size], [(after.dtype, after.shape)], {})[0]
    body.terminator.set_operand(index, made)


def _may_begin_empty(loop: Op, body: Graph, index: int) -> bool:
    """Return True if the first dimension of what a loop carries may be 0 before the loop, and another behind a step."""
    operand, before, after = loop.operands[index], body.inputs[index], body.outputs[index]
    if operand is None or not (operand.shape and before.shape and after.shape):
        return False
    first = operand.shape[0]
    return not (isinstance(first, int) and first > 0) and before.shape[0] != after.shape[0]


def _least_elements(shape: Shape) -> tuple[int, int]:
    """Return the number of dimensions that are not known, and the product of those that are."""
    known = [dim for dim in shape if isinstance(dim, int)]
    return len(shape) - len(known), math.prod(known)


def _unknowns(value: Value) -> set[str]:
    return {name for dim in value.shape or () if isinstance(dim, Sym) for name in dim.symbols()}


def _copy(graph: Graph, value: Value) -> Value:
    """Build a copy that the runtime makes on every invoke."""
    # One node: that it stands for all of them tells the op that is copied, which may have thousands of copies.
    sources = value.op.sources[:1] if value.op is not None else (value.name,)
    tfl = Builder(graph.ops, value.name, sources)
    # No slice takes these, in TF 2.21's interpreter at least.
    if not value.rank or value.dtype not in _SLICED:
        known = tfl.static_shape(value.shape)
        sizes = tfl.shape_(value) if known is None else tfl.ints([*known])
        return tfl.typed_op("RESHAPE", [value, sizes], [(value.dtype, value.shape)], {})[0]
    return copied(tfl, value)


def copied(tfl: Builder, value: Value, ahead: bool = False) -> Value:
    """Build a copy of a tensor that is no scalar, which shares no memory with it. ahead: of a size that the runtime
    knows before a run, if it knows the tensor's: what SLICE makes of unknown sizes is of dynamic size."""
    rank = value.rank or 0
    if rank <= min(RANK["SLICE"], RANK["STRIDED_SLICE"]):
        return _slice_of_all(tfl, value, ahead)
    shape: Shape = value.shape  # type: ignore[assignment]
    flat = tfl.typed_op("RESHAPE", [value, tfl.ints([-1])], [(value.dtype, (product(shape),))], {})[0]
    known = tfl.static_shape(shape)
    sizes = tfl.shape_(value) if known is None else tfl.ints([*known])
    return tfl.typed_op("RESHAPE", [_slice_of_all(tfl, flat, ahead), sizes], [(value.dtype, shape)], {})[0]


def _slice_of_all(tfl: Builder, value: Value, ahead: bool) -> Value:
    """Build a slice of everything, which unlike a reshape serves any shape and shares no memory with what it is of."""
    rank = value.rank or 0
    none, ones = tfl.ints([0] * rank), tfl.ints([1] * rank)
    if value.dtype is types.STRING or (ahead and not value.is_static):
        # SLICE fails where strings change their number between two runs.
        masks = {"begin_mask": (1 << rank) - 1, "end_mask": (1 << rank) - 1}
        return tfl.typed_op("STRIDED_SLICE", [value, none, none, ones], [(value.dtype, value.shape)], masks)[0]
    return tfl.typed_op("SLICE", [value, none, tfl.ints([-1] * rank)], [(value.dtype, value.shape)], {})[0]
