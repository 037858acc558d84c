"""PAD with zeros, then a convolution without padding -> a convolution with SAME padding, where that pads the same."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.windows import WINDOWS, pads_as_same


@pattern
def padded(tfl: Any, x: Any, paddings: Constant) -> Term:
    pad = tfl.PAD(x, paddings, shared=True) | tfl.PADV2(x, paddings, 0.0, shared=True)
    return tfl[tuple(WINDOWS)](pad, ..., name="conv", padding="VALID")


def check(m: Match) -> None:
    m.require(m.x.dtype is types.FLOAT32, f"TFLite's kernels pad float32 with zeros, not {m.x.dtype}")
    pads = m.paddings.data.tolist()
    m.require(m.x.shape is not None, "the rank of what is padded is not known")
    m.require(pads[0] == pads[-1] == [0, 0], "it pads the batch or the channels")
    m.require(
        pads_as_same(m.conv, m.conv.attrs, m.x.shape[1:-1], pads[1:-1]), "SAME padding would pad by other numbers"
    )


def rewrite(tfl: Builder, m: Match) -> Value:
    attrs = m.conv.attrs | {"padding": "SAME"}
    return tfl.op(m.conv.type, (m.x, *m.conv.operands[1:]), attrs)[0]


FUSIONS = [Fusion("pad_into_convolution", "CONV_2D", padded, rewrite, check)]
