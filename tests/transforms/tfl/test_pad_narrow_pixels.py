"""Pixels of few bytes are padded row by row."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

BEFORE = """
    main {
      input %x: float32[n,32,32,3]
      %y: float32[n,34,35,3] = tfl.PAD(%x, int32[4,2] [[0, 0], [1, 1], [1, 2], [0, 0]])
      %z: float32[n,34,35,3] = tfl.EXP(%y)
      return %z
    }
    """


def test_rows_are_padded() -> None:
    check_pass("pad-narrow-pixels", BEFORE, """
    main {
      input %x: float32[n,32,32,3]
      %rows: float32[n,32,96] = tfl.RESHAPE(%x, int32[3] [-1, 32, 96])
      %padded: float32[n,34,105] = tfl.PAD(%rows, int32[3,2] [[0, 0], [1, 1], [3, 6]])
      %y: float32[n,34,35,3] = tfl.RESHAPE(%padded, int32[4] [-1, 34, 35, 3])
      %z: float32[n,34,35,3] = tfl.EXP(%y)
      return %z
    }
    """)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (",3]", ",33]"),  # wide ones
        ("n,32,32", "n,31,32"),  # few
        ("n,32,32", "n,m,32"),  # of two unknown sizes
        ("float32", "int32"),
        ("[1, 2], [0, 0]]", "[0, 0], [0, 0]]"),  # whole rows already
        ("[1, 2], [0, 0]]", "[1, 2], [0, 1]]"),  # channels, too
        ("EXP(%y)", "CONV_2D(%y, %w)"),  # XNNPACK pads as it convolves
    ],
)
def test_others_stay(old: str, new: str) -> None:
    weights = "input %w: float32[3,1,1,3]\n      input %x"
    check_pass("pad-narrow-pixels", BEFORE.replace(old, new).replace("input %x", weights, 1))
