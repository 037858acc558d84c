"""Ops that read one variable twice, which end the process where XNNPACK runs them."""

import pytest
import tensorflow as tf

from fuseconv.testing import check


@pytest.mark.parametrize(
    "op", [tf.add, tf.maximum, lambda a, b: tf.concat([a, b, a], 0), lambda a, b: tf.stack([a, b])]
)
def test_a_variable_may_be_two_operands(op) -> None:
    variable = tf.Variable(tf.zeros([4]))

    def f(x):
        variable.assign(x)
        return op(variable.read_value(), variable.read_value())

    check(f, tf.TensorSpec([4]))
