"""Unknown sizes that a constant tells become numbers."""

from __future__ import annotations

from tests.check_pass import check_pass

_FILLED = """
main {{
  input %x: float32[{batch},4]
  %s: float32[{n},8] = tfl.FILL(int32[2] [1, 8], float32[] 0.0)
  %t: float32[{n},8] = tfl.TANH(%s)
  return %t
}}
"""


def test_a_size_is_the_same_wherever_it_stands() -> None:
    check_pass("known-sizes", _FILLED.format(batch="2", n="n"), _FILLED.format(batch="2", n="1"))


def test_the_size_of_an_input_stays() -> None:
    check_pass("known-sizes", _FILLED.format(batch="n", n="n"))


def test_a_size_that_is_left_open_stays() -> None:
    check_pass("known-sizes", """
    main {
      input %x: float32[4,2]
      %y: float32[n,8] = tfl.RESHAPE(%x, int32[2] [-1, 8])
      return %y
    }
    """)


def test_a_size_that_means_two_things_stays() -> None:
    """Copies of a function keep the names of its sizes."""
    check_pass("known-sizes", """
    main {
      input %x: float32[4]
      %y: float32[n,8] = tfl.FILL(int32[2] [1, 8], float32[] 0.0)
      %z: float32[n,8] = tfl.FILL(int32[2] [2, 8], float32[] 0.0)
      return %x, %y, %z
    }
    """)
