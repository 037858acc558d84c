"""The signatures of TensorFlow's operations: their arguments, attributes and defaults.

The table `op_defs.txt` beside this file has the ops of the TensorFlow that `python -m fuseconv.load.op_defs` ran with.
A line of it is, separated by tabs: name, inputs, outputs (each `name:type`, `name:N*type` or `name:type_list`,
separated by spaces), "stateful" or nothing, and the attributes as JSON, {name: [type] or [type, default]}. A type is
followed by the least value, or for a list the least length (`int>=1`), and by the values of which it must be one
(`string:SAME,VALID`, `type:float32,int32`).

A SavedModel brings the definitions of its ops along. Of an op that the table has, they only add attributes with
defaults, those of a newer TensorFlow: what the table says holds, as TensorFlow too runs a model by its own definitions.
A model that tells another number of operands, another type or another default is lying.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Op
from fuseconv.ir.types import DType
from fuseconv.load import attrs, protos

# The results of an op by their names, each with the types of its tensors.
Outputs = list[tuple[str, list[DType]]]
# What is known of an op serves all models; hostile ones may have any number of types.
_MOST_KNOWN = 64
_MOST_TYPES = 32
_TABLE = Path(__file__).with_name("op_defs.txt")
# Where and how TensorFlow runs a node, as its device; never what it computes.
_PLACEMENT = {
    "PartitionedCall": frozenset({"config", "config_proto", "executor_type"}),
    "StatefulPartitionedCall": frozenset({"config", "config_proto", "executor_type"}),
    "VarHandleOp": frozenset({"allowed_devices", "debug_name"}),
}


class Arg(NamedTuple):
    """An argument or result of an op: one tensor, `number_attr` tensors, or a tensor for each type in `list_attr`."""

    name: str
    dtype: DType | None = None
    type_attr: str = ""
    number_attr: str = ""
    list_attr: str = ""


@dataclass(frozen=True)
class OpDef:
    """The signature of a TensorFlow op.

    defaults: the attributes that have a default, with it. allowed: the values of strings and types that take only some.
    least: the least value of an int, the least length of a list.
    structural: the attributes which only state the types and counts of operands and results."""

    name: str
    inputs: tuple[Arg, ...] = ()
    outputs: tuple[Arg, ...] = ()
    attr_types: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    stateful: bool = False
    allowed: dict[str, list[Any]] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)

    @functools.cached_property
    def required(self) -> frozenset[str]:
        """Return the attributes that each node must carry, besides the structural ones."""
        return frozenset(self.attr_types.keys() - self.defaults.keys() - self.structural)

    @functools.cached_property
    def structural(self) -> frozenset[str]:
        """Return the attributes that only tell types and counts: none if operands and results do not tell them, since
        there are several lists of them."""
        for args in (self.inputs, self.outputs):
            if len({a.number_attr or a.list_attr for a in args} - {""}) > 1:
                return frozenset()
        every = (*self.inputs, *self.outputs)
        return frozenset(name for a in every for name in (a.type_attr, a.number_attr, a.list_attr) if name)

    @functools.cached_property
    def left_out(self) -> frozenset[str]:
        """Return the attributes on which no result depends, but for what operands and results tell."""
        return self.structural | _PLACEMENT.get(self.name, frozenset())

    @functools.cached_property
    def typing(self) -> tuple[tuple[str, str], ...]:
        """Return the attributes that state types and counts of operands and results, each with its own type."""
        kinds: dict[str, str] = {}
        for arg in (*self.inputs, *self.outputs):
            kinds |= {arg.type_attr: "type", arg.number_attr: "int", arg.list_attr: "list(type)"}
        return tuple((name, kind) for name, kind in kinds.items() if name)

    @functools.cached_property
    def known_types(self) -> dict[Any, tuple[list[DType], Outputs]]:
        """Return the types of operands and the outputs, by what the attributes of `typing` hold, for nodes that were
        read before."""
        return {}

    def remember_types(self, key: Any, found: tuple[list[DType], Outputs]) -> None:
        """Keep the types of operands and the outputs of nodes whose attributes of `typing` hold this."""
        count = len(found[0]) + sum(len(dtypes) for _, dtypes in found[1])
        if count <= _MOST_TYPES and len(self.known_types) < _MOST_KNOWN:
            self.known_types[key] = found

    def told(self, op: Op) -> dict[str, Any]:
        """Return the structural attributes of an op with this signature, as its operands and results tell them."""
        found: dict[str, Any] = {}
        operands = [value for value in op.operands if value is not None]
        for args, values in ((self.inputs, operands), (self.outputs, op.results)):
            lists = sum(1 for arg in args if arg.number_attr or arg.list_attr)
            each = (len(values) - (len(args) - lists)) // lists if lists else 0
            rest = iter(values)
            for arg in args:
                own = list(itertools.islice(rest, each if arg.number_attr or arg.list_attr else 1))
                if arg.number_attr:
                    found[arg.number_attr] = len(own)
                if arg.list_attr:
                    found[arg.list_attr] = [value.dtype for value in own]
                elif arg.type_attr and own:
                    found[arg.type_attr] = own[0].dtype
        return {name: value for name, value in found.items() if name in self.structural}


class OpDefs:
    """The op signatures that hold for one model. `stripped` is its own OpList, for what the table does not have."""

    def __init__(self, stripped: Any = None) -> None:
        self._stripped = {op.name: op for op in stripped.op} if stripped is not None else {}
        self._found: dict[str, OpDef | None] = {}

    def get(self, name: str) -> OpDef | None:
        """Return the signature of an op; None if neither the table nor the model has one."""
        if name not in self._found:
            proto = self._stripped.get(name)
            known = _from_table(name)
            if proto is not None:
                said = _from_bytes(proto.SerializeToString())
                known = said if known is None else _extended(known, said)
            self._found[name] = known
        return self._found[name]

    def attributes(self, op: Op) -> dict[str, Any]:
        """Return all attributes of a TF op, with those that the IR leaves out: defaults, and types and counts that
        operands and results tell.

        Only its own for an op that nobody knows."""
        own = {name: value for name, value in op.attrs.items() if not name.startswith("_")}
        op_def = self.get(op.type)
        return own if op_def is None else {**op_def.defaults, **op_def.told(op), **own}


def is_custom(name: str) -> bool:
    """Return True if TensorFlow does not have the op: only the model's own list may define it."""
    return name not in _lines()


