"""The table of shape functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuseconv.ir.dims import Shape
from fuseconv.ir.signature import OpFunction, op_function

# One shape, or one for each result; None for a result whose rank is not known.
Shapes = Shape | Sequence[Shape | None] | None
TABLE: dict[str, OpFunction] = {}


def infers(*names: str) -> Callable[[Callable], Callable]:
    """Declare the decorated function as the shape function of these TF ops (by default: of the op it is named for).

    It takes the op and its operands (Values), and the attributes that matter to the shape as keyword parameters with
    TensorFlow's defaults. It returns the shape of the result (a tuple, or None), or a list with one for each result.
    """

    def declare(function: Callable) -> Callable:
        for name in names or (function.__name__,):
            assert name not in TABLE, f"{name} has two shape functions"
            TABLE[name] = op_function(function, name)
        return function

    return declare
