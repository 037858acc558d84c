"""One op of a file in a file of its own computes what it does in the whole."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Signature, Value, constant
from fuseconv.single_ops import NotAlone, single_op


def a_module() -> tuple[Module, dict[Value, np.ndarray]]:
    """Return y = (x @ w) + (x @ w), with a dynamic batch, and what a run with two rows makes."""
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (2, 3), "x")
    weights = constant(np.arange(12, dtype=np.float32).reshape(4, 3))
    product = Op("tfl.FULLY_CONNECTED", [x, weights, None], name="dense")
    dense = product.add_result(types.FLOAT32, (2, 4))
    total = Op("tfl.ADD", [dense, dense], name="sum")
    graph.ops, graph.outputs = [product, total], [total.add_result(types.FLOAT32, (2, 4))]
    given = np.float32([[1, 2, 3], [4, 5, 6]])  # type: ignore[arg-type]
    made = given @ weights.data.T  # type: ignore[union-attr]
    return Module([Signature(["serve"], graph, ["x"], ["y"])]), {x: given, dense: made, total.result: 2 * made}


@pytest.mark.parametrize("place", [0, 1])
def test_an_op_alone_computes_what_it_does_in_the_whole(place: int) -> None:
    module, arrays = a_module()
    op = module.signatures[0].graph.ops[place]
    alone = single_op(op, module, arrays)
    interpreter = Interpreter(model_content=alone.data)
    interpreter.allocate_tensors()
    (given,) = interpreter.get_input_details()
    interpreter.set_tensor(given["index"], alone.feed[0])
    interpreter.invoke()
    np.testing.assert_allclose(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), arrays[op.result])
    assert interpreter._get_ops_details()[0]["op_name"] == op.type


def test_ops_with_other_shapes_or_options_take_another_time() -> None:
    module, arrays = a_module()
    total = module.signatures[0].graph.ops[1]
    keys = [single_op(total, module, arrays).key]
    total.attrs = {"fused_activation_function": "RELU"}
    keys.append(single_op(total, module, arrays).key)
    arrays = {value: array[:1] for value, array in arrays.items()}
    keys += [single_op(total, module, arrays).key, single_op(total, module, arrays).key]
    assert len(set(keys)) == 3 and keys[2] == keys[3]


def test_what_depends_on_more_than_its_operands_cannot_be_alone() -> None:
    module, arrays = a_module()
    op = Op("tfl.READ_VARIABLE", [Value(types.RESOURCE, (), "handle")])
    op.add_result(types.FLOAT32, (1,))
    with pytest.raises(NotAlone, match="variable or a table"):
        single_op(op, module, arrays)
    with pytest.raises(NotAlone, match="no result"):
        single_op(Op("tfl.CALL_ONCE"), module, arrays)
    graph = module.signatures[0].graph
    alone = single_op(graph.ops[0], module, {graph.inputs[0]: np.zeros((2, 3))})
    assert alone.key[-1] == "[(2, 4)]"  # as it is declared
    with pytest.raises(NotAlone, match="nothing for one of its tensors"):
        single_op(module.signatures[0].graph.ops[0], module, {})
