"""Tell along which axes the gradients of operands that broadcast are summed, though sizes are not known.

TensorFlow sums along each axis where the operand's size is 1, which it looks up in each run: a size that is not known
may turn out to be 1. Where the gradient is as long as the operand, to sum along such an axis changes nothing.
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Module, Op, constant
from fuseconv.ir.rewriter import ops_of_kinds
from fuseconv.pass_manager import module_pass
from fuseconv.tf.operands import content_of

_AXES = "tf.BroadcastGradientArgs"


@module_pass("resolve-gradient-axes", kinds=(_AXES,))
def resolve_gradient_axes(module: Module) -> None:
    """Name the axes of sums: Sum(dy[n,4], BroadcastGradientArgs([n, 1], [n, 4])) -> Sum(dy[n,4], [1]).

    The sums keep their dimensions, or are reshaped. Requires inferred shapes."""
    for graph in module.graphs():
        for op in ops_of_kinds(graph, ("tf.Sum",)):
            axes = _axes(op) if _is_shaped(op) else None
            if axes is not None:
                dy, along = op.operands
                assert along is not None
                op.set_operands([dy, constant(np.array(axes, along.dtype.numpy), along.dtype)])


def _is_shaped(op: Op) -> bool:
    """Return whether nobody sees which dimensions of size 1 a sum leaves out."""
    return bool(op.attrs.get("keep_dims")) or all(
        reader.kind == "tf.Reshape" and reader.operands[1] is not op.result for reader in op.result.uses
    )


def _axes(op: Op) -> list[int] | None:
    """Return the axes of a sum that are those of a gradient; None if a run may find others that make a difference."""
    dy, along = op.operands
    maker = along.op if along is not None else None
    if dy is None or dy.shape is None or along is None or maker is None or maker.kind != _AXES:
        return None
    sizes = [content_of(value) for value in maker.operands]
    own, other = (sizes[place] for place in (along.index, 1 - along.index))
    if own is None or other is None or max(own.size, other.size) != len(dy.shape):
        return None
    padded = [[1] * (len(dy.shape) - known.size) + known.tolist() for known in (own, other)]
    for size, its, made in zip(*padded, dy.shape):
        # Of equal shapes TensorFlow names no axes, not even those where both are 1.
        if (size == 1 and made not in (its, 1)) or (isinstance(size, Sym) and made != size):
            return None
    return [axis for axis, size in enumerate(padded[0]) if size == 1]
