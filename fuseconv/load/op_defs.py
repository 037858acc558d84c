"""The signatures of TensorFlow's operations: their arguments, attributes and defaults.

A SavedModel brings those of its own ops; for a frozen graph, the table `op_defs.txt` beside this file has the ops of
the TensorFlow that `python -m fuseconv.load.op_defs` ran with. A line of it is, separated by tabs: name, inputs,
outputs (each `name:type`, `name:N*type` or `name:type_list`, separated by spaces), "stateful" or nothing, and the
attributes as JSON, {name: [type] or [type, default]}. The type of a string that is one of a few is "string:SAME,VALID".
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Op
from fuseconv.ir.types import DType
from fuseconv.load import attrs, protos

_TABLE = Path(__file__).with_name("op_defs.txt")


@dataclass(frozen=True)
class Arg:
    """An argument or result of an op: one tensor, `number_attr` tensors, or a tensor for each type in `list_attr`."""

    name: str
    dtype: DType | None = None
    type_attr: str = ""
    number_attr: str = ""
    list_attr: str = ""


@dataclass(frozen=True)
class OpDef:
    """The signature of a TensorFlow op.

    defaults: the attributes that have a default, with it. allowed: the values of strings that take only some.
    structural: the attributes which only state the types and counts of operands and results."""

    name: str
    inputs: tuple[Arg, ...] = ()
    outputs: tuple[Arg, ...] = ()
    attr_types: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    stateful: bool = False
    allowed: dict[str, list[str]] = field(default_factory=dict)

    @functools.cached_property
    def required(self) -> frozenset[str]:
        """The attributes that each node must carry, besides the structural ones."""
        return frozenset(self.attr_types.keys() - self.defaults.keys() - self.structural)

    @functools.cached_property
    def structural(self) -> frozenset[str]:
        """Empty if operands and results do not tell them, since there are several lists of them."""
        for args in (self.inputs, self.outputs):
            if len({a.number_attr or a.list_attr for a in args} - {""}) > 1:
                return frozenset()
        every = (*self.inputs, *self.outputs)
        return frozenset(name for a in every for name in (a.type_attr, a.number_attr, a.list_attr) if name)

    def told(self, op: Op) -> dict[str, Any]:
        """The structural attributes of an op with this signature, as its operands and results tell them."""
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
    """The op signatures that hold for one model. `stripped` is its own OpList, which comes before the table."""

    def __init__(self, stripped: Any = None) -> None:
        self._stripped = {op.name: op for op in stripped.op} if stripped is not None else {}
        self._found: dict[str, OpDef | None] = {}

    def get(self, name: str) -> OpDef | None:
        """The signature of an op, None if nobody knows it."""
        if name not in self._found:
            proto = self._stripped.get(name)
            self._found[name] = _from_table(name) if proto is None else _from_bytes(proto.SerializeToString())
        return self._found[name]

    def attributes(self, op: Op) -> dict[str, Any]:
        """All attributes of a TF op, those too that the IR leaves out: defaults, and what operands and results tell.

        Only its own for an op that nobody knows."""
        own = {name: value for name, value in op.attrs.items() if not name.startswith("_")}
        op_def = self.get(op.type)
        return own if op_def is None else {**op_def.defaults, **op_def.told(op), **own}


@functools.lru_cache(maxsize=1024)
def _from_bytes(data: bytes) -> OpDef:
    """`_from_proto`, once for all models that were saved by one TensorFlow."""
    return _from_proto(protos.classes["OpDef"].FromString(data))


def _from_proto(proto: Any) -> OpDef:
    attr_types, defaults, allowed = {}, {}, {}
    for attr in proto.attr:
        attr_types[attr.name] = attr.type
        if attr.type == "string" and attr.HasField("allowed_values"):
            allowed[attr.name] = attrs.attr(attr.allowed_values)
        if attr.HasField("default_value") and "tensor" not in attr.type:  # arrays are always kept
            defaults[attr.name] = attrs.attr(attr.default_value)
    inputs, outputs = (tuple(map(_arg_from_proto, args)) for args in (proto.input_arg, proto.output_arg))
    return OpDef(proto.name, inputs, outputs, attr_types, defaults, proto.is_stateful, allowed)


def _arg_from_proto(proto: Any) -> Arg:
    number = proto.type
    dtype = attrs.dtype(number) if number else None
    return Arg(proto.name, dtype, proto.type_attr, proto.number_attr, proto.type_list_attr)


def op_names() -> Iterable[str]:
    """The names of TensorFlow's ops."""
    return _lines().keys()


@functools.cache
def _lines() -> dict[str, str]:
    return {line[: line.index("\t")]: line for line in _TABLE.read_text().splitlines()}


@functools.cache
def _from_table(name: str) -> OpDef | None:
    line = _lines().get(name)
    if line is None:
        return None
    _, inputs, outputs, stateful, attributes = line.split("\t")
    attr_types, defaults, allowed = {}, {}, {}
    for attr, (kind, *default) in json.loads(attributes).items():
        attr_type, _, values = kind.partition(":")
        attr_types[attr] = attr_type
        if values:
            allowed[attr] = values.split(",")
        if default:
            defaults[attr] = _default_from_json(attr_type, default[0])
    ins, outs = (tuple(_arg_from_text(arg, attr_types) for arg in args.split()) for args in (inputs, outputs))
    return OpDef(name, ins, outs, attr_types, defaults, bool(stateful), allowed)


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
    """The text of the table for the TensorFlow that is installed (which this imports)."""
    from tensorflow.python.client import pywrap_tf_session as session

    # The registry is a message of TensorFlow's own classes; ours read it by way of the wire.
    ops = protos.classes["OpList"].FromString(session.TF_GetBuffer(session.TF_GetAllOpList()))
    lines = (_line(_from_proto(op)) for op in ops.op if not op.name.startswith("_Mkl"))
    return "".join(f"{line}\n" for line in sorted(lines))


def _line(op: OpDef) -> str:
    attributes = {}
    for name, attr_type in op.attr_types.items():
        default = [_default_to_json(op.defaults[name])] if name in op.defaults else []
        values = f":{','.join(op.allowed[name])}" if name in op.allowed else ""
        attributes[name] = [attr_type + values, *default]
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
