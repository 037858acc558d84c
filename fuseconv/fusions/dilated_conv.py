"""SPACE_TO_BATCH_ND, a convolution without padding, BATCH_TO_SPACE_ND -> a dilated convolution.

Padding by p and cropping by c leaves what a convolution of data padded by p - c computes. In one dimension (Keras'
Conv1D) the data gets a second spatial dimension of size 1 for the convolution, which goes away again behind it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import CONVOLUTIONS, RESHAPES
from fuseconv.tfl.type_inference import content
from fuseconv.tfl.windows import windows


@pattern
def two_dimensions(tfl: Any, x: Any, block: Constant, pads: Any, block2: Constant, crops: Any) -> Term:
    batches = tfl.SPACE_TO_BATCH_ND(x, block, pads, shared=True)
    conv = tfl[CONVOLUTIONS](batches, ..., name="conv", padding="VALID")
    return tfl.BATCH_TO_SPACE_ND(conv, block2, crops)


@pattern
def one_dimension(tfl: Any, x: Any, block: Constant, pads: Any, block2: Constant, crops: Any) -> Term:
    batches = tfl.SPACE_TO_BATCH_ND(x, block, pads, shared=True)
    data = tfl[RESHAPES](batches, ..., name="expand", shared=True)
    conv = tfl[CONVOLUTIONS](data, ..., name="conv", padding="VALID")
    return tfl.BATCH_TO_SPACE_ND(tfl[RESHAPES](conv, ..., name="squeeze"), block2, crops)


def check(m: Match) -> None:
    m.require(m.x.rank is not None and m.conv.operands[1].shape is not None, "a rank is not known")
    m.require(
        m.block.data.tolist() == m.block2.data.tolist(),
        "SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND have different block sizes",
    )
    where = _positions(m)
    m.require(where, "the blocks are not along height and width, or along others")
    windows_ = windows(m.conv, m.conv.attrs)
    m.require(all(stride == 1 == dilation for _, stride, dilation in windows_), "it has strides or dilations")
    m.require(
        m.squeeze is None or windows_[1 - where[0]][0] == 1,
        "the window of the convolution spans the dimension of size 1 that was added for it",
    )
    m.require(_pads(m) is not None, "it crops more than it pads, or by numbers that are not known")


def rewrite(tfl: Builder, m: Match) -> Value:
    where, pads, factors = _positions(m), [[0, 0], [0, 0]], [1, 1]
    for position, pair, factor in zip(where, _pads(m), m.block.data):  # type: ignore[arg-type]
        pads[position], factors[position] = pair, int(factor)
    added = 2 - where[0]
    x: Value = m.x if m.squeeze is None else _expanded(tfl, m.x, added)
    if any(map(any, pads)):
        x = tfl.pad(x, np.array([[0, 0], *pads, [0, 0]], np.int32))
    attrs = m.conv.attrs | {"dilation_h_factor": factors[0], "dilation_w_factor": factors[1]}
    y = tfl.op(m.conv.type, (x, *m.conv.operands[1:]), attrs)[0]
    return y if m.squeeze is None else _squeezed(tfl, y, added)


# XNNPACK takes these as RESHAPE only, which needs the sizes.
def _expanded(tfl: Builder, x: Value, axis: int) -> Value:
    shape: Shape = x.shape  # type: ignore[assignment]
    sizes = tfl.static_shape((*shape[:axis], 1, *shape[axis:]))
    return tfl.expand_dims(x, np.array(axis, np.int32)) if sizes is None else tfl.reshape(x, sizes)


def _squeezed(tfl: Builder, x: Value, axis: int) -> Value:
    shape: Shape = x.shape  # type: ignore[assignment]
    sizes = tfl.static_shape((*shape[:axis], *shape[axis + 1 :]))
    return tfl.squeeze(x, squeeze_dims=(axis,)) if sizes is None else tfl.reshape(x, sizes)


def _positions(m: Match) -> list[int]:
    """Return the axes of the convolution that the block's dimensions are; empty if that is not known."""
    dims = len(m.block.data)
    if m.squeeze is None:
        return [0, 1] if m.x.rank == 4 and dims == 2 else []
    if m.x.rank != 3 or dims != 1:
        return []
    return [2 - axis for axis in (1, 2) if all(_adds(flat, deep, axis) for flat, deep in _reshaped(m))][:1]


def _reshaped(m: Match) -> list[tuple[Shape | None, Shape | None]]:
    """Return before and behind the convolution, the shapes without and with the dimension that is added for it."""
    return [
        (m.expand.operands[0].shape, m.expand.result.shape),
        (m.squeeze.result.shape, m.squeeze.operands[0].shape),
    ]


def _adds(flat: Shape | None, deep: Shape | None, axis: int) -> bool:
    """Return True if `deep` is `flat` with a unit dimension inserted at `axis`; the batch follows from the other
    dimensions."""
    if flat is None or deep is None or len(flat) != 3 or len(deep) != 4:
        return False
    return deep[axis] == 1 and deep[1:axis] + deep[axis + 1 :] == flat[1:]


def _pads(m: Match) -> list[list[int]] | None:
    """Return the zeros before and after each dimension of the block that are not cropped; None if they are not
    known."""
    pads, crops = content(m.pads), content(m.crops)
    if pads is None or crops is None:
        return None
    left = [pad - crop for pad, crop in zip(pads, crops)]
    known = [pad for pad in left if isinstance(pad, int) and pad >= 0]
    return [known[i : i + 2] for i in range(0, len(known), 2)] if len(known) == len(left) else None


FUSIONS = [Fusion("dilated_convolution", "CONV_2D", (two_dimensions, one_dimension), rewrite, check)]
