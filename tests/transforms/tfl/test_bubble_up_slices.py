"""Slices that are taken before the ops that make more."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from fuseconv.tfl.slice_rules import needs
from fuseconv.transforms.tfl import bubble_up_slices
from tests.check_pass import check_pass


def test_a_row_is_taken_before_the_layer() -> None:
    check_pass("bubble-up-slices", """
    main {
      input %x: float32[4,3]
      %a: float32[4,2] = tfl.FULLY_CONNECTED(%x, float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], _)
      %b: float32[1,2] = tfl.STRIDED_SLICE(%a, int32[2] [1, 0], int32[2] [2, 0], int32[2] [1, 1]) {'end_mask': 2}
      return %b
    }
    """, """
    main {
      input %x: float32[4,3]
      %x2: float32[1,3] = tfl.STRIDED_SLICE(%x, int32[2] [1, 0], int32[2] [2, 0], int32[2] [1, 1]) {'begin_mask': 2, \
'end_mask': 2}
      %a: float32[1,2] = tfl.FULLY_CONNECTED(%x2, float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], _)
      return %a
    }
    """)


_REDUCED = """
    main {
      input %x: float32[2,5,3]
      input %y: float32[2,5,4]
      MAKE
      %b: float32[2,7] = tfl.REDUCE_MAX(%a, int32[1] [1])
      %c: float32[2,3] = tfl.STRIDED_SLICE(%b, int32[2] [0, 0], int32[2] [0, 3], int32[2] [1, 1]) {'begin_mask': 3, \
'end_mask': 1}
      return %a, %c
    }
    """


def test_what_is_joined_is_taken_before_it_is() -> None:
    make = "%a: float32[2,5,7] = tfl.CONCATENATION(%x, %y) {'axis': 2}"
    check_pass("bubble-up-slices", _REDUCED.replace("MAKE", make), f"""
    main {{
      input %x: float32[2,5,3]
      input %y: float32[2,5,4]
      {make}
      %c: float32[2,3] = tfl.REDUCE_MAX(%x, int32[1] [1])
      return %a, %c
    }}
    """)


def test_of_a_reduction_no_larger_part_is_taken() -> None:
    text = _REDUCED.replace("MAKE", "%a: float32[2,5,7] = tfl.EXP(%z)")
    check_pass("bubble-up-slices", text.replace("input %y", "input %z: float32[2,5,7]\n      input %y"))


def test_the_whole_is_read_too() -> None:
    check_pass("bubble-up-slices", """
    main {
      input %x: float32[4,3]
      %a: float32[4,2] = tfl.FULLY_CONNECTED(%x, float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], _)
      %b: float32[1,2] = tfl.STRIDED_SLICE(%a, int32[2] [1, 0], int32[2] [2, 0], int32[2] [1, 1]) {'end_mask': 2}
      return %b, %a
    }
    """)


def test_no_slice_is_made_of_what_its_kernel_lacks() -> None:
    """TF 2.21's STRIDED_SLICE takes no complex numbers, and five dimensions at most."""
    check_pass("bubble-up-slices", """
    main {
      input %x: complex64[4,2]
      input %y: float32[4,1,2,1,2,1]
      %a: float32[4,2] = tfl.CAST(%x) {'in_data_type': 'COMPLEX64', 'out_data_type': 'FLOAT32'}
      %b: float32[1,2] = tfl.STRIDED_SLICE(%a, int32[2] [1, 0], int32[2] [2, 0], int32[2] [1, 1]) {'end_mask': 2}
      %c: float32[4,4] = tfl.RESHAPE(%y, int32[2] [4, 4])
      %d: float32[1,4] = tfl.STRIDED_SLICE(%c, int32[2] [1, 0], int32[2] [2, 0], int32[2] [1, 1]) {'end_mask': 2}
      return %b, %d
    }
    """)


def test_a_sum_over_rows_needs_them_all() -> None:
    check_pass("bubble-up-slices", """
    main {
      input %y: float32[4,2]
      %a: float32[4,2] = tfl.CUMSUM(%y, int32[] 0)
      %b: float32[1,2] = tfl.STRIDED_SLICE(%a, int32[2] [1, 0], int32[2] [2, 0], int32[2] [1, 1]) {'end_mask': 2}
      return %b
    }
    """)


def test_a_part_that_stays_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    look = Mock(wraps=needs)
    monkeypatch.setattr(bubble_up_slices, "needs", look)
    rows = "".join(f"%r{at}: float32[1,2] = tfl.STRIDED_SLICE(%s, int32[2] [0, 0], int32[2] [1, 2], int32[2] [1, 1])\n"
                   for at in range(50))  # fmt: skip
    names = ", ".join(f"%r{at}" for at in range(50))
    makers = "%e: float32[4,2] = tfl.EXP(%x)\n%s: float32[4,2] = tfl.SIN(%e)"
    check_pass("bubble-up-slices", f"main {{\ninput %x: float32[4,2]\n{makers}\n{rows}\nreturn {names}, %s\n}}")
    assert look.call_count == 1
