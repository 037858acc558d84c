"""The harness notices what is wrong."""

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from fuseconv import testing
from fuseconv.errors import UnsupportedError
from fuseconv.testing import assert_close, check, check_refused, convert_function, implements


def test_a_function_with_variables_and_many_results():
    class Layer(tf.Module):
        def __init__(self):
            self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

        def __call__(self, x):
            return {"y": tf.matmul(x, self.w), "z": [tf.nn.relu(x)]}

    converted = check(Layer(), tf.TensorSpec([None, 2]))
    assert sorted(converted.ops) == ["FULLY_CONNECTED", "RELU"]
    assert [result.shape for result in converted.function(tf.ones([3, 2]))] == [(3, 2), (3, 2)]


def test_wrong_numbers_are_noticed(monkeypatch):
    def invoke(interpreter, arrays, allocate):
        return [arrays[0] if allocate else arrays[0] + np.float32(1e-3)]

    monkeypatch.setattr(testing, "_invoke", invoke)
    with pytest.raises(AssertionError, match=r"result 0, batch 2, invoke 2, AUTO.*an error of 0\.001"):
        check(tf.identity, tf.TensorSpec([None, 2]))


def test_wrong_ops_are_noticed():
    with pytest.raises(AssertionError, match="the ops are"):
        check(tf.nn.relu, tf.TensorSpec([None, 2]), ops=["RELU6"])


def test_refusals_must_be_for_the_reason_given():
    spec = tf.TensorSpec([2, 3], tf.float64)
    error = check_refused(tf.nn.relu, spec, match="float64")
    assert isinstance(error, UnsupportedError)
    with pytest.raises(AssertionError, match="is not in"):
        check_refused(tf.nn.relu, spec, match="int4")
    with pytest.raises(AssertionError, match="was converted"):
        check_refused(tf.nn.relu, tf.TensorSpec([2, 3]))


def test_convert_function_takes_the_options_of_convert():
    converted = convert_function(tf.nn.relu, tf.TensorSpec([None, 3]), batch_size=4)
    assert converted.data[4:8] == b"TFL3"


def test_what_is_close():
    ones = np.ones((2, 3), np.float32)
    assert_close(ones + 1e-6, ones)
    assert_close(np.array([np.nan, np.inf, 1.0]), np.array([np.nan, np.inf, 1.0]))
    assert_close(np.zeros((0, 3)), np.zeros((0, 3)))
    assert_close(np.array([1.004], ml_dtypes.bfloat16), np.array([1.0], ml_dtypes.bfloat16))
    assert_close(np.array([b"a"], object), np.array([b"a"], object))


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (np.ones(2, np.float32), np.ones(2, np.float64)),
        (np.ones((2, 1), np.float32), np.ones(2, np.float32)),
        (np.array([1.0, 1.001]), np.array([1.0, 1.0])),
        (np.array([1.0, np.nan]), np.array([1.0, 1.0])),
        (np.array([1.0, 1.0]), np.array([1.0, np.inf])),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([b"a"], object), np.array([b"b"], object)),
        (np.zeros((0, 3)), np.zeros((0, 4))),
    ],
)
def test_what_is_not_close(actual, expected):
    with pytest.raises(AssertionError):
        assert_close(actual, expected)


@pytest.mark.parametrize("value", [np.float32(3), (1, 2), b"a", [[1]], None])
def test_what_can_be_no_attribute(value):
    with pytest.raises(TypeError, match="an attribute is a bool, int, float, str, or a list of one of these"):
        implements("acme.Op", width=value)
