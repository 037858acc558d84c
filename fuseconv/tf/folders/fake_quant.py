"""Folders of fake quantization: numbers rounded to the grid of a quantized tensor."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Op
from fuseconv.tf.folders.registry import kernel, require

_HALF = np.float32(0.5)


@kernel("FakeQuantWithMinMaxArgs")
def fake_quant_args(
    op: Op, x: np.ndarray, *, min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False
) -> np.ndarray:
    return _rounded(x, np.float32(min), np.float32(max), num_bits, narrow_range)


@kernel("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def fake_quant_vars(
    op: Op, x: np.ndarray, min: np.ndarray, max: np.ndarray, *, num_bits: int = 8, narrow_range: bool = False
) -> np.ndarray:
    return _rounded(x, min, max, num_bits, narrow_range)


def _rounded(
    x: np.ndarray, low: np.ndarray | np.float32, high: np.ndarray | np.float32, bits: int, narrow: bool
) -> np.ndarray:
    """Return x rounded as TensorFlow's kernel does, in its order, to the last bit: up to 8, of which compilers fuse no
    steps in ways that matter. low, high: of the whole, or of each channel, which is the last dimension."""
    require(x.dtype == np.float32 and 2 <= bits <= 8 and np.all(low < high) and np.isfinite(low).all())
    require(np.isfinite(high).all() and np.ndim(low) <= 1 and (np.ndim(low) == 0 or x.shape[-1:] == np.shape(low)))
    least, most = np.float32(int(narrow)), np.float32(2**bits - 1)
    step = (high - low) / (most - least)
    zero = np.clip(np.floor(least - low / step + _HALF), least, most)
    bottom, top = (least - zero) * step, (most - zero) * step
    inverse = np.float32(1) / step
    origin = np.floor(-bottom * inverse + _HALF)
    cut = np.maximum(np.minimum(x, top), bottom)
    return np.floor((cut - bottom) * inverse - origin + _HALF) * step


@kernel("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4")
def quantize_and_dequantize(
    op: Op, x: np.ndarray, input_min: np.ndarray, input_max: np.ndarray, *, signed_input: bool = True,
    num_bits: int = 8, range_given: bool = False, round_mode: str = "HALF_TO_EVEN", narrow_range: bool = False,
    axis: int = -1,
) -> np.ndarray:  # fmt: skip
    require(x.dtype == np.float32 and 2 <= num_bits <= 16 and x.size and round_mode in ("HALF_TO_EVEN", "HALF_UP"))
    require(-1 <= axis < (0 if range_given else x.ndim))  # as TensorFlow itself
    least = np.float32(narrow_range - 2 ** (num_bits - 1) if signed_input else 0)
    most = np.float32(2 ** (num_bits - 1) - 1 if signed_input else 2**num_bits - 1)
    sizes = [-1 if at == axis else 1 for at in range(x.ndim)] if axis >= 0 else []
    others = tuple(at for at in range(x.ndim) if at != axis)
    low, high = (input_min, input_max) if range_given else (x.min(others), x.max(others))
    require(np.isfinite(low).all() and np.isfinite(high).all() and np.size(low) == (x.shape[axis] if sizes else 1))
    low, high = np.reshape(low, sizes), np.reshape(high, sizes)
    with np.errstate(all="ignore"):
        of_low = np.where(least * low > 0, least / low, np.finfo(np.float32).max)
        of_high = np.where(most * high > 0, most / high, np.finfo(np.float32).max)
        step = np.where(of_low < of_high, low / least, high / most).astype(np.float32)
        cut = np.maximum(np.minimum(x, step * most), step * least) if range_given else x
        scaled = cut * np.minimum(of_low, of_high)
        return (np.floor(scaled + _HALF) if round_mode == "HALF_UP" else np.rint(scaled)) * step


@kernel("QuantizeAndDequantizeV3")
def quantize_and_dequantize_v3(
    op: Op, x: np.ndarray, input_min: np.ndarray, input_max: np.ndarray, num_bits: np.ndarray, *,
    signed_input: bool = True, range_given: bool = True, narrow_range: bool = False, axis: int = -1,
) -> np.ndarray:  # fmt: skip
    require(num_bits.size == 1)
    return quantize_and_dequantize(
        op, x, input_min, input_max, signed_input=signed_input, num_bits=int(num_bits.reshape(())),
        range_given=range_given, narrow_range=narrow_range, axis=axis,
    )  # fmt: skip
