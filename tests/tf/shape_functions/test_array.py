"""Shapes of ops that move elements."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass


def test_moves() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,2,3]
      %a: float32[*] = tf.Transpose(%x, int32[3] [2, 0, 1])
      %b: float32[*] = tf.ExpandDims(%x, int32[] -1)
      %c: float32[*] = tf.ConcatV2(%x, %x, int32[] 0)
      %d: float32[*] = tf.Reshape(%x, int32[2] [-1, 3])
      %e: float32[*] = tf.GatherV2(%x, int32[2] [0, 1], int32[] 1)
      return %a, %b, %c, %d, %e
    }
    """, """
    main {
      input %x: float32[n,2,3]
      %a: float32[3,n,2] = tf.Transpose(%x, int32[3] [2, 0, 1])
      %b: float32[n,2,3,1] = tf.ExpandDims(%x, int32[] -1)
      %c: float32[2*n,2,3] = tf.ConcatV2(%x, %x, int32[] 0)
      %d: float32[2*n,3] = tf.Reshape(%x, int32[2] [-1, 3])
      %e: float32[n,2,3] = tf.GatherV2(%x, int32[2] [0, 1], int32[] 1)
      return %a, %b, %c, %d, %e
    }
    """)


COUNTED = """
    main {
      input %x: float32[n,2]
      %dims: int32[2] = tf.Shape(%x)
      %size: int32[] = tf.StridedSlice(%dims, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %float: TYPE[] = tf.Cast(%size) {'DstT': TYPE}
      %y: TYPE[SIZE] = tf.Range(TYPE[] START, %float, TYPE[] 1.0)
      return %y
    }
"""


@pytest.mark.parametrize(
    "dtype, start, size",
    [
        ("float32", "0.0", "n"),
        ("float64", "0.0", "n"),
        # More than there surely are, what is no whole number, and a type that does not hold all of them.
        ("float32", "1.0", "m"),
        ("float32", "0.5", "m"),
        ("float16", "0.0", "m"),
    ],
)
def test_the_positions_of_a_sequence_counted_in_floats(dtype: str, start: str, size: str) -> None:
    """Rotary embeddings count so in each layer: of a size of its own, each would be another table."""
    text = COUNTED.replace("TYPE", dtype).replace("START", start)
    check_pass("canonicalize", text.replace("SIZE", "m"), text.replace("SIZE", size))
