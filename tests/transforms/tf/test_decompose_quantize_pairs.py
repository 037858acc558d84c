"""Pairs that quantize and dequantize become arithmetic, if their constants are the same."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

_ENDS = '{"quantization_min_val": -128, "quantization_max_val": 127}'
_PAIR = f"""
    main {{
      input %x: float32[n]
      %q: qint8[n] = tf.UniformQuantize(%x, float32[] 0.5, int32[] 3) {_ENDS}
      %y: float32[n] = tf.UniformDequantize(%q, float32[] SCALE, int32[] 3) {_ENDS}
      return %y
    }}
"""


def test_a_pair() -> None:
    check_pass("decompose-quantize-pairs", _PAIR.replace("SCALE", "0.5"), f"""
    main {{
      input %x: float32[n]
      %q: qint8[n] = tf.UniformQuantize(%x, float32[] 0.5, int32[] 3) {_ENDS}
      %a: float32[*] = tf.Mul(%x, float32[] 2)
      %b: float32[*] = tf.AddV2(%a, float32[] 0.5)
      %c: float32[*] = tf.Floor(%b)
      %d: float32[n] = tf.AddV2(%c, float32[] 3)
      %e: float32[*] = tf.Minimum(%d, float32[] 127)
      %f: float32[*] = tf.Maximum(%e, float32[] -128)
      %g: float32[n] = tf.Sub(%f, float32[] 3)
      %h: float32[*] = tf.Mul(%g, float32[] 0.5)
      return %h
    }}
    """)


def test_two_scales_are_no_pair() -> None:
    check_pass("decompose-quantize-pairs", _PAIR.replace("SCALE", "0.25"))


_AXIS = '"quantization_axis": 0'


@pytest.mark.parametrize(("scale", "ends", "others"), [
    pytest.param("float32[] 0", _ENDS, _ENDS, id="a scale of 0"),
    pytest.param("float32[] -1", _ENDS, _ENDS, id="a negative scale"),
    pytest.param("float32[2] [1, 2]", _ENDS, _ENDS, id="several scales for all"),
    pytest.param("float32[] 1", _ENDS.replace("127", "-128"), _ENDS, id="no numbers"),
    pytest.param("float32[] 1", _ENDS.replace("127", "70000"), _ENDS, id="numbers that floats round"),
    pytest.param("float32[2] [1, 2]", _ENDS.replace("}", f", {_AXIS}}}"), _ENDS, id="an axis of one"),
    pytest.param("float32[2] [1, 2]", *[_ENDS.replace("}", f", {_AXIS.replace('0', '1')}}}")] * 2, id="no such axis"),
])  # fmt: skip
def test_other_pairs_stay(scale: str, ends: str, others: str) -> None:
    zeros = scale.replace("float32", "int32").replace("[1, 2]", "[0, 0]")
    check_pass("decompose-quantize-pairs", f"""
    main {{
      input %x: float32[2]
      %q: qint8[2] = tf.UniformQuantize(%x, {scale}, {zeros}) {ends}
      %y: float32[2] = tf.UniformDequantize(%q, {scale}, {zeros}) {others}
      return %y
    }}
    """)
