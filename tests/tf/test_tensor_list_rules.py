"""What each op on a list is of its tensor."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_ops_on_a_list() -> None:
    check_pass("lower-tensor-lists", """
    main {
      input %x: float32[3,2]
      input %i: int32[]
      input %y: float32[2]
      %list: variant[*] = tf.TensorListFromTensor(%x, int32[1] [2])
      %set: variant[*] = tf.TensorListSetItem(%list, %i, %y)
      %n: int32[] = tf.TensorListLength(%set)
      %rows: float32[*] = tf.TensorListGather(%set, int32[2] [2, 0], int32[1] [2])
      %all: float32[*] = tf.TensorListStack(%set, int32[1] [2])
      return %n, %rows, %all
    }
    """, """
    main {
      input %x: float32[3,2]
      input %i: int32[]
      input %y: float32[2]
      %set: float32[*] = tf.ExpandDims(%y, int32[] 0)
      %set2: int32[*] = tf.Pack(%i, int32[] 0)
      %set3: float32[*] = tf.XlaDynamicUpdateSlice(%x, %set, %set2) {} "set" from ["set"] \
rejected "the size of an element that is written into the list is not known to be that of the others"
      %n: int32[*] = tf.Shape(%set3)
      %n2: int32[*] = tf.StridedSlice(%n, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %rows: float32[*] = tf.GatherV2(%set3, int32[2] [2, 0], int32[] 0)
      return %n2, %rows, %set3
    }
    """)


def test_lists_are_added_and_joined() -> None:
    check_pass("lower-tensor-lists", """
    main {
      input %x: float32[3,2]
      input %y: float32[3,2]
      %a: variant[*] = tf.TensorListFromTensor(%x, int32[1] [2])
      %b: variant[*] = tf.TensorListFromTensor(%y, int32[1] [2])
      %zeros: variant[*] = tf.ZerosLike(%a)
      %sum: variant[*] = tf.AddN(%a, %b, %zeros)
      %both: variant[*] = tf.TensorListConcatLists(%sum, %b) {'element_dtype': float32}
      %shape: int64[*] = tf.TensorListElementShape(%both)
      %all: float32[*] = tf.TensorListStack(%both, int32[1] [2])
      return %all, %shape
    }
    """, """
    main {
      input %x: float32[3,2]
      input %y: float32[3,2]
      %zeros: float32[*] = tf.ZerosLike(%x)
      %sum: float32[*] = tf.AddN(%x, %y, %zeros)
      %both: float32[*] = tf.ConcatV2(%sum, %y, int32[] 0)
      %n: int64[*] = tf.Shape(%both)
      %shape: int64[*] = tf.StridedSlice(%n, int32[1] [1], int32[1] [0], int32[1] [1]) {'end_mask': 1}
      return %both, %shape
    }
    """)
