"""Shapes of ops that move elements."""

from __future__ import annotations

import pytest

from fuseconv.ir.dims import Sym
from fuseconv.transforms.tf.canonicalize import canonicalize
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


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


def test_what_is_left_of_no_elements() -> None:
    """TensorFlow divides what is not 0 of both shapes; LiteRT's RESHAPE takes -1 for 0 there."""
    check_pass("canonicalize", """
    main {
      input %x: float32[1,4,0]
      %y: float32[*] = tf.Reshape(%x, int32[3] [2, 0, -1])
      return %y
    }
    """, """
    main {
      input %x: float32[1,4,0]
      return float32[2,0,2] [[], []]
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


def test_sizes_beside_ones_that_are_not_known() -> None:
    """A row of paddings or a multiple that is computed leaves the other dimensions what they are."""
    module, report = module_of("""
    main {
      input %x: float32[n,4]
      input %amount: int32[]
      %row: int32[2] = tf.Pack(int32[] 0, %amount)
      %paddings: int32[2,2] = tf.Pack(%row, int32[2] [0, 3])
      %times: int32[2] = tf.Pack(%amount, int32[] 2)
      %a: float32[*] = tf.Pad(%x, %paddings)
      %b: float32[*] = tf.Tile(%x, %times)
      return %a, %b
    }
    """)
    canonicalize(module, report)
    padded, tiled = module.signatures[0].graph.outputs
    assert padded.shape is not None and tiled.shape is not None
    assert (padded.shape[1], tiled.shape[1]) == (7, 8)
    assert isinstance(padded.shape[0], Sym) and isinstance(tiled.shape[0], Sym)
