"""SSD post-processing -> the custom op TFLite_Detection_PostProcess.

The contract is ConvertSSDPostProcessFunc's of TFLiteConverter (nms_utils.cc) and the kernel's
(detection_postprocess.cc). Encoded boxes [1, anchors, 4], class scores [1, anchors, classes], anchors [anchors, 4] ->
boxes [1, n, 4], classes [1, n], scores [1, n] and the number of detections [1]. n is max_detections *
max_classes_per_detection. The annotation's attributes are the op's options; for detections_per_class, which is read
only if use_regular_nms is true, the kernel has a default of its own. The usual body is a placeholder of scalars
(export_tflite_graph_lib_tf2.py of the object detection API).

The kernel leaves what follows the last detection as it finds it in memory, save for regular NMS with one class for each
detection. Where the body computes results, what is beyond the last one is set to 0, and so are classes that a
detection cannot have because there are fewer.
"""

from __future__ import annotations

import numpy as np

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

NAME = "TFLite_Detection_PostProcess"
POSTPROCESS = composite(
    NAME,
    "boxes scores anchors -> detection_boxes detection_classes detection_scores count",
    {
        "max_detections": int, "max_classes_per_detection": int, "detections_per_class": None,
        "use_regular_nms": bool, "nms_score_threshold": float, "nms_iou_threshold": float, "num_classes": int,
        "y_scale": float, "x_scale": float, "h_scale": float, "w_scale": float,
    },
)  # fmt: skip


def check(m: Match) -> None:
    for name, rank in {"boxes": 3, "scores": 3, "anchors": 2}.items():
        value = m.operands[name]
        m.require(value.rank == rank, f"the operand {name} is not known to be of rank {rank}")
        m.require(value.dtype is types.FLOAT32, f"the kernel takes float32, and the operand {name} is {value.dtype}")
    for value in (m.boxes, m.scores):
        m.require(value.shape[0] == 1, "the kernel takes one image, and the batch is not known to be of size 1")
    numbers, columns, sizes = m.boxes.shape[2], m.scores.shape[2], m.anchors.shape[1]
    m.require(numbers == sizes == 4, f"boxes and anchors are not known to be 4 numbers each, but {numbers} and {sizes}")
    classes = m.attrs["num_classes"]
    fits = classes > 0 and columns in (classes, classes + 1)
    m.require(fits, f"the scores are not known to be of {classes} classes, and a background, but of {columns}")
    counts = {value.shape[axis] for value, axis in ((m.boxes, 1), (m.scores, 1), (m.anchors, 0))}
    m.require(len([n for n in counts if isinstance(n, int)]) <= 1, "boxes, scores and anchors differ in number")
    per_class = m.attrs["detections_per_class"]
    m.require(per_class is None or type(per_class) is int, "the attribute detections_per_class is no int")
    for name in ("max_detections", "max_classes_per_detection", "detections_per_class"):
        most = m.attrs[name]
        m.require(most is None or most > 0, f"the kernel makes one detection at least, and {name} is {most}")
    overlap = m.attrs["nms_iou_threshold"]
    m.require(0 < overlap <= 1, f"the kernel takes an nms_iou_threshold between 0 and 1, not {overlap}")


def rewrite(tfl: Builder, m: Match) -> list[Value]:
    options = {name: value for name, value in m.attrs.items() if value is not None}
    most, each = m.attrs["max_detections"], m.attrs["max_classes_per_detection"]
    shapes = [(1, most * each, 4), (1, most * each), (1, most * each), (1,)]
    made = tfl.custom(NAME, [m.boxes, m.scores, m.anchors], [(types.FLOAT32, shape) for shape in shapes], options)
    regular = m.attrs["use_regular_nms"]
    if m.placeholder or (regular and each == 1):
        return made
    place = np.arange(most * each, dtype=np.float32)[np.newaxis]
    if not regular:
        place, nth_class = np.divmod(place, each)
        place[nth_class >= m.attrs["num_classes"]] = np.inf
    *detections, count = made
    there = tfl.less(place, count)
    return [
        tfl.select_v2(there if x.rank == 2 else tfl.reshape(there, [1, most * each, 1]), x, tfl.const(0.0, x.dtype))
        for x in detections
    ] + [count]


def draw(rng: np.random.Generator, m: Match) -> dict[str, np.ndarray]:
    """Draw boxes of the size of an image, of which some overlap. A few of them, up to half, have a score above the
    threshold. The scores of a box are alike in all classes, which shows whether it is taken for one class or for
    several.
    """
    _, count, classes = m.scores.shape
    scales = [m.attrs[name] for name in ("y_scale", "x_scale", "h_scale", "w_scale")]
    centers, sizes = rng.uniform(0.2, 0.8, (count, 2)), rng.uniform(0.1, 0.5, (count, 2))
    few = min(m.attrs["max_detections"] / count, 0.5)
    above = rng.uniform(0, 1, (count, 1)) < np.exp(rng.uniform(np.log(few), np.log(0.5)))
    quality = rng.uniform(0, 1, (count, 1)) * np.where(above, 1.0, -1.0) + rng.uniform(-0.2, 0.2, (count, classes))
    drawn = {
        "boxes": rng.normal(0.0, 0.3, m.boxes.shape) * scales,
        "scores": max(m.attrs["nms_score_threshold"], -1.0) + quality[np.newaxis],
        "anchors": np.concatenate([centers, sizes], 1),
    }
    return {name: array.astype(np.float32) for name, array in drawn.items() if not m.operands[name].is_const}


FUSIONS = [Fusion("detection_postprocess", NAME, POSTPROCESS, rewrite, check, draw)]
