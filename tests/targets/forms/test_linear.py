"""Forms of products, against LiteRT's own ops."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass
from tests.targets.forms.parity import forms_of, target_of

_STRIDES = "'stride_h': 1, 'stride_w': 1"
_UP = "int32[4] [1, 4, 4, 2], float32[2,2,2,1] [1, 2, 3, 4, -5, 6, 7, 8], %0"
_TWICE = "'padding': 'SAME', 'stride_h': 2, 'stride_w': 2"


@pytest.mark.parametrize("op, weights, zeros", [
    ("CONV_2D", "float32[2,1,1,1] [1.5, -2]", "float32[2] [0, 0]"),
    ("DEPTHWISE_CONV_2D", "float32[1,1,1,2] [1.5, -2]", "float32[2] [0, 0]"),
])  # fmt: skip
def test_core_ml_wants_a_bias(op: str, weights: str, zeros: str) -> None:
    # LiteRT's own kernels crash on a convolution of two operands: as a text only.
    text = f"""
    main {{{{
      input %x: float32[1,4,4,1]
      %y: float32[1,4,4,2] = tfl.{op}(%x, {{}}) {{{{{_STRIDES}, 'depth_multiplier': 2}}}}
      return %y
    }}}}
    """
    text = text if op == "DEPTHWISE_CONV_2D" else text.replace(", 'depth_multiplier': 2", "")
    check_pass("legalize-for-target", text.format(weights), text.format(f"{weights}, {zeros}"),
               target=target_of("coreml"))  # fmt: skip


@pytest.mark.parametrize("bias, activation, forms", [
    ("float32[2] [0, 0]", "NONE", ["TRANSPOSE_CONV"]),
    ("float32[2] [1, -2]", "NONE", ["TRANSPOSE_CONV", "ADD"]),
    ("float32[2] [1, -2]", "RELU", ["TRANSPOSE_CONV", "ADD"]),
    ("float32[2] [0, 0]", "RELU6", ["TRANSPOSE_CONV", "RELU6"]),
])  # fmt: skip
def test_transposed_convolutions_of_the_first_version(bias: str, activation: str, forms: list[str]) -> None:
    options = f"{{{_TWICE}, 'fused_activation_function': '{activation}'}}"
    op = f"float32[1,4,4,2] = tfl.TRANSPOSE_CONV({_UP}, {bias}) {options.replace(_none(activation), '')}"
    assert forms_of(target_of("coreml"), "float32[1,2,2,1]", op) == forms


def _none(activation: str) -> str:
    return ", 'fused_activation_function': 'NONE'" if activation == "NONE" else "no such text"


def test_a_convolution_of_one_place_is_dense() -> None:
    check_pass("legalize-for-target", f"""
    main {{
      input %x: float32[1,1,1,2]
      %y: float32[1,1,1,3] = tfl.CONV_2D(%x, float32[3,1,1,2] [1, 2, 3, 4, 5, 6], float32[3] [1, 2, 3]) {{{_STRIDES}}}
      %z: float32[1,3] = tfl.RESHAPE(%y, int32[2] [1, 3])
      return %z
    }}
    """, f"""
    main {{
      input %x: float32[1,1,1,2]
      %y: float32[1,1,1,3] = tfl.CONV_2D(%x, float32[3,1,1,2] [1, 2, 3, 4, 5, 6], float32[3] [1, 2, 3]) {{{_STRIDES}}}
      %z: float32[1,3] = tfl.FULLY_CONNECTED(%x, float32[3,2] [1, 2, 3, 4, 5, 6], float32[3] [1, 2, 3])
      return %z
    }}
    """, target=target_of("coreml"))


@pytest.mark.parametrize("x, result", [("float32[2,3,2,2]", "float32[2,3]"), ("float32[2,3,4]", "float32[2,3]")])
def test_a_gpu_multiplies_channels_alone(x: str, result: str) -> None:
    weights = f"float32[3,12] [{', '.join(str(n % 7 - 3) for n in range(36))}]"
    op = f"{result} = tfl.FULLY_CONNECTED(%0, {weights}, float32[3] [1, -2, 3])"
    assert forms_of(target_of("gpu"), x, op) == ["RESHAPE", "FULLY_CONNECTED"]


_MATRIX = "[1, 2, -3, 4, 5, 6]"


@pytest.mark.parametrize("operands, op, forms", [
    ("float32[2,4,3] float32[2,5,3]", "float32[2,4,5] = tfl.BATCH_MATMUL(%0, %1) {'adj_y': True}",
     ["TRANSPOSE", "BATCH_MATMUL"]),
    ("float32[2,3,4] float32[2,5,3]", "float32[2,4,5] = tfl.BATCH_MATMUL(%0, %1) {'adj_x': True, 'adj_y': True}",
     ["TRANSPOSE", "TRANSPOSE", "BATCH_MATMUL"]),
    ("float32[2,4,3]", f"float32[2,4,2] = tfl.BATCH_MATMUL(%0, float32[2,3] {_MATRIX}) {{'adj_y': True}}",
     ["BATCH_MATMUL"]),
    ("float32[2,4,3]", f"float32[2,4,2] = tfl.BATCH_MATMUL(%0, float32[1,3,2] {_MATRIX})", ["BATCH_MATMUL"]),
    ("float32[4,3,5]", f"float32[4,2,5] = tfl.BATCH_MATMUL(float32[2,3] {_MATRIX}, %0)",
     ["TRANSPOSE", "BATCH_MATMUL", "TRANSPOSE"]),
    ("float32[2,4,3]", f"float32[2,4,2] = tfl.BATCH_MATMUL(%0, float32[1,2,3] {_MATRIX}) {{'adj_y': True}}",
     ["BATCH_MATMUL"]),
    ("float32[4,5,3]", f"float32[4,2,5] = tfl.BATCH_MATMUL(float32[1,3,2] {_MATRIX}, %0) "
     "{'adj_x': True, 'adj_y': True}", ["BATCH_MATMUL", "TRANSPOSE"]),
])  # fmt: skip
def test_a_gpu_transposes_nothing_on_the_way(operands: str, op: str, forms: list[str]) -> None:
    assert forms_of(target_of("gpu"), operands, op) == forms


def test_a_gpu_reads_no_activation_of_a_transposed_convolution() -> None:
    options = f"{{{_TWICE}, 'fused_activation_function': 'RELU'}}"
    op = f"float32[1,4,4,2] = tfl.TRANSPOSE_CONV({_UP}, float32[2] [1, -2]) {options}"
    assert forms_of(target_of("gpu"), "float32[1,2,2,1]", op) == ["TRANSPOSE_CONV", "RELU"]


_K3 = "float32[2,3,3,1] [1, 2, 3, 4, 5, 6, 7, 8, 9, -1, 2, 3, 4, -5, 6, 7, 8, 1]"


@pytest.mark.parametrize("target, activation, forms", [
    ("qnn", "NONE", ["TRANSPOSE_CONV", "SLICE"]), ("qnn", "RELU", ["TRANSPOSE_CONV", "SLICE", "RELU"]),
    ("gpu", "RELU", ["TRANSPOSE_CONV", "SLICE", "RELU"]),
])  # fmt: skip
def test_a_crop_tells_how_a_transposed_convolution_is_padded(target: str, activation: str, forms: list[str]) -> None:
    options = f"{{{_TWICE}, 'fused_activation_function': '{activation}'}}".replace(_none(activation), "")
    op = f"float32[1,6,9,2] = tfl.TRANSPOSE_CONV(int32[4] [1, 6, 9, 2], {_K3}, %0, float32[2] [1, -2]) {options}"
    assert forms_of(target_of(target), "float32[1,3,5,1]", op) == forms
