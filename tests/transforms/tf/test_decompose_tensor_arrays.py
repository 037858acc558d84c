"""TF1's arrays become lists; that loops of them compute the same is told in test_functionalize_control_flow.py."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.transforms.tf.decompose_tensor_arrays import decompose_tensor_arrays
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of

ARRAY = """main {
    input %0 "x": float32[2]
    const %1 "count": int32[] = 3
    const %2 "i": int32[] = 1
    %3 "array": resource[]; %4 "array:1": float32[] = tf.TensorArrayV3(%1) {'dtype': {'dtype': 'float32'}}
    %5 "write": float32[] = tf.TensorArrayWriteV3(%3, %2, %0, %4) {}
    %6 "read": float32[2] = tf.TensorArrayReadV3(%3, %2, %5) {'dtype': {'dtype': 'float32'}}
    %7 "size": int32[] = tf.TensorArraySizeV3(%3, %5) {}
    %8 "close": float32[] = tf.TensorArrayCloseV3(%3) {}
    return %6, %7
}"""


def test_each_op_becomes_one_on_a_list_and_the_flow_is_the_list() -> None:
    module, report = module_of(ARRAY, outputs=2)
    decompose_tensor_arrays(module, report)
    ops = {op.type: op for op in module.signatures[0].graph.ops}
    assert [kind for kind in kinds(module) if kind.startswith("TensorArray")] == ["TensorArrayV3"]
    made = ops["TensorListReserve"].result
    assert made.dtype is types.VARIANT and not ops["TensorArrayV3"].results[0].uses
    written = ops["TensorListSetItem"]
    assert written.operands[0] is made
    assert ops["TensorListGetItem"].operands[0] is ops["TensorListLength"].operands[0] is written.result
    assert [record.why for record in report.records if record.kind == "removed"] == ["a list needs no closing"]


def test_an_element_written_and_read() -> None:
    check_pass("decompose-tensor-arrays", """
    main {
      input %x: float32[2]
      %array: resource[]; %flow: float32[] = tf.TensorArrayV3(int32[] 3) {'dtype': float32}
      %written: float32[] = tf.TensorArrayWriteV3(%array, int32[] 1, %x, %flow)
      %read: float32[2] = tf.TensorArrayReadV3(%array, int32[] 1, %written) {'dtype': float32}
      return %read
    }
    """, """
    main {
      input %x: float32[2]
      %array2: variant[*] = tf.TensorListReserve(int32[] -1, int32[] 3) {'element_dtype': float32}
      %array: resource[]; %flow: variant[*] = tf.TensorArrayV3(int32[] 3) {'dtype': float32}
      %written: variant[*] = tf.TensorListSetItem(%array2, int32[] 1, %x)
      %read: float32[*] = tf.TensorListGetItem(%written, int32[] 1, int32[] -1)
      return %read
    }
    """)
