"""Dense image warp -> the custom op DenseImageWarp.

The contract is ConvertDenseImageWarpFunc's of TFLiteConverter (perception_ops_utils.cc) and the kernel's
(kernels/perception/dense_image_warp.cc): image [batch, height, width, channels] and flow [batch, height, width, 2] ->
an image of the same shape. The op has no options.
"""

from __future__ import annotations

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

WARP = composite("addons:DenseImageWarp", "image flow -> warped")


def check(m: Match) -> None:
    for name in ("image", "flow"):
        value = m.operands[name]
        m.require(value.rank == 4, f"the operand {name} is not known to be of rank 4")
        m.require(value.dtype is types.FLOAT32, f"the kernel takes float32, and the operand {name} is {value.dtype}")
    m.require(m.flow.shape[3] == 2, f"the flow has {m.flow.shape[3]} numbers for each pixel, not 2")


def rewrite(tfl: Builder, m: Match) -> list[Value]:
    return tfl.custom("DenseImageWarp", [m.image, m.flow], [(m.image.dtype, m.image.shape)])


FUSIONS = [Fusion("dense_image_warp", "DenseImageWarp", WARP, rewrite, check)]
