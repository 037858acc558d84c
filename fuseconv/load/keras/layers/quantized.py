"""Weights that Keras 3 has quantized: integers of 8 bits, or two of 4 bits in each byte, and the scales that make them
numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call, quantization

_CONFIGS = {"int8": "Int8QuantizationConfig", "int4": "Int4QuantizationConfig"}
_MODE = re.compile(r"int8|int4/(-1|[1-9][0-9]{0,8})")


@dataclass(frozen=True)
class Quantizer:
    """How inputs become integers: the lowest and highest of them, and what is added to the largest input."""

    low: float
    high: float
    epsilon: float


@dataclass(frozen=True)
class Kernel:
    """A kernel as floats. scale: what results are divided by, if anything. quantizer: of the inputs, if any."""

    matrix: Value
    scale: Value | None
    quantizer: Quantizer | None

    def inputs(self, k: Call, x: Value, axes: Sequence[int]) -> tuple[Value, Value | None]:
        """Return inputs as whole numbers, and what they were multiplied by for each place beside these axes; as they
        are, and None, if the layer computes on floats."""
        if self.quantizer is None:
            return x, None
        tf, how = k.tf, self.quantizer
        most = tf.Max(tf.Abs(x), tf.ints([axis % len(k.shape(x)) for axis in axes]), keep_dims=True)
        scale = tf.RealDiv(tf.number(how.high, x.dtype), tf.AddV2(most, tf.number(how.epsilon, x.dtype)))
        whole = tf.Round(tf.Mul(x, scale))
        return tf.Maximum(tf.Minimum(whole, tf.number(how.high, x.dtype)), tf.number(how.low, x.dtype)), scale

    def scaled(self, k: Call, x: Value, inputs_scale: Value | None) -> Value:
        """Return results of products of integers as numbers."""
        scales = [scale for scale in (self.scale, inputs_scale) if scale is not None]
        return k.tf.RealDiv(x, scales[0] if len(scales) == 1 else k.tf.Mul(*scales)) if scales else x


def quantized_kernel(
    k: Call, shape: list[int], rows: int, scales: list[int], config: dict[str, Any] | None
) -> Kernel | None:
    """Return a layer's quantized kernel of a shape; None if its policy has none.

    rows: how many of its elements make one of the result. scales: the shape of the scale of a kernel of int8."""
    mode = _mode(k)
    if mode is None:
        return None
    tf, quantizer = k.tf, _quantizer(k, mode, config)
    k.owner.part.archived = ("kernel", "bias", "kernel_scale", "kernel_zero", "g_idx")
    if mode == "int8":
        matrix = k.weight("kernel", shape, False, types.INT8)
        return Kernel(tf.Cast(matrix, dtype=k.dtype), k.weight("kernel_scale", scales, False), quantizer)
    columns, block = math.prod(shape) // max(rows, 1), int(mode[5:])
    whole = _unpacked(k, k.weight("kernel", [rows, -(-columns // 2)], False, types.INT8), columns)
    if block < 0:
        matrix = tf.RealDiv(whole, k.weight("kernel_scale", [columns], False))
        return Kernel(tf.reshaped(matrix, shape), None, quantizer)
    groups = [-(-rows // block), columns]
    scale, zero = k.weight("kernel_scale", groups, False), k.weight("kernel_zero", groups, False, types.INT8)
    group = tf.Cast(k.weight("g_idx", [rows], False), dtype=types.INT32)
    scale, zero = (tf.GatherV2(each, group, tf.ints(0), dtype=each.dtype) for each in (scale, zero))
    matrix = tf.Mul(tf.Sub(whole, tf.Cast(zero, dtype=k.dtype)), scale)
    return Kernel(tf.reshaped(matrix, shape), None, None)


@dataclass(frozen=True)
class Table:
    """A table of embeddings [n, size]: integers, and their scales and zeros [n] or [n, groups]. group: of each column,
    where a row has several scales."""

    integers: Value
    scale: Value
    zero: Value | None
    group: Value | None

    def rows(self, k: Call, take: Callable[[Value], Value]) -> Value:
        """Return rows of the table as floats."""
        tf = k.tf
        made, scale = tf.Cast(take(self.integers), dtype=k.dtype), take(self.scale)
        if self.zero is None or self.group is None:
            return tf.RealDiv(made, tf.ExpandDims(scale, -1))
        axis = tf.ints(len(k.shape(scale)) - 1)
        zero = tf.Cast(take(self.zero), dtype=k.dtype)
        scale, zero = (tf.GatherV2(each, self.group, axis, dtype=each.dtype) for each in (scale, zero))
        return tf.Mul(tf.Sub(made, zero), scale)


def quantized_table(k: Call, count: int, size: int, config: dict[str, Any] | None) -> Table | None:
    """Return a layer's quantized embeddings; None if its policy has none."""
    mode = _mode(k)
    if mode is None:
        return None
    _quantizer(k, mode, config)
    k.owner.part.archived = ("embeddings", "embeddings_scale", "embeddings_zero", "g_idx")
    if mode == "int8":
        integers = k.weight("embeddings", [count, size], False, types.INT8)
        return Table(integers, k.weight("embeddings_scale", [count], False), None, None)
    packed, block = k.weight("embeddings", [count, -(-size // 2)], False, types.INT8), int(mode[5:])
    integers = k.tf.Cast(_unpacked(k, packed, size), dtype=types.INT8)
    if block < 0:
        return Table(integers, k.weight("embeddings_scale", [count], False), None, None)
    groups = [count, -(-size // block)]
    scale, zero = k.weight("embeddings_scale", groups, False), k.weight("embeddings_zero", groups, False, types.INT8)
    return Table(integers, scale, zero, k.tf.Cast(k.weight("g_idx", [size], False), dtype=types.INT32))


def reversed_table(k: Call, table: Table, tied: bool, config: dict[str, Any] | None) -> Kernel:
    """Return the kernel [size, n] that embeddings [n, size] are multiplied by in reverse. tied: whether that is their
    table, else one of its own."""
    tf, mode, size = k.tf, _mode(k) or "", int(k.owner.config["output_dim"])
    quantizer, count = _quantizer(k, mode, config), k.known(table.integers, 0)
    k.owner.part.archived += ("reverse_embeddings", "reverse_embeddings_scale", "reverse_embeddings_zero")
    if tied:
        whole = tf.Cast(table.integers, dtype=k.dtype) if table.group is None else table.rows(k, lambda rows: rows)
        return Kernel(tf.Transpose(whole, [1, 0]), table.scale if table.group is None else None, quantizer)
    if mode == "int8":
        matrix = tf.Cast(k.weight("reverse_embeddings", [size, count], False, types.INT8), dtype=k.dtype)
    else:
        packed = k.weight("reverse_embeddings", [-(-size // 2), count], False, types.INT8)
        matrix = tf.Transpose(_unpacked(k, tf.Transpose(packed, [1, 0]), size), [1, 0])
    if table.group is None:
        return Kernel(matrix, k.weight("reverse_embeddings_scale", [count], False), quantizer)
    groups = [k.known(table.scale, 1), count]
    each = (k.weight(f"reverse_embeddings_{name}", groups, False) for name in ("scale", "zero"))
    scale, zero = (tf.GatherV2(part, table.group, tf.ints(0), dtype=part.dtype) for part in each)
    return Kernel(tf.Mul(tf.Sub(matrix, zero), scale), None, quantizer)


def _unpacked(k: Call, packed: Value, size: int) -> Value:
    """Unpack the two integers in each byte, the one in the low bits first, as floats: [n, m] -> [n, size]."""
    tf, x = k.tf, k.tf.Cast(packed, dtype=k.dtype)
    rows, eight, sixteen = k.known(packed, 0), tf.number(8, k.dtype), tf.number(16, k.dtype)
    low = tf.Sub(tf.FloorMod(tf.AddV2(x, eight), sixteen), eight)
    high = tf.Floor(tf.Mul(x, tf.number(1 / 16, k.dtype)))
    pairs = tf.Pack(low, high, axis=2)
    return tf.Slice(tf.reshaped(pairs, [rows, 2 * k.known(packed, 1)]), tf.ints([0, 0]), tf.ints([rows, size]))


def _mode(k: Call) -> str | None:
    mode = quantization(k.owner.config.get("dtype"))
    if mode and not _MODE.fullmatch(mode):
        k.refuse(f"its weights are quantized as {mode[:30]}")
    return mode or None


def _quantizer(k: Call, mode: str, config: dict[str, Any] | None) -> Quantizer | None:
    """Return how a layer's inputs are quantized. The key of its config is younger than quantization to int8."""
    if config is None and mode == "int8":
        return Quantizer(-127, 127, 1e-7)
    inner = config.get("config") if config is not None else None
    if config is None or config.get("class_name") != _CONFIGS[mode[:4]] or not isinstance(inner, dict):
        k.refuse("its quantization_config is none that is read as data")
    if mode != "int8" and inner.get("block_size") not in ((None, -1) if mode == "int4/-1" else (int(mode[5:]),)):
        k.refuse("its quantization_config has another block_size than its dtype")
    if not inner.keys() <= {"weight_quantizer", "activation_quantizer", "block_size"}:
        k.refuse(f"its quantization_config says {', '.join(sorted(inner))}")
    return _absolute(k, inner.get("activation_quantizer"))


def _absolute(k: Call, data: Any) -> Quantizer | None:
    if data is None:
        return None
    config = data.get("config") if isinstance(data, dict) and data.get("class_name") == "AbsMaxQuantizer" else None
    if not isinstance(config, dict) or config.get("output_dtype", "int8") != "int8" or (
        not config.keys() <= {"value_range", "epsilon", "output_dtype", "axis"}
    ):
        k.refuse("its inputs are quantized in a way that is not read as data")
    low, high = config.get("value_range", (-127, 127))
    return Quantizer(float(low), float(high), float(config.get("epsilon", 1e-7)))
