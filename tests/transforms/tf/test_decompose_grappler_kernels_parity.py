"""Ops into which Grappler puts several are converted like those several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_library

from fuseconv.ir.verifier import check as check_ir
from fuseconv.testing import check, check_refused
from fuseconv.transforms.tf.decompose_grappler_kernels import decompose_grappler_kernels
from tests.tf.text_cases import kinds, module_of

RNG = np.random.default_rng(0)
X = tf.TensorSpec([None, 6, 6, 3])


def _w(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def _apply(op: str, /, **given: Any) -> Any:
    return op_def_library.apply_op(op, name=op.removeprefix("_"), **{**DEFAULTS[op], **given})


def _conv(x: tf.Tensor, *args: Any, fused_ops: list[str], **options: Any) -> tf.Tensor:
    return _apply(
        "_FusedConv2D", input=x, filter=FILTER, args=list(args), num_args=len(args), strides=[1, 2, 2, 1],
        padding="SAME", fused_ops=fused_ops, **options,
    )  # fmt: skip


PARTS = {"epsilon": 1e-4, "leakyrelu_alpha": 0.2}
IMAGES = PARTS | {"data_format": "NHWC", "dilations": [1, 1, 1, 1]}
# Attributes have no defaults here.
DEFAULTS: dict[str, dict[str, Any]] = {
    "_FusedConv2D": IMAGES
    | {"explicit_paddings": [], "host_args": [], "filter_format": "HWIO", "use_cudnn_on_gpu": True},
    "_FusedDepthwiseConv2dNative": IMAGES,
    "_FusedMatMul": PARTS | {"transpose_a": False},
    "_FusedBatchNormEx": {"data_format": "NHWC", "exponential_avg_factor": 1.0},
}
FILTER = _w(3, 3, 3, 4)
BIAS = _w(4)
NORM = (np.abs(_w(4)) + 0.5, _w(4), _w(4), np.abs(_w(4)) + 0.5)


@pytest.mark.parametrize("activation", ["Relu", "Relu6", "Elu"])
def test_a_convolution_with_bias_and_activation(activation: str) -> None:
    converted = check(lambda x: _conv(x, BIAS, fused_ops=["BiasAdd", activation]), X)
    assert converted.ops == (["CONV_2D", "ELU"] if activation == "Elu" else ["CONV_2D"])


def test_a_convolution_with_the_slope_of_its_activation() -> None:
    check(lambda x: _conv(x, BIAS, fused_ops=["BiasAdd", "LeakyRelu"], leakyrelu_alpha=0.3), X)


def test_a_convolution_with_batch_norm() -> None:
    converted = check(lambda x: _conv(x, *NORM, fused_ops=["FusedBatchNorm", "Relu"], epsilon=0.01), X)
    assert converted.ops == ["CONV_2D"]


def test_a_sum_with_a_convolution() -> None:
    def fn(x: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
        return _conv(x, BIAS, other, fused_ops=["BiasAdd", "Add", "Relu"])

    check(fn, tf.TensorSpec([2, 6, 6, 3]), tf.TensorSpec([2, 3, 3, 4]))


def test_a_matrix_product() -> None:
    weights, bias = _w(4, 3), _w(4)

    def fn(x: tf.Tensor) -> tf.Tensor:
        return _apply(
            "_FusedMatMul", a=x, b=weights, args=[bias], transpose_b=True, fused_ops=["BiasAdd", "Relu"]
        )

    assert check(fn, tf.TensorSpec([None, 3])).ops == ["FULLY_CONNECTED"]


def test_a_depthwise_convolution() -> None:
    filter, bias = _w(3, 3, 3, 1), _w(3)

    def fn(x: tf.Tensor) -> tf.Tensor:
        return _apply(
            "_FusedDepthwiseConv2dNative", input=x, filter=filter, args=[bias], strides=[1, 1, 1, 1], padding="VALID",
            fused_ops=["BiasAdd", "Relu6"],
        )  # fmt: skip

    assert check(fn, X).ops == ["DEPTHWISE_CONV_2D"]


def test_a_batch_norm_with_its_activation() -> None:
    def fn(x: tf.Tensor) -> tf.Tensor:
        return _apply(
            "_FusedBatchNormEx", x=x, scale=NORM[0], offset=NORM[1], mean=NORM[2], variance=NORM[3], side_input=[],
            activation_mode="Relu", is_training=False, epsilon=0.01,
        )[0]  # fmt: skip

    check(fn, tf.TensorSpec([None, 3, 3, 4]))


def test_what_is_added_to_a_batch_norm() -> None:
    # TensorFlow has this on GPUs only.
    module, _ = module_of(
        """main {
        input %0 "x": float32[2,3,3,4]
        input %1 "side": float32[2,3,3,4]
        input %2 "p": float32[4]
        %3 "norm": float32[*]; %4 "norm:1": float32[*]; %5 "norm:2": float32[*]; %6 "norm:3": float32[*]; """
        """%7 "norm:4": float32[*]; %8 "norm:5": float32[*] = tf._FusedBatchNormEx(%0, %2, %2, %2, %2, %1) """
        """{'activation_mode': 'Relu', 'is_training': False}
        return %3
        }"""
    )
    decompose_grappler_kernels(module)
    check_ir(module)
    assert kinds(module) == ["FusedBatchNormV3", "AddV2", "Relu"]


def test_parts_that_are_not_known_are_refused_by_name() -> None:
    def fn(x: tf.Tensor) -> tf.Tensor:
        return _conv(x, BIAS, fused_ops=["BiasAdd", "_FusedSwish"])

    error = check_refused(fn, X)
    assert [op for op, _, _ in error.ops] == ["_FusedConv2D"]


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_what_pads_in_front_of_a_convolution(mode: str, padding: str) -> None:
    pads = [[0, 0], [1, 2], [2, 0], [0, 0]]

    def fn(x: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.FusedPadConv2D(
            input=x, paddings=pads, filter=FILTER, mode=mode, strides=[1, 2, 1, 1], padding=padding
        )

    # TensorFlow's kernel is wrong for a batch of more than one image, even where nothing is padded.
    assert check(fn, X, batches=(1,)).ops == ["GATHER", "GATHER", "CONV_2D"]


@pytest.mark.parametrize("corners", [False, True])
def test_what_resizes_in_front_of_a_convolution(corners: bool) -> None:
    def fn(x: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.FusedResizeAndPadConv2D(
            input=x, size=[9, 7], paddings=[[0, 0], [1, 1], [1, 2], [0, 0]], filter=FILTER, mode="REFLECT",
            strides=[1, 1, 1, 1], padding="VALID", resize_align_corners=corners,
        )  # fmt: skip

    assert check(fn, X, batches=(1,)).ops == ["RESIZE_BILINEAR", "GATHER", "GATHER", "CONV_2D"]
