"""Zero points of 0 for what is multiplied from the right.

XNNPACK, as TensorFlow 2.21 has it, takes the second operand of an int8 BATCH_MATMUL for one with a zero point of 0,
whatever its own is, and multiplies other numbers than are meant. That of LiteRT 2.3 leaves others to LiteRT's own
kernel, which takes 14 times as long for [4,128,64] by [4,64,128].
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Op, Quantization, Value
from fuseconv.quantize.affine import Range, parameters
from fuseconv.tfl.integer import Kernels

_PRODUCT = "BATCH_MATMUL"


def center_ranges(graph: Graph, ranges: MutableMapping[Value, Range], kernels: Kernels) -> None:
    """Let ranges of what is multiplied from the right, and of what it is moved from, reach as far below zero as above:
    keys and values of attention, and what they are split off."""
    done: set[Value] = set()
    for op in graph.ops if kernels.activations is types.INT8 else ():
        value = op.operands[1] if op.type == _PRODUCT else None
        while value is not None and value not in done and (found := ranges.get(value)) is not None and not found.fixed:
            maker = value.op
            if maker is not None and maker.type in kernels.fixed_scale:
                break
            done.add(value)
            ranges[value] = Range(-abs(found) * 128 / 127, abs(found))
            moved = maker.operands if maker is not None and maker.type in kernels.same_scale else ()
            value = next((each for each in moved if each is not None and each in ranges), None)


def fixed_off_zero(op: Op, ranges: Mapping[Value, Range], kernels: Kernels) -> str:
    """Return why a product of what the model itself rounds, around another number than 0, stays float; else ""."""
    found = ranges.get(op.operands[1]) if op.type == _PRODUCT and kernels.activations is types.INT8 else None  # type: ignore[arg-type]
    off = found is not None and found.fixed and parameters(found).zero_point != (0,)
    return "XNNPACK of TensorFlow 2.21 ignores the zero point of its second operand" if off else ""


def is_centered(op: Op, value: Value) -> bool:
    """Return whether an op takes an operand of int8 with a zero point of 0 alone."""
    return op.type == _PRODUCT and value is op.operands[1]


def centered(how: Quantization) -> Quantization:
    """Return parameters of int8 with a zero point of 0 that hold what others do."""
    (scale,), (zero,) = how.scale, how.zero_point
    return how if zero == 0 else Quantization((float(np.float32(scale * max(128 + zero, 127 - zero) / 127)),), (0,))
