"""Broadcasts that nothing computes with element by element become copies of rows."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_dimensions_of_one_are_repeated() -> None:
    check_pass("tile-broadcasts", """
    main {
      input %x: float32[1,16]
      %y: float32[8,4,16] = tfl.BROADCAST_TO(%x, int32[3] [8, 4, 16])
      return %y
    }
    """, """
    main {
      input %x: float32[1,16]
      %r: float32[1,1,16] = tfl.RESHAPE(%x, int32[3] [1, 1, 16])
      %y: float32[8,4,16] = tfl.TILE(%r, int32[3] [8, 4, 1])
      return %y
    }
    """)  # fmt: skip


def test_sizes_of_a_batch_are_joined_as_before() -> None:
    check_pass("tile-broadcasts", """
    main {
      input %x: float32[1,1,16]
      input %n: int32[1]
      %s: int32[3] = tfl.CONCATENATION(%n, int32[2] [1, 16]) {'axis': 0}
      %y: float32[n,1,16] = tfl.BROADCAST_TO(%x, %s)
      return %y
    }
    """, """
    main {
      input %x: float32[1,1,16]
      input %n: int32[1]
      %s: int32[3] = tfl.CONCATENATION(%n, int32[2] [1, 16]) {'axis': 0}
      %m: int32[3] = tfl.CONCATENATION(%n, int32[2] [1, 1])
      %y: float32[n,1,16] = tfl.TILE(%x, %m)
      return %y
    }
    """)  # fmt: skip


def test_sizes_that_are_not_taken_apart_stay() -> None:
    check_pass("tile-broadcasts", """
    main {
      input %x: float32[1,16]
      input %s: int32[2]
      input %z: float32[m,16]
      %y: float32[n,16] = tfl.BROADCAST_TO(%x, %s)
      %w: float32[n,16] = tfl.BROADCAST_TO(%z, %s)
      return %y, %w
    }
    """)


def test_types_that_tile_lacks_stay() -> None:
    check_pass("tile-broadcasts", """
    main {
      input %x: int16[1,16]
      %y: int16[4,16] = tfl.BROADCAST_TO(%x, int32[2] [4, 16])
      return %y
    }
    """)
