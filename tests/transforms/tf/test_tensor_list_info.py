"""The lists of a module, and what is known of their elements."""

from __future__ import annotations

from fuseconv.transforms.tf.appended_lists import Appends
from fuseconv.transforms.tf.tensor_list_info import tensor_lists
from tests.tf.text_cases import module_of

LIST = """main {
    input %0 "x": float32[2,8]
    const %1 "any": int32[] = -1
    const %2 "three": int32[] = 3
    const %3 "zero": int32[] = 0
    %4 "l": variant[*] = tf.TensorListReserve(%1, %2) {'element_dtype': float32}
    %5 "s": variant[*] = tf.TensorListSetItem(%4, %3, %0) {}
    return %5
}"""


def test_a_list_and_its_copy_are_one_whose_elements_are_what_is_written() -> None:
    module, _ = module_of(LIST)
    (found,) = tensor_lists(module)
    assert [op.type for op, _, _ in found.ops] == ["TensorListReserve", "TensorListSetItem"]
    assert found.settle(Appends(module)) and found.element == (2, 8) and found.form == "stacked"
    assert found.dtype is not None and found.dtype.name == "float32"
