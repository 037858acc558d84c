"""Numbers become tensors where kernels take longer to broadcast them."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_indices_are_clipped_to_numbers_of_their_shape() -> None:
    check_pass("fill-broadcasts", """
    main {
      input %x: int32[n,64]
      %a: int32[n,64] = tfl.MINIMUM(%x, int32[] 9)
      %b: int32[n,64] = tfl.MAXIMUM(int32[1] [3], %a)
      return %b
    }
    """, """
    main {
      input %x: int32[n,64]
      %sizes: int32[2] = tfl.SHAPE(%x)
      %nine: int32[n,64] = tfl.FILL(%sizes, int32[] 9)
      %a: int32[n,64] = tfl.MINIMUM(%x, %nine)
      %three: int32[n,64] = tfl.FILL(%sizes, int32[] 3)
      %b: int32[n,64] = tfl.MAXIMUM(%three, %a)
      return %b
    }
    """)  # fmt: skip


def test_zeros_of_unknown_sizes_take_one_op() -> None:
    check_pass("fill-broadcasts", """
    main {
      input %x: int64[n,64]
      %y: int64[n,64] = tfl.MAXIMUM(%x, int64[] 0)
      return %y
    }
    """, """
    main {
      input %x: int64[n,64]
      %zeros: int64[n,64] = tfl.ZEROS_LIKE(%x)
      %y: int64[n,64] = tfl.MAXIMUM(%x, %zeros)
      return %y
    }
    """)


def test_known_sizes_are_constants_and_numbers_may_be_computed() -> None:
    check_pass("fill-broadcasts", """
    main {
      input %mask: bool[16,16]
      input %x: float32[16,16]
      input %number: float32[]
      %y: float32[16,16] = tfl.SELECT_V2(%mask, %number, %x)
      %z: float32[16,16] = tfl.SELECT_V2(%mask, %y, float32[] -0.0)
      return %z
    }
    """, """
    main {
      input %mask: bool[16,16]
      input %x: float32[16,16]
      input %number: float32[]
      %many: float32[16,16] = tfl.FILL(int32[2] [16, 16], %number)
      %y: float32[16,16] = tfl.SELECT_V2(%mask, %many, %x)
      %zeros: float32[16,16] = tfl.FILL(int32[2] [16, 16], float32[] -0.0)
      %z: float32[16,16] = tfl.SELECT_V2(%mask, %y, %zeros)
      return %z
    }
    """)  # fmt: skip


def test_what_gains_nothing_stays() -> None:
    check_pass("fill-broadcasts", """
    main {
      input %x: int32[n]
      input %y: int32[4]
      input %f: float32[n,64]
      input %row: int32[64]
      input %z: int32[n,64]
      input %one: bool[1,64]
      input %many: bool[512,512]
      input %big: float32[512,512]
      input %wide: int64[n,64]
      input %flag: bool[]
      %a: int32[n] = tfl.MAXIMUM(%x, int32[] 9)
      %b: int32[4] = tfl.MAXIMUM(%y, int32[] 9)
      %c: float32[n,64] = tfl.MAXIMUM(%f, float32[] 9.0)
      %d: int32[n,64] = tfl.MAXIMUM(%z, %row)
      %e: float32[n,64] = tfl.SELECT_V2(%one, %f, float32[] 9.0)
      %g: float32[512,512] = tfl.SELECT_V2(%many, %big, float32[] 9.0)
      %h: int64[n,64] = tfl.SELECT_V2(%one, %wide, int64[] 9)
      %i: float32[n,64] = tfl.SELECT_V2(%flag, %f, float32[] 9.0)
      %j: bool[n,64] = tfl.GREATER(%f, float32[] 1.0)
      %k: float32[n,64] = tfl.SELECT_V2(%j, float32[] 0.0, float32[] 9.0)
      return %a, %b, %c, %d, %e, %g, %h, %i, %k
    }
    """)
