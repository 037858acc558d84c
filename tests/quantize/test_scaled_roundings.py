"""Constants before and behind a rounding take in what its steps are scaled and shifted by."""

from __future__ import annotations

from tests.check_pass import check_pass

_CUT = """
      %b: float32[n,2] = tfl.MINIMUM(%r, float32[] 127)
      %c: float32[n,2] = tfl.MAXIMUM(%b, float32[] -128)
"""
_DENSE = "float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,3]"


def _check_rows(before: str, after: str) -> None:
    head, tail = "main {\n      input %x: float32[n,3]", "      return %y\n    }"
    check_pass("raise-fake-quant", f"{head}\n{before}\n{tail}", f"{head}\n{after}\n{tail}")


def test_weights_before_take_in_what_steps_are_scaled_and_shifted_by() -> None:
    _check_rows(f"""
      %a: {_DENSE} [[1, 2, 3], [4, 5, 6]], float32[2] [2, 3])
      %r: float32[n,2] = tfl.FLOOR(%a)
      {_CUT}
      %y: float32[n,2] = tfl.MUL(%c, float32[] 0.5)
    """, f"""
      %a: {_DENSE} [[0.5, 1, 1.5], [2, 2.5, 3]], float32[2] [0.75, 1.25])
      %y: float32[n,2] = tfl.FAKE_QUANT(%a) {{'min': -64.0, 'max': 63.5, 'num_bits': 8}}
    """)


def test_a_hard_tanh_that_begins_with_a_hard_sigmoid() -> None:
    _check_rows(f"""
      %a: {_DENSE} [[1, 2, 3], [4, 5, 6]], float32[2] [2, 3.5])
      %s: float32[n,2] = tfl.RELU_0_TO_1(%a)
      %m: float32[n,2] = tfl.MUL(%s, float32[] 256)
      %t: float32[n,2] = tfl.ADD(%m, float32[] -128)
      %r: float32[n,2] = tfl.ROUND(%t)
      %u: float32[n,2] = tfl.MUL(%r, float32[] 0.0078125)
      %v: float32[n,2] = tfl.MINIMUM(%u, float32[] 0.9921875)
      %y: float32[n,2] = tfl.MAXIMUM(%v, float32[] -1)
    """, f"""
      %a: {_DENSE} [[2, 4, 6], [8, 10, 12]], float32[2] [3, 6])
      %y: float32[n,2] = tfl.FAKE_QUANT(%a) {{'min': -1.0, 'max': 0.9921875, 'num_bits': 8}}
    """)


def test_half_a_step_needs_a_bias_that_takes_it_in() -> None:
    text = f"""
    main {{
      input %x: float32[n,2]
      %a: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [[1, 2], [4, 5]]) {{'fused_activation_function': 'RELU'}}
      %r: float32[n,2] = tfl.FLOOR(%a)
      {_CUT}
      return %c
    }}
    """
    check_pass("raise-fake-quant", text)


def test_factors_behind_means_take_in_what_steps_are_scaled_by() -> None:
    _check_rows("""
      %a: float32[n,3] = tfl.MUL(%x, float32[] 2)
      %b: float32[n,3] = tfl.MINIMUM(%a, float32[] 127)
      %c: float32[n,3] = tfl.MAXIMUM(%b, float32[] -128)
      %r: float32[n,3] = tfl.ROUND(%c)
      %m: float32[n] = tfl.MEAN(%r, int32[1] [1])
      %w: float32[n] = tfl.MUL(%m, float32[] 0.5)
      %v: float32[n] = tfl.MUL(%m, float32[] 3)
      %y: float32[n] = tfl.SUB(%w, %v)
    """, """
      %z: float32[n,3] = tfl.FAKE_QUANT(%x) {'min': -64.0, 'max': 63.5, 'num_bits': 8}
      %m: float32[n] = tfl.MEAN(%z, int32[1] [1])
      %v: float32[n] = tfl.MUL(%m, float32[] 6)
      %y: float32[n] = tfl.SUB(%m, %v)
    """)
