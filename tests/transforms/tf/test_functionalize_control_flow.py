"""Branches of TF1 become If."""

from __future__ import annotations

from tests.check_pass import check_pass
from tests.transforms.tf.branch_texts import BRANCH


def test_a_switch_and_its_merge_are_a_branch() -> None:
    check_pass("functionalize-control-flow", """
    main {
      input %p: bool[]
      input %x: float32[2]
      %a: float32[2]; %b: float32[2] = tf.Switch(%x, %p)
      %neg: float32[2] = tf.Neg(%a)
      %exp: float32[2] = tf.Exp(%b)
      %y: float32[2]; %which: int32[] = tf.Merge(%neg, %exp)
      return %y
    }
    """, """
    main {
      input %p: bool[]
      input %x: float32[2]
      %y: float32[*] = tf.If(%p, %x) {'else_branch': @y_else, 'then_branch': @y_then}
      return %y
    }
    y_else {
      input %x: float32[2]
      %neg: float32[2] = tf.Neg(%x)
      return %neg
    }
    y_then {
      input %x: float32[2]
      %exp: float32[2] = tf.Exp(%x)
      return %exp
    }
    """)


def test_functional_branches_stay() -> None:
    check_pass("functionalize-control-flow", BRANCH)
