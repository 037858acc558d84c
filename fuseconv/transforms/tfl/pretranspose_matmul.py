"""Transpose constants of BATCH_MATMUL that its kernel would transpose in its first run.

The kernel keeps what it transposed among the tensors that outlive a run, and never does it again. Behind states of a
dynamic batch, which are allocated there too, it has another place after a resize, where the numbers are not.
"""

from __future__ import annotations

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder


@module_pass("pretranspose-matmul", requires=(TFL_ONLY,))
def pretranspose_matmul(module: Module) -> None:
    """Transpose constants beside states of a dynamic batch: BATCH_MATMUL(x, w) -> BATCH_MATMUL(x, w') {adj_y}."""
    for graph in module.graphs():
        if has_moving_states(graph):
            made: dict[Value, Value] = {}
            for op in graph.ops:
                if op.kind == "tfl.BATCH_MATMUL" and not op.attrs.get("adj_y"):
                    _transpose(op, made)


def has_moving_states(graph: Graph) -> bool:
    """Return whether a resize of the graph's inputs may move all that the runtime allocates for longer than a run: it
    has variable tensors whose size follows an input's."""
    return any(result.variable and not result.is_static for op in graph.ops for result in op.results)


def _transpose(op: Op, made: dict[Value, Value]) -> None:
    weights = op.operands[1]
    if weights is None or weights.data is None or weights.quantization is not None:
        return
    if weights not in made:
        tfl = Builder([], op.name, op.sources)
        made[weights] = tfl.const(np.swapaxes(weights.data, -1, -2), weights.dtype, weights.name)
    op.set_operand(1, made[weights])
    op.attrs["adj_y"] = True
