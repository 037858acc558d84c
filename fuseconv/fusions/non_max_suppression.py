"""tf.image.non_max_suppression_padded -> NON_MAX_SUPPRESSION_V4.

The contract is that of TensorFlow's `non_max_suppression_padded_v2` (python/ops/image_ops_impl.py) and of
ConvertNMSPaddedFunc of TFLiteConverter: boxes [..., n, 4], scores [..., n], max_output_size, iou_threshold and
score_threshold -> the selected indices [batch, max_output_size], padded with 0, and how many they are. What follows
these operands only tells TensorFlow how to go about it. The kernel takes one image: a batch of known size is taken
apart; one of unknown size stays with the body.
"""

from __future__ import annotations

import numpy as np

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

NMS = composite(
    "non_max_suppression_padded_v2",
    "boxes scores max_output_size iou_threshold score_threshold "
    "sorted_input? canonicalized_coordinates? tile_size? pad? -> indices count",
)
