"""Loops that count down count up instead."""

from __future__ import annotations

from tests.check_pass import check_pass
from tests.transforms.loops.loop_texts import TWO_PRODUCTS


def test_a_loop_down_to_zero() -> None:
    check_pass("normalize-loops", """
    main {
      input %n: int32[]
      input %x: float32[2]
      %i: int32[]; %y: float32[2] = tf.While(%n, %x) {'cond': @cond, 'body': @body}
      return %y
    }
    cond {
      input %i: int32[]
      input %y: float32[2]
      %more: bool[] = tf.GreaterEqual(%i, int32[] 0)
      return %more
    }
    body {
      input %i: int32[]
      input %y: float32[2]
      %next: int32[] = tf.Sub(%i, int32[] 1)
      %z: float32[2] = tf.Neg(%y)
      return %next, %z
    }
    """, """
    main {
      input %n: int32[]
      input %x: float32[2]
      %i: int32[*] = tf.AddV2(%n, int32[] 1)
      %i2: int32[]; %y: float32[2]; %i_2: int32[*] = tf.While(int32[] 0, %x, %i) {'body': @body, 'cond': @cond}
      %i3: int32[*] = tf.Sub(%n, %i2)
      return %y
    }
    body {
      input %i: int32[]
      input %y: float32[2]
      input %i2: int32[*]
      %i3: int32[*] = tf.AddV2(%i2, int32[] -1)
      %i4: int32[*] = tf.Sub(%i3, %i)
      %next: int32[] = tf.Sub(%i4, int32[] 1)
      %z: float32[2] = tf.Neg(%y)
      %i5: int32[*] = tf.AddV2(%i, int32[] 1)
      return %i5, %z, %i2
    }
    cond {
      input %i: int32[]
      input %y: float32[2]
      input %i2: int32[*]
      %i3: bool[*] = tf.Less(%i, %i2)
      %i4: int32[*] = tf.AddV2(%i2, int32[] -1)
      %i5: int32[*] = tf.Sub(%i4, %i)
      %more: bool[] = tf.GreaterEqual(%i5, int32[] 0)
      return %i3
    }
    """)


def test_a_loop_that_counts_up() -> None:
    check_pass("normalize-loops", TWO_PRODUCTS)
