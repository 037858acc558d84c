"""Ops on tensors without elements, on which kernels fail or end the process."""

import pytest
import tensorflow as tf

from fuseconv.testing import check


@pytest.mark.parametrize(
    "f",
    [lambda x: tf.reverse(x, [0]), tf.nn.softmax, lambda x: tf.roll(x, 1, 0),
     lambda x: tf.strings.length(tf.strings.as_string(x)) + 1, lambda x: (*tf.unstack(x[:, None], axis=1), x > 0),
     lambda x: tf.broadcast_to(x, tf.concat([[2], tf.shape(x)], 0)),
     lambda x: tf.reduce_sum(tf.reverse(x, [1]), 1) + 1.0],
)  # fmt: skip
def test_no_kernel_sees_what_has_no_elements(f) -> None:
    check(f, tf.TensorSpec([None, 0]))
