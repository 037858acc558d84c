"""Outputs of subgraphs in the form that the runtime needs: each a tensor of its own, and growth in loops visible."""

from __future__ import annotations

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.dims import Shape, Sym, product
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.limits import RANK
from fuseconv.tfl.opdef import TABLE

# Ops whose indices tell which elements, never how many.
_INDEXED = frozenset({"GATHER", "GATHER_ND", "DYNAMIC_UPDATE_SLICE", "EMBEDDING_LOOKUP", "REVERSE_SEQUENCE"})
# Ops of which the runtime may not know the results' sizes before they run, whatever their operands are.
_SIZED_BY_DATA = frozenset({"WHILE", "IF", "CUSTOM", "RANGE", "READ_VARIABLE", "WHERE", "UNIQUE", "DENSIFY"})


@module_pass("legalize-outputs", requires=(TFL_ONLY,))
def legalize_outputs(module: Module) -> None:
    """Copy outputs that are inputs, constants or another output: return x, x -> return x, SLICE(x)."""
    loops = [op for graph in module.graphs() for op in graph.ops if op.kind == "tfl.WHILE"]
    repeated = {op.attrs["body_subgraph_index"].name for op in loops}
    for op in loops:
        _show_growth(op, module.functions[op.attrs["body_subgraph_index"].name])
    for signature in module.signatures:
        separate_outputs(signature.graph)
    for graph in module.functions.values():
        separate_outputs(graph, graph.name in repeated and has_fixed_sizes(graph), keep_constants=True)


def separate_outputs(graph: Graph, keep_inputs: bool = False, keep_constants: bool = False) -> None:
    """Gives each output a tensor of its own: a copy, where it is an input, a constant or another output as well.

    keep_inputs: it is the body of a loop in which an input may be the output of the same number. keep_constants: it is
    a branch or body: the runtime copies constants that it returns, but crashes on what RESHAPE makes of one."""
    seen: set[Value] = set(graph.inputs)
    for index, value in enumerate(graph.outputs):
        # What WHILE carries of strings it frees as it copies.
        kept = keep_inputs and value is graph.inputs[index] and value.dtype is not types.STRING
        if kept or (keep_constants and value.is_const):
            continue
        if value in seen or value.is_const or value.variable:
            graph.terminator.set_operand(index, _copy(graph, value))
        seen.add(graph.outputs[index])


def has_fixed_sizes(body: Graph) -> bool:
    """True if the runtime knows the shapes in a loop's body before it runs.

    Then it keeps an input that the body hands on as it is, without copying; else it cannot: WHILE fails."""
    if any(a.shape is None or a.shape != b.shape for a, b in zip(body.inputs, body.outputs)):
        return False
    known = {name for value in body.inputs for name in _unknowns(value)}
    for op in body.ops:
        if op.type in _SIZED_BY_DATA or any(r.shape is None or _unknowns(r) - known for r in op.results):
            return False
        indices = TABLE[op.type].indices if op.type not in _INDEXED else ()
        operands = [op.operands[index] for index in indices if index < len(op.operands)]
        if any(value is not None and not value.is_const for value in operands):
            return False
    return True


def _show_growth(loop: Op, body: Graph) -> None:
    """Lets the runtime see that a value which may begin empty grows.

    WHILE takes the shapes [0, ...] and [1, ...] for those of a scalar and a vector of one element, and then for equal:
    it does not resize what it carries, unless it finds a result whose size only a run tells."""
    for index, (operand, before, after) in enumerate(zip(loop.operands, body.inputs, body.outputs)):
        if operand is None or not (operand.shape and before.shape and after.shape):
            continue
        first = operand.shape[0]
        if not (isinstance(first, int) and first > 0) and before.shape[0] != after.shape[0]:
            tfl = Builder(body.ops, after.name, loop.sources)
            zeros = tfl.ints([0] * len(after.shape))
            # The sum is what only a run tells: SHAPE alone is known before.
            size = tfl.typed_op("ADD", [tfl.shape_(after), zeros], [(types.INT32, (len(after.shape),))], {})[0]
            made = tfl.typed_op("SLICE", [after, zeros, size], [(after.dtype, after.shape)], {})[0]
            body.terminator.set_operand(index, made)


def _unknowns(value: Value) -> set[str]:
    return {name for dim in value.shape or () if isinstance(dim, Sym) for name in dim.symbols()}


def _copy(graph: Graph, value: Value) -> Value:
    """A copy that the runtime makes on every invoke."""
    tfl = Builder(graph.ops, value.name)
    sources = value.op.sources if value.op is not None else (value.name,)
    tfl.sources = sources
    rank = value.rank or 0
    if rank == 0:
        return tfl.typed_op("RESHAPE", [value, tfl.ints([])], [(value.dtype, value.shape)], {})[0]
    if rank <= min(RANK["SLICE"], RANK["STRIDED_SLICE"]):
        return _slice_of_all(tfl, value)
    shape: Shape = value.shape  # type: ignore[assignment]
    flat = tfl.typed_op("RESHAPE", [value, tfl.ints([-1])], [(value.dtype, (product(shape),))], {})[0]
    known = tfl.static_shape(shape)
    sizes = tfl.shape_(value) if known is None else tfl.ints([*known])
    return tfl.typed_op("RESHAPE", [_slice_of_all(tfl, flat), sizes], [(value.dtype, shape)], {})[0]


def _slice_of_all(tfl: Builder, value: Value) -> Value:
    """Build a slice of everything, which unlike a reshape serves any shape and shares no memory with what it is of."""
    rank = value.rank or 0
    none, ones = tfl.ints([0] * rank), tfl.ints([1] * rank)
    if value.dtype is types.STRING:
        # SLICE fails where strings change their number between two runs.
        masks = {"begin_mask": (1 << rank) - 1, "end_mask": (1 << rank) - 1}
        return tfl.typed_op("STRIDED_SLICE", [value, none, none, ones], [(value.dtype, value.shape)], masks)[0]
    return tfl.typed_op("SLICE", [value, none, tfl.ints([-1] * rank)], [(value.dtype, value.shape)], {})[0]
