"""What data choose may be none: the file then computes what TensorFlow does, in both interpreters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert import interpreter as litert

from fuseconv.runners import as_array
from fuseconv.testing import _invoke, assert_close, convert_function

_RANDOM = np.random.default_rng(0)


def _weights(*shape: int) -> np.ndarray:
    return _RANDOM.standard_normal(shape).astype(np.float32)


def _images(x: tf.Tensor) -> tf.Tensor:
    return tf.reshape(x, [-1, 2, 2, 1])


def _attend(x: tf.Tensor) -> tf.Tensor:
    return tf.matmul(tf.nn.softmax(tf.matmul(x, x, transpose_b=True)), x)


KERNEL, WIDE, MANY = _weights(2, 2, 1, 3), _weights(4, 3), _weights(4, 300)
STEPS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "sum": lambda x: tf.reduce_sum(x, 0), "mean": tf.reduce_mean, "max": lambda x: tf.reduce_max(x, 0),
    "min": lambda x: tf.reduce_min(x, 0), "columns": lambda x: tf.unstack(x, axis=1), "attention": _attend,
    "attention_of_all": lambda x: tf.matmul(tf.nn.softmax(tf.matmul(WIDE, x, transpose_a=True, transpose_b=True)), x),
    "segments": lambda x: tf.math.segment_sum(x, tf.range(tf.shape(x)[0]) // 2),
    "covariance": lambda x: tf.matmul(x, x, transpose_a=True), "roll": lambda x: tf.roll(x, 1, 0),
    "conv": lambda x: tf.nn.relu(tf.nn.conv2d(_images(x), KERNEL, 1, "SAME") + 1),
    "depthwise": lambda x: tf.nn.depthwise_conv2d(_images(x), KERNEL, [1, 1, 1, 1], "VALID"),
    "transposed": lambda x: tf.nn.conv2d_transpose(
        _images(x), tf.transpose(KERNEL, [0, 1, 3, 2]), [tf.shape(x)[0], 4, 4, 3], 2),
    "max_pool": lambda x: tf.nn.max_pool2d(_images(x), 2, 1, "SAME"),
    "average_pool": lambda x: tf.nn.avg_pool2d(_images(x), 2, 1, "SAME"),
    "space_to_depth": lambda x: tf.nn.space_to_depth(_images(x), 2),
    "depth_to_space": lambda x: tf.nn.depth_to_space(tf.reshape(x, [-1, 1, 1, 4]), 2),
    "map": lambda x: tf.map_fn(lambda row: tf.cond(row[1] > 0, lambda: row * 2, lambda: tf.sort(row)), x),
    "dense": lambda x: tf.nn.relu(tf.matmul(x, WIDE) + 1),
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_rows_of_which_none_may_be_chosen(step: str) -> None:
    def chosen(x: tf.Tensor) -> tf.Tensor:
        return STEPS[step](tf.boolean_mask(x, x[:, 0] > 0))

    some = np.arange(12, dtype=np.float32).reshape(3, 4) - 3
    _compare(chosen, [[some], [-np.abs(some) - 1], [some]], step in PER_IMAGE)


@pytest.mark.parametrize("part", [lambda x: x[1:], lambda x: tf.slice(x, [1, 0], [-1, -1])], ids=["?slice", "n - 1"])
def test_lists_of_a_row_less(part: Callable[[tf.Tensor], tf.Tensor]) -> None:
    """Of one row, as the file has when it is allocated first, none is left."""

    def steps(x: tf.Tensor) -> tf.Tensor:
        return tf.scan(lambda row, before: tf.cond(row[1] > 0, lambda: row * 2, lambda: tf.sort(before)), part(x), x[0])

    some = np.arange(12, dtype=np.float32).reshape(3, 4) - 3
    _compare(steps, [[some], [some[:1]], [some]], False)


@pytest.mark.parametrize("mode", ["float16", "dynamic"])
def test_files_with_narrow_weights(mode: str) -> None:
    def chosen(x: tf.Tensor) -> tf.Tensor:
        return _attend(tf.matmul(tf.boolean_mask(x, x[:, 0] > 0), MANY))

    def steps(x: tf.Tensor) -> tf.Tensor:
        return STEPS["map"](tf.matmul(x, MANY)[1:])

    some = np.arange(12, dtype=np.float32).reshape(3, 4) / 8 - 0.4
    _compare(chosen, [[some], [-np.abs(some) - 1], [some]], False, 0.05, quantize=mode)
    _compare(steps, [[some], [some[:1]], [some]], False, 0.05, quantize=mode)


def test_boxes_of_which_none_may_be_kept() -> None:
    def head(boxes: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
        kept = tf.gather(boxes, tf.image.non_max_suppression(boxes, scores, 4, score_threshold=0.5))
        crops = tf.image.crop_and_resize(PICTURE, kept, tf.zeros([tf.shape(kept)[0]], tf.int32), [4, 4])
        features = tf.nn.max_pool2d(tf.nn.conv2d(crops, FILTERS, 1, "SAME"), 2, 2, "SAME")
        return tf.concat([tf.reduce_mean(features, [1, 2]), tf.stack(tf.unstack(kept, axis=1), 1)], 1)

    boxes = np.array([[0.1, 0.1, 0.5, 0.6], [0.3, 0.2, 0.9, 0.8], [0, 0.5, 0.4, 1]], np.float32)
    runs = [[boxes, np.array(scores, np.float32)] for scores in ([0.9, 0.2, 0.7], [0.1, 0.2, 0.3], [0.2, 0.9, 0.7])]
    _compare(head, runs, True)


def _compare(
    function: Callable[..., Any], runs: list[list[np.ndarray]], per_image: bool, atol: float = 1e-5, **options: Any
) -> None:
    """Hold a file to TensorFlow, in both interpreters, with XNNPACK and without. The first run chooses some, the second
    none. oneDNN's convolution of no images has a shape that is none: per image, what is made of none is no image."""
    converted = convert_function(function, *[tf.TensorSpec([None, *x.shape[1:]], x.dtype) for x in runs[0]], **options)
    wanted = [[as_array(y.numpy()) for y in converted.function(*map(tf.constant, runs[0]))]]
    for arrays in runs[1:]:
        if per_image and arrays is runs[1]:
            wanted.append([y[:0] for y in wanted[0]])
        else:
            wanted.append([as_array(y.numpy()) for y in converted.function(*map(tf.constant, arrays))])
    for module, kinds in ((litert, litert.OpResolverType), (tf.lite, tf.lite.experimental.OpResolverType)):
        for resolver in (kinds.AUTO, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
            interpreter = module.Interpreter(model_content=converted.data, experimental_op_resolver_type=resolver)
            for arrays, results in zip(runs, wanted):
                made = _invoke(interpreter, arrays, allocate=True)
                for y, result in zip(made, results):
                    assert_close(y, result, atol)


PER_IMAGE = {"conv", "depthwise", "transposed", "max_pool", "average_pool", "space_to_depth", "depth_to_space"}
PICTURE, FILTERS = _weights(1, 8, 8, 3), _weights(3, 3, 3, 2)
