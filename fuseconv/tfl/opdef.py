"""Definition of the TFLite op table: one function for each op, in the modules of `fuseconv.tfl.ops`.

The function's name is the builtin operator's, in lower case; a function may also list several operators of the same
form. Its positional parameters are the operands (a default of None: may be left out; `*xs`: any number; annotated
`Index`: integers that tell places or sizes), its keyword parameters the fields of the op's option table in TFLite's
schema, with the schema's names; enums are strings ("SAME", "RELU"). Defaults are the schema's, save where no kernel
takes the schema's. It returns the type of the result, or a list of them, as (dtype, shape) pairs. Where the operands do
not tell the result, the function takes a keyword `results`, the list of result types, which is no option of the op.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.op_table import OpTable
from fuseconv.ir.types import DType

Index = Value
ResultType = tuple[DType, Shape | None]
Kernel = Callable[..., np.ndarray | None]


class OpDef(NamedTuple):
    """A TFLite builtin operator.

    options: the name of its option table in the schema, None if it has none.
    indices: which operands tell places or sizes. optional: which may be left out.
    defaults: the option fields with the values that hold where an op does not carry the attribute.
    derived: option fields that restate what the operands and results tell; the writer computes them.
    told: the operands do not tell the results; whoever builds the op does.
    """

    name: str
    options: str | None
    operands: tuple[str, ...]
    required: int
    variadic: bool
    indices: frozenset[int]
    optional: frozenset[int]
    defaults: dict[str, Any]
    derived: dict[str, Callable[[Op], Any]]
    told: bool
    infer: Callable[..., ResultType | list[ResultType]]

    def result_types(
        self, operands: Sequence[Value | None], attrs: dict[str, Any], results: list[ResultType] | None = None
    ) -> list[ResultType]:
        """Return the types of the results for these operands. Raises TypeError if their number or an attribute is
        wrong.

        results: what they are, for an op whose operands do not tell (`told`)."""
        if len(operands) < self.required or (not self.variadic and len(operands) > len(self.operands)):
            raise TypeError(f"{self.name} takes {self.required} to {len(self.operands)} operands, not {len(operands)}")
        if self.told and results is not None:
            attrs = attrs | {"results": results}
        types = self.infer(*operands, **attrs)
        return types if isinstance(types, list) else [types]


TABLE: OpTable[OpDef] = OpTable()
KERNELS: OpTable[Kernel] = OpTable()


def op(
    options: str | Mapping[str, str | None] | None = None, derived: dict[str, Callable[[Op], Any]] | None = None
) -> Callable[[Callable], Callable]:
    """Declare the decorated function as the definition of the builtin operator that it is named for, or of several.

    options: the name of the operator's option table; or {operator: option table}, for all that have these operands."""

    def declare(function: Callable) -> Callable:
        own = function.__name__.rstrip("_").upper()
        for name, table in (options if isinstance(options, Mapping) else {own: options}).items():
            TABLE.claim(name, _definition(function, name, table, derived or {}), function.__module__)
        return function

    return declare


def _definition(
    function: Callable, name: str, options: str | None, derived: dict[str, Callable[[Op], Any]]
) -> OpDef:
    """Read the definition of an operator off a function's signature: operands are its positional parameters, optional
    with a default, indices if they are annotated so; attributes are keywords, with their defaults. What it returns are
    the types and shapes of results."""
    # What `inspect.signature` reads too, which takes ten times as long.
    code, defaults = function.__code__, function.__kwdefaults__ or {}
    operands = code.co_varnames[: code.co_argcount]
    attributes = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    kinds = [str(function.__annotations__.get(operand, "")) for operand in operands]
    required = len(operands) - len(function.__defaults__ or ())
    return OpDef(
        name=name, options=options, operands=operands, required=required,
        variadic=bool(code.co_flags & inspect.CO_VARARGS),
        indices=frozenset(index for index, kind in enumerate(kinds) if kind.startswith("Index")),
        optional=frozenset(index for index, kind in enumerate(kinds) if "None" in kind or index >= required),
        defaults={attr: defaults.get(attr) for attr in attributes if attr != "results"}, derived=derived,
        told="results" in attributes, infer=function,
    )  # fmt: skip


def kernel(function: Kernel) -> Kernel:
    """Declare the decorated function as the numpy form of the operator that it is named for: arrays and attributes in,
    an array out, exactly the one that TFLite's kernel computes, or None where it does not promise that. An op whose
    operands are all constant is computed with it as soon as it is built."""
    return KERNELS.declare(function.__name__.rstrip("_").upper())(function)
