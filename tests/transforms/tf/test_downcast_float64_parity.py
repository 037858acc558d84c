"""float64 on the way to float32."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.errors import UnsupportedError
from fuseconv.testing import check_refused, convert_function


def run(fn, array, **options):
    from ai_edge_litert.interpreter import Interpreter

    converted = convert_function(fn, tf.TensorSpec(array.shape, array.dtype), **options)
    runner = Interpreter(model_content=converted.data).get_signature_runner()
    feed = array.astype(np.float32) if array.dtype == np.float64 else array
    return runner(x0=feed)["y0"], converted


def test_a_model_of_float64():
    weights = tf.Variable(np.random.default_rng(0).standard_normal((4, 3)))

    def model(x):
        y = tf.nn.softmax(tf.cast(tf.cast(x, tf.float32), tf.float64) @ weights) + np.linspace(0, 1, 3)
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.zeros([], tf.float64) + y), [0, y])[1]

    x = np.random.default_rng(1).standard_normal((2, 4))
    y, converted = run(model, x, downcast_float64=True)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, model(x).numpy(), atol=1e-5)
    assert any("float64" in warning for warning in converted.report.warnings)


def test_constants_beyond_float32():
    _, converted = run(lambda x: tf.minimum(x, 1e300), np.ones(2), downcast_float64=True)
    assert any("infinite" in warning for warning in converted.report.warnings)


def test_models_without_it_are_left_alone():
    _, converted = run(lambda x: x + 1, np.ones(2, np.float32), downcast_float64=True)
    assert not converted.report.warnings


def test_bits_are_refused():
    with pytest.raises(UnsupportedError) as refused:
        run(lambda x: tf.bitcast(x, tf.int64), np.ones(2), downcast_float64=True)
    assert "bits" in refused.value.ops[0][2]


def test_without_the_option_float64_is_refused():
    check_refused(tf.exp, tf.TensorSpec([2], tf.float64), match="Exp.*float64.*--downcast-float64")
