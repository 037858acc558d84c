"""Lists become tensors."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_elements_are_shaped_as_what_is_written() -> None:
    check_pass("infer-list-elements", """
    main {
      input %x: float32[2,8]
      %list: variant[*] = tf.TensorListReserve(int32[] -1, int32[] 3) {'element_dtype': float32}
      %set: variant[*] = tf.TensorListSetItem(%list, int32[] 0, %x)
      %y: float32[*] = tf.TensorListStack(%set, int32[] -1)
      return %y
    }
    """, """
    main {
      input %x: float32[2,8]
      %list: variant[*] = tf.TensorListReserve(int32[2] [2, 8], int32[] 3) {'element_dtype': float32}
      %set: variant[*] = tf.TensorListSetItem(%list, int32[] 0, %x)
      %y: float32[*] = tf.TensorListStack(%set, int32[] -1)
      return %y
    }
    """)


def test_an_element_is_gathered() -> None:
    check_pass("lower-tensor-lists", """
    main {
      input %x: float32[2]
      input %i: int32[]
      %list: variant[*] = tf.TensorListFromTensor(%x, int32[0] [])
      %y: float32[] = tf.TensorListGetItem(%list, %i, int32[0] [])
      return %y
    }
    """, """
    main {
      input %x: float32[2]
      input %i: int32[]
      %y: float32[*] = tf.GatherV2(%x, %i, int32[] 0)
      return %y
    }
    """)


def test_a_shape_that_is_stated_stays() -> None:
    check_pass("infer-list-elements", """
    main {
      input %x: float32[2,8]
      %list: variant[*] = tf.TensorListReserve(int32[2] [2, 8], int32[] 3) {'element_dtype': float32}
      %set: variant[*] = tf.TensorListSetItem(%list, int32[] 0, %x)
      %y: float32[*] = tf.TensorListStack(%set, int32[] -1)
      return %y
    }
    """)


def test_a_tensor_is_no_list() -> None:
    check_pass("lower-tensor-lists", """
    main {
      input %x: float32[2]
      input %i: int32[]
      %y: float32[] = tf.GatherV2(%x, %i, int32[] 0)
      return %y
    }
    """)
