"""Weights of few bits that ops of floats read are floats where these ops are to compute in integers."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_8_bits_and_what_a_file_rounds_itself() -> None:
    check_pass("expand-weights", """
    main {
      input %x: float32[n,2]
      %q: int8[2,2]<0.5,0.25@0> = tfl.QUANTIZE(float32[2,2] [[0.7, -0.75], [99, 0.2]])
      %w: float32[2,2] = tfl.DEQUANTIZE(%q)
      %b: float32[2] = tfl.DEQUANTIZE(int8[2]<0.5:-3> [1, -5])
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, %w, %b)
      return %y
    }
    """, """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [[0.5, -1.0], [31.75, 0.25]], float32[2] [2, -1])
      return %y
    }
    """)


def test_what_is_computed_stays() -> None:
    check_pass("expand-weights", """
    main {
      input %x: int8[n,2]<0.5:-3>
      %y: float32[n,2] = tfl.DEQUANTIZE(%x)
      %h: float32[2] = tfl.DEQUANTIZE(float16[2] [1, 2])
      %z: float32[n,2] = tfl.ADD(%y, %h)
      return %z
    }
    """)
