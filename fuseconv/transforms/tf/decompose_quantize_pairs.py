"""Decompose pairs that quantize and dequantize -> arithmetic on floats.

TFLite has no types like qint8, and needs none: what a pair does is rounding. The contract is that of the kernels:
`uniform_quant_ops/math_utils.h`, `quantize_op.cc` and `dequantize_op.cc`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import rewrite_pass
from fuseconv.tf.builder import TfBuilder

_KINDS = {"tf.UniformDequantize": "tf.UniformQuantize", "tf.Dequantize": "tf.QuantizeV2"}
_SIGNED = {types.QINT8: True, types.QUINT8: False}


class _Grid(NamedTuple):
    """x -> (clip(round((x - origin) * inverse) + zero, least, most) - zero) * step + origin.

    Numbers, or arrays that broadcast to x. away: rounds behind the zero, halves away from 0, not up."""

    inverse: np.ndarray | np.float32
    step: np.ndarray | np.float32
    zero: np.ndarray | np.float32
    least: float
    most: float
    origin: float | np.float32 = 0.0
    away: bool = False


@rewrite_pass("decompose-quantize-pairs", _KINDS)
def decompose_quantize_pairs(op: Op, out: list[Op]) -> list[Value] | None:
    """Replace pairs that quantize and dequantize: Dequantize(QuantizeV2(x)) -> what they round x to, as arithmetic.

    UniformDequantize(UniformQuantize(x)) -> (clip(floor(x / s + 0.5) + z) - z) * s.
    What is quantized otherwise stays, to be refused by name."""
    first = op_of(op.operands[0], _KINDS[op.kind])
    if first is None or first.operands[0] is None:
        return None
    x = first.operands[0]
    grid = _GRIDS[op.kind](first, op) if x.dtype is types.FLOAT32 and op.result.dtype is types.FLOAT32 else None
    return None if grid is None else [_rounded(TfBuilder(out, op), x, grid)]


def _uniform(first: Op, op: Op) -> _Grid | None:
    """Read the scales and zero points of both ops, which must be the same constants."""
    x, scales, zeros = (*first.operands, None, None)[:3]
    again = op.operands[1:3]
    if x is None or scales is None or zeros is None or scales.data is None or zeros.data is None:
        return None
    for mine, other in zip((scales, zeros), again):
        if other is None or other.data is None or not np.array_equal(mine.data, other.data):  # type: ignore[arg-type]
            return None
    axis = first.attrs.get("quantization_axis", -1)
    least, most = (int(first.attrs.get(f"quantization_{end}_val", 0)) for end in ("min", "max"))
    sound = bool(np.all(np.isfinite(scales.data) & (scales.data > 0))) and -(2**15) <= least < most <= 2**15
    if not sound or axis != op.attrs.get("quantization_axis", -1) or first.result.dtype not in _SIGNED:
        return None
    if axis != -1 and (x.rank is None or not 0 <= axis < x.rank):
        return None
    sizes = [-1 if at == axis else 1 for at in range(x.rank or 0)] if axis != -1 else []
    if axis == -1 and scales.data.size != 1:
        return None
    step, zero = (array.reshape(sizes).astype(np.float32) for array in (scales.data, zeros.data))
    return _Grid(np.float32(1) / step, step, zero, least, most)


def _ranged(first: Op, op: Op) -> _Grid | None:
    """Read the range of a QuantizeV2 whose own results tell the Dequantize's."""
    _, low, high = first.operands
    signed, mode = _SIGNED.get(first.result.dtype), first.attrs.get("mode", "MIN_COMBINED")
    narrow = bool(first.attrs.get("narrow_range"))
    if low is None or high is None or low.data is None or high.data is None or low.data.size * high.data.size != 1:
        return None
    if op.operands[1:] != first.results[1:] or signed is None or mode != op.attrs.get("mode", "MIN_COMBINED"):
        return None
    if narrow != bool(op.attrs.get("narrow_range")) or any(each.attrs.get("axis", -1) != -1 for each in (first, op)):
        return None
    if first.attrs.get("round_mode", "HALF_AWAY_FROM_ZERO") != "HALF_AWAY_FROM_ZERO":
        return None
    least, most = (-128.0, 127.0) if signed else (0.0, 255.0)
    bottom, top = np.float32(min(low.data.min(), 0)), np.float32(max(high.data.max(), 0))
    room = max(np.float32(1), abs(bottom), abs(top)) * np.float32(first.attrs.get("ensure_minimum_range", 0.01))
    top = max(top, bottom + room)
    if not np.isfinite(top - bottom):
        return None
    if mode == "MIN_COMBINED":
        step = (top - bottom) / np.float32(255)
        return _Grid(np.float32(255) / (top - bottom), step, np.float32(least), least, most, bottom, signed)
    if mode != "SCALED":
        return None
    least += narrow
    factors = [np.float32(end) / limit for end, limit in ((least, bottom), (most, top)) if end * limit > 0]
    factor = min(factors) if factors else None
    return None if factor is None else _Grid(factor, 1 / factor, np.float32(0), least, most, away=True)


_GRIDS: dict[str, Callable[[Op, Op], _Grid | None]] = {"tf.UniformDequantize": _uniform, "tf.Dequantize": _ranged}


def _rounded(tf: TfBuilder, x: Value, grid: _Grid) -> Value:
    """Round x to a grid in floats, as the pair does: cut(round((x - origin) * inverse)) * step + origin."""

    def number(value: object) -> Value:
        return constant(np.asarray(value, np.float32), types.FLOAT32, tf.op.name)

    def shifted(value: Value, by: np.ndarray | np.float32 | float, kind: str = "AddV2") -> Value:
        return tf.add(kind, [value, number(by)], {}, types.FLOAT32, x.shape) if np.any(by) else value

    scaled = tf.Mul(shifted(x, grid.origin, "Sub"), number(grid.inverse))
    half = number(0.5)
    if grid.away:
        scaled = shifted(scaled, grid.zero)
        rounded = tf.Mul(tf.Sign(scaled), tf.Floor(tf.AddV2(tf.Abs(scaled), half)))
    else:
        rounded = shifted(tf.Floor(tf.AddV2(scaled, half)), grid.zero)
    cut = tf.Maximum(tf.Minimum(rounded, number(grid.most)), number(grid.least))
    made = tf.Mul(shifted(cut, grid.zero, "Sub"), number(grid.step))
    return shifted(made, grid.origin)
