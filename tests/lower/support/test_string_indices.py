"""Strings are moved by their places."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_transpose_of_strings_gathers() -> None:
    check_pass("lower", """
    main {
      input %x: string[2,3]
      %y: string[3,2] = tf.Transpose(%x, int32[2] [1, 0])
      return %y
    }
    """, """
    main {
      input %x: string[2,3]
      %y: string[6] = tfl.RESHAPE(%x, int32[1] [6])
      %y2: string[3,2] = tfl.GATHER(%y, int32[3,2] [[0, 3], [1, 4], [2, 5]])
      return %y2
    }
    """)
