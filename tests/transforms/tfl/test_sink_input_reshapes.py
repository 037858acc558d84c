"""What computes element by element comes before the reshape of an input."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass


@pytest.mark.parametrize(
    ("before", "after"),
    [("EXP(%r)", "EXP(%x)"), ("MUL(%r, %r)", "MUL(%x, %x)"),
     ("SUB(float32[1] [2.0], %r)", "SUB(float32[1] [2.0], %x)"),
     ("MUL(%r, float32[] 0.5) {'fused_activation_function': 'RELU'}",
      "MUL(%x, float32[] 0.5) {'fused_activation_function': 'RELU'}")],
)  # fmt: skip
def test_an_op_on_a_reshaped_input_comes_first(before: str, after: str) -> None:
    check_pass("sink-input-reshapes", f"""
    main {{
      input %x: float32[n,6]
      %r: float32[2*n,3] = tfl.RESHAPE(%x, int32[2] [-1, 3])
      %y: float32[2*n,3] = tfl.{before}
      return %y
    }}
    """, f"""
    main {{
      input %x: float32[n,6]
      %r: float32[2*n,3] = tfl.RESHAPE(%x, int32[2] [-1, 3])
      %z: float32[n,6] = tfl.{after}
      %y: float32[2*n,3] = tfl.RESHAPE(%z, int32[2] [-1, 3])
      return %y
    }}
    """)


@pytest.mark.parametrize(
    ("reshape", "op"),
    [
        ("RESHAPE(%e, int32[2] [-1, 3])", "EXP(%r)"),  # of no input
        ("RESHAPE(%x, int32[2] [-1, 3])", "ADD(%r, float32[3] [1.0, 2.0, 3.0])"),
        ("RESHAPE(%x, int32[2] [-1, 3])", "MUL(%r, float32[1,1,1] [[[2.0]]])"),
    ],
)
def test_what_broadcasts_and_what_is_not_an_inputs_stays(reshape: str, op: str) -> None:
    check_pass("sink-input-reshapes", f"""
    main {{
      input %x: float32[n,6]
      %e: float32[n,6] = tfl.EXP(%x)
      %r: float32[2*n,3] = tfl.{reshape}
      %y: float32[2*n,3] = tfl.{op}
      return %y, %e
    }}
    """)


def test_a_reshape_with_other_readers_and_integers_stay() -> None:
    check_pass("sink-input-reshapes", """
    main {
      input %x: float32[n,6]
      input %i: int32[n,6]
      %r: float32[2*n,3] = tfl.RESHAPE(%x, int32[2] [-1, 3])
      %y: float32[2*n,3] = tfl.EXP(%r)
      %s: int32[2*n,3] = tfl.RESHAPE(%i, int32[2] [-1, 3])
      %z: int32[2*n,3] = tfl.NEG(%s)
      return %y, %r, %z
    }
    """)


def test_more_dimensions_than_kernels_take_stay_merged() -> None:
    check_pass("sink-input-reshapes", """
    main {
      input %x: float32[n,2,3,2,2]
      %r: float32[n,24] = tfl.RESHAPE(%x, int32[2] [-1, 24])
      %y: float32[n,24] = tfl.MUL(%r, float32[] 0.5)
      return %y
    }
    """)
