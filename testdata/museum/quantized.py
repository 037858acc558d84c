"""Models that come quantized."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from testdata.museum.case import case, randomized, spec, weights


@case("here", "the product of integers that a quantized layer computes is refused", spec(None, 12))
def dense_layer_of_int8() -> Callable[..., Any]:
    layer = randomized(keras.layers.Dense(7, activation="relu"), None, 12)
    layer.quantize("int8")
    return layer


@case("here", "a pair that rounds to int8 and back is refused", spec(None, 12))
def uniform_quantize_and_dequantize() -> Callable[..., Any]:
    kernel = weights(12, 5)
    grid = {"scales": np.float32(0.04), "zero_points": np.int32(-9)}
    grid |= {"quantization_min_val": -128, "quantization_max_val": 127}

    def run(x: tf.Tensor) -> tf.Tensor:
        stored = tf.raw_ops.UniformQuantize(input=x, Tout=tf.qint8, **grid)
        return tf.matmul(tf.raw_ops.UniformDequantize(input=stored, Tout=tf.float32, **grid), kernel)

    return run


@case("here", "a tensor of 8 bits is refused where nothing computes with it", spec(None, 12))
def quantize_and_dequantize_with_a_range() -> Callable[..., Any]:
    def run(x: tf.Tensor) -> tf.Tensor:
        stored = tf.quantization.quantize(x, -3.0, 2.5, tf.qint8)
        return tf.quantization.dequantize(*stored) * 2.0

    return run
