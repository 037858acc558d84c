"""Read weights that a file stores in few bits for ops of floats as floats, where these are to compute in integers."""

from __future__ import annotations

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, replace_uses
from fuseconv.ir.rewriter import erase_ops
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.affine import as_floats, scale_and_zero

_STORED = (types.INT4, types.INT8, types.UINT8)


@module_pass("expand-weights", requires=(TFL_ONLY,), kinds=("tfl.DEQUANTIZE",))
def expand_weights(module: Module) -> bool:
    """Read constants of up to 8 bits as the floats that they stand for: DEQUANTIZE(int8 w) -> w.

    They lie on a grid, which tells the integers again. So does DEQUANTIZE(QUANTIZE(w))."""
    changed = False
    for graph in module.graphs():
        changed |= _expand(graph)
    return changed


def _expand(graph: Graph) -> bool:
    gone = set[Op]()
    for op in graph.ops:
        stored = op.operands[0] if op.kind == "tfl.DEQUANTIZE" else None
        array = _expanded(stored) if stored is not None and stored.dtype in _STORED else None
        if stored is not None and array is not None:
            replace_uses(op.result, constant(array, types.FLOAT32, op.result.name))
            gone.add(op)
            if stored.op is not None and gone.issuperset(stored.uses) and stored not in graph.outputs:
                gone.add(stored.op)
    erase_ops(graph, gone)
    return bool(gone)


def _expanded(stored: Value) -> np.ndarray | None:
    """Return what integers stand for that are constants, or made of one; None for others."""
    if stored.quantization is None or (stored.quantization.blocks is None and not stored.quantization.scale):
        return None
    if stored.data is not None:
        return as_floats(stored)
    given = stored.op.operands[0] if stored.op is not None and stored.op.kind == "tfl.QUANTIZE" else None
    if given is None or given.data is None or given.dtype is not types.FLOAT32:
        return None
    ends = np.iinfo(stored.dtype.numpy)
    scale, zero = scale_and_zero(stored.quantization, given.data.ndim)
    steps = given.data / scale
    rounded = np.copysign(np.floor(np.abs(steps) + 0.5), steps) + zero
    made: np.ndarray = ((np.clip(rounded, ends.min, ends.max) - zero) * scale).astype(np.float32)
    return made

