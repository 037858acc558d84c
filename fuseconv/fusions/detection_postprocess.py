"""SSD post-processing -> the custom op TFLite_Detection_PostProcess.

The contract is ConvertSSDPostProcessFunc's of TFLiteConverter (nms_utils.cc) and the kernel's
(detection_postprocess.cc): encoded boxes [1, anchors, 4], class scores [1, anchors, classes], anchors [anchors, 4] ->
boxes, classes, scores and the number of detections. The annotation's attributes are the op's options; the kernel reads
detections_per_class only if use_regular_nms is true, and has a default of 100 for it.
"""

from __future__ import annotations

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

NAME = "TFLite_Detection_PostProcess"
_DETECTIONS_PER_CLASS = 100
POSTPROCESS = composite(
    NAME,
    "boxes scores anchors -> detection_boxes detection_classes detection_scores count",
    {
        "max_detections": int, "max_classes_per_detection": int, "detections_per_class": _DETECTIONS_PER_CLASS,
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


def rewrite(tfl: Builder, m: Match) -> list[Value]:
    results = [(result.dtype, result.shape) for result in m.results.values()]
    return tfl.custom(NAME, [m.boxes, m.scores, m.anchors], results, m.attrs)


FUSIONS = [Fusion("detection_postprocess", NAME, POSTPROCESS, rewrite, check)]
