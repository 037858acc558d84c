"""Broadcasts below what broadcasts by itself."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass


def test_a_reader_broadcasts_by_itself() -> None:
    check_pass("sink-broadcasts", """
    main {
      input %x: float32[n,4]
      input %shape: int32[2]
      %bias: float32[n,4] = tf.BroadcastTo(float32[4] [1.0, 2.0, 3.0, 4.0], %shape)
      %y: float32[n,4] = tf.AddV2(%x, %bias)
      return %y
    }
    """, """
    main {
      input %x: float32[n,4]
      input %shape: int32[2]
      %bias: float32[n,4] = tf.BroadcastTo(float32[4] [1.0, 2.0, 3.0, 4.0], %shape)
      %y: float32[n,4] = tf.AddV2(%x, float32[4] [1.0, 2.0, 3.0, 4.0])
      return %y
    }
    """)


_TILE = """
    main {{
      input %x: float32[{x}]
      input %y: float32[{y}]
      %wide: float32[{wide}] = tf.Tile(%x, int32[{rank}] {counts})
      %z: float32[{wide}] = tf.Mul({read}, %y)
      return {returned}
    }}
    """
_ALONG_UNITS = {"x": "n,4,1", "y": "n,4,2", "wide": "n,4,2", "rank": 3, "counts": [1, 1, 2], "returned": "%z"}


def test_a_tile_along_units_is_a_broadcast() -> None:
    before, after = (_TILE.format(**_ALONG_UNITS, read=read) for read in ("%wide", "%x"))
    check_pass("sink-broadcasts", before, after)


@pytest.mark.parametrize("other", [
    {"returned": "%z, %wide"}, {"y": "n,4,1"}, {"x": "n,2", "y": "n,4", "wide": "n,4", "rank": 2, "counts": [1, 2]},
], ids=["others read it", "it alone gives the size", "of more than one element"])  # fmt: skip
def test_a_tile_stays(other: dict[str, object]) -> None:
    check_pass("sink-broadcasts", _TILE.format(**(_ALONG_UNITS | other), read="%wide"))


def test_a_result_is_broadcast_in_the_place_of_operands() -> None:
    check_pass("sink-broadcasts", """
    main {
      input %x: float32[n,1]
      input %shape: int32[2]
      %wide: float32[n,4] = tf.BroadcastTo(%x, %shape)
      %two: float32[n,4] = tf.BroadcastTo(float32[] 2.0, %shape)
      %y: float32[n,4] = tf.Mul(%wide, %two)
      return %y
    }
    """, """
    main {
      input %x: float32[n,1]
      input %shape: int32[2]
      %wide: float32[n,4] = tf.BroadcastTo(%x, %shape)
      %two: float32[n,4] = tf.BroadcastTo(float32[] 2.0, %shape)
      %y: float32[n,1] = tf.Mul(%x, float32[] 2.0)
      %y_1: float32[n,4] = tf.BroadcastTo(%y, %shape)
      return %y_1
    }
    """)


def test_a_constant_that_repeats_is_one_row() -> None:
    check_pass("sink-broadcasts", """
    main {
      input %x: float32[2,3]
      %y: float32[2,3] = tf.AddV2(%x, float32[2,3] [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
      return %y
    }
    """, """
    main {
      input %x: float32[2,3]
      %y: float32[2,3] = tf.AddV2(%x, float32[3] [1.0, 2.0, 3.0])
      return %y
    }
    """)


def test_zeros_of_two_signs_are_no_repetition() -> None:
    check_pass("sink-broadcasts", """
    main {
      input %x: float32[2,2]
      %y: float32[2,2] = tf.RealDiv(%x, float32[2,2] [[0.0, -0.0], [0.0, -0.0]])
      return %y
    }
    """, """
    main {
      input %x: float32[2,2]
      %y: float32[2,2] = tf.RealDiv(%x, float32[2] [0.0, -0.0])
      return %y
    }
    """)


def test_sizes_that_may_differ_stay() -> None:
    check_pass("sink-broadcasts", """
    main {
      input %x: float32[n,4]
      input %y: float32[m,4]
      input %shape: int32[2]
      %wide: float32[n,4] = tf.BroadcastTo(%y, %shape)
      %z: float32[n,4] = tf.AddV2(%x, %wide)
      return %z
    }
    """)


def test_a_broadcast_reaches_through_dimensions_of_size_1() -> None:
    text = """
    main {
      input %shape: int32[2]
      input %wide: int32[3]
      %rows: int32[n,4] = tf.BroadcastTo(int32[4] [0, 1, 2, 3], %shape)
      %thin: int32[n,1,4] = tf.ExpandDims(%rows, int32[] 1)
      %y: int32[n,4,4] = tf.BroadcastTo(READ, %wide)
      return %y
    }
    """
    check_pass("sink-broadcasts", text.replace("READ", "%thin"), text.replace("READ", "int32[1,1,4] [[[0, 1, 2, 3]]]"))


def test_another_reshape_is_not_reached_through() -> None:
    check_pass("sink-broadcasts", """
    main {
      input %shape: int32[2]
      input %wide: int32[4]
      %rows: int32[n,4] = tf.BroadcastTo(int32[4] [0, 1, 2, 3], %shape)
      %thin: int32[n,2,2] = tf.Reshape(%rows, int32[3] [-1, 2, 2])
      %y: int32[3,n,2,2] = tf.BroadcastTo(%thin, %wide)
      return %y
    }
    """)


def test_a_scalar_that_is_broadcast_and_reshaped_is_read_itself() -> None:
    before = """
    main {
      input %x: float32[n,4]
      input %s: float32[]
      input %v: float32[1]
      input %shape: int32[1]
      %wide: float32[n] = tf.BroadcastTo(%s, %shape)
      %column: float32[n,1] = tf.ExpandDims(%wide, int32[] 1)
      %other: float32[n] = tf.BroadcastTo(%v, %shape)
      %stays: float32[n,1] = tf.ExpandDims(%other, int32[] 1)
      %z: float32[n,4] = tf.Mul(%x, %column)
      %y: float32[n,4] = tf.Mul(%z, %stays)
      return %y, %column
    }
    """
    check_pass("sink-broadcasts", before, before.replace("tf.Mul(%x, %column)", "tf.Mul(%x, %s)"))


_TILED = """
    main {{
      input %mask: float32[n,1]
      input %wide: int32[4]
      input %shape: int32[2]
      %a: float32[1,n,1,1] = tf.Reshape(%mask, int32[4] [1, -1, 1, 1])
      %b: float32[1,n,4,1] = tf.BroadcastTo(%a, %wide)
      {}
      return %y
    }}
    """


def test_dimensions_of_size_1_that_are_dropped_again() -> None:
    check_pass(
        "sink-broadcasts",
        _TILED.format("%y: float32[n,4] = tf.Reshape(%b, %shape)"),
        _TILED.format("%c: float32[n,1] = tf.Reshape(%a, int32[2] [-1, 1])\n"
                      "%y: float32[n,4] = tf.BroadcastTo(%c, %shape)"),
    )  # fmt: skip


def test_dimensions_that_are_merged_stay() -> None:
    merged = _TILED.format("%y: float32[4*n] = tf.Reshape(%b, int32[1] [-1])")
    check_pass("sink-broadcasts", merged)


def test_a_shape_that_is_left_open_stays() -> None:
    check_pass("sink-broadcasts", _TILED.format("%y: float32[n,4] = tf.Reshape(%b, int32[2] [-1, 4])"))


def test_a_tile_of_one_element_broadcasts() -> None:
    check_pass("sink-broadcasts", """
    main {
      input %x: float32[n,3]
      input %count: float32[]
      input %shape: int32[2]
      %ones: float32[n,1] = tf.Tile(float32[1,1] [[1.0]], %shape)
      %mean: float32[n,1] = tf.RealDiv(%ones, %count)
      %y: float32[n,3] = tf.Mul(%x, %mean)
      %rows: float32[n,3] = tf.Tile(float32[1,3] [[1.0, 2.0, 3.0]], %shape)
      %z: float32[n,3] = tf.Mul(%y, %rows)
      return %z
    }
    """, """
    main {
      input %x: float32[n,3]
      input %count: float32[]
      input %shape: int32[2]
      %ones: float32[n,1] = tf.Tile(float32[1,1] [[1.0]], %shape)
      %mean: float32[] = tf.RealDiv(float32[] 1.0, %count)
      %mean_1: float32[n,1] = tf.BroadcastTo(%mean, %shape)
      %y: float32[n,3] = tf.Mul(%x, %mean)
      %rows: float32[n,3] = tf.Tile(float32[1,3] [[1.0, 2.0, 3.0]], %shape)
      %z: float32[n,3] = tf.Mul(%y, float32[3] [1.0, 2.0, 3.0])
      return %z
    }
    """)
