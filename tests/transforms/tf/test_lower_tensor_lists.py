"""Lists become tensors."""

from __future__ import annotations

from tests.check_pass import check_pass


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


def test_a_tensor_is_no_list() -> None:
    check_pass("lower-tensor-lists", """
    main {
      input %x: float32[2]
      input %i: int32[]
      %y: float32[] = tf.GatherV2(%x, %i, int32[] 0)
      return %y
    }
    """)
