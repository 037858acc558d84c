"""SPACE_TO_BATCH_ND, a convolution without padding, BATCH_TO_SPACE_ND -> a dilated convolution.

Padding by p and cropping by c leaves what a convolution of data padded by p - c computes. In one dimension (Keras'
Conv1D) the data gets a second spatial dimension of size 1 for the convolution, which goes away again behind it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.padding import pads_as_same, windows
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.infer import content

_CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
_RESHAPES = ("RESHAPE", "EXPAND_DIMS", "SQUEEZE")


@pattern
def two_dimensions(tfl: Any, x: Any, block: Constant, pads: Any, block2: Constant, crops: Any) -> Term:
    batches = tfl.SPACE_TO_BATCH_ND(x, block, pads)
    conv = tfl[_CONVOLUTIONS](batches, ..., name="conv", padding="VALID")
    return tfl.BATCH_TO_SPACE_ND(conv, block2, crops)


@pattern
def one_dimension(tfl: Any, x: Any, block: Constant, pads: Any, block2: Constant, crops: Any) -> Term:
    batches = tfl[_RESHAPES](tfl.SPACE_TO_BATCH_ND(x, block, pads), ..., name="expand")
    conv = tfl[_CONVOLUTIONS](batches, ..., name="conv", padding="VALID")
    return tfl.BATCH_TO_SPACE_ND(tfl[_RESHAPES](conv, ..., name="squeeze"), block2, crops)


def check(m: Match) -> None:
    block, dims = m.block.data.tolist(), len(m.block.data)
    m.require(m.x.rank is not None and m.conv.operands[1].shape is not None, "a rank is not known")
    m.require(block == m.block2.data.tolist(), "the blocks that are taken apart and put together differ")
    if "squeeze" in m.ops:
        m.require(dims == 1 and m.x.rank == 3, "it is not a convolution in one dimension")
        m.require(_axis(m) is not None, "the reshapes do not add and remove a dimension of size 1")
        m.require(windows(m.conv)[_axis(m) == 2 or 0][0] == 1, "the window is larger than 1 in the added dimension")  # type: ignore[index]
    else:
        m.require(dims <= 2 and m.x.rank == 4, "it is not a convolution in two dimensions")
    m.require(all(stride == 1 == dilation for _, stride, dilation in windows(m.conv)), "it has strides or dilations")
    m.require(_effective_pads(m) is not None, "it crops more than it pads, or by numbers that are not known")


def rewrite(tfl: Builder, m: Match) -> Value:
    x, pads, factors = m.x, _effective_pads(m), [int(factor) for factor in m.block.data]
    assert pads is not None
    flat = "squeeze" in m.ops
    if flat:
        axis = _axis(m)
        assert axis is not None
        x = tfl.expand_dims(x, np.array(axis, np.int32))
        at = 0 if axis == 2 else 1
        pads, factors = [[0, 0] if i != at else pads[0] for i in (0, 1)], [1 if i != at else factors[0] for i in (0, 1)]
    factors += [1] * (2 - len(factors))
    pads += [[0, 0]] * (2 - len(pads))
    attrs = m.conv.attrs | {"dilation_h_factor": factors[0], "dilation_w_factor": factors[1]}
    dilated = _with(m, attrs)
    if not any(map(any, pads)):
        attrs["padding"] = "VALID"
    elif pads_as_same(dilated, x.shape[1:-1], pads):
        attrs["padding"] = "SAME"
    else:
        x = tfl.pad(x, np.array([[0, 0], *pads, [0, 0]], np.int32))
    y = tfl.op(m.conv.type, (x, *m.conv.operands[1:]), attrs)[0]
    return tfl.squeeze(y, squeeze_dims=[axis]) if flat else y
