"""Element types, and a function that says what it implements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from testdata.museum.case import case, randomized, spec, weights

WORDS = np.array([b"yes", b"no", b"yes and no", b""], object)


@case("tensorflow#46380 tensorflow#40930", "refused: products of half precision", spec(None, 5))
def dense_of_mixed_precision() -> Callable[..., Any]:
    return randomized(keras.layers.Dense(3, dtype="mixed_float16"), None, 5)


@case("tensorflow#38662", "refused: convolutions of half precision", spec(None, 6, 6, 2))
def conv_of_mixed_precision() -> Callable[..., Any]:
    return randomized(keras.layers.Conv2D(3, 3, dtype="mixed_float16"), None, 6, 6, 2)


@case("here", "an index of 64 bits", spec(None, 7))
def argmax_of_64_bits() -> Callable[..., Any]:
    return lambda x: tf.argmax(x, -1)


@case("here", "double precision in the middle", spec(None, 4), refused="float64")
def sum_in_double_precision() -> Callable[..., Any]:
    return lambda x: tf.cast(tf.linalg.matvec(tf.cast(x, tf.float64)[:, None], tf.cast(x, tf.float64)), tf.float32)


@case("here", "the name that the guide of fusion shows is not known", spec(None, 4, dtype=tf.int32))
def embedding_lookup_as_the_guide_shows() -> Callable[..., Any]:
    table = weights(10, 3)
    lookup = tf.function(lambda n, t: tf.gather(t, n), experimental_implements="embedding_lookup")
    return lambda n: lookup(n, table)


@case("here", "whole numbers of 8 bits that overflow", spec(None, 4, dtype=tf.int8))
def bytes_that_overflow() -> Callable[..., Any]:
    return lambda n: [n * tf.constant(50, tf.int8), n + tf.constant(120, tf.int8)]


@case("here", "words", spec(None, dtype=tf.string), inputs=[WORDS])
def words_that_are_compared() -> Callable[..., Any]:
    return lambda words: tf.cast(tf.equal(words, "yes"), tf.float32)


@case("here", "examples of a file are taken apart by Flex", spec(None, dtype=tf.string), refused="ParseExample")
def parsed_examples() -> Callable[..., Any]:
    return lambda words: tf.io.parse_example(words, {"x": tf.io.FixedLenFeature([4], tf.float32)})["x"]
