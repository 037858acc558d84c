"""The operators of one subgraph -> ops of the IR."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import fuseconv.tfl.folders
import fuseconv.tfl.ops  # noqa: F401  (both fill the tables)
from fuseconv.errors import ILL_FITTING, UnsupportedError, ill_fitting
from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import STATEFUL, FuncRef, Op, Value
from fuseconv.ir.types import DType
from fuseconv.load.tflite.options import attributes, options_table
from fuseconv.load.tflite.table_decoder import DamagedError, Table
from fuseconv.load.tflite.tensors import Tensors
from fuseconv.tfl import schema
from fuseconv.tfl.opdef import TABLE
from fuseconv.tfl.type_inference import result_content

CUSTOM = "CUSTOM"
_UNKNOWN = "fuseconv does not know what it takes and makes"
_ABSENT = -1


def _kind(code: Table) -> str:
    """Return the name of a builtin operator. Files from before there were 127 have the older field only."""
    number = max(code.number("builtin_code"), code.number("deprecated_builtin_code"))
    return schema.enum_name("BuiltinOperator", number)


def refuse_unknown(codes: list[Table], subgraphs: list[Table]) -> None:
    """Raise UnsupportedError, which names them, for ops that the table of TFLite's ops does not have."""
    unknown = {index: _kind(code) for index, code in enumerate(codes) if _kind(code) not in (CUSTOM, *TABLE)}
    found: dict[str, list[str]] = defaultdict(list)
    for number, table in enumerate(subgraphs if unknown else ()):
        for place, op in enumerate(table.tables("operators", "Operator")):
            kind = unknown.get(op.number("opcode_index"))
            if kind is not None:
                found[kind].append(f"{number}:{place}")
    if found:
        ops = [(kind, places, _UNKNOWN) for kind, places in found.items()]
        places = "; ".join(f"{kind} at {', '.join(where[:3])}" for kind, where in found.items())
        raise UnsupportedError(f"the file has ops that fuseconv does not know, {places}: update fuseconv", ops)


