"""Slices that delegates take: those to the end of a dimension, and of one element for readers of any shape."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
ROWS = tf.TensorSpec([None, 5, 4])
W = RNG.standard_normal((4, 6)).astype(np.float32)


def left_out(data):
    """The ops that no delegate takes, those before whose results the graph's outputs are made."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=data)
    interpreter.allocate_tensors()
    ops = interpreter._get_ops_details()
    delegates = [op for op in ops if "DELEGATE" in op["op_name"].upper()]
    makers = {index: op for op in [*ops, *delegates] for index in op["outputs"]}
    pending = [detail["index"] for detail in interpreter.get_output_details()]
    seen = {}
    while pending:
        op = makers.get(pending.pop())
        if op is not None and op["index"] not in seen:
            seen[op["index"]] = op["op_name"]
            pending.extend(op["inputs"])
    return [name for name in seen.values() if "DELEGATE" not in name.upper()]


@pytest.mark.parametrize("row", [0, 3, -1])
@pytest.mark.parametrize("rows", [5, None])
def test_a_row_for_a_dense_layer(row, rows):
    x = tf.TensorSpec([None, rows, 4])
    converted = check(lambda x: tf.matmul(tf.sin(x)[:, row], W), x, ops=["STRIDED_SLICE", "SIN", "FULLY_CONNECTED"])
    assert left_out(converted.data) == []


def test_a_row_that_is_reshaped():
    converted = check(lambda x: tf.reshape(tf.nn.softmax(x, 1)[:, 2], [-1, 2, 2]), ROWS)
    assert "SQUEEZE" not in converted.ops and left_out(converted.data) == []


def test_a_row_for_others_loses_its_dimension():
    check(lambda x: tf.sin(tf.nn.softmax(x, 1)[:, -1]), ROWS)
    check(lambda x: (tf.nn.softmax(x, 1)[:, -1], tf.matmul(tf.nn.softmax(x, 1)[:, -1], W)), ROWS)


@pytest.mark.parametrize("begin", [[0, 0, 0], [0, 2, 1]])
def test_slices_to_the_end(begin):
    converted = check(lambda x: tf.slice(tf.sin(x), begin, [-1, 2, -1]), ROWS)
    assert "SLICE" not in converted.ops and left_out(converted.data) == []


def test_what_is_rolled():
    converted = check(lambda x: tf.roll(tf.sin(x), [2, -1], [1, 2]), ROWS)
    assert "SLICE" not in converted.ops and left_out(converted.data) == []
