"""Convolutions, pooling, dense layers, normalisation and resizing."""

from __future__ import annotations

from fuseconv.ir.dims import Dim, ceildiv
from fuseconv.ir.graph import Value
from fuseconv.tfl.opdef import ResultType, op


def window(size: Dim, kernel: Dim, stride: int, dilation: int, padding: str) -> Dim:
    """The number of positions of a window along one dimension."""
    if padding == "SAME":
        return ceildiv(size, stride)
    return ceildiv(size - (kernel - 1) * dilation, stride)


@op("Conv2DOptions")
def conv_2d(
    x: Value,
    filter: Value,
    bias: Value | None = None,
    *,
    padding: str = "SAME",
    stride_w: int = 0,
    stride_h: int = 0,
    fused_activation_function: str = "NONE",
    dilation_w_factor: int = 1,
    dilation_h_factor: int = 1,
    quantized_bias_type: str = "FLOAT32",
) -> ResultType:
    """x [n,h,w,c], filter [out,kh,kw,in] -> [n,h',w',out]."""
    if x.shape is None or filter.shape is None:
        return x.dtype, None
    n, h, w, _ = x.shape
    out, kh, kw, _ = filter.shape
    height = window(h, kh, stride_h, dilation_h_factor, padding)
    return x.dtype, (n, height, window(w, kw, stride_w, dilation_w_factor, padding), out)
