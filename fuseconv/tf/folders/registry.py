"""The table of numpy kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuseconv.ir.op_function import OpFunction, op_function
from fuseconv.ir.op_table import OpTable, marks
from fuseconv.ir.types import BFLOAT16, FLOAT16

TABLE: OpTable[OpFunction] = OpTable("kernel", op_function)
_HALF = (FLOAT16.numpy, BFLOAT16.numpy)


class Declined(Exception):
    """Raised by a kernel that does not serve these operands, or where TensorFlow would raise an error."""


def kernel(*names: str | Callable) -> Callable:
    """Mark a function as the kernel that folds the TF op that it is named for, or the ops named.

    It takes the op and the arrays of its operands, and the attributes as keyword parameters with TensorFlow's
    defaults; an op with an attribute that it does not name is declined. It returns the array of the result, or a list
    with one for each result, of exactly the types that the op declares. A result may be a view of an operand.

    Kernels of ops that compute shapes also take object arrays of ints and Syms: they do not convert elements.
    Importing registers nothing: the package collects its own functions, `Registry` those of converter modules.
    """
    return marks("kernel", names)


def widened(x: np.ndarray) -> np.ndarray:
    """Return the operand in the type that sums over it are taken in: float32 for the 16-bit floating-point types."""
    return x.astype(np.float32) if x.dtype in _HALF else x


def rounded_once(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return a function that computes float32 in float64, and rounds the result.

    numpy's own of float32 are off by up to 3 units of the last place. TensorFlow's, of few elements, mostly are not at
    all, and a model may take the sine of thousands of times that."""

    def run(*arrays: np.ndarray) -> np.ndarray:
        if any(array.dtype != np.float32 for array in arrays):
            return function(*arrays)
        return function(*(array.astype(np.float64) for array in arrays)).astype(np.float32)

    return run


def require(condition: object) -> None:
    """Decline unless the condition holds."""
    if not condition:
        raise Declined
