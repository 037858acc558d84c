"""SSD post-processing -> the custom op TFLite_Detection_PostProcess.

The contract is ConvertSSDPostProcessFunc's of TFLiteConverter (nms_utils.cc) and the kernel's
(detection_postprocess.cc): encoded boxes [1, anchors, 4], class scores [1, anchors, classes], anchors [anchors, 4] ->
boxes [1, n, 4], classes [1, n], scores [1, n] and the number of detections [1], n = max_detections *
max_classes_per_detection. The annotation's attributes are the op's options; for detections_per_class, which is read
only if use_regular_nms is true, the kernel has a default of its own. The usual body is a placeholder of scalars
(export_tflite_graph_lib_tf2.py of the object detection API).
"""

from __future__ import annotations

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
    per_class = m.attrs["detections_per_class"]
    m.require(per_class is None or type(per_class) is int, "the attribute detections_per_class is no int")


def rewrite(tfl: Builder, m: Match) -> list[Value]:
    options = {name: value for name, value in m.attrs.items() if value is not None}
    boxes = m.attrs["max_detections"] * m.attrs["max_classes_per_detection"]
    shapes = [(1, boxes, 4), (1, boxes), (1, boxes), (1,)]
    results = [(types.FLOAT32, shape) for shape in shapes]
    return tfl.custom(NAME, [m.boxes, m.scores, m.anchors], results, options)


FUSIONS = [Fusion("detection_postprocess", NAME, POSTPROCESS, rewrite, check)]
