"""Reads of variables stand before the loops that only read them."""

from __future__ import annotations

import numpy as np

from tests.check_pass import check_pass

_VARIABLES = {"v": np.array([1, 2], np.float32)}
_HANDLE = "%h: resource[] = tf.VarHandleOp() {'shared_name': 'v'}"
_INNER = "%r: resource[] = tf.VarHandleOp() {'shared_name': 'v'}"


def _main(before: str = "", more: str = "", results: str = "") -> str:
    return f"""
    main {{
      input %x: float32[2]
      {_HANDLE}
      {before}
      %i: int32[]; %y: float32[2]{results} = tf.StatelessWhile(int32[] 0, %x{more}) {{'cond': @cond, 'body': @body}}
      tf.AssignVariableOp(%h, %y)
      return %y
    }}
    """


def _cond(more: str = "", test: str = "%c: bool[] = tf.Less(%i, int32[] 3)") -> str:
    return f"""
    cond {{
      input %i: int32[]
      input %a: float32[2]
      {more}
      {test}
      return %c
    }}
    """


def _body(ops: str, more: str = "", returned: str = "") -> str:
    return f"""
    body {{
      input %i: int32[]
      input %a: float32[2]
      {more}
      %n: int32[] = tf.AddV2(%i, int32[] 1)
      {ops}
      return %n, %b{returned}
    }}
    """


_READ = "%w: float32[2] = tf.ReadVariableOp(%r)"
_SUM = "%b: float32[2] = tf.AddV2(%a, %w)"
_READ_BEFORE = """%k: resource[] = tf.VarHandleOp() {'shared_name': 'v'}
      %l: float32[2] = tf.ReadVariableOp(%k)"""


def test_of_a_body() -> None:
    check_pass(
        "hoist-variable-reads",
        _main() + _cond() + _body(f"{_INNER}\n{_READ}\n{_SUM}"),
        _main(_READ_BEFORE, ", %l", "; %z: float32[2]") + _cond("input %w: float32[2]")
        + _body(f"{_INNER}\n{_SUM}", "input %w: float32[2]", ", %w"),
        variables=_VARIABLES,
    )  # fmt: skip


def test_of_a_condition_and_a_body() -> None:
    test = "%s: float32[] = tf.Sum(%w, int32[1] [0])\n%c: bool[] = tf.Less(%s, float32[] 3)"
    check_pass(
        "hoist-variable-reads",
        _main() + _cond(test=f"{_INNER}\n{_READ}\n{test}") + _body(f"{_INNER}\n{_READ}\n{_SUM}"),
        _main(_READ_BEFORE, ", %l", "; %z: float32[2]") + _cond("input %w: float32[2]", f"{_INNER}\n{test}")
        + _body(f"{_INNER}\n{_SUM}", "input %w: float32[2]", ", %w"),
        variables=_VARIABLES,
    )  # fmt: skip


def test_of_a_variable_that_the_loop_writes() -> None:
    ops = f"{_INNER}\n{_READ}\n{_SUM}\ntf.AssignVariableOp(%r, %b)"
    check_pass("hoist-variable-reads", _main() + _cond() + _body(ops), variables=_VARIABLES)


def test_of_a_variable_that_a_branch_in_the_loop_writes() -> None:
    write = f"write {{\n{_INNER}\ntf.AssignVariableOp(%r, float32[2] [5, 6])\nreturn float32[2] [5, 6]\n}}\n"
    other = "other {\nreturn float32[2] [7, 8]\n}\n"
    ops = f"""{_INNER}
      {_READ}
      %p: bool[] = tf.Less(%i, int32[] 1)
      %q: float32[2] = tf.If(%p) {{'then_branch': @write, 'else_branch': @other}}
      %b: float32[2] = tf.AddN(%a, %w, %q)"""
    check_pass("hoist-variable-reads", _main() + _cond() + _body(ops) + write + other, variables=_VARIABLES)
