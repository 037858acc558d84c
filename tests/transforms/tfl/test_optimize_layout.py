"""Transposes that cancel."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from fuseconv.ir.verifier import check
from fuseconv.tfl.layout_rules import arranged
from fuseconv.transforms.tfl import optimize_layout
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


def test_transposes_on_both_sides_cancel() -> None:
    check_pass("optimize-layout", """
    main {
      input %x: float32[1,2,3]
      %a: float32[1,3,2] = tfl.TRANSPOSE(%x, int32[3] [0, 2, 1])
      %b: float32[1,3,2] = tfl.EXP(%a)
      %c: float32[1,2,3] = tfl.TRANSPOSE(%b, int32[3] [0, 2, 1])
      return %c
    }
    """, """
    main {
      input %x: float32[1,2,3]
      %b: float32[1,2,3] = tfl.EXP(%x)
      return %b
    }
    """)


def test_one_transpose_has_to_be_somewhere() -> None:
    check_pass("optimize-layout", """
    main {
      input %x: float32[1,2,3]
      %a: float32[1,3,2] = tfl.TRANSPOSE(%x, int32[3] [0, 2, 1])
      %b: float32[1,3,2] = tfl.EXP(%a)
      return %b
    }
    """)


def test_no_elements_are_moved_for_the_sake_of_what_moves_none() -> None:
    check_pass("optimize-layout", """
    main {
      input %x: float32[2,9,1]
      input %large: float32[2,9,8]
      %a: float32[2,1,9] = tfl.TRANSPOSE(%x, int32[3] [0, 2, 1])
      %b: float32[2,1,9] = tfl.SOFTMAX(%a) {'beta': 1.0}
      %c: float32[2,9,1] = tfl.TRANSPOSE(%b, int32[3] [0, 2, 1])
      %d: float32[2,9,8] = tfl.MUL(%large, %c)
      %e: float32[2,9,1] = tfl.SUM(%d, int32[1] [2]) {'keep_dims': True}
      %f: float32[2,1,9] = tfl.TRANSPOSE(%e, int32[3] [0, 2, 1])
      return %f
    }
    """)


def test_what_two_groups_put_behind_one_op_stands_in_the_order_of_its_making() -> None:
    check_pass("optimize-layout", """
    main {
      input %x: float32[1,5,2]
      input %y: float32[1,1,5,2]
      %a: float32[1,1,5,2] = tfl.EXP(%y)
      %b: float32[1,2,5] = tfl.TRANSPOSE(%x, int32[3] [0, 2, 1])
      %c: float32[1,2,5] = tfl.TRANSPOSE(%b, int32[3] [0, 1, 2])
      %d: float32[1,5,2] = tfl.RESHAPE(%a, int32[3] [1, 5, 2])
      %e: float32[1,2,5] = tfl.TRANSPOSE(%d, int32[3] [0, 2, 1])
      %f: float32[1,2,5] = tfl.TRANSPOSE(%e, int32[3] [0, 1, 2])
      %g: float32[1,2,5] = tfl.EXP(%f)
      %h: float32[1,2,5] = tfl.ADD(%g, %c)
      %i: float32[1,2,5] = tfl.EXP(%h)
      return %i
    }
    """, """
    main {
      input %x: float32[1,5,2]
      input %y: float32[1,1,5,2]
      %a: float32[1,1,5,2] = tfl.EXP(%y)
      %d: float32[1,5,2] = tfl.RESHAPE(%a, int32[3] [1, 5, 2])
      %g: float32[1,5,2] = tfl.EXP(%d)
      %h: float32[1,5,2] = tfl.ADD(%g, %x)
      %i: float32[1,5,2] = tfl.EXP(%h)
      %j: float32[1,2,5] = tfl.TRANSPOSE(%i, int32[3] [0, 2, 1])
      %k: float32[1,2,5] = tfl.TRANSPOSE(%j, int32[3] [0, 1, 2])
      return %k
    }
    """)


def test_a_reader_of_a_value_and_of_its_transpose_keeps_both() -> None:
    check_pass("optimize-layout", """
    main {
      input %x: float32[2,3]
      %a: float32[3,2] = tfl.TRANSPOSE(%x, int32[2] [1, 0])
      %b: float32[3,2] = tfl.EXP(%a)
      %c: float32[2,3] = tfl.TRANSPOSE(%b, int32[2] [1, 0])
      return %c, %b
    }
    """, """
    main {
      input %x: float32[2,3]
      %b: float32[2,3] = tfl.EXP(%x)
      %d: float32[3,2] = tfl.TRANSPOSE(%b, int32[2] [1, 0])
      return %b, %d
    }
    """)


def test_an_input_that_is_made_of_a_result_stays() -> None:
    check_pass("optimize-layout", """
    main {
      input %x: float32[3,3]
      %a: float32[3,3] = tfl.TRANSPOSE(%x, int32[2] [1, 0])
      %b: float32[3,3] = tfl.EXP(%a)
      %c: float32[3,3] = tfl.TRANSPOSE(%b, int32[2] [1, 0])
      %d: float32[3,3] = tfl.SUB(%b, %c)
      return %d
    }
    """)


def test_groups_that_overlap_are_looked_at_a_limited_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    look = Mock(wraps=arranged)
    monkeypatch.setattr(optimize_layout, "arranged", look)
    monkeypatch.setattr(optimize_layout, "_MOST_VISITS", 2000)
    steps = "".join(f"""
      %a{at}: float32[4,4] = tfl.TRANSPOSE(%x{at}, int32[2] [1, 0])
      %s{at}: float32[4,4] = tfl.SIN(%x{at})
      %b{at}: float32[4,4] = tfl.TRANSPOSE(%s{at}, int32[2] [1, 0])
      %x{at + 1}: float32[4,4] = tfl.ADD(%a{at}, %b{at})
    """ for at in range(100))  # fmt: skip
    module, report = module_of(f"main {{\ninput %x0: float32[4,4]\n{steps}\nreturn %x100\n}}")
    assert optimize_layout.optimize_layout(module, report)
    check(module)
    assert look.call_count < 3000
