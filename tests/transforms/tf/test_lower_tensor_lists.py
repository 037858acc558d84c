"""Lists become tensors."""

from __future__ import annotations

from fuseconv.transforms.tf.lower_tensor_lists import UNSURE
from fuseconv.transforms.tf.tensor_list_info import MIXED
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


def test_a_row_of_unknown_size_takes_the_shape_of_the_others_where_they_are_stacked() -> None:
    before = """
    main {
      input %x: float32[3,n,2]
      input %i: int32[]
      input %row: float32[1,n,?]
      %y: float32[3,n,2] = tf.XlaDynamicUpdateSlice(%x, %row, %i) {} "set" from ["set"] rejected "REASON"
      return %y
    }
    """
    mixed = before.replace("REASON", MIXED)
    check_pass("lower-tensor-lists", mixed, mixed)
    check_pass("lower-tensor-lists", before.replace("REASON", UNSURE.why), """
    main {
      input %x: float32[3,n,2]
      input %i: int32[]
      input %row: float32[1,n,?]
      %s: int32[*] = tf.Shape(%x)
      %t: int32[*] = tf.StridedSlice(%s, int32[1] [1], int32[1] [0], int32[1] [1]) {'end_mask': 1}
      %u: int32[*] = tf.ConcatV2(int32[1] [1], %t, int32[] 0)
      %v: float32[*] = tf.Reshape(%row, %u)
      %y: float32[3,n,2] = tf.XlaDynamicUpdateSlice(%x, %v, %i)
      return %y
    }
    """)


def test_a_row_that_has_two_unknown_sizes_or_another_size_stays_rejected() -> None:
    for row in ("1,m,?", "1,n,3", "1,n"):
        check_pass("lower-tensor-lists", f"""
        main {{
          input %x: float32[3,n,2]
          input %i: int32[]
          input %row: float32[{row}]
          %y: float32[3,n,2] = tf.XlaDynamicUpdateSlice(%x, %row, %i) {{}} "set" from ["set"] rejected "{UNSURE.why}"
          return %y
        }}
        """)
