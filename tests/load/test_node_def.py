"""NodeDefs that are written are those that were read."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Op, Value
from fuseconv.load.node_def import node_def
from fuseconv.load.op_defs import OpDefs


def test_an_op_gets_back_what_the_ir_leaves_out():
    operands = [Value(types.FLOAT32, None), Value(types.FLOAT32, None)]
    op = Op("tf.Conv2D", operands, {"strides": [1, 2, 2, 1], "padding": "SAME"})
    op.add_result(types.FLOAT32, None)
    node = tf.compat.v1.NodeDef.FromString(node_def(op, OpDefs().attributes(op)))
    assert node.op == "Conv2D" and list(node.input) == ["", ""]
    assert node.attr["T"].type == 1 and node.attr["padding"].s == b"SAME"
    assert list(node.attr["strides"].list.i) == [1, 2, 2, 1]
    assert node.attr["use_cudnn_on_gpu"].b and not node.attr["explicit_paddings"].list.i


def test_numbers_and_types_of_lists():
    operands = [Value(types.INT32, ()), Value(types.INT32, ()), Value(types.FLOAT16, ()), Value(types.FLOAT16, ())]
    op = Op("tf.DynamicStitch", operands)
    op.add_result(types.FLOAT16, None)
    assert OpDefs().attributes(op) == {"N": 2, "T": types.FLOAT16}
    op = Op("tf.IdentityN", operands[1:3])
    op.add_result(types.INT32, None)
    op.add_result(types.FLOAT16, None)
    assert OpDefs().attributes(op) == {"T": [types.INT32, types.FLOAT16]}
    op = Op("tf.NobodyKnows", operands, {"a": 1, "_b": 2})
    assert OpDefs().attributes(op) == {"a": 1}


def test_every_kind_of_attribute():
    values = {
        "i": 3, "f": 0.5, "b": True, "s": b"\xff", "text": "a", "type": types.BOOL, "shape": (2, None), "unknown": None,
        "tensor": np.arange(6, dtype=np.int16).reshape(2, 3), "strings": np.array([b"x", b"y"], object),
        "ints": [1, 2], "floats": [0.5], "bools": [True, False], "texts": ["a", b"\xff"], "types": [types.INT8],
        "shapes": [(1,), None], "tensors": [np.float32(2) * np.ones(2, np.float32)], "nothing": [],
    }  # fmt: skip
    node = tf.compat.v1.NodeDef.FromString(node_def(Op("tf.Any", [], {}, "n"), values))
    assert node.name == "n"
    attr = node.attr
    assert (attr["i"].i, attr["f"].f, attr["b"].b, attr["s"].s, attr["text"].s) == (3, 0.5, True, b"\xff", b"a")
    assert attr["type"].type == types.BOOL.tf and attr["types"].list.type == [types.INT8.tf]
    assert [dim.size for dim in attr["shape"].shape.dim] == [2, -1] and attr["unknown"].shape.unknown_rank
    assert (tf.make_ndarray(attr["tensor"].tensor) == values["tensor"]).all()
    assert list(tf.make_ndarray(attr["strings"].tensor)) == [b"x", b"y"]
    assert list(attr["ints"].list.i) == [1, 2] and list(attr["floats"].list.f) == [0.5]
    assert list(attr["bools"].list.b) == [True, False] and list(attr["texts"].list.s) == [b"a", b"\xff"]
    assert [shape.unknown_rank for shape in attr["shapes"].list.shape] == [False, True]
    assert list(tf.make_ndarray(attr["tensors"].list.tensor[0])) == [2, 2]
    assert attr["nothing"].WhichOneof("value") == "list"
    for function in (FuncRef("f"), [FuncRef("f")]):
        with pytest.raises(ValueError, match="function f"):
            node_def(Op("tf.Any"), {"f": function})
