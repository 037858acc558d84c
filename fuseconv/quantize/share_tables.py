"""Read the weights of a dense layer and the table of an embedding as one constant, where these are equal.

A language model that reads tokens and tells them by one table multiplies by its transpose, which is folded to weights
[tokens, depth]: the table again. As floats both are the same bytes of the file. Rounded by themselves they are not.
"""

from __future__ import annotations

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Value
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.linear import LAYOUTS

_GATHER, _DENSE = "tfl.GATHER", "tfl.FULLY_CONNECTED"


@module_pass("share-tables", requires=(TFL_ONLY,), kinds={_GATHER})
def share_tables(module: Module) -> None:
    """Read tables that weights are equal to: GATHER(t, i), FULLY_CONNECTED(x, w = t) -> FULLY_CONNECTED(x, t)."""
    ops = [op for graph in module.graphs() for op in graph.ops if op.kind in (_GATHER, _DENSE)]
    tables: dict[tuple[int, ...], list[Value]] = {}
    for op in ops:
        table = op.operands[0]
        if op.kind == _GATHER and table is not None and table.stored is not None and table.dtype is types.FLOAT32:
            known = tables.setdefault(table.stored.shape, [])
            if table not in known:
                known.append(table)
    index = LAYOUTS["FULLY_CONNECTED"].weights
    for op in ops:
        weights = op.operands[index] if op.kind == _DENSE else None
        if weights is None or weights.stored is None or weights.dtype is not types.FLOAT32:
            continue
        for table in tables.get(weights.stored.shape, ()):
            if table is not weights and np.array_equal(table.data, weights.data):  # type: ignore[arg-type]
                op.set_operand(index, table)
                break
