"""Weights are stored in 8 bits where kernels take them so beside floats."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import fuseconv.quantize.weights_to_float16 as halves
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


_LOG = """
    main {
      input %x: float32[n,2]
      MADE
      %s: float32[n,2] = tfl.MUL(%y, %y)
      %f: float32[n,2] = tfl.MAXIMUM(%s, float32[] 1e-10)
      %l: float32[n,2] = tfl.LOG(%f)
      return %l
    }
    """
_FLOATS = "%y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [127, 2, 3, -254], _)"
_HYBRID = """%y: float32[n,2] = tfl.FULLY_CONNECTED(%x, int8[2,2]<1.0,2.0@0> [127, 2, 2, -127], _) \
{'asymmetric_quantize_inputs': True}"""


def test_weights_in_front_of_a_logarithm_are_dequantized() -> None:
    check_pass("weights-to-int8", _LOG.replace("MADE", _FLOATS), _LOG.replace("MADE", """
      %d: float32[2,2] = tfl.DEQUANTIZE(int8[2,2]<1.0,2.0@0> [127, 2, 2, -127])
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, %d, _)
    """))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1e-10", "1"),  # no small number counts
        ("tfl.MUL(%y, %y)", "tfl.LOGISTIC(%y)"),
        ("tfl.LOG(%f)", "tfl.SQRT(%f)"),
        (", _)", ", float32[2] [1, 2])"),
    ],
)
def test_other_weights_in_front_of_logarithms_are_not(old: str, new: str) -> None:
    check_pass(
        "weights-to-int8", _LOG.replace("MADE", _FLOATS).replace(old, new),
        _LOG.replace("MADE", _HYBRID).replace(old, new),
    )  # fmt: skip


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


def test_few_weights_of_recurrent_ops_have_16_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halves, "LEAST_ELEMENTS", 4)
    attrs = "{'fused_activation_function': 'TANH'}"
    before = f"""
    main {{
      input %x: float32[1,n,2]
      variable %h: float32[1,2] {{'variable': True}}
      %y: float32[1,n,2] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, float32[2,2] [1, 2, 3, 127], \
float32[2,2] [5, 6, 7, 127], float32[2] [1, 2], %h) {attrs}
      return %y
    }}
    """
    check_pass("weights-to-int8", before, f"""
    main {{
      input %x: float32[1,n,2]
      variable %h: float32[1,2] {{'variable': True}}
      %w: float32[2,2] = tfl.DEQUANTIZE(float16[2,2] [1, 2, 3, 127])
      %r: float32[2,2] = tfl.DEQUANTIZE(float16[2,2] [5, 6, 7, 127])
      %y: float32[1,n,2] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, %w, %r, float32[2] [1, 2], %h) {attrs}
      return %y
    }}
    """)
    monkeypatch.setattr(module, "ROOM", 10)
    context = check_pass("weights-to-int8", before, f"""
    main {{
      input %x: float32[1,n,2]
      variable %h: float32[1,2] {{'variable': True}}
      %w: float32[2,2] = tfl.DEQUANTIZE(int8[2,2]<0.03125,1.0@0> [32, 64, 3, 127])
      %r: float32[2,2] = tfl.DEQUANTIZE(int8[2,2]<0.0625,1.0@0> [80, 96, 7, 127])
      %y: float32[1,n,2] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, %w, %r, float32[2] [1, 2], %h) {attrs}
      return %y
    }}
    """)
    assert [item.type for item in context.report.quantized] == ["int8", "int8"] and not context.report.warnings
    monkeypatch.setattr(module, "_MOST_EXPANDED", 7)
    context = check_pass("weights-to-int8", before, f"""
    main {{
      input %x: float32[1,n,2]
      variable %h: float32[1,2] {{'variable': True}}
      %y: float32[1,n,2] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, int8[2,2]<1.0> [1, 2, 3, 127], \
int8[2,2]<1.0> [5, 6, 7, 127], float32[2] [1, 2], %h) {attrs[:-1]}, 'asymmetric_quantize_inputs': True}}
      return %y
    }}
    """)
    assert [item.type for item in context.report.quantized] == ["int8", "int8"]
    assert any("--rnn auto" in warning for warning in context.report.warnings)


def test_beside_states_of_a_dynamic_batch_weights_are_unpacked_in_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROOM", -16)
    attrs = "{'fused_activation_function': 'TANH'}"
    check_pass("weights-to-int8", f"""
    main {{
      input %x: float32[n,5,2]
      input %size: int32[2]
      %h: float32[n,2] {{'variable': True}} = tfl.FILL(%size, float32[] 0.0)
      %y: float32[n,5,2] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, float32[2,2] [1, 2, 3, 127], \
float32[2,2] [127, 6, 7, 254], float32[2] [1, 2], %h) {attrs}
      %z: float32[n,5,2] = tfl.FULLY_CONNECTED(%y, float32[2,2] [127, 2, 3, -254], _)
      return %z
    }}
    """, f"""
    main {{
      input %x: float32[n,5,2]
      input %size: int32[2]
      %h: float32[n,2] {{'variable': True}} = tfl.FILL(%size, float32[] 0.0)
      %a: float32[4,2] = tfl.CAST(int8[4,2] [32, 64, 3, 127, 127, 6, 4, 127]) \
{{'in_data_type': 'INT8', 'out_data_type': 'FLOAT32'}}
      %b: float32[4,2] = tfl.MUL(%a, float32[4,1] [0.03125, 1, 1, 2])
      %w: float32[2,2]; %r: float32[2,2] = tfl.SPLIT(int32[] 0, %b) {{'num_splits': 2}}
      %y: float32[n,5,2] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, %w, %r, float32[2] [1, 2], %h) {attrs}
      %c: float32[2,2] = tfl.CAST(int8[2,2] [127, 2, 2, -127]) {{'in_data_type': 'INT8', 'out_data_type': 'FLOAT32'}}
      %d: float32[2,2] = tfl.MUL(%c, float32[2,1] [1, 2])
      %z: float32[n,5,2] = tfl.FULLY_CONNECTED(%y, %d, _)
      return %z
    }}
    """)


def test_each_direction_has_as_many_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(weights: Sequence[str], more: str = "") -> str:
        first, second, third, fourth = weights
        return f"""
        main {{
          input %x: float32[1,n,1]
          variable %f: float32[1,1] {{'variable': True}}
          variable %b: float32[1,1] {{'variable': True}}
          %y: float32[1,n,2] = tfl.BIDIRECTIONAL_SEQUENCE_RNN(%x, {first}, {second}, float32[1] 1.0, %f, {third}, \
{fourth}, float32[1] 1.0, %b, _, _, _) {{'fused_activation_function': 'TANH', 'merge_outputs': True{more}}}
          return %y
        }}
        """

    floats = text([f"float32[1,1] {number}.0" for number in (127, 254, 381, 508)])
    monkeypatch.setattr(module, "ROOM", -1)
    assert not check_pass("weights-to-int8", floats).report.quantized  # so few need no 16 bits either
    monkeypatch.setattr(module, "ROOM", -2)
    monkeypatch.setattr(module, "_MOST_EXPANDED", 1)
    integers = [f"int8[1,1]<{scale}.0> 127" for scale in (1, 2, 3, 4)]
    check_pass("weights-to-int8", floats, text(integers, ", 'asymmetric_quantize_inputs': True"))
