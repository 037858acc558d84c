"""Flags, scalars and what both sides of a branch return need no branch."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass
from tests.transforms.tf.branch_texts import SIDES


def _flag(then: str, other: str, after: str) -> None:
    """A branch on %c that returns these flags, of the operand %d -> `after`. The branch is left for dead code
    elimination."""
    side = """
    {} {{
      input %d: bool[]
      return {}
    }}
    """
    check_pass("simplify-control-flow", """
    main {
      input %c: bool[]
      input %d: bool[]
      %y: bool[] = tf.If(%c, %d) {'then_branch': @left, 'else_branch': @right}
      return %y
    }
    """ + side.format("left", then) + side.format("right", other), f"""
    main {{
      input %c: bool[]
      input %d: bool[]
      {after}
      tf.If(%c) {{'else_branch': @right, 'then_branch': @left}}
      return %y
    }}
    right {{
      return
    }}
    left {{
      return
    }}
    """, first=("canonicalize",))  # fmt: skip


TRUE, FALSE = "bool[] True", "bool[] False"
FLAGS = {
    "or": (TRUE, "%d", "%y: bool[] = tf.LogicalOr(%c, %d)"),
    "and": ("%d", FALSE, "%y: bool[] = tf.LogicalAnd(%c, %d)"),
    "not": (FALSE, TRUE, "%y: bool[] = tf.LogicalNot(%c)"),
    "and not": (FALSE, "%d", "%n: bool[] = tf.LogicalNot(%c)\n      %y: bool[] = tf.LogicalAnd(%n, %d)"),
    "or not": ("%d", TRUE, "%n: bool[] = tf.LogicalNot(%c)\n      %y: bool[] = tf.LogicalOr(%n, %d)"),
}


@pytest.mark.parametrize("flag", FLAGS)
def test_flags(flag: str) -> None:
    then, other, line = FLAGS[flag]
    _flag(then, other, line)


def test_the_condition_is_known_in_its_sides() -> None:
    sides = """
    left {
      input %c: bool[]
      input %x: float32[2]
      %y: float32[2] = tf.If(%c, %x) {'then_branch': @neg, 'else_branch': @exp}
      return %y
    }
    right {
      input %c: bool[]
      input %x: float32[2]
      %y: float32[2] = tf.Abs(%x)
      return %y
    }
    """ + SIDES
    main = """
    main {
      input %c: bool[]
      input %x: float32[2]
      %y: float32[2] = tf.If(%c, OPERANDS) {'then_branch': @left, 'else_branch': @right}
      return %y
    }
    """
    taken = sides.replace("input %c: bool[]\n", "\n").replace("%y: float32[2] = tf.If(%c, %x) \
{'then_branch': @neg, 'else_branch': @exp}", "%y: float32[2] = tf.Neg(%x)")
    before, after = main.replace("OPERANDS", "%c, %x") + sides, main.replace("OPERANDS", "%x") + taken
    check_pass("simplify-control-flow", before, after)
