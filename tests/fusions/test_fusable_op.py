"""Composites that become custom ops: exact names, and options that decode to the annotation's attributes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from flatbuffers import flexbuffers

from fuseconv.testing import Converted, check, convert_function, implements
from tests.annotated import annotated

DETECTION = "TFLite_Detection_PostProcess"
POSTPROCESS = {
    "max_detections": 4, "max_classes_per_detection": 1, "use_regular_nms": False, "nms_score_threshold": 0.25,
    "nms_iou_threshold": 0.5, "num_classes": 2, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
}  # fmt: skip
UNPOOLING = {"pool_size": [2, 3], "strides": [2, 1], "padding": "SAME"}
NGRAMS = {"width": 2, "string_separator": " ", "axis": -1, "reduction_type": "STRING_JOIN"}
PROJECTION = {"hash_seed": [902, 341, 7], "buckets": 2048}
STRINGS = tf.TensorSpec([None], tf.string)
SPLITS = tf.TensorSpec([None], tf.int64)


def options(converted: Converted, code: str) -> Any:
    return flexbuffers.Loads(converted.custom_options(code))


def constants(*shapes_and_types: tuple) -> Callable:
    """A body that is a placeholder."""

    def body(*operands):
        results = [tf.constant("" if dtype == tf.string else 0, dtype, shape) for shape, dtype in shapes_and_types]
        return results if len(results) > 1 else results[0]

    return body


def half(value, *others):
    return value * 0.5


def halves(*values):
    return [half(*values)] * 4


@pytest.mark.parametrize("form", ["proto", "text", "binary"])
def test_detection_postprocess(form):
    scalars = constants(*[((), tf.float32)] * 4)
    fn = annotated(scalars, implements(DETECTION, **POSTPROCESS), form)
    specs = tf.TensorSpec([1, 6, 4]), tf.TensorSpec([1, 6, 3])
    anchors = np.random.default_rng(0).uniform(0.2, 0.8, (6, 4)).astype(np.float32)
    converted = convert_function(lambda b, s: fn(b, s, anchors), *specs)
    assert converted.ops == [DETECTION]
    assert options(converted, DETECTION) == pytest.approx(POSTPROCESS)
    (fused,) = [record for record in converted.report.records if record.kind == "fused"]
    assert "placeholder" in fused.why
    results = run(converted, np.zeros((1, 6, 4), np.float32), np.ones((1, 6, 3), np.float32))
    assert sorted(r.shape for r in results) == [(1,), (1, 4), (1, 4), (1, 4, 4)]


def run(converted: Converted, *arrays: np.ndarray) -> list[np.ndarray]:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=converted.data)
    results = interpreter.get_signature_runner()(**{f"x{i}": array for i, array in enumerate(arrays)})
    return list(results.values())


def test_max_unpooling():
    fn = annotated(lambda u, i: tf.repeat(tf.repeat(u, 2, 1), 2, 2), implements("addons:MaxUnpooling2D", **UNPOOLING))
    converted = convert_function(fn, tf.TensorSpec([None, 2, 3, 1]), tf.TensorSpec([None, 2, 3, 1], tf.int32))
    assert converted.ops == ["MaxUnpooling2D"]
    # SAME, stride width and height, filter width and height, no activation, and nothing computed yet.
    assert struct.unpack("<10i", converted.custom_options("MaxUnpooling2D")) == (1, 1, 2, 3, 2, 0, 0, 0, 0, 0)


def test_dense_image_warp():
    fn = annotated(half, "addons:DenseImageWarp")
    converted = convert_function(fn, tf.TensorSpec([None, 4, 5, 3]), tf.TensorSpec([None, 4, 5, 2]))
    assert converted.ops == ["DenseImageWarp"] and converted.custom_options("DenseImageWarp") == b""


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_whitespace_tokenizer(rank):
    body = constants(((3,), tf.string), *[((4,), tf.int64)] * rank)
    fn = annotated(body, implements("tftext:WhitespaceTokenizer"))
    converted = convert_function(fn, tf.TensorSpec([None] * rank, tf.string))
    assert converted.ops == ["tftext:WhitespaceTokenizer"]
    assert converted.custom_options("tftext:WhitespaceTokenizer") == b""


@pytest.mark.parametrize("splits", [0, 1, 2])
def test_ngrams(splits):
    body = constants(((3,), tf.string), *[((4,), tf.int64)] * splits)
    fn = annotated(body, implements("tftext:Ngrams", **NGRAMS))
    converted = convert_function(fn, STRINGS, *[SPLITS] * splits)
    assert converted.ops == ["tftext:Ngrams"] and options(converted, "tftext:Ngrams") == NGRAMS


def test_sgnn_projection():
    fn = annotated(constants(((5, 3), tf.float32)), implements("tftext:custom:SgnnProjection", **PROJECTION))
    converted = convert_function(fn, STRINGS, SPLITS)
    assert converted.ops == ["tftext:custom:SgnnProjection"]
    assert options(converted, "tftext:custom:SgnnProjection") == PROJECTION


OPTIONS = {"zeta": 1, "alpha": 0.5, "name": "x \"y\"", "flag": True, "off": False, "ints": [1, 2], "floats": [0.5, 2.0],
           "strings": ["a", "b"], "bools": [True, False], "none": []}  # fmt: skip


@pytest.mark.parametrize("form", ["proto", "text", "binary"])
@pytest.mark.parametrize("operands", [1, 3])
def test_any_fusable_op(form, operands):
    body = constants(((), tf.float32), ((2,), tf.int32))
    fn = annotated(body, implements("my_op", tfl_fusable_op=True, **OPTIONS), form)
    converted = convert_function(fn, *[tf.TensorSpec([None, 2])] * operands)
    assert converted.ops == ["my_op"] and converted.fused == ["tfl_fusable_op"]
    data = converted.custom_options("my_op")
    assert flexbuffers.Loads(data) == OPTIONS
    assert list(flexbuffers.Loads(data)) == sorted(OPTIONS)
    assert isinstance(flexbuffers.Loads(data)["flag"], bool)


def test_without_operands_results_or_options():
    fn = annotated(constants(((3,), tf.float32)), implements("source", tfl_fusable_op=True))
    converted = convert_function(lambda x: x + fn(), tf.TensorSpec([None, 3]))
    assert "source" in converted.ops and options(converted, "source") == {}


def test_a_false_flag_is_no_fusable_op():
    fn = annotated(half, implements("my_op", tfl_fusable_op=False))
    converted = check(fn, tf.TensorSpec([None, 3]), static=False)
    assert "my_op" not in converted.ops and "my_op" in converted.refused


def test_a_flag_of_another_type_is_refused():
    fn = annotated(half, implements("my_op", tfl_fusable_op=1))
    converted = check(fn, tf.TensorSpec([None, 3]), static=False)
    assert converted.refused["tfl_fusable_op"].endswith("tfl_fusable_op must be of type bool, not 1")


@pytest.mark.parametrize(
    ("name", "attrs", "specs", "fusion", "why"),
    [
        (DETECTION, POSTPROCESS | {"max_detections": "4"}, 3, "detection_postprocess", "of type int"),
        (DETECTION, POSTPROCESS | {"more": 1}, 3, "detection_postprocess", "more is not supported"),
        (DETECTION, {"max_detections": 4}, 3, "detection_postprocess", "lacks the attribute"),
        (DETECTION, POSTPROCESS, 2, "detection_postprocess", "takes 2 operands"),
        ("addons:MaxUnpooling2D", UNPOOLING | {"padding": "FULL"}, 2, "max_unpooling", "rank 4"),
        ("addons:MaxUnpooling2D", UNPOOLING | {"strides": [1.0, 1.0]}, 2, "max_unpooling", "a list of int"),
        ("addons:DenseImageWarp", {}, 2, "dense_image_warp", "rank 4"),
        ("tftext:Ngrams", NGRAMS, 1, "tftext_ngrams", "strings"),
        ("tftext:WhitespaceTokenizer", {}, 1, "tftext_whitespace_tokenizer", "strings"),
        ("tftext:custom:SgnnProjection", PROJECTION, 2, "tftext_sgnn_projection", "strings"),
    ],
)
def test_refusals(name, attrs, specs, fusion, why):
    fn = annotated(halves if name == DETECTION else half, implements(name, **attrs))
    converted = check(fn, *[tf.TensorSpec([None, 3])] * specs, static=False)
    assert why in converted.refused[fusion] and converted.fused == []