class Operators:
    """Make ops. codes: the operators that a file uses; names: of its subgraphs; stateful: whether its custom ops have
    side effects. called: which subgraphs each one runs, once its ops are made."""

    def __init__(self, codes: list[Table], names: list[str], stateful: bool) -> None:
        self.codes, self.names, self.stateful = codes, names, stateful
        self.called: dict[str, set[str]] = defaultdict(set)
        self._options: dict[tuple, dict[str, Any]] = {}

    def op(self, table: Table, tensors: Tensors, graph: str) -> Op:
        """Return the op of a table. graph: the name of the subgraph that it stands in."""
        number = table.number("opcode_index")
        if number >= len(self.codes):
            raise DamagedError(f"an op is of the operator {number}, which is not there")
        code = self.codes[number]
        kind = _kind(code)
        operands = [None if index == _ABSENT else tensors.read(index) for index in table.ints("inputs")]
        results = table.ints("outputs")
        name = tensors.name(results[0]) if results else f"{kind.lower()}"
        attrs = self._custom(table, code, name) if kind == CUSTOM else self._attributes(kind, table, graph)
        dtypes = [tensors.dtype(index) for index in results]
        if kind == "CAST" and dtypes:  # the kernel goes by the tensor, and some files leave the option out
            attrs["out_data_type"] = dtypes[0].name.upper()
        op = Op(f"tfl.{kind}", operands, attrs, name, _sources(name))
        shapes = self._shapes(op, dtypes, tensors, results)
        for index, shape in zip(results, shapes, strict=True):
            value = tensors.made(index, shape)
            value.op, value.index = op, len(op.results)
            op.results.append(value)
        _add_content(op)
        _refuse_half_scaled(op)
        used = table.ints("intermediates")
        if used:
            op.attrs["intermediates"] = [tensors.unmade(index) for index in used]
        return op

    def _attributes(self, kind: str, table: Table, graph: str) -> dict[str, Any]:
        if "custom_options" in table:
            raise DamagedError(f"an op {kind} has the options of a custom one")

        def function(number: int) -> FuncRef:
            if not 0 <= number < len(self.names):
                raise DamagedError(f"an op {kind} runs the subgraph {number}, which is not there")
            self.called[graph].add(self.names[number])
            return FuncRef(self.names[number])

        return attributes(kind, options_table(table), function)

    def _custom(self, table: Table, code: Table, result: str) -> dict[str, Any]:
        name = code.text("custom_code")
        if not name:
            raise DamagedError("a custom op has no name")
        if code.number("version") != 1 or table.number("large_custom_options_size"):
            what = "a version of its own" if code.number("version") != 1 else "options behind the model"
            help = "which is not read: quantize where the model is converted"
            raise UnsupportedError(f"the custom op {name} ({result}) has {what}, {help}", [(name, [result], what)])
        options = table.array("custom_options", "u1").tobytes()
        return {"custom_code": name, "custom_options": options} | ({STATEFUL: True} if self.stateful else {})

    def _shapes(self, op: Op, dtypes: list[DType], tensors: Tensors, results: list[int]) -> list[Shape | None]:
        """Return the shapes of results as the operands tell them; None where they do not. Raises DamagedError for
        results of other types than the kernel writes, which it would write beyond."""
        if op.type == CUSTOM:
            return [None] * len(results)
        definition = TABLE[op.type]
        for index, value in enumerate(op.operands):
            if value is None and index not in definition.optional:  # kernels read what they require
                raise DamagedError(f"{op.type} ({op.name}) lacks an operand that it needs: number {index}")
        told: list | None = None
        if definition.told:
            told = [(dtype, tensors.stored_shape(index)) for dtype, index in zip(dtypes, results)]
        try:
            found = definition.result_types(op.operands, op.attrs, told)
        except (AttributeError, AssertionError) as error:
            raise DamagedError(f"{op.type} ({op.name}) lacks an operand that it needs, or its shape") from error
        except (TypeError, *ILL_FITTING) as error:
            raise DamagedError(f"the operands of {op.type} ({op.name}) {ill_fitting(error)}") from error
        if len(found) != len(results):
            raise DamagedError(f"{op.type} ({op.name}) makes {len(found)} results, and not {len(results)}")
        for (made, _), dtype in zip(found, dtypes):
            if made is not dtype:
                raise DamagedError(f"{op.type} ({op.name}) makes {made}, but its result is of type {dtype}")
        return [shape for _, shape in found]


def _sources(name: str) -> tuple[str, ...]:
    """Return the nodes that a tensor is named after: TFLiteConverter joins those of a fused op. Numbers tell apart
    tensors of one name."""
    return tuple(dict.fromkeys(part for part in name.split(";") if part and not part.isdigit()))


def _refuse_half_scaled(op: Op) -> None:
    """Raise DamagedError where some of an op's tensors of bytes have scales and others none: kernels divide by them,
    and abort over the outcome. A custom op, and one that runs subgraphs, may carry both."""
    if op.type == CUSTOM or any(isinstance(value, FuncRef) for value in op.attrs.values()):
        return
    values = [value for value in (*op.operands, *op.results) if value and value.dtype in (types.INT8, types.UINT8)]
    if len({value.quantization is None for value in values}) > 1:
        raise DamagedError(f"some tensors of {op.type} ({op.name}) have scales, and others have none")


def _add_content(op: Op) -> None:
    """Note what is known of the elements of a shape."""
    if not op.results or op.type == CUSTOM:
        return
    operands: list[Value | None] = op.operands
    try:
        known = result_content(op.type, operands, op.attrs)
    except ILL_FITTING as error:
        raise DamagedError(f"the operands of {op.type} ({op.name}) {ill_fitting(error)}") from error
    if known is not None and op.result.rank == known.ndim:
        op.result.content = known
