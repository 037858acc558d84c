"""CUSTOM ops for TF ops without a lowering rule: under the op's own name, or as Flex ops, which the Flex delegate runs
with TensorFlow's kernels.

A custom op has the TF op's name and its attributes in a flexbuffer map, types as TFLite's numbers, as TFLiteConverter
writes it (CreateFlexBuilderWithNodeAttrs of its flatbuffer_export.cc). An op for the delegate is called "Flex" and the
TF op's name, and holds a flexbuffer vector of that name and the serialized NodeDef (tflite/delegates/flex/kernel.cc).
The delegate runs only what is on its list (allowlisted_flex_ops.cc, of which `flex_ops.txt` has the names).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Op
from fuseconv.ir.types import DType
from fuseconv.lower.rules import Unsupported, require

Attributes = Mapping[str, Any]


class CustomOps(NamedTuple):
    """The TF ops that may become CUSTOM ops if no rule lowers them.

    names: the TF ops that are written under their own names; every: all are. flex: those that the Flex delegate runs
    are for it. node_def: serializes an op with its attributes for the delegate, ValueError if that cannot be.
    """

    names: Collection[str] = ()
    every: bool = False
    flex: bool = False
    node_def: Callable[[Op, Attributes], bytes] = lambda op, attributes: b""

    def form(self, op: Op, attributes: Attributes) -> tuple[str, Any] | None:
        """Return the custom op's code and options; None if there is to be none. Raises Unsupported if there can be
        none."""
        if op.type in self.names:
            return op.type, _options(attributes)
        if self.flex and op.type in flex_ops():
            return f"Flex{op.type}", [op.type, self._serialized(op, attributes)]
        return (op.type, _options(attributes)) if self.every else None

    def help(self, op: Op, attributes: Attributes, has_rule: bool) -> str:
        """Return which options would write an op that cannot be converted; empty if none would."""
        ways = []
        if op.type in flex_ops() and _can(self._serialized, op, attributes):
            ways.append("--select-tf-ops lets TensorFlow's own kernel run it")
        if not has_rule and _can(_options, attributes):
            ways.append(f"--custom-op {op.type} leaves it to a kernel of your own")
        return ", ".join(ways)

    def _serialized(self, op: Op, attributes: Attributes) -> bytes:
        for value in (*op.operands, *op.results):
            if value is not None:
                require(value.dtype.tflite is not None, f"TFLite has no tensors of {value.dtype}")
                require(value.dtype is not types.RESOURCE, "the Flex delegate does not share resources with builtins")
        try:
            return self.node_def(op, attributes)
        except ValueError as error:
            raise Unsupported(str(error)) from error


def _can(build: Callable[..., Any], *arguments: Any) -> bool:
    try:
        build(*arguments)
    except Unsupported:
        return False
    return True


@functools.cache
def flex_ops() -> frozenset[str]:
    """Return the TF ops that the Flex delegate runs."""
    return frozenset(Path(__file__).with_name("flex_ops.txt").read_text().split())


def _options(attributes: Attributes) -> dict[str, Any]:
    for name in attributes:
        fit = name.isascii() and "\0" not in name
        require(fit, f"the attribute {name!r} cannot be an option of a custom op")
    return {name: _option(name, value) for name, value in attributes.items()}


def _option(name: str, value: Any) -> Any:
    """Return an attribute as a flexbuffer holds it. Refuses the op for one that it cannot hold."""
    if isinstance(value, DType):
        require(value.tflite is not None, f"the attribute {name}={value} is a type that TFLite does not have")
        return value.tflite
    if isinstance(value, (list, tuple)):
        nested = any(isinstance(item, (list, tuple)) for item in value)
        require(not nested, f"the attribute {name}, a list of shapes, cannot be an option of a custom op")
        return [_option(name, -1 if item is None else item) for item in value]
    kind = "a tensor" if isinstance(value, np.ndarray) else "a function" if isinstance(value, FuncRef) else "unknown"
    known = isinstance(value, (bool, int, float, str, bytes))
    require(known, f"the attribute {name}, {kind}, cannot be an option of a custom op")
    return value