def _extended(known: OpDef, said: OpDef) -> OpDef:
    """Return the table's definition of an op with the attributes that only the model's has, and that have defaults."""
    more = said.defaults.keys() - known.attr_types.keys()
    if not more:
        return known
    types_of_more = {name: said.attr_types[name] for name in more}
    defaults = {name: said.defaults[name] for name in more}
    return replace(known, attr_types=known.attr_types | types_of_more, defaults=known.defaults | defaults)


@functools.lru_cache(maxsize=1024)
def _from_bytes(data: bytes) -> OpDef:
    """Return `_from_proto` of the bytes, cached for all models that were saved by one TensorFlow."""
    return _from_proto(protos.classes["OpDef"].FromString(data))


def _from_proto(proto: Any) -> OpDef:
    """Return the definition that an OpDef of the model holds. Raises InputError for a default of another type than its
    attribute."""
    attr_types, defaults, allowed, least = {}, {}, {}, {}
    for attr in proto.attr:
        attr_types[attr.name] = attr.type
        if attr.HasField("allowed_values"):
            allowed[attr.name] = _allowed(attr.allowed_values.list)
        if attr.has_minimum:
            least[attr.name] = attr.minimum
        if attr.HasField("default_value") and "tensor" not in attr.type:  # arrays are always kept
            default = attrs.attr(attr.default_value, attr.type)
            if not attrs.is_a(default, attr.type):
                raise InputError(
                    f"the default of '{attr.name}' of the model's op '{proto.name}' is no {attr.type}: "
                    "the model file is damaged."
                )
            defaults[attr.name] = default
    inputs, outputs = (tuple(map(_arg_from_proto, args)) for args in (proto.input_arg, proto.output_arg))
    return OpDef(proto.name, inputs, outputs, attr_types, defaults, proto.is_stateful, allowed, least)


def _allowed(values: Any) -> list[Any]:
    """Return the strings, or those of the types that fuseconv knows."""
    return [*map(attrs.text, values.s), *(types.BY_TF[number] for number in values.type if number in types.BY_TF)]


