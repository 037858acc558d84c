"""Functions of whole numbers that are rounded: tables of their steps."""

import math
import re

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv.testing import check, check_refused, convert_function

NUMBERS = tf.TensorSpec([None], tf.int32)
OPS = ["BUCKETIZE", "GATHER"]


def below(end):
    return lambda rng, shape, dtype: rng.integers(1, end, shape).astype(dtype)


def t5_bucket(n):
    # 15.9 and not 16: so TensorFlow computes the same whether it optimizes the graph or not.
    return 8 + tf.cast(tf.math.log(n / 8) / math.log(15.9) * 8, n.dtype)


def log_bucket(n):
    wide = tf.cast(tf.math.log(n / 4), tf.float32) / tf.math.log(512.5 / 4) * 3.0
    return tf.math.ceil(wide) + 4


LAYERS = {
    "bucket": t5_bucket,
    "ceiling of float32": log_bucket,
    "root": lambda n: tf.cast(tf.sqrt(tf.cast(n, tf.float64)) / 300, tf.int64),
    "of a sum": lambda n: tf.cast(tf.floor(tf.math.log(tf.cast(n, tf.float64) * 2 + 0.5) - 1), tf.float32),
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("end", [40, 1 << 24])
def test_rounded_functions(layer, end):
    made = check(LAYERS[layer], NUMBERS, inputs=below(end), batches=(50, 60))
    assert made.ops[:2] == OPS


def test_each_number_up_to_a_few_steps():
    n = np.arange(1, 5000, dtype=np.int32)
    check(lambda n: [layer(n) for layer in LAYERS.values()], tf.TensorSpec([len(n)], tf.int32), inputs=[n])


def test_what_has_no_logarithm():
    n = np.array([3, 0, -1, -(2**31)], np.int32)
    check(lambda n: tf.math.ceil(tf.cast(tf.math.log(n / 4), tf.float32)), tf.TensorSpec([4], tf.int32), inputs=[n])


def test_steps_that_a_rounding_error_decides_are_told():
    made = convert_function(lambda n: tf.cast(tf.math.log(n / 8) / math.log(16) * 8, n.dtype), NUMBERS)
    assert re.search("rounding errors decide what 1, ", " ".join(made.report.warnings))
    assert not any("rounding" in text for text in convert_function(t5_bucket, NUMBERS).report.warnings)


def test_numbers_beyond_the_table_fail():
    converted = convert_function(t5_bucket, NUMBERS)
    assert "16777216" in " ".join(converted.report.warnings)
    interpreter = Interpreter(model_content=converted.data)
    interpreter.allocate_tensors()
    for number, fails in ((2**24 - 1, False), (2**24, True)):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.array([number], np.int32))
        if fails:
            with pytest.raises(RuntimeError, match="out of bounds"):
                interpreter.invoke()
        else:
            interpreter.invoke()


def test_what_does_not_rise_in_a_few_steps_is_refused():
    refused = [
        lambda n: tf.cast(tf.math.log(n / -8), tf.int32),
        lambda n: tf.cast(tf.sin(tf.cast(n, tf.float64)), tf.int32),
        lambda n: tf.cast(tf.sqrt(tf.cast(n, tf.float64)), tf.int32),
        lambda n: tf.cast(tf.math.log(n / 8) + n / 3, tf.int32),
        lambda n: tf.cast(tf.math.log(n / 8) / [2.0, 3.0], tf.int32),
    ]
    for layer in refused:
        check_refused(layer, NUMBERS, match="float64")
