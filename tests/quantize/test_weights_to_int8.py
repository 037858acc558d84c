"""Weights are stored in 8 bits where kernels take them so beside floats."""

from __future__ import annotations

import pytest

import fuseconv.quantize.weights_to_int8 as module
from tests.check_pass import check_pass


@pytest.fixture(autouse=True)
def _small_constants_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_ELEMENTS", 4)


def test_weights_have_a_scale_a_channel() -> None:
    check_pass("weights-to-int8", """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [127, 2, 3, -254], float32[2] [1, 2])
      return %y
    }
    """, """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, int8[2,2]<1.0,2.0@0> [127, 2, 2, -127], float32[2] [1, 2]) \
{'asymmetric_quantize_inputs': True}
      return %y
    }
    """)


def test_rows_are_gathered_in_8_bits() -> None:
    check_pass("weights-to-int8", """
    main {
      input %i: int32[n]
      %y: float32[n,2] = tfl.GATHER(float32[3,2] [127, 2, 3, 4, 5, 6], %i)
      return %y
    }
    """, """
    main {
      input %i: int32[n]
      %y: int8[n,2]<1.0> = tfl.GATHER(int8[3,2]<1.0> [127, 2, 3, 4, 5, 6], %i)
      %z: float32[n,2] = tfl.DEQUANTIZE(%y)
      return %z
    }
    """)


def test_weights_of_depthwise_convolutions_are_dequantized_in_front() -> None:
    attrs = "{'stride_w': 1, 'stride_h': 1, 'padding': 'VALID', 'depth_multiplier': 1}"
    check_pass("weights-to-int8", f"""
    main {{
      input %x: float32[n,3,3,2]
      %y: float32[n,2,2,2] = tfl.DEPTHWISE_CONV_2D(%x, float32[1,2,2,2] [127, 2, 3, 254, 4, 6, 0, 2], _) {attrs}
      return %y
    }}
    """, f"""
    main {{
      input %x: float32[n,3,3,2]
      %w: float32[1,2,2,2] = tfl.DEQUANTIZE(int8[1,2,2,2]<1.0,2.0@3> [127, 1, 3, 127, 4, 3, 0, 1])
      %y: float32[n,2,2,2] = tfl.DEPTHWISE_CONV_2D(%x, %w, _) {attrs}
      return %y
    }}
    """)


def test_weights_of_transposed_convolutions_are_dequantized_in_front() -> None:
    attrs = "{'stride_w': 2, 'stride_h': 2, 'padding': 'VALID'}"
    check_pass("weights-to-int8", f"""
    main {{
      input %x: float32[n,3,3,2]
      input %size: int32[4]
      %y: float32[n,6,6,1] = tfl.TRANSPOSE_CONV(%size, float32[1,2,2,2] [127, 2, 3, 126, 4, 6, 0, 2], %x) {attrs}
      return %y
    }}
    """, f"""
    main {{
      input %x: float32[n,3,3,2]
      input %size: int32[4]
      %w: float32[1,2,2,2] = tfl.DEQUANTIZE(int8[1,2,2,2]<1.0> [127, 2, 3, 126, 4, 6, 0, 2])
      %y: float32[n,6,6,1] = tfl.TRANSPOSE_CONV(%size, %w, %x) {attrs}
      return %y
    }}
    """)


def test_depthwise_weights_of_wide_windows_are_read_as_they_are() -> None:
    attrs = "{'stride_w': 1, 'stride_h': 1, 'padding': 'VALID', 'depth_multiplier': 1}"
    numbers = ", ".join(str(each) for each in range(127, 101, -1))
    check_pass("weights-to-int8", f"""
    main {{
      input %x: float32[n,2,13,1]
      %y: float32[n,1,1,1] = tfl.DEPTHWISE_CONV_2D(%x, float32[1,2,13,1] [{numbers}], _) {attrs}
      return %y
    }}
    """, f"""
    main {{
      input %x: float32[n,2,13,1]
      %y: float32[n,1,1,1] = tfl.DEPTHWISE_CONV_2D(%x, int8[1,2,13,1]<1.0@3> [{numbers}], _) {attrs}
      return %y
    }}
    """)


def test_what_another_op_reads_as_floats_stays() -> None:
    context = check_pass("weights-to-int8", """
    main {
      input %x: float32[n,2]
      %w: float32[2,2] = tfl.ADD(%x, float32[2,2] [1, 2, 3, 4])
      return %w
    }
    """)
    assert not context.report.quantized


def test_small_ones_and_ones_without_a_scale_stay() -> None:
    context = check_pass("weights-to-int8", """
    main {
      input %x: float32[n,3]
      %y: float32[n,1] = tfl.FULLY_CONNECTED(%x, float32[1,3] [1, 2, 3], _)
      %z: float32[n,4] = tfl.FULLY_CONNECTED(%y, float32[4,1] [1, nan, 2, 3], _)
      return %z
    }
    """)
    assert [item.type for item in context.report.quantized] == ["float32", "float32"]
    assert "8 bits save less" in context.report.quantized[0].why and "no scale" in context.report.quantized[1].why
