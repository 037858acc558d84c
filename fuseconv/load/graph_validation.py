"""Validation of a model's nodes and functions, before any other code reads them.

Each node is held to the definition of its op: how many operands, of which types, which values of attributes. Calls are
held to the functions that they run, functions to their own headers, signatures to the tensors that they name. So no
pass that follows has to defend itself against a node that TensorFlow itself would refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from fuseconv.errors import InputError
from fuseconv.ir.graph import FuncRef, Graph, Module, Op
from fuseconv.ir.types import DType
from fuseconv.load import attrs
from fuseconv.load.op_defs import OpDef

DAMAGED = "the model file is damaged."
# For each attribute that names functions which an op runs: the operand that is their first argument, and whether their
# results are the op's.
_CALLS = {"f": (0, True)}
_BRANCHES = {"then_branch": (1, True), "else_branch": (1, True), "branches": (1, True)}
_LOOP = {"cond": (0, False), "body": (0, True)}
_RUN = {
    "PartitionedCall": _CALLS, "StatefulPartitionedCall": _CALLS, "If": _BRANCHES, "StatelessIf": _BRANCHES,
    "Case": _BRANCHES, "StatelessCase": _BRANCHES, "While": _LOOP, "StatelessWhile": _LOOP,
}  # fmt: skip
# How many types a sentence lists.
_MOST_LISTED = 8


class Callee(NamedTuple):
    """The types of a function's arguments and results."""

    takes: list[DType]
    returns: list[DType]


def raw(held: Any, name: str, attr_type: str) -> Any:
    """Return what a node's map of attributes holds of one that states types, as plain numbers, to look up what was read
    of them before; None if it holds none, another thing than numbers if that is of another type."""
    value = held.get(name)
    if value is None:
        return None
    if attr_type == "type":
        return value.type
    if attr_type == "int":
        return value.i or value.WhichOneof("kind")
    return tuple(value.list.type[:]) or value.WhichOneof("kind")


def attribute(value: Any, name: str, node: Any, op_def: OpDef) -> None:
    """Refuse an attribute's value that the op's definition does not allow."""
    least = op_def.least.get(name)
    if least is not None and (len(value) if isinstance(value, list) else value) < least:
        what = "items" if isinstance(value, list) else "as its value"
        raise InputError(f"the attribute '{name}' of the node '{node.name}' has less than {least} {what}: {DAMAGED}")
    allowed = op_def.allowed.get(name)
    if allowed is None:
        return
    for item in value if isinstance(value, list) else (value,):
        if item not in allowed:
            values = ", ".join(map(str, allowed))
            what = f"'{name}' of the node '{node.name}' ({node.op}) is {_text(item)}"
            raise InputError(f"the attribute {what}, which is none of {values}: {DAMAGED}")


def operands(op: Op, expected: Sequence[DType]) -> None:
    """Refuse an op whose operands are not of these types, which its definition and attributes tell."""
    got = [value.dtype for value in op.operands if value is not None]
    if len(got) != len(expected):
        raise InputError(
            f"the node '{op.name}' ({op.type}) has {len(got)} operands where it takes {len(expected)}: {DAMAGED}"
        )
    for index, (dtype, wanted) in enumerate(zip(got, expected)):
        if dtype is not wanted:
            raise InputError(
                f"the node '{op.name}' ({op.type}) takes {wanted} as operand {index}, and gets {dtype}: {DAMAGED}"
            )


def call(op: Op, callee: Callable[[str], Callee]) -> None:
    """Refuse an op whose operand or result types differ from those of the function that it runs."""
    for key, (first, whole) in _RUN.get(op.type, {}).items():
        given = [value.dtype for value in op.operands[first:] if value is not None]
        refs = op.attrs.get(key)
        for ref in refs if isinstance(refs, list) else [refs]:
            if not isinstance(ref, FuncRef):
                continue
            function = callee(ref.name)
            _agree(op, ref.name, "takes", function.takes, "gets", given)
            if whole:
                _agree(op, ref.name, "returns", function.returns, "is to make", [value.dtype for value in op.results])
            elif len(function.returns) != 1 or function.returns[0].is_handle:
                raise InputError(
                    f"the condition '{ref.name}' of the loop '{op.name}' returns {_list(function.returns)} "
                    f"where it must tell one bool: {DAMAGED}"
                )


def _agree(op: Op, name: str, verb: str, declared: list[DType], other: str, found: list[DType]) -> None:
    if declared != found:
        raise InputError(
            f"the function '{name}' {verb} {_list(declared)}, and {other} {_list(found)} where the node '{op.name}' "
            f"({op.type}) runs it: {DAMAGED}"
        )


def unique(names: Iterable[str], what: str, where: str) -> None:
    """Refuse a name that is there twice. what: is named so; where: what all of them are in."""
    every = [*names]
    if len(set(every)) == len(every):
        return
    seen: set[str] = set()
    for name in every:
        if name in seen:
            raise InputError(f"{where} has two {what} of the name '{name}': {DAMAGED}")
        seen.add(name)


def function_header(proto: Any, nodes: Iterable[str]) -> None:
    """Refuse a FunctionDef whose arguments, results or nodes share names. nodes: the names of its nodes."""
    signature = proto.signature
    where = f"The function '{signature.name}'"
    unique((arg.name for arg in signature.output_arg), "results", where)
    unique([*(arg.name for arg in signature.input_arg), *nodes], "arguments or nodes", where)


def function_results(graph: Graph, proto: Any) -> None:
    """Refuse a function that returns other types than its FunctionDef says."""
    for arg, value in zip(proto.signature.output_arg, graph.outputs):
        said = attrs.dtype(arg.type)
        if value.dtype is not said:
            raise InputError(
                f"the function '{graph.name}' says that its result '{arg.name}' is {said}, and returns {value.dtype}: "
                f"{DAMAGED}"
            )


def tensor_info(number: int, dtype: DType, what: str, node: str) -> None:
    """Refuse a signature tensor whose type differs from its node's. number: the type that the signature tells, in
    types.proto; 0 if it tells none. what: the signature's name for the tensor."""
    if number and attrs.dtype(number) is not dtype:
        raise InputError(f"{what} is {attrs.dtype(number)}, and the tensor '{node}' is {dtype}: {DAMAGED}")


def signatures(module: Module) -> None:
    """Refuse inputs and outputs of types that a TFLite file has no tensors of."""
    for signature in module.signatures:
        graph = signature.graph
        for side, names, values in (
            ("input", signature.inputs, graph.inputs), ("output", signature.outputs, graph.outputs)
        ):  # fmt: skip
            for name, value in zip(names, values):
                if value.dtype.is_handle or value.dtype.tflite is None:
                    raise InputError(
                        f"the {side} '{name}' of the signature '{signature.names[0]}' is a {value.dtype}, and a TFLite "
                        f"file has no such {side}s: give the signature tensors of numbers or texts."
                    )


def _text(item: Any) -> str:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)


def _list(dtypes: Sequence[DType]) -> str:
    listed = ", ".join(map(str, dtypes[:_MOST_LISTED]))
    more = f" and {len(dtypes) - _MOST_LISTED} more" if len(dtypes) > _MOST_LISTED else ""
    return f"({listed}{more})"
