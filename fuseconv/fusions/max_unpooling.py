"""Max unpooling -> the custom op MaxUnpooling2D.

The contract is ConvertMaxUnpoolingFunc's of TFLiteConverter (perception_ops_utils.cc) and the kernel's
(kernels/perception/max_unpooling_2d.cc): updates and indices [batch, height, width, channels] -> the image, with
pool_size and strides as [height, width]. The options are the bytes of the runtime's struct TfLitePoolParams.
"""

from __future__ import annotations

import struct

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

UNPOOLING = composite(
    "addons:MaxUnpooling2D", "updates indices -> image", {"pool_size": [int], "strides": [int], "padding": str}
)
_PADDINGS = {"SAME": 1, "VALID": 2}
# Padding, stride width and height, filter width and height, activation, and four numbers that the kernel computes.
_POOL_PARAMS = struct.Struct("<10i")
_NO_ACTIVATION = 0


def check(m: Match) -> None:
    for name, dtype in {"updates": types.FLOAT32, "indices": types.INT32}.items():
        value = m.operands[name]
        m.require(value.rank == 4, f"the operand {name} is not known to be of rank 4")
        m.require(value.dtype is dtype, f"the kernel takes {dtype}, and the operand {name} is {value.dtype}")
    for name in ("pool_size", "strides"):
        sizes = m.attrs[name]
        fits = len(sizes) == 2 and min(sizes) > 0
        m.require(fits, f"the annotation's attribute {name} must be two sizes, not {sizes}")
    padding = m.attrs["padding"]
    m.require(padding in _PADDINGS, f"the annotation's attribute padding must be SAME or VALID, not {padding}")


def rewrite(tfl: Builder, m: Match) -> list[Value]:
    (height, width), (stride_height, stride_width) = m.attrs["pool_size"], m.attrs["strides"]
    padding = _PADDINGS[m.attrs["padding"]]
    options = _POOL_PARAMS.pack(
        padding, stride_width, stride_height, width, height, _NO_ACTIVATION, 0, 0, 0, 0
    )
    return tfl.custom("MaxUnpooling2D", [m.updates, m.indices], [(m.result.dtype, m.result.shape)], options)


FUSIONS = [Fusion("max_unpooling", "MaxUnpooling2D", UNPOOLING, rewrite, check)]
