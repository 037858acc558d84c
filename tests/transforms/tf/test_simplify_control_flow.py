"""Branches whose side is known, and Case."""

from __future__ import annotations

from tests.check_pass import check_pass
from tests.transforms.tf.branch_texts import SIDES


def test_a_case_of_two_and_a_known_branch() -> None:
    check_pass("simplify-control-flow", """
    main {
      input %i: int32[]
      input %x: float32[2]
      %y: float32[2] = tf.Case(%i, %x) {'branches': [@neg, @exp]}
      %z: float32[2] = tf.If(bool[] True, %y) {'then_branch': @abs, 'else_branch': @sin}
      return %z
    }
    neg {
      input %x: float32[2]
      %y: float32[2] = tf.Neg(%x)
      return %y
    }
    exp {
      input %x: float32[2]
      %y: float32[2] = tf.Exp(%x)
      return %y
    }
    abs {
      input %x: float32[2]
      %y: float32[2] = tf.Abs(%x)
      return %y
    }
    sin {
      input %x: float32[2]
      %y: float32[2] = tf.Sin(%x)
      return %y
    }
    """, """
    main {
      input %i: int32[]
      input %x: float32[2]
      %y: bool[*] = tf.Equal(%i, int32[] 0)
      %y2: float32[2] = tf.If(%y, %x) {'else_branch': @exp, 'then_branch': @neg}
      %y3: float32[2] = tf.Abs(%y2)
      return %y3
    }
    exp {
      input %x: float32[2]
      %y: float32[2] = tf.Exp(%x)
      return %y
    }
    neg {
      input %x: float32[2]
      %y: float32[2] = tf.Neg(%x)
      return %y
    }
    """)


def test_a_branch_that_depends_on_the_input() -> None:
    check_pass("simplify-control-flow", """
    main {
      input %x: float32[2]
      input %training: bool[]
      %y: float32[2] = tf.If(%training, %x) {'then_branch': @train, 'else_branch': @serve}
      return %y
    }
    train {
      input %x: float32[2]
      %y: float32[2] = tf.Neg(%x)
      return %y
    }
    serve {
      input %x: float32[2]
      %y: float32[2] = tf.Exp(%x)
      return %y
    }
    """)


def _case(*lines: str) -> str:
    main = ["main {", "input %i: int32[]", "input %x: float32[2]", "%low: int32[] = tf.Maximum(%i, int32[] 0)", *lines]
    return "\n".join([*main, "return %z", "}", SIDES])


def test_a_case_compares_an_index_as_it_was_before_it_was_clamped() -> None:
    held, case = "%held: int32[] = tf.Minimum(%low, int32[] {})", "%z: float32[2] = tf.Case(%held, %x)"
    sides, branches = "{'branches': [@neg, @exp]}", "{'else_branch': @exp, 'then_branch': @neg}"
    for bound, test in ((1, "tf.Less(%i, int32[] 1)"), (2, "tf.Equal(%held, int32[] 0)")):
        after = _case(held.format(bound), f"%y: bool[*] = {test}", f"%z: float32[2] = tf.If(%y, %x) {branches}")
        check_pass("simplify-control-flow", _case(held.format(bound), f"{case} {sides}"), after)


def test_a_branch_goes_by_what_its_condition_negates() -> None:
    before = """
    main {
      input %b: bool[]
      input %x: float32[2]
      %not: bool[] = tf.LogicalNot(%b)
      %y: float32[2] = tf.StatelessIf(%not, %x) {'then_branch': @neg, 'else_branch': @exp}
      return %y
    }
    """
    after = before.replace("If(%not", "If(%b").replace("@neg, 'else_branch': @exp", "@exp, 'else_branch': @neg")
    check_pass("simplify-control-flow", before + SIDES, after + SIDES)
    # A condition of any rank may be a vector, which holds unless it is empty.
    check_pass("simplify-control-flow", before.replace("bool[]", "bool[*]") + SIDES)


def test_a_variable_that_becomes_a_constant_invariant() -> None:
    check_pass("simplify-control-flow", """
    main {
      input %n: int32[]
      input %y: float32[2]
      %m: int32[]; %a: float32[2]; %b: float32[2] = tf.StatelessWhile(%n, float32[2] [1.0, 2.0], %y) \
{'cond': @more, 'body': @step}
      return %b
    }
    more {
      input %i: int32[]
      input %a: float32[2]
      input %b: float32[2]
      %p: bool[] = tf.Less(%i, int32[] 3)
      return %p
    }
    step {
      input %i: int32[]
      input %a: float32[2]
      input %b: float32[2]
      %j: int32[] = tf.AddV2(%i, int32[] 1)
      return %j, %a, %a
    }
    """, """
    main {
      input %n: int32[]
      input %y: float32[2]
      %m: int32[]; %b: float32[2] = tf.StatelessWhile(%n, %y) {'cond': @more, 'body': @step}
      return %b
    }
    more {
      input %i: int32[]
      input %b: float32[2]
      %p: bool[] = tf.Less(%i, int32[] 3)
      return %p
    }
    step {
      input %i: int32[]
      input %b: float32[2]
      %j: int32[] = tf.AddV2(%i, int32[] 1)
      return %j, float32[2] [1.0, 2.0]
    }
    """)
