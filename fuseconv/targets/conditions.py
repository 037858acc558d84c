"""Conditions that the rules of targets are made of. Each returns a `Condition`: why an op is refused, or None.

The sentences go on where "GATHER: " ends, such as "its indices have 2 dimensions, and not 1".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.errors import suggestion
from fuseconv.targets.signature import OpSignature
from fuseconv.targets.target import Condition
from fuseconv.tfl import schema

FLOATS = "float32 float16"
_LARGEST_FLOAT16 = 65504.0
_MOST_OF_A_MASK = 1 << 20


def operands(low: int, high: int | None = None) -> Condition:
    """Demand so many operands, up to `high`."""
    most = low if high is None else high

    def check(op: OpSignature) -> str | None:
        count = len(op.operands)
        return None if low <= count <= most else f"it has {count} operands, and not {_span(low, most)}"

    return check


def results(count: int) -> Condition:
    """Demand so many results."""
    return lambda op: (
        None if len(op.results) == count else f"it has {len(op.results)} results, and not {count}"
    )


def computed(low: int, high: int | None = None) -> Condition:
    """Demand that so many operands, up to `high`, are not constant."""
    most = low if high is None else high

    def check(op: OpSignature) -> str | None:
        count = len(op.runtime_operands)
        return None if low <= count <= most else f"{count} of its operands are computed, and not {_span(low, most)}"

    return check


def constant(*indices: int) -> Condition:
    """Demand that these operands are constant, or left out."""

    def check(op: OpSignature) -> str | None:
        for index in indices:
            tensor = op.operand(index)
            if tensor is not None and not tensor.is_const:
                return f"its operand {index} is not constant"
        return None

    return check


def types(allowed: str, *indices: int) -> Condition:
    """Demand these element types, separated by spaces, of these operands; of all tensors if none is named."""
    names = _types(allowed)

    def check(op: OpSignature) -> str | None:
        tensors = [op.operand(index) for index in indices] if indices else op.tensors
        wrong = next((tensor for tensor in tensors if tensor is not None and tensor.dtype not in names), None)
        return None if wrong is None else f"a tensor is of {wrong.dtype}, and not {' or '.join(names)}"

    return check


def without_types(refused: str) -> Condition:
    """Demand that no tensor is of these element types."""
    names = _types(refused)

    def check(op: OpSignature) -> str | None:
        return next((f"a tensor is of {tensor.dtype}" for tensor in op.tensors if tensor.dtype in names), None)

    return check


def same_types(*indices: int) -> Condition:
    """Demand that these operands and the first result are of one element type."""

    def check(op: OpSignature) -> str | None:
        tensors = [op.operand(index) for index in indices]
        found = dict.fromkeys(tensor.dtype for tensor in (*tensors, op.results[0]) if tensor is not None)
        return None if len(found) == 1 else f"it mixes {' and '.join(found)}"

    return check


def rank(index: int, *allowed: int) -> Condition:
    """Demand that an operand has one of these numbers of dimensions."""

    def check(op: OpSignature) -> str | None:
        tensor = op.operand(index)
        if tensor is None or tensor.rank in allowed:
            return None
        return f"its operand {index} has {tensor.rank} dimensions, and not {' or '.join(map(str, allowed))}"

    return check


def ranks_up_to(most: int) -> Condition:
    """Demand that no tensor has more dimensions."""

    def check(op: OpSignature) -> str | None:
        found = max((tensor.rank for tensor in op.tensors), default=0)
        return None if found <= most else f"a tensor has {found} dimensions, and not up to {most}"

    return check


def static(op: OpSignature) -> str | None:
    """Demand that all sizes are known."""
    return None if all(tensor.is_static for tensor in op.tensors) else "a size is not known before the run"


def version(most: int) -> Condition:
    """Demand that the op is of no later version."""
    return lambda op: None if op.version <= most else f"it is of version {op.version}, and not up to {most}"


def option(name: str, *allowed: Any) -> Condition:
    """Demand that an option has one of these values."""

    def check(op: OpSignature) -> str | None:
        value = op.options.get(name, allowed[0])
        return None if value in allowed else f"{name} is {value}, and not {' or '.join(map(str, allowed))}"

    return check


def activation(*allowed: str) -> Condition:
    """Demand one of these fused activations, or none. Raises ValueError for one that TFLite does not know."""
    for name in allowed:
        schema.check_option("AddOptions", "fused_activation_function", name)
    return option("fused_activation_function", "NONE", *allowed)


def positive(*names: str) -> Condition:
    """Demand that these options are more than 0."""

    def check(op: OpSignature) -> str | None:
        return next((f"{name} is {op.options[name]}" for name in names if op.options.get(name, 1) < 1), None)

    return check


def has_bias(op: OpSignature) -> str | None:
    """Demand a bias of a convolution or a dense layer."""
    return None if op.operand(2) is not None else "it has no bias"


def plain_bounds(op: OpSignature) -> str | None:
    """Demand of a STRIDED_SLICE constant bounds of every dimension, within it where no mask leaves them unread."""
    x = op.operand(0)
    bounds = [None if tensor is None else tensor.values() for tensor in op.operands[1:4]]
    if x is None or any(row is None or row.size != x.rank for row in bounds):
        return "its bounds are not constants of every dimension"
    shrinks = op.options.get("shrink_axis_mask", 0)
    first, last = op.options.get("begin_mask", 0), op.options.get("end_mask", 0) | shrinks
    for index, (size, begin, end, step) in enumerate(zip(x.shape, *(row.ravel().tolist() for row in bounds))):  # type: ignore[union-attr]
        if step < 1:
            return "it takes a dimension in reverse"
        if not (first >> index & 1 or -size <= begin < size) or not (last >> index & 1 or -size <= end <= size):
            return "a bound is beyond its dimension"
    return None


def padded_as_the_data(exactly: bool) -> Condition:
    """Demand of a TRANSPOSE_CONV the padding that a convolution of its data would have. Delegates compute that where
    the padding of its result is meant; the two are the same if the strides divide the sizes of the data.

    exactly: on both sides, as the size of the result is computed of it; else in front, where it moves the result."""

    def check(op: OpSignature) -> str | None:
        weights, x = op.operand(1), op.operand(2)
        if weights is None or x is None or not (weights.rank == x.rank == op.results[0].rank == 4):
            return "data, weights and result must have 4 dimensions"
        same = op.options.get("padding", "SAME") == "SAME"
        strides = op.options.get("stride_h", 1), op.options.get("stride_w", 1)
        for index, stride in zip((1, 2), strides):
            size, kernel, result = x.shape[index], weights.shape[index], op.results[0].shape[index]
            meant = (size - 1) * stride + kernel - result
            computed = max(kernel - (size - 1) % stride - 1, 0) if same else 0
            if meant != computed if exactly else max(meant, 0) // 2 != computed // 2:
                return f"it is padded by {computed}, where {meant} are meant"
        return None

    return check


def custom(*names: str) -> Condition:
    """Demand that a custom op bears one of these names."""
    return lambda op: None if op.custom_code in names else f"it has no custom op {op.custom_code}"


def composite(*names: str) -> Condition:
    """Demand that a STABLEHLO_COMPOSITE bears one of these names."""
    return lambda op: (
        None if op.options.get("name") in names else f"it has no composite {op.options.get('name')}"
    )


def epsilon_up_to(most: float, *names: str) -> Condition:
    """Demand that composites of these names tell no larger `epsilon`, as the target leaves it out."""

    def check(op: OpSignature) -> str | None:
        told = (op.options.get("composite_attributes") or {}).get("epsilon", 0.0)
        if op.options.get("name") not in names or told <= most:
            return None
        return f"it computes with an epsilon of {most:.3g}, where the composite has {told:.3g}"

    return check


def within_float16(*kinds: str) -> Condition:
    """Demand of ops of these types that no constant is a finite number beyond those of float16.

    Constants of more elements are weights, of which nobody makes masks."""

    def check(op: OpSignature) -> str | None:
        for tensor in op.operands if op.type in kinds else ():
            if tensor is None or not tensor.is_const or tensor.dtype != "float32" or tensor.size > _MOST_OF_A_MASK:
                continue
            data = tensor.values()
            far = None if data is None else data[np.isfinite(data) & (np.abs(data) > _LARGEST_FLOAT16)]
            if far is not None and far.size:
                return f"its constant {far[0]:.3g} is infinite in float16: rows of nothing else become NaN"
        return None

    return check


def _types(names: str) -> list[str]:
    """Return the names of element types, separated by spaces. Raises ValueError for one that is none."""
    known = [name.lower() for name in schema.enum("TensorType")]
    for name in names.split():
        if name not in known:
            raise ValueError(f"no element type is called {name}{suggestion(name, known)}")
    return names.split()


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"
