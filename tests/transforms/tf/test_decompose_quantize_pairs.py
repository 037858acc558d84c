"""Pairs that quantize and dequantize become arithmetic, if their constants are the same."""

from __future__ import annotations

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
