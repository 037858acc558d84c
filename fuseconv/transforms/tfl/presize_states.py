"""Give the states of recurrent ops a size that the runtime knows before a run.

An op that writes a state of a dynamic batch hides the state's size from the runtime (`fusions/lstm.py` tells why). The
state becomes a tensor of dynamic size, which `reset_all_variables` refuses, and all ops behind it are prepared in the
midst of a run.
Where nothing before it is of dynamic size either, there is nothing to hide: the state is allocated with all other
tensors.

What is known that early may also be computed that early, and then on no invoke: a state must not be.
"""

from __future__ import annotations

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.once import computed_on_every_invoke, is_computed_once
from fuseconv.tfl.opdef import TABLE
from fuseconv.tfl.traits import SIZED_BY_OPERANDS
from fuseconv.transforms.tfl.legalize_outputs import INDEXED, has_fixed_sizes
from fuseconv.transforms.tfl.pack_to_concat import joined

# Ops on sizes that the runtime computes as it allocates tensors, if their operands are known then.
_COMPUTED_AHEAD = frozenset({"tfl.STRIDED_SLICE", "tfl.CONCATENATION"})
_DYNAMIC = (types.STRING, types.RESOURCE, types.VARIANT)


@module_pass("presize-states", requires=(TFL_ONLY,))
def presize_states(module: Module) -> None:
    """Size states before a run: FILL(PACK(SHAPE(x)[0], n), 0) -> FILL(CONCATENATION(SHAPE(x)[0:1], [n]), 0).

    So it is with TILE(s, MINIMUM(SHAPE(s), 1)) -> TILE(s, 1), or TILE(ADD(s, FILL(1, 0)), 1) where the runtime would
    compute s, and the state with it, only once. A state behind an op with results of dynamic size stays as it is."""
    for signature in module.signatures:
        if any(_writes_state(op) for op in signature.graph.ops):
            _presize(signature.graph, module.functions)


def _writes_state(op: Op) -> bool:
    return bool(op.results) and op.result.variable and not op.result.is_static


def _presize(graph: Graph, functions: dict[str, Graph]) -> None:
    out: list[Op] = []
    known: set[Value] = set()
    for index, op in enumerate(graph.ops):
        if _writes_state(op):
            _show_size(op, out)
        elif op.kind == "tfl.FILL":
            _join_sizes(op, out)
        if not _is_sized_ahead(op, known, functions):
            out += graph.ops[index:]
            break
        out.append(op)
    graph.ops = out


def _show_size(op: Op, out: list[Op]) -> None:
    """Let the op that writes a state have the sizes themselves as its operand, which tells them."""
    at = 0 if op.kind == "tfl.FILL" else 1
    sizes = op.operands[at]
    if sizes is None or sizes.op is None:
        return
    if sizes.op.kind == "tfl.PACK":
        _join_sizes(op, out)
    elif (op.kind, sizes.op.kind) == ("tfl.FILL", "tfl.MAXIMUM"):
        op.set_operand(0, sizes.op.operands[0])
    elif (op.kind, sizes.op.kind) == ("tfl.TILE", "tfl.MINIMUM"):
        tfl, initial = Builder(out, op.name, op.sources), op.operands[0]
        op.set_operand(1, tfl.ints([1] * (op.result.rank or 0)))
        if initial is not None and is_computed_once(initial):
            op.set_operand(0, computed_on_every_invoke(tfl, initial))


def _join_sizes(op: Op, out: list[Op]) -> None:
    """Let a FILL, of a state or with its sizes, have them from what computes them before a run."""
    pack = op_of(op.operands[0], "tfl.PACK")
    made = None if pack is None else joined(pack, out)
    if made is not None:
        op.set_operand(0, made[0])


def _is_sized_ahead(op: Op, known: set[Value], functions: dict[str, Graph]) -> bool:
    """Return whether the runtime knows the sizes of the results as it allocates tensors, if it knows the operands'.
    known: sizes that were found to be."""
    if any(result.dtype in _DYNAMIC for result in op.results):
        return False
    if op.type == "WHILE":
        return _is_loop_sized_ahead(functions[op.attrs["body_subgraph_index"].name], functions)
    if op.type not in SIZED_BY_OPERANDS:
        return False
    if op.type in ("SLICE", "TOPK_V2") and not op.result.is_static and not _reads_no_signature(op):
        return False
    sizes = [op.operands[index] for index in TABLE[op.type].indices if index < len(op.operands)]
    return op.type in INDEXED or are_known_ahead(sizes, known)


def _reads_no_signature(op: Op) -> bool:
    """Return whether the data of an op is written without a signature of its shape: what SLICE and TOPK_V2 make of
    unknown sizes in a signature is of dynamic size. `flatbuffer_export` leaves out those of what is sorted, but for
    inputs, outputs and slices."""
    data = op.operands[0]
    if data is None or data.is_static:
        return True
    is_output = any(reader.kind == "ir.return" for reader in data.uses)
    return op.type == "TOPK_V2" and data.op is not None and data.op.type != "SLICE" and not is_output


def _is_loop_sized_ahead(body: Graph, functions: dict[str, Graph]) -> bool:
    """Return whether the runtime knows, as it allocates tensors, the sizes of what a loop carries. It does if no step
    changes them, nothing in the body is of dynamic size (`Prepare` of while.cc), and `legalize_outputs` copies no
    output."""
    known: set[Value] = set()
    outputs = body.outputs
    moved = any(value in body.inputs and value is not body.inputs[at] for at, value in enumerate(outputs))
    if moved or len({*outputs}) < len(outputs) or any(value.variable for value in outputs):
        return False
    return has_fixed_sizes(body, functions) and all(_is_sized_ahead(op, known, functions) for op in body.ops)


def are_known_ahead(values: list[Value | None], known: set[Value]) -> bool:
    """Return whether all these sizes are known then, and note what they are made of as known: where one is not, nothing
    behind it counts."""
    pending = [*values]
    while pending:
        value = pending.pop()
        if value is None or value.is_const or value in known:
            continue
        maker = value.op
        if maker is None or (maker.kind != "tfl.SHAPE" and maker.kind not in _COMPUTED_AHEAD):
            return False
        known.add(value)
        if maker.kind != "tfl.SHAPE":
            pending += maker.operands
    return True