def _arg_from_proto(proto: Any) -> Arg:
    number = proto.type
    dtype = attrs.dtype(number) if number else None
    return Arg(proto.name, dtype, proto.type_attr, proto.number_attr, proto.type_list_attr)


def op_names() -> Iterable[str]:
    """Return the names of TensorFlow's ops."""
    return _lines().keys()


def operand_count(name: str) -> int | None:
    """Return how many operands an op of TensorFlow's takes; None for any number, or if there is no such op."""
    known = _from_table(name)
    if known is None or any(arg.number_attr or arg.list_attr for arg in known.inputs):
        return None
    return len(known.inputs)


@functools.cache
def _lines() -> dict[str, str]:
    return {line[: line.index("\t")]: line for line in _TABLE.read_text().splitlines()}


@functools.cache
def _from_table(name: str) -> OpDef | None:
    """Return TensorFlow's own definition of an op, parsed from its line of op_defs.txt; None if TensorFlow has no such
    op."""
    line = _lines().get(name)
    if line is None:
        return None
    _, inputs, outputs, stateful, attributes = line.split("\t")
    attr_types, defaults, allowed, least = {}, {}, {}, {}
    for attr, (kind, *default) in json.loads(attributes).items():
        limited, _, values = kind.partition(":")
        attr_type, _, minimum = limited.partition(">=")
        attr_types[attr] = attr_type
        if values:
            of_types = "string" not in attr_type
            allowed[attr] = [types.BY_NAME[value] if of_types else value for value in values.split(",")]
        if minimum:
            least[attr] = int(minimum)
        if default:
            defaults[attr] = _default_from_json(attr_type, default[0])
    ins, outs = (tuple(_arg_from_text(arg, attr_types) for arg in args.split()) for args in (inputs, outputs))
    return OpDef(name, ins, outs, attr_types, defaults, bool(stateful), allowed, least)


def _arg_from_text(text: str, attr_types: dict[str, str]) -> Arg:
    name, _, kind = text.partition(":")
    number, star, kind = kind.rpartition("*")
    if kind not in attr_types:
        return Arg(name, types.BY_NAME[kind], number_attr=number if star else "")
    if attr_types[kind] == "list(type)":
        return Arg(name, list_attr=kind)
    return Arg(name, type_attr=kind, number_attr=number)


def _default_from_json(attr_type: str, value: Any) -> Any:
    if attr_type.startswith("list("):
        return [_default_from_json(attr_type[5:-1], item) for item in value]
    if attr_type == "type":
        return types.BY_NAME[value]
    if attr_type == "shape" and value is not None:
        return tuple(value)
    if attr_type == "func":
        return FuncRef(value)
    return value


def registry_table() -> str:
    """Return the text of the table for the TensorFlow that is installed (which this imports)."""
    from tensorflow.python.client import pywrap_tf_session as session

    # The registry is a message of TensorFlow's own classes; ours read it by way of the wire.
    ops = protos.classes["OpList"].FromString(session.TF_GetBuffer(session.TF_GetAllOpList()))
    lines = (_line(_from_proto(op)) for op in ops.op if not op.name.startswith("_Mkl"))
    return "".join(f"{line}\n" for line in sorted(lines))


def _line(op: OpDef) -> str:
    attributes = {}
    for name, attr_type in op.attr_types.items():
        default = [_default_to_json(op.defaults[name])] if name in op.defaults else []
        least = f">={op.least[name]}" if name in op.least else ""
        values = f":{','.join(map(str, op.allowed[name]))}" if name in op.allowed else ""
        attributes[name] = [attr_type + least + values, *default]
    inputs, outputs = (" ".join(map(_arg_to_text, args)) for args in (op.inputs, op.outputs))
    stateful = "stateful" if op.stateful else ""
    return "\t".join((op.name, inputs, outputs, stateful, json.dumps(attributes, separators=(",", ":"))))


def _arg_to_text(arg: Arg) -> str:
    number = f"{arg.number_attr}*" if arg.number_attr else ""
    kind = arg.dtype.name if arg.dtype else arg.type_attr or arg.list_attr
    return f"{arg.name}:{number}{kind}"


def _default_to_json(value: Any) -> Any:
    if isinstance(value, (DType, FuncRef)):
        return value.name
    return [_default_to_json(item) for item in value] if isinstance(value, (list, tuple)) else value


if __name__ == "__main__":
    _TABLE.write_text(registry_table())
