"""What squeezes of all dimensions of size 1 drop, by their readers."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

_CASE = """
    main {{
      input %x: float32[{sizes}]
      %y: float32[*] = tf.Squeeze(%x){attrs}
      {reader}
      return %z
    }}
    """


def _case(sizes: str, reader: str, attrs: str = "") -> str:
    return _CASE.format(sizes=sizes, reader=reader, attrs=attrs)


@pytest.mark.parametrize(
    ("sizes", "reader", "dims"),
    [
        ("n,1,4", "%z: float32[n,1] = tf.BatchMatMulV2(%y, float32[4,1] [[1.0], [2.0], [3.0], [4.0]])", [1]),
        ("n,1,4,1", "%z: float32[n] = tf.Sum(%y, int32[1] [1])", [1, 3]),
        ("n,1,m", "%z: float32[m,n] = tf.Transpose(%y, int32[2] [1, 0])", [1]),
        ("n,1,4", "%z: float32[n] = tf.StridedSlice(%y, int32[2] [0, 1], int32[2] [0, 2], int32[2] [1, 1])"
         " {'begin_mask': 1, 'end_mask': 1, 'shrink_axis_mask': 2}", [1]),
        # What lies between says nothing itself.
        ("n,1,1", "%w: float32[*] = tf.Exp(%y)\n      %z: float32[*] = tf.ExpandDims(%w, int32[] 1)", [1, 2]),
    ],
)  # fmt: skip
def test_readers_that_take_one_rank_tell(sizes: str, reader: str, dims: list[int]) -> None:
    check_pass("settle-squeezes", _case(sizes, reader), _case(sizes, reader, f" {{'squeeze_dims': {dims}}}"))


@pytest.mark.parametrize(
    ("sizes", "reader"),
    [
        ("n,1,4", "%z: float32[*] = tf.Exp(%y)"),
        ("n,1,4", "%z: float32[*] = tf.Sum(%y, int32[1] [-1])"),
        # Of rank 2 by either of two sizes.
        ("n,1,m,4", "%z: float32[*] = tf.Transpose(%y, int32[2] [1, 0])"),
        # Not even with all dimensions.
        ("n,1,4", "%z: float32[*] = tf.Sum(%y, int32[1] [2])"),
        # It drops nothing for sure.
        ("n,4", "%z: float32[n] = tf.Sum(%y, int32[1] [1])"),
    ],
)
def test_other_readers_do_not(sizes: str, reader: str) -> None:
    check_pass("settle-squeezes", _case(sizes, reader))
