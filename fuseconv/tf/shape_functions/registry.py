"""The table of shape functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuseconv.ir.dims import Shape
from fuseconv.ir.op_function import OpFunction, op_function
from fuseconv.ir.op_table import OpTable, marks

# One shape, or one for each result; None for a result whose rank is not known.
Shapes = Shape | Sequence[Shape | None] | None
TABLE: OpTable[OpFunction] = OpTable("infers", op_function)


def infers(*names: str | Callable) -> Callable:
    """Mark a function as the shape function of the TF op that it is named for, or of the ops named.

    It takes the op and its operands (Values), and the attributes that matter to the shape as keyword parameters with
    TensorFlow's defaults. It returns the shape of the result (a tuple, or None), or a list with one for each result.
    Importing registers nothing: the package collects its own functions, `Registry` those of converter modules.
    """
    return marks("infers", names)
