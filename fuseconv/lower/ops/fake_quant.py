"""Lowering of fake quantization: numbers rounded to the grid of a quantized tensor."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.reduction import reduced
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of
from fuseconv.lower.support.legalize_operands import elementwise, scalar, select
from fuseconv.lower.support.type_promotion import in_float32

_MOST = float(np.finfo(np.float32).max)
# Of numbers as TensorFlow's kernels take them: of FakeQuant..., and of QuantizeAndDequantize...
_MOST_FAKED_BITS, _MOST_BITS = 16, 62


@lowers
def FakeQuantWithMinMaxArgs(tfl, x, *, min=-6.0, max=6.0, num_bits=8, narrow_range=False):
    """FAKE_QUANT; elementwise ops for a narrow range, which its kernel does not take."""
    return FakeQuantWithMinMaxVars(tfl, x, _number(min), _number(max), num_bits=num_bits, narrow_range=narrow_range)


@lowers
def FakeQuantWithMinMaxVars(tfl, x, min, max, *, num_bits=8, narrow_range=False):
    """FAKE_QUANT; composed of a narrow range, which its kernel does not take, and where the range is computed;
    ZEROS_LIKE of a range that nobody has trained."""
    if min.data is None or max.data is None or narrow_range:
        return _quantize_dequantize(tfl, x, min, max, num_bits, narrow_range)
    _require_bits(num_bits)
    low, high = float(min.data), float(max.data)
    if low == high == 0:
        return tfl.zeros_like(x)
    require(low < high, f"the range from {low} to {high} is empty")
    return tfl.fake_quant(x, min=low, max=high, num_bits=num_bits)


@lowers
def FakeQuantWithMinMaxVarsPerChannel(tfl, x, min, max, *, num_bits=8, narrow_range=False):
    """MINIMUM, MAXIMUM, ROUND and MUL by channel: FAKE_QUANT has one range."""
    return _quantize_dequantize(tfl, x, min, max, num_bits, narrow_range)


@lowers
def QuantizeAndDequantize(tfl, x, *, signed_input=True, num_bits=8, range_given=False, input_min=0.0, input_max=0.0):
    """ROUND of the product with the scale."""
    low, high = (scalar(limit, types.FLOAT32) for limit in (input_min, input_max))
    return QuantizeAndDequantizeV2(
        tfl, x, low, high, signed_input=signed_input, num_bits=num_bits, range_given=range_given
    )


@lowers
def QuantizeAndDequantizeV3(
    tfl, x, input_min, input_max, num_bits, *, signed_input=True, range_given=True, narrow_range=False, axis=-1
):
    """ROUND of the product with the scale."""
    bits = int(constant_of(num_bits, "the number of bits").reshape(()))
    return QuantizeAndDequantizeV2(
        tfl, x, input_min, input_max, signed_input=signed_input, num_bits=bits, range_given=range_given,
        narrow_range=narrow_range, axis=axis,
    )  # fmt: skip


@lowers("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4")
@in_float32
def QuantizeAndDequantizeV2(
    tfl, x, input_min, input_max, *, signed_input=True, num_bits=8, range_given=False, round_mode="HALF_TO_EVEN",
    narrow_range=False, axis=-1,
):  # fmt: skip
    """ROUND of the product with the scale, which makes the range fit: a range that is not given is that of the
    numbers, which are then not cut to it."""
    require(round_mode in ("HALF_TO_EVEN", "HALF_UP"), f"round_mode={round_mode} is not known")
    require(signed_input < num_bits <= _MOST_BITS, f"num_bits={num_bits} is out of range")
    least = -(2 ** (num_bits - 1)) + narrow_range if signed_input else 0
    most = 2 ** (num_bits - 1) - 1 if signed_input else 2**num_bits - 1
    low, high = (input_min, input_max) if range_given else _min_max(tfl, x, axis)
    if axis != -1:
        low, high = (_along(tfl, limit, axis, len(shape_of(x))) for limit in (low, high))
    # Where one side of the range is empty, the other one decides.
    scale = tfl.div(_number(most), tfl.maximum(high, _number(most / _MOST)))
    step = tfl.maximum(tfl.div(high, _number(most)), _number(0))
    if least:
        scale = tfl.minimum(scale, tfl.div(_number(-least), tfl.maximum(tfl.neg(low), _number(-least / _MOST))))
        step = tfl.maximum(step, tfl.div(low, _number(least)))
    if range_given:
        x = elementwise(tfl, "MINIMUM", x, tfl.mul(step, _number(most)))
        x = elementwise(tfl, "MAXIMUM", x, tfl.mul(step, _number(least)))
    scaled = elementwise(tfl, "MUL", x, scale)
    whole = tfl.floor(tfl.add(scaled, 0.5)) if round_mode == "HALF_UP" else tfl.round(scaled)
    return elementwise(tfl, "MUL", whole, step)


def _quantize_dequantize(tfl: Lowering, x: Value, low: Value, high: Value, bits: int, narrow: bool) -> Value:
    """Return x rounded to the grid of an unsigned tensor of the range [low, high], nudged so that 0 is exact."""
    _require_bits(bits)
    least, most = int(narrow), 2**bits - 1
    step = tfl.div(tfl.sub(high, low), _number(most - least))
    zero = _half_up(tfl, tfl.sub(_number(least), tfl.div(low, step)))
    zero = tfl.minimum(tfl.maximum(zero, _number(least)), _number(most))
    bottom = tfl.mul(tfl.sub(_number(least), zero), step)
    top = tfl.mul(tfl.sub(_number(most), zero), step)
    cut = elementwise(tfl, "MAXIMUM", elementwise(tfl, "MINIMUM", x, top), bottom)
    inverse = tfl.div(_number(1), step)
    steps = elementwise(tfl, "MUL", elementwise(tfl, "SUB", cut, bottom), inverse)
    origin = _half_up(tfl, tfl.mul(tfl.neg(bottom), inverse))
    made = elementwise(tfl, "MUL", _half_up(tfl, elementwise(tfl, "SUB", steps, origin)), step)
    # TensorFlow makes 0 of everything where the range is 0.
    empty = elementwise(tfl, "EQUAL", low, high)
    if empty.is_const or (low.data is not None and high.data is not None and (low.data < high.data).all()):
        return made
    return select(tfl, empty, elementwise(tfl, "MUL", x, 0), made)


def _require_bits(bits: int) -> None:
    require(2 <= bits <= _MOST_FAKED_BITS, f"num_bits={bits} is out of range")


def _half_up(tfl: Lowering, x: Value) -> Value:
    return tfl.floor(tfl.add(x, 0.5))


def _number(number: float) -> Value:
    return scalar(number, types.FLOAT32)


def _min_max(tfl: Lowering, x: Value, axis: int) -> list[Value]:
    """Return the minimum and maximum of x, or of each slice along an axis."""
    others = tfl.ints([at for at in range(len(shape_of(x))) if at != axis])
    return [reduced(tfl, kind, x, others, False, 0) for kind in ("REDUCE_MIN", "REDUCE_MAX")]


def _along(tfl: Lowering, limits: Value, axis: int, rank: int) -> Value:
    """Return limits, one for each slice along an axis, so that they broadcast."""
    dims: list[Dim] = [1] * rank
    dims[axis] = shape_of(limits, 1)[0]
    return reshape(tfl, limits, dims)
