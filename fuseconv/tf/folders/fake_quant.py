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
