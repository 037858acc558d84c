"""Constant folding of TF ops with numpy."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import numpy as np

from fuseconv.errors import ILL_FITTING
from fuseconv.ir.graph import Op
from fuseconv.ir.op_function import OpFunction
from fuseconv.tf.folders.registry import TABLE, Declined

for _name in ("array", "diagonals", "elementwise", "fake_quant", "linalg", "nn", "reduction", "slicing", "strings"):
    TABLE.collect(importlib.import_module(f"{__name__}.{_name}"))


def evaluate(op: Op, arrays: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """Evaluate a TF op on these operands, as TensorFlow's CPU kernel does up to rounding.

    None if no kernel serves the op, an attribute or these operands. Results may be views of operands.
    """
    results = apply(op, arrays)
    if results is None:
        return None
    for value, result in zip(op.results, results):
        if result.dtype != value.dtype.numpy:
            raise TypeError(f"the kernel of {op.type} made {result.dtype} where the op makes {value.dtype}")
    return results


def kernel_of(op: Op) -> OpFunction | None:
    """Return the kernel that serves a TF op with its attributes; None if there is none."""
    function = TABLE.get(op.type) or TABLE.offered(op.type) if op.dialect == "tf" else None
    return None if function is None or function.unhandled(op) else function


def apply(op: Op, arrays: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """Return as `evaluate`, for arrays of any element type: object arrays of ints and Syms too."""
    function = kernel_of(op)
    if function is None:
        return None
    try:
        with np.errstate(all="ignore"):
            made = function(op, op, arrays)
    except (Declined, TypeError, *ILL_FITTING):
        # Operands that do not fit together: a branch that is never taken may well hold such an op. Else lowering tells.
        return None
    # Of an array of objects numpy takes one text as such.
    results = [
        np.asarray(result, object if isinstance(result, bytes) else None)
        for result in (made if isinstance(made, list) else [made])
    ]
    if len(results) != len(op.results):
        raise TypeError(f"the kernel of {op.type} made {len(results)} results where the op has {len(op.results)}")
    return results
