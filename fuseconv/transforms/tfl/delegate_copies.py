"""Copies of tensors that XNNPACK makes: return SLICE(x, 0, -1) -> return STRIDED_SLICE(x).

Outputs that are inputs are copied, and what a kernel would write over. XNNPACK leaves SLICE alone where sizes come from
the tensor; a copy between its ops cuts its part of the graph in two. This runs behind what looks for such copies.
"""

from __future__ import annotations

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op, Value
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import RANK

_KINDS = frozenset({"tfl.SLICE"})


@module_pass("delegate-copies", requires=(TFL_ONLY,), kinds=_KINDS)
def delegate_copies(module: Module) -> None:
    """Copy floats by an op that XNNPACK takes: SLICE(x, [0, 0], [-1, -1]) -> STRIDED_SLICE(x) of all."""
    # It takes no branches and no bodies of loops.
    for signature in module.signatures:
        rewrite_ops(signature.graph, _KINDS, _strided)


def _strided(op: Op, out: list[Op]) -> list[Value] | None:
    x, begin, size = op.operands
    if x is None or x.dtype is not types.FLOAT32 or x.is_const or not 0 < (x.rank or 0) <= RANK["STRIDED_SLICE"]:
        return None
    if not (_is_all(begin, 0) and _is_all(size, -1)):
        return None
    rank = x.rank or 0
    tfl = Builder(out, op.name, op.sources)
    numbers = [tfl.const(np.full(rank, number, np.int32)) for number in (0, 0, 1)]
    masks = {"begin_mask": (1 << rank) - 1, "end_mask": (1 << rank) - 1}
    (made,) = tfl.typed_op("STRIDED_SLICE", [x, *numbers], [(x.dtype, op.result.shape)], masks)
    return [made]


def _is_all(value: Value | None, number: int) -> bool:
    return value is not None and value.data is not None and bool((value.data == number).all())
