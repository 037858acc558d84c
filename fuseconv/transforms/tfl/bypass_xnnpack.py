"""Convolutions for LiteRT's own kernels where XNNPACK's are wrong: CONV_2D and DEPTHWISE_CONV_2D whose SAME padding may
be negative, as strides leap over elements behind the last window (LiteRT#4847), for sizes that come with the input.

XNNPACK takes no convolution whose bias is computed. LiteRT computes a RESHAPE of a constant once, when it allocates.
This runs behind what folds such a RESHAPE, and behind quantization, which looks for biases that are constant.

Where an op has one variable for two operands, XNNPACK ends the process, or fails as it sizes tensors.
"""

from __future__ import annotations

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Module, Op, Value
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.windows import WINDOWS, windows

# Those that XNNPACK takes.
CONVOLUTIONS = frozenset(f"tfl.{name}" for name in WINDOWS if name != "CONV_3D")
_READ = "tfl.READ_VARIABLE"


@module_pass("bypass-xnnpack", requires=(TFL_ONLY,), kinds=CONVOLUTIONS | {_READ})
def bypass_xnnpack(module: Module) -> None:
    """Keep from XNNPACK what it computes wrong: CONV_2D(x, w, bias) -> CONV_2D(x, w, RESHAPE(bias)).

    A variable is read for each operand that it is: ADD(v, v) -> ADD(u, v)."""
    for graph in module.graphs():
        rewrite_ops(graph, CONVOLUTIONS, _bypassed)
        rewrite_ops(graph, {_READ}, _read_for_each_operand)


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


def _read_for_each_operand(read: Op, out: list[Op]) -> list[Value] | None:
    """Read a variable as often as an op has it for an operand: v = READ_VARIABLE(h); ADD(v, v) -> u, v =
    READ_VARIABLE(h), READ_VARIABLE(h); ADD(u, v)."""
    value = read.result
    times = max(value.uses.values(), default=0)
    if times < 2:
        return None
    tfl = Builder(out, read.name, read.sources)
    reads = [tfl.typed_op("READ_VARIABLE", read.operands, [(value.dtype, value.shape)], {})[0] for _ in range(times)]
    for copy in reads:
        copy.quantization = value.quantization
    for op in [op for op, count in value.uses.items() if count > 1]:
        left = iter(reads)
        op.set_operands([next(left) if operand is value else operand for operand in op.operands])
    return reads[:1]
