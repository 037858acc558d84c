"""Parts of a tensor are slices of it."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_part_is_a_slice() -> None:
    check_pass("lower-tensor-lists", """
    main {
      input %x: float32[n,4]
      input %lengths: int32[3]
      input %i: int32[]
      %list: variant[*] = tf.TensorListSplit(%x, int32[] -1, %lengths)
      %y: float32[*] = tf.TensorListGetItem(%list, %i, int32[] -1) {'element_dtype': float32}
      return %y
    }
    """, """
    main {
      input %x: float32[n,4]
      input %lengths: int32[3]
      input %i: int32[]
      %sums: int32[*] = tf.Cumsum(%lengths, int32[] 0)
      %ends: int32[*] = tf.ConcatV2(int32[1] [0], %sums, int32[] 0)
      %place: int32[*] = tf.Reshape(%i, int32[1] [1])
      %begin: int32[*] = tf.GatherV2(%ends, %place, int32[] 0)
      %next: int32[*] = tf.AddV2(%place, int32[] 1)
      %end: int32[*] = tf.GatherV2(%ends, %next, int32[] 0)
      %y: float32[*] = tf.StridedSlice(%x, %begin, %end, int32[1] [1])
      return %y
    }
    """)


def test_all_parts_are_what_was_split() -> None:
    check_pass("lower-tensor-lists", """
    main {
      input %x: float32[n,4]
      input %lengths: int32[3]
      %list: variant[*] = tf.TensorListSplit(%x, int32[] -1, %lengths)
      %y: float32[*]; %sizes: int64[*] = tf.TensorListConcatV2(%list, int32[] -1, int64[0] [])
      return %y, %sizes
    }
    """, """
    main {
      input %x: float32[n,4]
      input %lengths: int32[3]
      %sums: int32[*] = tf.Cumsum(%lengths, int32[] 0)
      %ends: int32[*] = tf.ConcatV2(int32[1] [0], %sums, int32[] 0)
      %begins: int32[*] = tf.StridedSlice(%ends, int32[1] [0], int32[1] [-1], int32[1] [1]) {'begin_mask': 1}
      %last: int32[*] = tf.StridedSlice(%ends, int32[1] [1], int32[1] [0], int32[1] [1]) {'end_mask': 1}
      %own: int32[*] = tf.Sub(%last, %begins)
      %sizes: int64[*] = tf.Cast(%own)
      return %x, %sizes
    }
    """)
