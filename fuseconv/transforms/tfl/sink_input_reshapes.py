"""Reshapes of inputs sink below what computes element by element: EXP(RESHAPE(x)) -> RESHAPE(EXP(x)).

XNNPACK copies an input, or what another op's kernel made, to reshape it; within its own memory a reshape is free.
"""

from __future__ import annotations

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op, Value
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import ELEMENTWISE, RESHAPES

_RESHAPES = frozenset(f"tfl.{name}" for name in RESHAPES)
_ELEMENTWISE = frozenset(f"tfl.{name}" for name in ELEMENTWISE)
# All kernels take so many dimensions; that of more is why some data is reshaped.
_MOST_DIMENSIONS = 4


@module_pass("sink-input-reshapes", requires=(TFL_ONLY,), kinds=_RESHAPES)
def sink_input_reshapes(module: Module) -> None:
    """Compute element by element before an input is reshaped: EXP(RESHAPE(x)) -> RESHAPE(EXP(x))."""
    for graph in module.graphs():
        reshapes = {op for x in graph.inputs if x.dtype is types.FLOAT32 for op in x.uses if op.kind in _RESHAPES}
        if reshapes:

            def sink(op: Op, out: list[Op], reshapes: set[Op] = reshapes) -> list[Value] | None:
                reshape = next((v.op for v in op.operands if v is not None and v.op in reshapes), None)
                return None if reshape is None else _sunk(op, reshape, Builder(out, op.name, op.sources))

            rewrite_ops(graph, _ELEMENTWISE, sink)


def _sunk(op: Op, reshape: Op, tfl: Builder) -> list[Value] | None:
    """Return the op on what is reshaped, reshaped; None if others read the reshape too, or the op broadcasts."""
    x, result = reshape.operands[0], op.result
    assert x is not None
    if reshape.result.uses.keys() != {op} or result.dtype is not types.FLOAT32 or result.variable:
        return None
    if x.rank is None or x.rank > _MOST_DIMENSIONS or result.shape != reshape.result.shape:
        return None
    others = [v for v in op.operands if v is not reshape.result]
    if not all(v is not None and _is_number(v, x.rank) for v in others):
        return None
    operands = [x if v is reshape.result else v for v in op.operands]
    made = tfl.typed_op(op.type, operands, [(result.dtype, x.shape)], dict(op.attrs))
    operands = [made[0], *reshape.operands[1:]]
    return tfl.typed_op(reshape.type, operands, [(result.dtype, result.shape)], dict(reshape.attrs))


def _is_number(value: Value, rank: int) -> bool:
    """Return whether a constant is one number, which adds no dimensions to data of so many."""
    plain = value.data is not None and value.quantization is None
    return plain and value.data.size == 1 and value.data.ndim <= rank  # type: ignore[union-attr]
