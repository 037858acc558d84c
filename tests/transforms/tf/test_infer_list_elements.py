"""Lists that are made without the shape of their elements take it from what is written."""

from __future__ import annotations

from fuseconv.transforms.tf.infer_list_elements import infer_list_elements
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of

MAIN = """main {
    input %0 "x": float32[x.0,8]
    const %1 "unknown": int32[] = -1
    const %2 "n": int32[] = 3
    const %3 "i": int32[] = 0
    %4 "list": variant[] = tf.TensorListReserve(%1, %2) {'element_dtype': {'dtype': 'float32'}}
    %5 "set": variant[] = tf.TensorListSetItem(%4, %3, %0) {}
    return %5
}"""


def test_the_known_sizes_of_what_is_written_are_stated() -> None:
    module, _ = module_of(MAIN)
    assert infer_list_elements(module)
    stated = module.signatures[0].graph.ops[0].operands[0]
    assert stated is not None and stated.data is not None and stated.data.tolist() == [-1, 8]
    assert not infer_list_elements(module)


def test_ranks_that_differ_state_nothing() -> None:
    other = '    input %9 "y": float32[8]\n    %8 "again": variant[] = tf.TensorListSetItem(%5, %3, %9) {}\n'
    module, _ = module_of(MAIN.replace("    return %5", f"{other}    return %8"))
    assert not infer_list_elements(module)


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


def test_an_element_shape_is_what_the_list_was_made_with() -> None:
    check_pass("infer-list-elements", """
    main {
      input %x: float32[2,8]
      %list: variant[*] = tf.TensorListReserve(int32[] -1, int32[] 3) {'element_dtype': float32}
      %set: variant[*] = tf.TensorListSetItem(%list, int32[] 0, %x)
      %shape: int32[*] = tf.TensorListElementShape(%set)
      return %set, %shape
    }
    """, """
    main {
      input %x: float32[2,8]
      %list: variant[*] = tf.TensorListReserve(int32[2] [2, 8], int32[] 3) {'element_dtype': float32}
      %set: variant[*] = tf.TensorListSetItem(%list, int32[] 0, %x)
      return %set, int32[] -1
    }
    """)
