"""Settle which dimensions a squeeze of all of size 1 drops, where unknown sizes might be 1 too: what reads it tells.

`tf.squeeze(x)` of a tensor [n, 1, 4] has rank 2, or rank 1 for a batch of 1. Where its readers take rank 2 only, as a
matrix product does, the model runs for no batch of 1, and the rank is known.
"""

from __future__ import annotations

import itertools

from fuseconv.ir.dims import Shape, Sym
from fuseconv.ir.graph import Module, Op, Value
from fuseconv.ir.rewriter import ops_of_kinds
from fuseconv.pass_manager import module_pass
from fuseconv.tf.shape_functions import contradiction, infer

_SQUEEZE = "tf.Squeeze"
# Of more dimensions that might go there are too many cases.
_MOST_UNKNOWN = 4
# So many ops are asked for each case at most.
_MOST_ASKED = 16


@module_pass("settle-squeezes", kinds=(_SQUEEZE,))
def settle_squeezes(module: Module) -> bool:
    """Name the dimensions that squeezes drop: MatMul(Squeeze(x), w) -> MatMul(Squeeze(x, squeeze_dims=[1]), w).

    Only where what reads them allows no others. Requires inferred shapes, which are to be inferred anew. Returns
    whether anything changed."""
    changed = False
    for graph in module.graphs():
        for op in ops_of_kinds(graph, (_SQUEEZE,)):
            units = _settled(op)
            if units is not None:
                op.attrs = {**op.attrs, "squeeze_dims": units}
                changed = True
    return changed


def _settled(op: Op) -> list[int] | None:
    """Return the dimensions that a squeeze of all drops; None if they are told, or readers allow several choices."""
    source = op.operands[0].shape if op.operands[0] is not None else None
    if op.attrs.get("squeeze_dims") or op.result.shape is not None or source is None:
        return None
    unknown = [axis for axis, size in enumerate(source) if isinstance(size, Sym)]
    units = [axis for axis, size in enumerate(source) if size == 1]
    # A squeeze that names no dimension is one of all.
    if not units or not unknown or len(unknown) > _MOST_UNKNOWN:
        return None
    for count in range(len(unknown) + 1):
        for more in itertools.combinations(unknown, count):
            made = tuple(size for axis, size in enumerate(source) if axis not in more and axis not in units)
            # The first case is that no unknown size is 1.
            if _is_impossible(op.result, made, [_MOST_ASKED]) is not bool(count):
                return None
    return units


def _is_impossible(value: Value, shape: Shape, left: list[int]) -> bool:
    """Return whether what reads a value could not run if it had this shape, as far as few readers tell."""
    value.shape = shape
    try:
        return any(_cannot_run(reader, left) for reader in list(value.uses) if reader.dialect == "tf")
    finally:
        value.shape = None


def _cannot_run(op: Op, left: list[int]) -> bool:
    if left[0] <= 0:
        return False
    left[0] -= 1
    fits, op.fits = op.fits, False
    try:
        if contradiction(op):
            return True
        shapes = infer(op)
    finally:
        op.fits = fits
    made = shapes[0] if shapes is not None and len(shapes) == 1 else None
    return made is not None and op.result.shape is None and _is_impossible(op.result, made, left)
