"""A branch that only a fed placeholder would turn takes its default side, with the branches in it."""

from __future__ import annotations

from fuseconv.ir.verifier import check
from fuseconv.transforms.tf.fold_default_branches import fold_default_branches
from fuseconv.transforms.tf.inline import inline
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of

MAIN = """main {
    input %0 "x": float32[2]
    const %1 "no": bool[] = false
    %2 "training": bool[] = tf.PlaceholderWithDefault(%1) {}
    %3 "not": bool[] = tf.LogicalNot(%2) {}
    %4 "if": float32[2] = tf.If(%3, %0, %3) {'then_branch': {'function': 'outer'}, 'else_branch': {'function': 'other'}}
    return %4
}"""
OUTER = """outer {
    input %0 "x": float32[2]
    input %1 "p": bool[]
    %2 "neg": float32[2] = tf.Neg(%0) {}
    %3 "if": float32[2] = tf.If(%1, %2, %1) {'then_branch': {'function': 'inner'}, 'else_branch': {'function': 'late'}}
    return %3
}"""


def _side(name: str, op: str) -> str:
    return f"""{name} {{
    input %0 "x": float32[2]
    input %1 "p": bool[]
    %2 "{op}": float32[2] = tf.{op}(%0) {{}}
    return %2
}}"""


def test_nested_branches_on_defaults_are_taken() -> None:
    functions = OUTER, _side("inner", "Exp"), _side("other", "Abs"), _side("late", "Sin")
    module, report = module_of(MAIN, *functions)
    inline(module, report)
    fold_default_branches(module, report)
    check(module)
    assert kinds(module) == ["PlaceholderWithDefault", "LogicalNot", "Neg", "Exp"]


def test_a_condition_is_computed_once_whoever_reads_it() -> None:
    """There are 2 ** 64 ways from the last of these to the default."""
    steps = "".join(f"%c{at + 1}: bool[] = tf.LogicalAnd(%c{at}, %c{at})\n" for at in range(64))
    module, report = module_of(f"""main {{
    input %x: float32[2]
    %c0: bool[] = tf.PlaceholderWithDefault(bool[] True)
    {steps}
    %y: float32[2] = tf.If(%c64, %x, %c0) {{'then_branch': @inner, 'else_branch': @other}}
    return %y
    }}""", _side("inner", "Exp"), _side("other", "Abs"))  # fmt: skip
    fold_default_branches(module, report)
    assert kinds(module)[-1] == "Exp"


def test_a_branch_on_an_input_stays() -> None:
    main = MAIN.replace("const %1", "input %1").replace(" = false", "")
    module, report = module_of(main, OUTER, _side("inner", "Exp"), _side("other", "Abs"), _side("late", "Sin"))
    inline(module, report)
    fold_default_branches(module, report)
    assert kinds(module) == ["PlaceholderWithDefault", "LogicalNot", "If"]


def test_the_default_side_of_a_branch() -> None:
    check_pass("fold-default-branches", """
    main {
      input %x: float32[2]
      %training: bool[] = tf.PlaceholderWithDefault(bool[] False)
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
    """, """
    main {
      input %x: float32[2]
      %training: bool[] = tf.PlaceholderWithDefault(bool[] False)
      %y: float32[2] = tf.Exp(%x)
      return %y
    }
    """)


def test_a_condition_that_is_fed() -> None:
    check_pass("fold-default-branches", """
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
