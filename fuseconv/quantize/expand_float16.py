"""Read weights that a file stores in 16 bits as floats, where they are to have fewer bits."""

from __future__ import annotations

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, replace_uses
from fuseconv.ir.rewriter import erase_ops
from fuseconv.ir.terms import operand_of
from fuseconv.pass_manager import module_pass
from fuseconv.quantize import ROUNDED
from fuseconv.quantize.floats import EXPANDS
from fuseconv.quantize.weights_to_int8 import LEAST_ELEMENTS
from fuseconv.tfl.hybrid import hybrid_weights
from fuseconv.transforms.rnn.persist_states import STATES


@module_pass("expand-float16", requires=(TFL_ONLY,))
def expand_float16(module: Module, quantize: str | None) -> bool:
    """Read constants of float16 as floats: DEQUANTIZE(float16 w) -> w, DEQUANTIZE(GATHER(w, i)) -> GATHER(w, i).

    Where weights alone get fewer bits, those stay that would be floats then: too few for 8 bits, or of other ops.

    A state of a recurrent op, which no constant may be, becomes the variable tensor that it is in a file of floats, if
    it starts as zeros: LiteRT expands a constant once, so that either outlives an invoke."""
    made: dict[Value, Value] = {}
    changed = False
    for graph in module.graphs():
        changed |= _expand(graph, made, quantize in ROUNDED)
    return changed


def _expand(graph: Graph, made: dict[Value, Value], leaves_others: bool) -> bool:
    """Replace what is expanded in a graph. made: constants of floats for those of float16, of all graphs.
    leaves_others: but for what no op reads that gets weights of 8 bits."""
    gone = set()
    for op in graph.ops:
        value = op.operands[0] if op.kind in EXPANDS and op.result.dtype is types.FLOAT32 else None
        if value is None or value.dtype is not types.FLOAT16:
            continue
        # Outputs keep their names, by which files without signatures are run.
        is_output = op.result in graph.outputs
        if any(_is_state(op.result, reader) for reader in op.result.uses):
            if not value.is_const or np.any(value.data) or len(op.result.uses) > 1 or is_output:
                continue
            state = Value(types.FLOAT32, op.result.shape, op.result.name)
            state.variable = True
            replace_uses(op.result, state)
            gone.add(op)
        elif leaves_others and not is_output and not any(map(_gets_integers, op.result.uses)) and value.is_const:
            continue
        elif value.is_const:
            replace_uses(op.result, _as_floats(value, op.result.name) if is_output else _shared_floats(value, made))
            gone.add(op)
        elif value.op is not None and _gathers_constants(value.op):
            table = value.op.operands[0]
            assert table is not None
            if leaves_others and table.data.size < LEAST_ELEMENTS:  # type: ignore[union-attr]
                continue
            value.op.set_operand(0, _shared_floats(table, made))
            value.dtype = types.FLOAT32
            value.name = op.result.name if is_output else value.name
            replace_uses(op.result, value)
            gone.add(op)
    erase_ops(graph, gone)
    return bool(gone)


def _gets_integers(op: Op) -> bool:
    """Return whether an op has enough weights for 8 bits, of 16 bits so far or of floats."""
    known = hybrid_weights(op)
    values = [op.operands[index] for index in known.operands if index < len(op.operands)] if known is not None else []
    stored = [operand_of(value, EXPANDS) or value for value in values if value is not None]
    return sum(value.stored.size for value in stored if value.stored is not None) >= LEAST_ELEMENTS


def _is_state(value: Value, reader: Op) -> bool:
    return any(reader.operands[index] is value for index in STATES.get(reader.kind, ()))


def _gathers_constants(op: Op) -> bool:
    table = op.operands[0] if op.kind == "tfl.GATHER" else None
    return table is not None and table.is_const and len(op.result.uses) == 1


def _shared_floats(value: Value, made: dict[Value, Value]) -> Value:
    if value not in made:
        made[value] = _as_floats(value, value.name)
    return made[value]


def _as_floats(value: Value, name: str) -> Value:
    assert value.data is not None
    return constant(value.data.astype(np.float32), types.FLOAT32, name)
