"""Convolutions for LiteRT's own kernels where XNNPACK's are wrong: CONV_2D and DEPTHWISE_CONV_2D whose SAME padding may
be negative, as strides leap over elements behind the last window (LiteRT#4847), for sizes that come with the input.

XNNPACK takes no convolution whose bias is computed. LiteRT computes a RESHAPE of a constant once, when it allocates.
This runs behind what folds such a RESHAPE, and behind quantization, which looks for biases that are constant.
"""

from __future__ import annotations

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Module, Op
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.windows import WINDOWS, windows

# Those that XNNPACK takes.
CONVOLUTIONS = frozenset(f"tfl.{name}" for name in WINDOWS if name != "CONV_3D")


@module_pass("bypass-xnnpack", requires=(TFL_ONLY,), kinds=CONVOLUTIONS)
def bypass_xnnpack(module: Module) -> None:
    """Keep from XNNPACK what it computes wrong: CONV_2D(x, w, bias) -> CONV_2D(x, w, RESHAPE(bias))."""
    for graph in module.graphs():
        rewrite_ops(graph, CONVOLUTIONS, _bypassed)


def _bypassed(op: Op, out: list[Op]) -> None:
    x, filter, bias = (*op.operands, None)[:3]
    if op.attrs.get("padding", "SAME") != "SAME" or x is None or x.shape is None:
        return
    spans = windows(op, op.attrs)
    if not any(isinstance(span, int) and stride > span and not isinstance(size, int)
               for size, (span, stride, _) in zip(x.shape[1:-1], spans)):  # fmt: skip
        return
    if bias is not None and bias.op is not None and bias.op.kind != "tfl.DEQUANTIZE":
        return
    tfl = Builder(out, op.name, op.sources)
    channels = op.result.shape[-1]  # type: ignore[index]
    if bias is None:
        bias = tfl.const(np.zeros(channels, x.dtype.numpy))
    # Not `reshape`, which folds constants.
    (computed,) = tfl.typed_op("RESHAPE", [bias, tfl.ints([channels])], [(bias.dtype, bias.shape)], {})
    computed.quantization = bias.quantization
    op.set_operands([x, filter, computed])
