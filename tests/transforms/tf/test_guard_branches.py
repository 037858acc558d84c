"""Numbers that ops of a branch check sizes against."""

from __future__ import annotations

from tests.check_pass import check_pass

MODULE = """
    main {{
      input %c: bool[]
      input %x: float32[{size}]
      %y: float32[3] = tf.If(%c, %x{given}) {{'then_branch': @largest, 'else_branch': @nothing}}
      return %y
    }}
    largest {{
      input %x: float32[{size}]
      {taken}
      %y: float32[3]; %i: int32[3] = tf.TopKV2(%x, {count})
      return %y
    }}
    nothing {{
      input %x: float32[{size}]
      {taken}
      %y: float32[3] = tf.Fill(int32[1] [3], float32[] 0.0)
      return %y
    }}
    """
HERE = {"given": "", "taken": "", "count": "int32[] 3"}


def test_the_number_of_elements_comes_from_outside() -> None:
    handed = {"given": ", int32[] 3", "taken": "input %k: int32[]", "count": "%k"}
    check_pass("guard-branches", MODULE.format(size="n", **HERE), MODULE.format(size="n", **handed))


def test_a_known_size_needs_no_guard() -> None:
    check_pass("guard-branches", MODULE.format(size=5, **HERE))
