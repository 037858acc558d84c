"""The signature of an op: what the rules of a target look at, whether the op stands in the IR or in somebody's file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.op_versions import op_version
from fuseconv.tfl.opdef import TABLE, written_operands

CUSTOM = "CUSTOM"


def _unknown() -> np.ndarray | None:
    return None


@dataclass(frozen=True)
class TensorSpec:
    """A tensor. shape: as a runtime has it before a resize, in which a dimension that may be resized is 1.

    is_static: no dimension may be resized. values: returns what a constant holds, None if that cannot be told.
    scales: how many there are of a quantized tensor, 0 of another."""

    dtype: str
    shape: tuple[int, ...]
    is_const: bool = False
    is_static: bool = True
    is_variable: bool = False
    scales: int = 0
    values: Callable[[], np.ndarray | None] = field(default=_unknown, compare=False)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class OpSignature(NamedTuple):
    """An op. type: its builtin operator, or CUSTOM, whose name is `custom_code`. operands: None where one is left out.

    options: the fields of its option table by the schema's names, enums as names."""

    type: str
    version: int
    operands: Sequence[TensorSpec | None]
    results: Sequence[TensorSpec]
    options: Mapping[str, Any]
    custom_code: str = ""

    @property
    def tensors(self) -> list[TensorSpec]:
        return [tensor for tensor in (*self.operands, *self.results) if tensor is not None]

    @property
    def runtime_operands(self) -> list[TensorSpec]:
        return [tensor for tensor in self.operands if tensor is not None and not tensor.is_const]

    def operand(self, index: int) -> TensorSpec | None:
        """Return an operand; None where it is left out."""
        return self.operands[index] if -len(self.operands) <= index < len(self.operands) else None


def signature_of(op: Op) -> OpSignature:
    """Return the signature of a "tfl" op of the IR."""
    defaults = TABLE[op.type].defaults if op.type != CUSTOM and op.type in TABLE else {}
    return OpSignature(
        op.type, op_version(op), [_spec(value) for value in written_operands(op)],
        [_spec(value) for value in op.results],  # type: ignore[misc]
        {**defaults, **op.attrs}, op.attrs.get("custom_code", "") if op.type == CUSTOM else "",
    )  # fmt: skip


def _spec(value: Value | None) -> TensorSpec | None:
    if value is None:
        return None
    shape = tuple(dim if isinstance(dim, int) else 1 for dim in value.shape or ())
    scales = len(value.quantization.scale) if value.quantization is not None else 0
    # Of a buffer without bytes, as the shape of a scalar is, runtimes do not see that it is constant.
    constant = value.is_const and 0 not in shape
    return TensorSpec(
        value.dtype.name, shape, constant, value.is_static, value.variable, scales, lambda: value.data
    )


def signature_in(
    subgraph: Mapping[str, Any],
    op: Mapping[str, Any],
    custom: bool,
    values: Callable[[Mapping[str, Any]], np.ndarray | None],
) -> OpSignature:
    """Return the signature of an op of a document of `fuseconv.inspecting`. custom: whether it is a custom op.

    values: returns what a constant tensor of the document holds."""

    def spec(index: int) -> TensorSpec | None:
        return None if index < 0 else _spec_in(subgraph["tensors"][index], values)

    results = [tensor for tensor in map(spec, op["results"]) if tensor is not None]
    return OpSignature(
        CUSTOM if custom else op["op"], op["version"], list(map(spec, op["operands"])), results, op["options"],
        op["op"] if custom else "",
    )  # fmt: skip


def _spec_in(tensor: Mapping[str, Any], values: Callable[[Mapping[str, Any]], np.ndarray | None]) -> TensorSpec:
    signature, quantization = tensor["shape_signature"], tensor["quantisation"]
    return TensorSpec(
        tensor["type"].lower(), tuple(tensor["shape"]), tensor["size"] > 0, -1 not in (signature or ()),
        tensor["is_variable"], quantization["count"] if quantization else 0, lambda: values(tensor),
    )  # fmt: skip
