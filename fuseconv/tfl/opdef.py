"""Definition of the TFLite op table: one function for each op, in the modules of `fuseconv.tfl.ops`.

The function's name is the builtin operator's, in lower case; a function may also list several operators of the same
form. Its positional parameters are the operands. A default of None says that one may be left out, `*xs` that there may
be any number, the annotation `Index` that they are integers that tell places or sizes. Its keyword parameters are the
fields of the op's option table in TFLite's schema, by the schema's names; enums are strings ("SAME", "RELU"). Defaults
are the schema's, save where no kernel takes the schema's. It returns the type of the result, or a list of them, as
(dtype, shape) pairs. Where the operands do not tell the result, the function takes a keyword `results`, the list of
result types, which is no option of the op.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.op_table import OpTable
from fuseconv.ir.types import DType
from fuseconv.tfl.kernel_limits import LARGEST_SIZE

Index = Value
ResultType = tuple[DType, Shape | None]
Kernel = Callable[..., np.ndarray | None]


@dataclass(slots=True, eq=False)  # slots are read faster than the fields of a NamedTuple
class OpDef:
    """A TFLite builtin operator.

    options: the name of its option table in the schema, None if it has none.
    indices: which operands tell places or sizes. optional: which may be left out.
    defaults: the option fields with the values that hold where an op does not carry the attribute.
    derived: option fields that restate what the operands and results tell; the writer computes them.
    told: the operands do not tell the results; whoever builds the op does.
    ranks: the least and the largest number of dimensions that the kernel takes each operand with, or ONE.
    sizes: operands or options tell sizes of the results, which are then held to what a tensor may have.
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
    ranks: tuple[tuple[int, float] | None, ...]
    sizes: bool
    infer: Callable[..., ResultType | list[ResultType]]

    def result_types(
        self, operands: Sequence[Value | None], attrs: dict[str, Any], results: list[ResultType] | None = None
    ) -> list[ResultType]:
        """Return the types of the results for these operands. Raises TypeError if their number or an attribute is
        wrong, and one of `ILL_FITTING` if they do not fit together: LiteRT would refuse the file.

        results: what they are, for an op whose operands do not tell (`told`)."""
        self.check_count(len(operands))
        if self.told and results is not None:
            attrs = attrs | {"results": results}
        if self.ranks:
            self._require_ranks(operands)
        types = self.infer(*operands, **attrs)
        types = types if isinstance(types, list) else [types]
        if self.sizes:
            for _, shape in types:
                _require_sizes(shape or ())
        return types

    def check_count(self, given: int, at_least: bool = False) -> None:
        """Raise TypeError if the op does not take so many operands. at_least: it may have more than are given."""
        least, most = self.required, len(self.operands)
        if (given < least and not at_least) or (given > most and not self.variadic):
            takes = f"{least} or more" if self.variadic else f"{least}" if least == most else f"{least} to {most}"
            raise TypeError(f"{self.name} takes {takes} operand{'s' * (takes != '1')}, not {given}")

    def without_defaults(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes that do not hold their defaults."""
        defaults = self.defaults
        return {key: value for key, value in attrs.items() if value != defaults[key]}

    def _require_ranks(self, operands: Sequence[Value | None]) -> None:
        for index, (value, limits) in enumerate(zip(operands, self.ranks)):
            if value is None or value.shape is None or limits is None:
                continue
            shape, (least, most) = value.shape, limits
            if not least <= len(shape) <= most:
                raise ValueError(f"its operand {index} has {len(shape)} dimensions, which no kernel takes")
            if limits is ONE and any(isinstance(dim, int) and dim != 1 for dim in shape):
                raise ValueError(f"its operand {index} is to be one element")


def _require_sizes(shape: Shape) -> None:
    known = [dim for dim in shape if isinstance(dim, int)]
    if known and min(known) < 0:
        raise ValueError(f"a dimension of {min(known)} elements")
    elements = math.prod(dim for dim in known if dim)
    if elements > LARGEST_SIZE:
        raise ValueError(f"TFLite counts in 32 bits, and a tensor has {elements} elements")


# Options that tell sizes of results.
_SIZING = frozenset({"block_size", "reduce_function", "stride_h"})
# Of an operand that is one element, of any rank.
ONE = (0, math.inf)
TABLE: OpTable[OpDef] = OpTable()
KERNELS: OpTable[Kernel] = OpTable()
# Ops whose optional operands are all written, those that are left out too: TFLite Micro counts them, and LiteRT calls
# the shorter list deprecated (`Prepare` of unidirectional_sequence_lstm.cc in either).
_ALL_OPERANDS_WRITTEN = frozenset({"UNIDIRECTIONAL_SEQUENCE_LSTM"})


def op(
    options: str | Mapping[str, str | None] | None = None,
    derived: dict[str, Callable[[Op], Any]] | None = None,
    ranks: str = "",
) -> Callable[[Callable], Callable]:
    """Declare the decorated function as the definition of the builtin operator that it is named for, or of several.

    options: the name of the operator's option table; or {operator: option table}, for all that have these operands.
    ranks: of each operand the number of dimensions that LiteRT's kernel takes it with, such as "4" or "2-4", "*" for
        any, "1+" for one or more; "one" for one element, however many dimensions it has."""

    def declare(function: Callable) -> Callable:
        own = function.__name__.rstrip("_").upper()
        for name, table in (options if isinstance(options, Mapping) else {own: options}).items():
            TABLE.claim(name, _definition(function, name, table, derived or {}, ranks), function.__module__)
        return function

    return declare


def _definition(
    function: Callable, name: str, options: str | None, derived: dict[str, Callable[[Op], Any]], ranks: str
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
    indices = frozenset(index for index, kind in enumerate(kinds) if kind.startswith("Index"))
    return OpDef(
        name=name, options=options, operands=operands, required=required,
        variadic=bool(code.co_flags & inspect.CO_VARARGS),
        indices=indices,
        optional=frozenset(index for index, kind in enumerate(kinds) if "None" in kind or index >= required),
        defaults={attr: defaults.get(attr) for attr in attributes if attr != "results"}, derived=derived,
        told="results" in attributes, ranks=tuple(map(_limits, ranks.split())),
        sizes=bool(indices) or not _SIZING.isdisjoint(attributes), infer=function,
    )  # fmt: skip


def written_operands(op: Op) -> list[Value | None]:
    """Return the operands of an op as a file has them, with those at the end that are left out where these count."""
    left_out = len(TABLE[op.type].operands) - len(op.operands) if op.type in _ALL_OPERANDS_WRITTEN else 0
    return [*op.operands, *[None] * left_out]


def _limits(ranks: str) -> tuple[int, float] | None:
    if ranks in ("*", "one"):
        return ONE if ranks == "one" else None
    least, _, most = ranks.rstrip("+").partition("-")
    return int(least), math.inf if ranks.endswith("+") else int(most or least)


def kernel(function: Kernel) -> Kernel:
    """Declare the decorated function as the numpy form of the operator that it is named for. It takes arrays and
    attributes, and returns exactly the array that TFLite's kernel computes, or None where it cannot promise that. An op
    whose operands are all constant is computed with it as soon as it is built."""
    return KERNELS.declare(function.__name__.rstrip("_").upper())(function)
