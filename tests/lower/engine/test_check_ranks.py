"""No file is written of ops that have more dimensions than the runtime's kernels take."""

from __future__ import annotations

import pytest

from fuseconv.errors import UnsupportedError
from tests.check_pass import check_pass


def test_ops_within_the_limits_of_litert_stay() -> None:
    check_pass("check-ranks", """
    main {
      input %x: float32[n,2,2,2,2]
      input %y: float32[1,2,2,1,2,3,4]
      %a: float32[n,2,2,2,2] = tfl.SLICE(%x, int32[5] [0, 0, 0, 0, 0], int32[5] [-1, -1, -1, -1, -1])
      %b: float32[1,2,2,1,2,3,4] = tfl.DIV(%y, %y)
      %c: float32[4,3,2,1,2,2,1] = tfl.TRANSPOSE(%y, int32[7] [6, 5, 4, 3, 2, 1, 0])
      return %a, %b, %c
    }
    """)


@pytest.mark.parametrize(
    ("op", "why"),
    [
        ("float32[1,1,2,2,1,2,1] = tfl.SUM(%u, %i)", "SUM takes up to 6 dimensions, and a tensor has 7"),
        ("float32[1,2,2,1,2,3] = tfl.DIV(%y, %z)", "DIV broadcasts tensors of up to 5 dimensions, and one has 6"),
        ("float32[1,1,2,2,1,2,3] = tfl.PAD(%u, %p)", "PAD takes up to 5 dimensions, and a tensor has 7"),
    ],
)  # fmt: skip
def test_ops_beyond_the_limits_are_refused_by_name(op: str, why: str) -> None:
    text = f"""
    main {{
      input %y: float32[1,2,2,1,2,3]
      input %z: float32[3]
      input %u: float32[1,1,2,2,1,2,2]
      input %i: int32[1]
      input %p: int32[7,2]
      %bad: {op}
      return %bad
    }}
    """
    with pytest.raises(UnsupportedError) as error:
        check_pass("check-ranks", text)
    assert error.value.ops == [(op.partition("tfl.")[2].partition("(")[0], ["bad"], why)]
