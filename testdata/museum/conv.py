"""Convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from testdata.museum.case import case, randomized, spec, weights
from tests.random_weights import randomize


@case(
    "LiteRT#4847",
    "XNNPACK returns zeros for SAME and a stride that leaves nothing to pad",
    spec(None, 17, 18, 7),
)
def conv_same_with_a_large_stride() -> Callable[..., Any]:
    return randomized(keras.layers.Conv2D(16, 3, strides=10, padding="same"), None, 17, 18, 7)


@case("LiteRT#9256", "zeros for SAME where the strides differ", spec(None, 12, 16, 3))
def conv_same_with_asymmetric_strides() -> Callable[..., Any]:
    return randomized(keras.layers.Conv2D(4, 3, strides=(3, 4), padding="same"), None, 12, 16, 3)


@case(
    "here",
    "zeros for SAME and a stride above the kernel's size, depthwise too",
    spec(None, 9, 9, 4),
)
def depthwise_same_with_a_large_stride() -> Callable[..., Any]:
    kernel = weights(2, 2, 4, 1)
    return lambda x: tf.nn.depthwise_conv2d(x, kernel, [1, 3, 3, 1], "SAME")


@case(
    "here",
    "zeros for SAME and a large stride, where the sizes come with the input",
    spec(None, None, None, 3),
)
def conv_same_with_a_large_stride_of_unknown_sizes() -> Callable[..., Any]:
    kernel = weights(2, 2, 3, 5)
    return lambda x: tf.nn.conv2d(x, kernel, 3, "SAME")


@case(
    "tensorflow#61815",
    "wrong for a kernel of 3 by 1 and strides of 2",
    spec(1, 8, 8, 2),
)
def depthwise_with_a_flat_kernel() -> Callable[..., Any]:
    layer = keras.layers.DepthwiseConv2D((3, 1), strides=2, padding="same", use_bias=False)
    return randomized(layer, 1, 8, 8, 2)


@case("tensorflow#61934", "wrong once the input has another size", spec(None, None, None, 6))
def depthwise_of_unknown_sizes() -> Callable[..., Any]:
    return randomized(keras.layers.DepthwiseConv2D(3, strides=2, padding="same"), None, None, None, 6)


@case("tensorflow#50448 tensorflow#46822", "six ops, and shapes that only a run tells", spec(None, None, None, 3))
def dilated_conv_of_unknown_sizes() -> Callable[..., Any]:
    return randomized(keras.layers.Conv2D(4, 3, dilation_rate=2, padding="same"), None, None, None, 3)


@case("tensorflow#55799", "other numbers once a layer has dilations of 2 and 1", spec(1, 10, 9, 3))
def conv_dilated_in_one_direction() -> Callable[..., Any]:
    sizes = ((1, 1, 3, 32), (3, 3, 32, 32), (3, 3, 32, 2))
    kernels = [weights(*size) for size in sizes]

    def convolve(x: tf.Tensor) -> tf.Tensor:
        for kernel, dilation in zip(kernels, (1, (2, 1), 1), strict=True):
            x = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME", dilations=dilation))
        return x

    return convolve


@case("tensorflow#30315", "SPACE_TO_BATCH_ND of three dimensions, which the runtime refuses", spec(None, 10, 5))
def dilated_conv1d() -> Callable[..., Any]:
    return randomized(keras.layers.Conv1D(4, 3, dilation_rate=2, padding="same"), None, 10, 5)


@case("tensorflow#36692", "the process ends by a segmentation fault", spec(1, 12, 12, 2))
def dilated_conv_valid() -> Callable[..., Any]:
    return randomized(keras.layers.Conv2D(3, 3, dilation_rate=(2, 3)), 1, 12, 12, 2)


@case("tensorflow#50172 tensorflow#29509", "the batch norm stays apart", spec(None, 12, 12, 3))
def dilated_conv_with_batch_norm() -> Callable[..., Any]:
    layers = keras.layers
    conv = layers.Conv2D(4, 3, dilation_rate=2, padding="same", use_bias=False)
    return randomized(keras.Sequential([conv, layers.BatchNormalization(), layers.ReLU()]), None, 12, 12, 3)


@case("tensorflow#44532", "became DEPTHWISE_CONV_2D with other numbers", spec(None, 8, 8, 1))
def conv_of_one_channel() -> Callable[..., Any]:
    return randomized(keras.layers.Conv2D(6, 3, strides=2, padding="same"), None, 8, 8, 1)


@case("tensorflow#40044", "the groups are ignored, or the op refused", spec(None, 7, 7, 8))
def grouped_conv() -> Callable[..., Any]:
    return randomized(keras.layers.Conv2D(12, 3, groups=4), None, 7, 7, 8)


@case("tensorflow#50392", "refused, or broken", spec(None, 16, 4))
def grouped_conv1d() -> Callable[..., Any]:
    return randomized(keras.layers.Conv1D(4, 4, groups=2), None, 16, 4)


@case("tensorflow#57650 tensorflow#58746", "sizes in PACK, wrong after a resize", spec(None, 5, 6, 3))
def transpose_conv_of_unknown_batch() -> Callable[..., Any]:
    return randomized(keras.layers.Conv2DTranspose(4, 3, strides=2, padding="same"), None, 5, 6, 3)


@case("XNNPACK#958", "a padding of one side was folded into SAME by XNNPACK", spec(None, 12, 12, 3))
def conv_behind_zero_padding() -> Callable[..., Any]:
    layers = keras.layers
    stack = [layers.ZeroPadding2D(((0, 1), (0, 1))), layers.DepthwiseConv2D(3, strides=2)]
    return randomized(keras.Sequential(stack), None, 12, 12, 3)


@case("tensorflow#25301", "refused with fused batch norms", spec(None, 6, 6, 4))
def depthwise_of_two_multipliers_with_batch_norm() -> Callable[..., Any]:
    layers = keras.layers
    stack = [layers.DepthwiseConv2D(3, depth_multiplier=2, use_bias=False), layers.BatchNormalization()]
    return randomized(keras.Sequential(stack), None, 6, 6, 4)


@case("tensorflow#45252 tensorflow#59017", "'tf.Conv2D' is neither a custom op nor a flex op", spec(None, 6, 7, 4))
def conv_of_float32_twice() -> Callable[..., Any]:
    layers = keras.layers
    stack = [layers.Conv2D(4, 3), layers.MaxPooling2D(2), layers.Flatten(), layers.Dense(3, activation="softmax")]
    return randomized(keras.Sequential(stack), None, 6, 7, 4)


@case("keras-hub#2495", "masks differ by 60%: dilated branches and a pooled one, resized", spec(None, 12, 12, 4))
def branches_of_a_segmenter() -> Callable[..., Any]:
    layers = keras.layers
    image = layers.Input((12, 12, 4))
    convs = [layers.Conv2D(3, 3, dilation_rate=rate, padding="same", activation="relu") for rate in (1, 2, 4)]
    pooled = layers.UpSampling2D(12, interpolation="bilinear")(layers.AveragePooling2D(12)(image))
    joined = layers.Concatenate()([*(conv(image) for conv in convs), layers.Conv2D(3, 1)(pooled)])
    resized = layers.UpSampling2D(2, interpolation="bilinear")(layers.Conv2D(5, 1)(joined))
    model = keras.Model(image, layers.Softmax()(resized))
    randomize(model, 7)
    return model


@case("keras-hub#2495", "masks differ by 1000%: patches that overlap, keys of fewer patches", spec(None, 16, 16, 3))
def attention_of_a_segmenter() -> Callable[..., Any]:
    layers = keras.layers
    image = layers.Input((16, 16, 3))
    patches = layers.LayerNormalization()(layers.Conv2D(8, 7, strides=2, padding="same")(image))
    fewer = layers.LayerNormalization()(layers.Conv2D(8, 4, strides=4, padding="same")(patches))
    rows, keys = layers.Reshape((64, 8))(patches), layers.Reshape((4, 8))(fewer)
    model = keras.Model(image, layers.MultiHeadAttention(2, 4)(rows, keys) + rows)
    randomize(model, 7)
    return model


NAN = np.full((1, 4, 4, 1), 5, np.float32)
NAN[0, 3, 3, 0] = np.nan


@case("tensorflow#120296", "-inf for a window with NaN", spec(None, 4, 4, 1), inputs=[NAN], kernel="NaN is lost")
def avg_pool_of_nan() -> Callable[..., Any]:
    return lambda x: tf.nn.avg_pool2d(x, 2, 2, "VALID")


@case("here", "refused", spec(None, 5, 5, 5, 4))
def grouped_conv3d() -> Callable[..., Any]:
    return randomized(keras.layers.Conv3D(6, 3, groups=2), None, 5, 5, 5, 4)


@case("tensorflow#68319", "padding in front of the depth is taken for that behind it", spec(None, 4, 4, 2, 3))
def conv3d_transpose_padded_in_front_of_the_depth() -> Callable[..., Any]:
    return randomized(keras.layers.Conv3DTranspose(2, (3, 1, 3), strides=(1, 2, 1), padding="same"), None, 4, 4, 2, 3)
