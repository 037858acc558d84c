"""Zeros of unknown sizes are made from a tensor of these sizes where that takes fewer ops. `canonicalize` drops what
nothing reads then."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_zeros_are_like_a_tensor_of_their_shape() -> None:
    check_pass("fill-from-tensors", """
    main {
      input %x: float32[n,4]
      input %b: float32[n,3]
      %y: float32[n,4] = tfl.RELU(%x)
      %s: int32[2] = tfl.SHAPE(%b)
      %n: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1])
      %sizes: int32[2] = tfl.CONCATENATION(%n, int32[1] [4])
      %zeros: float32[n,4] = tfl.FILL(%sizes, float32[] 0.0)
      %z: float32[n,8] = tfl.CONCATENATION(%y, %zeros) {'axis': 1}
      return %z
    }
    """, """
    main {
      input %x: float32[n,4]
      input %b: float32[n,3]
      %y: float32[n,4] = tfl.RELU(%x)
      %s: int32[2] = tfl.SHAPE(%b)
      %n: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1])
      %sizes: int32[2] = tfl.CONCATENATION(%n, int32[1] [4])
      %unread: float32[n,4] = tfl.FILL(%sizes, float32[] 0.0)
      %zeros: float32[n,4] = tfl.ZEROS_LIKE(%y)
      %z: float32[n,8] = tfl.CONCATENATION(%y, %zeros) {'axis': 1}
      return %z
    }
    """)  # fmt: skip


def test_slices_and_sums_make_other_shapes_and_numbers() -> None:
    check_pass("fill-from-tensors", """
    main {
      input %x: float32[6,n,12]
      %s: int32[3] = tfl.SHAPE(%x)
      %n: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [1], int32[1] [2], int32[1] [1])
      %small: int32[2] = tfl.CONCATENATION(%n, int32[1] [4])
      %ones: float32[n,4] = tfl.FILL(%small, float32[] 1.0)
      %large: int32[3] = tfl.CONCATENATION(int32[1] [9], %n, int32[1] [4])
      %stack: float32[9,n,4] = tfl.FILL(%large, float32[] -2.0)
      %y: float32[9,n,4] = tfl.POW(%ones, %stack)
      return %y
    }
    """, """
    main {
      input %x: float32[6,n,12]
      %s: int32[3] = tfl.SHAPE(%x)
      %n: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [1], int32[1] [2], int32[1] [1])
      %small: int32[2] = tfl.CONCATENATION(%n, int32[1] [4])
      %unread: float32[n,4] = tfl.FILL(%small, float32[] 1.0)
      %large: int32[3] = tfl.CONCATENATION(int32[1] [9], %n, int32[1] [4])
      %unread1: float32[9,n,4] = tfl.FILL(%large, float32[] -2.0)
      %part: float32[n,4] = tfl.STRIDED_SLICE(%x, int32[3] [0, 0, 0], int32[3] [1, 0, 4], int32[3] [1, 1, 1]) """
    """{'begin_mask': 2, 'end_mask': 2, 'shrink_axis_mask': 1}
      %zeros: float32[n,4] = tfl.ZEROS_LIKE(%part)
      %ones: float32[n,4] = tfl.ADD(%zeros, float32[] 1.0)
      %stack: float32[9,n,4] = tfl.ADD(%zeros, float32[9,1,1] [[[-2.0]], [[-2.0]], [[-2.0]], [[-2.0]], [[-2.0]], """
    """[[-2.0]], [[-2.0]], [[-2.0]], [[-2.0]]])
      %y: float32[9,n,4] = tfl.POW(%ones, %stack)
      return %y
    }
    """)  # fmt: skip


def test_zeros_are_sliced() -> None:
    check_pass("fill-from-tensors", """
    main {
      input %x: int64[6,n,4]
      %all: int32[3] = tfl.SHAPE(%x)
      %stack: int64[6,n,4] = tfl.FILL(%all, int64[] 0)
      %n: int32[1] = tfl.STRIDED_SLICE(%all, int32[1] [1], int32[1] [2], int32[1] [1])
      %small: int32[2] = tfl.CONCATENATION(%n, int32[1] [4])
      %state: int64[n,4] = tfl.FILL(%small, int64[] 0)
      %y: int64[6,n,4] = tfl.SUB(%state, %stack)
      return %y
    }
    """, """
    main {
      input %x: int64[6,n,4]
      %all: int32[3] = tfl.SHAPE(%x)
      %unread: int64[6,n,4] = tfl.FILL(%all, int64[] 0)
      %n: int32[1] = tfl.STRIDED_SLICE(%all, int32[1] [1], int32[1] [2], int32[1] [1])
      %small: int32[2] = tfl.CONCATENATION(%n, int32[1] [4])
      %unread1: int64[n,4] = tfl.FILL(%small, int64[] 0)
      %stack: int64[6,n,4] = tfl.ZEROS_LIKE(%x)
      %state: int64[n,4] = tfl.STRIDED_SLICE(%stack, int32[3] [0, 0, 0], int32[3] [1, 0, 0], int32[3] [1, 1, 1]) """
    """{'begin_mask': 6, 'end_mask': 6, 'shrink_axis_mask': 1}
      %y: int64[6,n,4] = tfl.SUB(%state, %stack)
      return %y
    }
    """)  # fmt: skip


def test_what_takes_no_fewer_ops_stays() -> None:
    check_pass("fill-from-tensors", """
    main {
      input %x: float32[n,6,3]
      %s: int32[3] = tfl.SHAPE(%x)
      %n: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1])
      %sizes: int32[2] = tfl.CONCATENATION(%n, int32[1] [4])
      %zeros: float32[n,4] = tfl.FILL(%sizes, float32[] 0.0)
      return %zeros, %n
    }
    """)


def test_zeros_of_many_rows_stay() -> None:
    check_pass("fill-from-tensors", """
    main {
      input %x: float32[n,1152,4]
      %s: int32[3] = tfl.SHAPE(%x)
      %n: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1])
      %sizes: int32[3] = tfl.CONCATENATION(%n, int32[2] [1152, 1])
      %zeros: float32[n,1152,1] = tfl.FILL(%sizes, float32[] 0.0)
      return %zeros
    }
    """)


def test_other_sizes_and_types_stay() -> None:
    """Of -0 a sum makes 0. Of a size that is not known a slice might find nothing."""
    check_pass("fill-from-tensors", """
    main {
      input %x: float32[n,4]
      input %m: int32[1]
      input %b: bool[m,4]
      %s: int32[2] = tfl.CONCATENATION(%m, int32[1] [4])
      %p: float32[m,4] = tfl.FILL(%s, float32[] 0.0)
      %q: bool[m,4] = tfl.FILL(%s, bool[] False)
      %r: int32[2] = tfl.SHAPE(%x)
      %o: float32[n,4] = tfl.FILL(%r, float32[] -0.0)
      %t: int32[1] = tfl.STRIDED_SLICE(%r, int32[1] [1], int32[1] [2], int32[1] [1])
      %u: float32[k] = tfl.FILL(%t, float32[] 0.0)
      return %p, %q, %o, %u
    }
    """)


def test_a_state_is_written_by_fill() -> None:
    check_pass("fill-from-tensors", """
    main {
      input %x: float32[n,4]
      %s: int32[2] = tfl.SHAPE(%x)
      %n: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1])
      %sizes: int32[2] = tfl.CONCATENATION(%n, int32[1] [4])
      %state: float32[n,4] {'variable': True} = tfl.FILL(%sizes, float32[] 0.0)
      %y: float32[n,4] = tfl.ADD(%x, %state)
      return %y
    }
    """)
