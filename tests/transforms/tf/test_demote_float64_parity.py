"""float64 between casts: what becomes of it, and that it computes the same."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

F64 = tf.float64


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def whole(x):
    return tf.cast(x, tf.int32)


DIVISORS = {"by a constant": lambda n, m: n / 4, "by another": lambda n, m: n / m, "of one": lambda n, m: 9 / m}
ENDS = {
    "cut off": whole,
    "ceiling": lambda x: whole(tf.math.ceil(x)),
    "floor": lambda x: whole(tf.floor(x)),
    "padded": lambda x: whole(tf.math.ceil(x) * 4 - 2),
    "of a ceiling": lambda x: whole(tf.math.ceil(tf.math.ceil(x) / 2)),
    "at least": lambda x: whole(tf.maximum(tf.math.ceil(x), 1)),
    "in a list": lambda x: whole(tf.stack([x, x])),
    "of 64 bits": lambda x: tf.cast(tf.floor(x), tf.int64),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("divided", DIVISORS)
def test_quotients_of_whole_numbers(divided, end):
    n = np.array([0, 1, 3, 4, 5, -1, -4, -7, 2**31 - 1, 2**31 - 2, -(2**31) + 1, 12], np.int32)
    if end == "padded":
        n = n[np.abs(n) < 100]
    m = np.resize(np.array([3, -2, 7, 2**31 - 1, 1], np.int32), len(n))
    numbers = spec(len(n), dtype=tf.int32)
    check(lambda n, m: ENDS[end](DIVISORS[divided](n, m)), numbers, numbers, inputs=[n, m])


@pytest.mark.parametrize("divisor", [2, 3, 4, 7, 10, 2**30 - 1])
def test_quotients_rounded_to_the_nearest(divisor):
    n = np.array([*range(-25, 26), 2**31 - 1, 2**31 - 2, -(2**31) + 1, 2**30, 2**29, 3 * 2**29], np.int32)
    check(lambda n: whole(tf.round(n / divisor)) + 1, spec(len(n), dtype=tf.int32), inputs=[n])


def test_quotients_of_places():
    check(lambda x: whole(tf.argmax(x, 1) / 4) + tf.shape(x)[0], spec(None, 31))
    check_refused(lambda n: tf.cast(n / 3, tf.int64), spec(9, dtype=tf.int64), match="RealDiv")


def test_a_length_in_steps():
    def layer(x):
        steps = whole(tf.math.ceil(tf.shape(x)[1] / 4))
        padded = tf.pad(x, [[0, 0], [0, steps * 4 - tf.shape(x)[1]]])
        return tf.reshape(padded, [tf.shape(x)[0], steps, 4])

    check(layer, spec(None, None))


def test_tables_of_numpy():
    table = np.sin(np.arange(60).reshape(10, 6))
    below = lambda rng, shape, dtype: rng.integers(0, 10, shape).astype(dtype)  # noqa: E731
    layers = [
        lambda i: tf.cast(tf.gather(table, i), tf.float32),
        lambda i: tf.cast(tf.constant(table)[: tf.shape(i)[0], tf.newaxis], tf.float32),
        lambda i: tf.cast(-tf.transpose(tf.concat([tf.gather(table, i), table], 0)), tf.float16),
        lambda i: tf.cast(tf.maximum(tf.gather(table, i), 0.1), tf.float32),
    ]
    for layer in layers:
        check(layer, spec(None, dtype=tf.int32), inputs=below)


def test_what_was_of_fewer_bits():
    check(lambda x: tf.cast(tf.reshape(tf.cast(x, F64), [-1]), tf.float32), spec(None, 3), ops=["RESHAPE"])
    check(lambda x: tf.cast(tf.cast(x, F64), tf.float16), spec(None, 3), ops=["CAST"])
    check(lambda x: tf.cast(tf.cast(x, F64), tf.float32) + 1, spec(None, 3), ops=["ADD"])


@pytest.mark.parametrize("op", [tf.add, tf.multiply, tf.subtract, tf.divide], ids=lambda op: op.__name__)
def test_one_rounding(op):
    made = check(lambda x, y: tf.cast(op(tf.cast(x, F64), tf.cast(y, F64)), tf.float32), spec(9), spec(9), atol=0)
    assert len(made.ops) == 1
    check(lambda n: tf.cast(op(tf.cast(n, F64), 3.0), tf.float32), spec(9, dtype=tf.int32))


def test_one_root():
    n = np.arange(9, dtype=np.int16)
    check(lambda n: tf.cast(tf.sqrt(tf.cast(n, F64)), tf.float32), spec(9, dtype=tf.int16), inputs=[n])


def test_what_needs_more_bits_is_refused():
    number = spec(None, dtype=tf.int32)
    refused = [
        lambda n: whole(tf.sin(tf.cast(n, F64)) * 3),
        lambda n: whole(n / 4 + 0.5),
        lambda n: whole(tf.cast(n, F64) * tf.cast(n, F64) / 7),
        lambda n: tf.cast(n / 3 * 5, tf.float32),
        lambda n: tf.cast(tf.cast(n, F64) + 0.1, tf.float32),
    ]
    for layer in refused:
        check_refused(layer, number, match="float64")


SHARES = {
    "of": lambda n, f: n * f,
    "the rest": lambda n, f: n - n * f,
    "half of the rest": lambda n, f: (n - f * n) / 2,
}


@pytest.mark.parametrize("share", SHARES)
def test_shares_of_whole_numbers(share):
    fractions = [0.875, 0.5, 0.8, 0.33, 1 / 3, 0.0625, 0.07 if share == "of" else 0.29]
    n = np.concatenate([np.arange(-300, 3000), np.arange(2**27 - 900, 2**27 - 1)]).astype(np.int32)

    def layer(n):
        wide = tf.cast(n, F64)
        return [whole(SHARES[share](wide, f)) for f in (*fractions, *map(float, np.float32(fractions)))]

    check(layer, spec(len(n), dtype=tf.int32), inputs=[n])


@pytest.mark.parametrize("f", [0.29, 0.57])
def test_shares_that_float64_rounds_the_wrong_way_are_refused(f):
    check_refused(lambda n: whole(tf.cast(n, F64) * f), spec(None, dtype=tf.int32), match="float64")


@pytest.mark.parametrize("share", [0.875, 0.33, 0.9])
@pytest.mark.parametrize("rank", [3, 4])
def test_central_crop_of_unknown_sizes(share, rank):
    converted = check(lambda x: tf.image.central_crop(x, share), spec(*[None] * (rank - 1), 3), batches=(5, 12))
    assert len(converted.ops) < 45
