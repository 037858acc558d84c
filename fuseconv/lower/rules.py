"""Define what lowering rules are written with: `@lowers`, `require` and their builder. The rules stand in `ops/`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Op, Value
from fuseconv.ir.op_table import marks
from fuseconv.ir.types import DType
from fuseconv.tfl.builder import Builder


class Unsupported(Exception):
    """Raised by a rule that cannot express an op in TFLite. The message says why, and what to do if there is a way."""


class Lowering(Builder):
    """The builder that a rule gets as its first argument, `tfl`; it knows the op that is being lowered.

    `tfl.source` is that op; `tfl.dtype` and `tfl.shape` are those of its first result. `tfl.variables` are the
    variables of loops that number an axis, with that axis.
    """

    __slots__ = ("source", "variables")

    def __init__(
        self, out: list[Op], op: Op, functions: dict[str, Graph] | None = None,
        variables: Mapping[Value, int] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(out, op.name, op.sources, functions)
        self.source = op
        self.variables = variables or {}

    @property
    def dtype(self) -> DType:
        return self.source.result.dtype

    @property
    def shape(self) -> Shape | None:
        return self.source.result.shape

    def within(self, ops: list[Op]) -> Lowering:
        return Lowering(ops, self.source, self.functions, self.variables)


def lowers(*names: str | Callable) -> Callable:
    """Mark a function as the lowering rule of the TF op that it is named for, or of the ops named.

        @lowers
        def Relu6(tfl, x):
            return tfl.relu6(x)

    The rule takes the op's operands as Values and its attributes as keyword parameters with TensorFlow's names and
    defaults; an op with an attribute that the rule does not name is refused. It returns the result, or a list with one
    value (or None where nobody reads it) for each result. Importing registers nothing: `Registry` collects.
    """
    return marks("lowers", names)


def require(condition: bool, why: str) -> None:
    """Refuse the op with `why` unless the condition holds."""
    if not condition:
        raise Unsupported(why)


def constant_of(value: Value | None, what: str) -> np.ndarray:
    """Return the array of an operand that must be constant, such as the axes of a reduction."""
    require(value is not None and value.is_const, f"{what} is not a constant")
    return value.data  # type: ignore[union-attr,return-value]
