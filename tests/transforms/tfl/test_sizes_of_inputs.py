"""Sizes are read off inputs."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_size_is_read_off_the_input() -> None:
    check_pass("sizes-of-inputs", """
    main {
      input %x: float32[n,3]
      %a: float32[3,n] = tf.Transpose(%x, int32[2] [1, 0])
      %b: int32[2] = tf.Shape(%a)
      %n: int32[] = tf.StridedSlice(%b, int32[1] [1], int32[1] [2], int32[1] [1]) {'shrink_axis_mask': 1}
      return %n, %a
    }
    """, """
    main {
      input %x: float32[n,3]
      %a: float32[3,n] = tfl.TRANSPOSE(%x, int32[2] [1, 0])
      %b: int32[2] = tfl.SHAPE(%a)
      %n: int32[2] = tfl.SHAPE(%x)
      %n2: int32[] = tfl.STRIDED_SLICE(%n, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %n3: int32[] = tfl.STRIDED_SLICE(%b, int32[1] [1], int32[1] [2], int32[1] [1]) {'shrink_axis_mask': 1}
      return %n2, %a
    }
    """, first=("canonicalize", "lower"))


def test_the_inputs_own_size() -> None:
    check_pass("sizes-of-inputs", """
    main {
      input %x: float32[n,3]
      %b: int32[2] = tf.Shape(%x)
      %n: int32[] = tf.StridedSlice(%b, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      return %n
    }
    """, first=("canonicalize", "lower"))


def test_a_size_that_no_input_has_is_read_off_the_first_tensor() -> None:
    """Vectors of one element, as the sizes of a RESHAPE are joined of them."""
    check_pass("sizes-of-inputs", """
    main {
      input %x: bool[n]
      %y: int64[k,1] = tf.Where(%x)
      %a: int32[2] = tf.Shape(%y)
      %k: int32[1] = tf.StridedSlice(%a, int32[1] [0], int32[1] [1], int32[1] [1])
      %t: int64[1,k] = tf.Transpose(%y, int32[2] [1, 0])
      %b: int32[2] = tf.Shape(%t)
      %l: int32[1] = tf.StridedSlice(%b, int32[1] [-1], int32[1] [0], int32[1] [1]) {'end_mask': 1}
      %two: int32[2] = tf.StridedSlice(%b, int32[1] [0], int32[1] [2], int32[1] [1])
      return %k, %l, %two, %t
    }
    """, """
    main {
      input %x: bool[n]
      %y: int64[k,1] = tfl.WHERE(%x)
      %a: int32[2] = tfl.SHAPE(%y)
      %k: int32[1] = tfl.STRIDED_SLICE(%a, int32[1] [0], int32[1] [1], int32[1] [1])
      %t: int64[1,k] = tfl.TRANSPOSE(%y, int32[2] [1, 0])
      %b: int32[2] = tfl.SHAPE(%t)
      %c: int32[2] = tfl.SHAPE(%y)
      %l: int32[1] = tfl.STRIDED_SLICE(%c, int32[1] [0], int32[1] [1], int32[1] [1])
      %old: int32[1] = tfl.STRIDED_SLICE(%b, int32[1] [-1], int32[1] [0], int32[1] [1]) {'end_mask': 1}
      return %k, %l, %b, %t
    }
    """, first=("canonicalize", "lower"))


def test_a_vector_of_the_size_is_the_shape_of_a_vector() -> None:
    check_pass("sizes-of-inputs", """
    main {
      input %x: float32[n]
      input %y: float32[n,3]
      %b: int32[2] = tf.Shape(%y)
      %n: int32[1] = tf.StridedSlice(%b, int32[1] [0], int32[1] [1], int32[1] [1])
      return %n
    }
    """, """
    main {
      input %x: float32[n]
      input %y: float32[n,3]
      %b: int32[2] = tfl.SHAPE(%y)
      %n: int32[1] = tfl.SHAPE(%x)
      %gone: int32[1] = tfl.STRIDED_SLICE(%b, int32[1] [0], int32[1] [1], int32[1] [1])
      return %n
    }
    """, first=("canonicalize", "lower"))
