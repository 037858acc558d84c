"""Folders of TFLite ops in numpy, applied as soon as an op is built.

Each computes exactly what TFLite's kernel does, in the operands' type, or returns None. It does that where TFLite would
fail, where its kernels differ among themselves (NaN, infinities, values out of range), and where the case is not
written.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.slice_spec import SliceSpec
from fuseconv.tfl.opdef import KERNELS, kernel

_LIMITS = {"NONE": (None, None), "RELU": (0, None), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1)}


def _finished(result: np.ndarray, activation: str = "NONE") -> np.ndarray | None:
    """Return the result behind its activation; None if it is not finite or the activation is none that kernels fuse."""
    # A ufunc of arrays of rank 0 returns a scalar, which of sizes that are not known is no array's at all.
    result = np.asarray(result)
    if activation not in _LIMITS or (result.dtype.kind == "f" and not np.isfinite(result).all()):
        return None
    low, high = _LIMITS[activation]
    if low is None:
        return result
    return np.clip(result, low, high).astype(result.dtype, copy=False)


@kernel
def add(
    x: np.ndarray, y: np.ndarray, *, fused_activation_function: str = "NONE", pot_scale_int16: bool = True
) -> np.ndarray | None:
    with np.errstate(all="ignore"):
        return _finished(np.add(x, y), fused_activation_function)


@kernel
def sub(
    x: np.ndarray, y: np.ndarray, *, fused_activation_function: str = "NONE", pot_scale_int16: bool = True
) -> np.ndarray | None:
    with np.errstate(all="ignore"):
        return _finished(np.subtract(x, y), fused_activation_function)


@kernel
def mul(x: np.ndarray, y: np.ndarray, *, fused_activation_function: str = "NONE") -> np.ndarray | None:
    with np.errstate(all="ignore"):
        return _finished(np.multiply(x, y), fused_activation_function)


@kernel
def div(x: np.ndarray, y: np.ndarray, *, fused_activation_function: str = "NONE") -> np.ndarray | None:
    """Divide; integers are divided toward zero, as in C++."""
    if x.dtype == np.int32:
        if (y == 0).any():
            return None
        wide, divisor = x.astype(np.int64), y.astype(np.int64)
        quotient = np.abs(wide) // np.abs(divisor) * np.sign(wide) * np.sign(divisor)
        return _finished(np.asarray(quotient, np.int32), fused_activation_function)
    if x.dtype != np.float32:
        return None
    with np.errstate(all="ignore"):
        return _finished(np.divide(x, y), fused_activation_function)


@kernel
def neg(x: np.ndarray) -> np.ndarray | None:
    return None if x.dtype.kind in "bu" else np.negative(x)


@kernel
def sqrt(x: np.ndarray) -> np.ndarray | None:
    if x.dtype != np.float32:
        return None
    with np.errstate(all="ignore"):
        return _finished(np.sqrt(x))


@kernel
def rsqrt(x: np.ndarray) -> np.ndarray | None:
    if x.dtype != np.float32:
        return None
    with np.errstate(all="ignore"):
        return _finished(np.float32(1) / np.sqrt(x))


@kernel
def maximum(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    return _finished(np.maximum(x, y))


@kernel
def minimum(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    return _finished(np.minimum(x, y))


def _compared(ufunc: np.ufunc, *xs: np.ndarray) -> np.ndarray | None:
    """Return what is true of finite numbers, or of booleans."""
    known = all(x.dtype.kind in "biu" or (x.dtype.kind == "f" and np.isfinite(x).all()) for x in xs)
    return np.asarray(ufunc(*xs)) if known else None


for _name, _ufunc in {
    "EQUAL": np.equal, "NOT_EQUAL": np.not_equal, "LESS": np.less, "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater, "GREATER_EQUAL": np.greater_equal, "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or, "LOGICAL_NOT": np.logical_not,
}.items():  # fmt: skip
    KERNELS.declare(_name)(functools.partial(_compared, _ufunc))


@kernel
def cast(x: np.ndarray, *, in_data_type: str | None = None, out_data_type: str = "FLOAT32") -> np.ndarray | None:
    target = types.BY_NAME[out_data_type.lower()].numpy
    if x.dtype.kind == "O" or (x.dtype.kind == "c" and target.kind != "c"):
        return None
    if types.of_array(x).is_float and target.kind in "iu":
        limits = np.iinfo(target)
        whole = np.trunc(x.astype(np.float64))
        # The comparison with the upper limit is strict: as a float it may be one more than the integer.
        if not ((whole >= limits.min) & (whole < float(limits.max) + (limits.bits < 53))).all():
            return None
        return whole.astype(target)
    # Half types are rounded from float32 in the kernel, whatever the source.
    if target.itemsize == 2 and target.kind not in "iu":
        x = x.astype(np.float32)
    with np.errstate(all="ignore"):
        return x.astype(target)


@kernel
def transpose(x: np.ndarray, perm: np.ndarray) -> np.ndarray:
    """Transpose to a view: weights are made contiguous only on their way to the file."""
    return np.transpose(x, [int(axis) for axis in perm])


@kernel
def reshape(
    x: np.ndarray, shape: np.ndarray | None = None, *, new_shape: tuple[int, ...] | None = None
) -> np.ndarray | None:
    target = new_shape if shape is None else [int(dim) for dim in shape.reshape(-1)]
    return None if target is None else x.reshape(target)


@kernel
def expand_dims(x: np.ndarray, axis: np.ndarray) -> np.ndarray:
    return np.expand_dims(x, int(axis.reshape(())))


@kernel
def squeeze(x: np.ndarray, *, squeeze_dims: tuple[int, ...] | None = None) -> np.ndarray:
    return np.squeeze(x, tuple(squeeze_dims) if squeeze_dims else None)


@kernel
def concatenation(*xs: np.ndarray, axis: int = 0, fused_activation_function: str = "NONE") -> np.ndarray | None:
    return None if fused_activation_function != "NONE" else np.concatenate(xs, axis)


@kernel
def pack(*xs: np.ndarray, axis: int = 0, values_count: int | None = None) -> np.ndarray:
    return np.stack(xs, axis)


@kernel
def slice_(x: np.ndarray, begin: np.ndarray, size: np.ndarray) -> np.ndarray | None:
    windows = []
    for dim, start, length in zip(x.shape, begin.tolist(), size.tolist(), strict=True):
        stop = dim if length == -1 else start + length
        if not 0 <= start <= stop <= dim:
            return None
        windows.append(slice(start, stop))
    return x[tuple(windows)]


@kernel
def strided_slice(
    x: np.ndarray, begin: np.ndarray, end: np.ndarray, strides: np.ndarray, *, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, offset: bool = False,
) -> np.ndarray | None:  # fmt: skip
    # Of an element that is picked, TFLite's kernels heed the begin mask, as TensorFlow's do not.
    if offset or begin_mask & shrink_axis_mask:
        return None
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    spec = SliceSpec.read((begin.tolist(), end.tolist(), strides.tolist()), masks)
    try:
        return x[spec.index()]
    except IndexError:
        return None


@kernel
def gather(x: np.ndarray, indices: np.ndarray, *, axis: int = 0, batch_dims: int = 0) -> np.ndarray | None:
    axis %= x.ndim
    batch_dims = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if indices.size and (indices.min() < 0 or indices.max() >= x.shape[axis]):
        return None
    if batch_dims == 0:
        return np.take(x, indices, axis)
    batch = x.shape[:batch_dims]
    rows = x.reshape(math.prod(batch), *x.shape[batch_dims:])
    picks = indices.reshape(math.prod(batch), *indices.shape[batch_dims:])
    taken = [np.take(row, pick, axis - batch_dims) for row, pick in zip(rows, picks, strict=True)]
    return np.stack(taken).reshape(batch + taken[0].shape) if taken else None


@kernel
def pad(x: np.ndarray, paddings: np.ndarray) -> np.ndarray | None:
    return padv2(x, paddings, np.zeros((), x.dtype))


@kernel
def padv2(x: np.ndarray, paddings: np.ndarray, value: np.ndarray) -> np.ndarray | None:
    if (paddings < 0).any():
        return None
    return np.pad(x, [(int(before), int(after)) for before, after in paddings], constant_values=value.reshape(())[()])


@kernel
def broadcast_to(x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x, [int(dim) for dim in shape])


@kernel
def fill(dims: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.broadcast_to(value.reshape(()), [int(dim) for dim in dims])


@kernel
def tile(x: np.ndarray, multiples: np.ndarray) -> np.ndarray:
    return np.tile(x, [int(factor) for factor in multiples])


@kernel
def reverse_v2(x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    return np.flip(x, tuple(int(axis) for axis in axes))
