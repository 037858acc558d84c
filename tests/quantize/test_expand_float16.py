"""Weights of 16 bits are read as floats before they get fewer bits."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_what_ops_read_is_a_constant_of_floats() -> None:
    check_pass("expand-float16", """
    main {
      input %x: float32[n,2]
      const %w: float16[2,2] = [1.5, 2, 3, 4]
      %a: float32[2,2] = tfl.DEQUANTIZE(%w)
      %b: float32[2,2] = tfl.CAST(%w) {'in_data_type': 'FLOAT16', 'out_data_type': 'FLOAT32'}
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, %a, _)
      %z: float32[n,2] = tfl.FULLY_CONNECTED(%y, %b, _)
      return %z, %b
    }
    """, """
    main {
      input %x: float32[n,2]
      const %w: float32[2,2] = [1.5, 2, 3, 4]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, %w, _)
      %z: float32[n,2] = tfl.FULLY_CONNECTED(%y, %w, _)
      return %z, %w
    }
    """)


def test_rows_of_a_table() -> None:
    check_pass("expand-float16", """
    main {
      input %i: int32[n]
      %g: float16[n,2] = tfl.GATHER(float16[3,2] [1, 2, 3, 4, 5, 6], %i) {'axis': 0}
      %y: float32[n,2] = tfl.DEQUANTIZE(%g)
      return %y
    }
    """, """
    main {
      input %i: int32[n]
      %g: float32[n,2] = tfl.GATHER(float32[3,2] [1, 2, 3, 4, 5, 6], %i) {'axis': 0}
      return %g
    }
    """)


def test_other_numbers_of_16_bits_stay() -> None:
    check_pass("expand-float16", """
    main {
      input %h: float16[n,2]
      input %i: int32[n]
      %y: float32[n,2] = tfl.CAST(%h) {'in_data_type': 'FLOAT16', 'out_data_type': 'FLOAT32'}
      %g: float16[n,2] = tfl.GATHER(float16[3,2] [1, 2, 3, 4, 5, 6], %i) {'axis': 0}
      %z: float32[n,2] = tfl.DEQUANTIZE(%g)
      return %y, %z, %g
    }
    """)
