"""tf.image.non_max_suppression_padded -> NON_MAX_SUPPRESSION_V4.

The contract is that of TensorFlow's `non_max_suppression_padded_v2` (python/ops/image_ops_impl.py) and of
ConvertNMSPaddedFunc of TFLiteConverter: boxes [..., n, 4], scores [..., n], max_output_size, iou_threshold and
score_threshold -> the selected indices [batch, max_output_size], padded with 0, and how many they are. What follows
these operands only tells TensorFlow how to go about it. The kernel takes one image: a batch of known size is taken
apart; one of unknown size stays with the body, which loops over tiles of all images at once.

On boxes with an area, some of it at positive coordinates, and scores that differ, the kernel selects what the body
does. It orders equal scores in its own way, and takes boxes without an area more than once; the body drops boxes
whose coordinates are all zero or less.
"""

from __future__ import annotations

import math

import numpy as np

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

NMS = composite(
    "non_max_suppression_padded_v2",
    "boxes scores max_output_size iou_threshold score_threshold "
    "sorted_input? canonicalized_coordinates? tile_size? -> indices count",
)


def check(m: Match) -> None:
    m.require((m.boxes.rank or 0) >= 2, "the boxes are not known to be of rank 2 or more")
    m.require(m.scores.rank == m.boxes.rank - 1, "the scores are not known to have a rank of one less than the boxes")
    batch = m.boxes.shape[:-2]
    known = all(isinstance(size, int) for size in batch)
    m.require(known, "TFLite's kernel takes one image, and the size of the batch is not known (--batch-size tells it)")
    wanted = {"boxes": types.FLOAT32, "scores": types.FLOAT32, "max_output_size": types.INT32}
    for name in ("max_output_size", "iou_threshold", "score_threshold"):
        m.require(m.operands[name].rank == 0, f"the operand {name} is not known to be a scalar")
    for name, dtype in {**wanted, "iou_threshold": types.FLOAT32, "score_threshold": types.FLOAT32}.items():
        m.require(m.operands[name].dtype is dtype, f"the operand {name} is {m.operands[name].dtype}, not {dtype}")


def rewrite(tfl: Builder, m: Match) -> dict[str, Value]:
    batch = [int(size) for size in m.boxes.shape[:-2]]
    images = math.prod(batch)
    every = -1 if not isinstance(m.boxes.shape[-2], int) else m.boxes.shape[-2]
    if batch and images != 1:
        boxes = tfl.unpack(tfl.reshape(m.boxes, [images, every, 4]), num=images, axis=0)
        scores = tfl.unpack(tfl.reshape(m.scores, [images, every]), num=images, axis=0)
    else:
        boxes = [tfl.reshape(m.boxes, [every, 4]) if batch else m.boxes]
        scores = [tfl.reshape(m.scores, [every]) if batch else m.scores]
    limits = m.max_output_size, m.iou_threshold, m.score_threshold
    made = [tfl.non_max_suppression_v4(b, s, *limits) for b, s in zip(boxes, scores)]
    indices = tfl.pack(*(image[0] for image in made), values_count=images, axis=0)
    if m.results["indices"].rank == 1 and not batch:
        indices = made[0][0]
    counts = made[0][1]
    if batch:
        counts = tfl.reshape(tfl.pack(*(image[1] for image in made), values_count=images, axis=0), batch)
    return {"indices": indices, "count": counts}


def draw(rng: np.random.Generator, m: Match) -> dict[str, np.ndarray]:
    """Boxes with an area, of which some overlap."""
    corner = rng.uniform(0, 1, (*m.boxes.shape[:-1], 2))
    drawn = {
        "boxes": np.concatenate([corner, corner + rng.uniform(0.2, 0.6, corner.shape)], -1),
        "scores": rng.uniform(0.01, 1, m.scores.shape),
        "max_output_size": np.array(3),
        "iou_threshold": np.array(0.45),
        "score_threshold": np.array(0.2),
    }
    return {n: a.astype(m.operands[n].dtype.numpy) for n, a in drawn.items() if not m.operands[n].is_const}


FUSIONS = [Fusion("non_max_suppression", "NON_MAX_SUPPRESSION_V4", NMS, rewrite, check, draw)]
