"""Weights are stored in 16 bits, and what reads them computes in floats."""

from __future__ import annotations

import numpy as np
import pytest

import fuseconv.quantize.weights_to_float16 as module
from tests.check_pass import check_pass


@pytest.fixture(autouse=True)
def _small_constants_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_ELEMENTS", 4)


def test_weights_are_expanded_before_the_op() -> None:
    context = check_pass("weights-to-float16", """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [1.5, 2, 3, 4], float32[2] [1, 2])
      %z: float32[n,2] = tfl.FULLY_CONNECTED(%y, float32[2,2] [1e5, 2, 3, 4], _)
      return %z
    }
    """, """
    main {
      input %x: float32[n,2]
      %w: float32[2,2] = tfl.DEQUANTIZE(float16[2,2] [1.5, 2, 3, 4])
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, %w, float32[2] [1, 2])
      %z: float32[n,2] = tfl.FULLY_CONNECTED(%y, float32[2,2] [1e5, 2, 3, 4], _)
      return %z
    }
    """)
    first, second = context.report.quantized
    assert (first.type, first.before, first.after, first.why) == ("float16", 16, 8, "")
    assert second.type == "float32" and "65504" in second.why


def test_numbers_that_float16_does_not_tell_apart_stay() -> None:
    check_pass("weights-to-float16", """
    main {
      input %x: float32[n,4]
      %y: float32[n,4] = tfl.ADD(%x, float32[4] [1e-9, 2e-9, 3e-9, 4e-9])
      %z: float32[n,4] = tfl.DIV(%y, float32[4] [1, 1e-9, 3, 4])
      return %z
    }
    """)


def test_a_bias_stays() -> None:
    context = check_pass("weights-to-float16", """
    main {
      input %x: float32[n,2]
      %y: float32[n,4] = tfl.FULLY_CONNECTED(%x, float32[4,2] [1, 2, 3, 4, 5, 6, 7, 8], float32[4] [1, 2, 3, 4])
      return %y
    }
    """, """
    main {
      input %x: float32[n,2]
      %w: float32[4,2] = tfl.DEQUANTIZE(float16[4,2] [1, 2, 3, 4, 5, 6, 7, 8])
      %y: float32[n,4] = tfl.FULLY_CONNECTED(%x, %w, float32[4] [1, 2, 3, 4])
      return %y
    }
    """)
    assert "a bias adds its error" in context.report.quantized[1].why


def test_rows_are_gathered_in_16_bits() -> None:
    check_pass("weights-to-float16", """
    main {
      input %i: int32[n]
      %y: float32[n,2] = tfl.GATHER(float32[3,2] [1, 2, 3, 4, 5, 6], %i)
      return %y
    }
    """, """
    main {
      input %i: int32[n]
      %y: float16[n,2] = tfl.GATHER(float16[3,2] [1, 2, 3, 4, 5, 6], %i)
      %z: float32[n,2] = tfl.DEQUANTIZE(%y)
      return %z
    }
    """)


def test_beside_a_state_of_dynamic_size_each_run_expands_them() -> None:
    # What DEQUANTIZE keeps would not be where it is looked for after a resize.
    cast = "{'in_data_type': 'FLOAT16', 'out_data_type': 'FLOAT32'}"
    check_pass("weights-to-float16", """
    main {
      input %x: float32[n,2]
      input %sizes: int32[2]
      %h: float32[n,2] {'variable': True} = tfl.FILL(%sizes, float32[] 0.0)
      %y: float32[n,2] = tfl.MUL(%x, float32[2,2] [1, 2, 3, 4])
      %z: float32[n,2] = tfl.ADD(%y, %h)
      return %z
    }
    """, f"""
    main {{
      input %x: float32[n,2]
      input %sizes: int32[2]
      %h: float32[n,2] {{'variable': True}} = tfl.FILL(%sizes, float32[] 0.0)
      %w: float32[2,2] = tfl.CAST(float16[2,2] [1, 2, 3, 4]) {cast}
      %y: float32[n,2] = tfl.MUL(%x, %w)
      %z: float32[n,2] = tfl.ADD(%y, %h)
      return %z
    }}
    """)


def test_half_of_the_last_bit() -> None:
    half = np.float16(np.float32(1 + 2**-11))
    assert abs(float(half) - 1) <= 2**-11
