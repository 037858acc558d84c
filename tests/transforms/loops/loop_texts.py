"""Loops in IR text that tests of several passes share."""

from __future__ import annotations


def condition(steps: int, *carried: str) -> str:
    """The function @cond: so many steps are left, whatever else is carried."""
    inputs = "\n".join(f"input %{value}" for value in ("i: int32[]", *carried))
    return f"""
    cond {{
      {inputs}
      %more: bool[] = tf.Less(%i, int32[] {steps})
      return %more
    }}
    """


# A step multiplies the state, which is all that the loop carries, with two matrices.
TWO_PRODUCTS = """
    main {
      input %x: float32[1,2]
      %i: int32[]; %y: float32[1,2] = tf.While(int32[] 0, %x) {'cond': @cond, 'body': @body}
      return %y
    }
    body {
      input %i: int32[]
      input %h: float32[1,2]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %a: float32[1,2] = tf.MatMul(%h, float32[2,2] [[1.0, 2.0], [3.0, 4.0]])
      %b: float32[1,2] = tf.MatMul(%h, float32[2,2] [[5.0, 6.0], [7.0, 8.0]])
      %g: float32[1,2] = tf.Mul(%a, %b)
      return %next, %g
    }
    """ + condition(5, "h: float32[1,2]")
