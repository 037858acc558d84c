"""Parity of decoders of sequences."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

raw = tf.raw_ops
SCORES = tf.TensorSpec([None, None, 3])


def draw(rng, shape, dtype):
    """Scores of few classes, so that they repeat; lengths between none and all steps."""
    if dtype == np.int32:
        return rng.integers(0, 8, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("merge", [False, True])
def test_pieces(merge):
    def fn(x, lengths):
        return list(raw.CTCGreedyDecoder(inputs=x, sequence_length=lengths, merge_repeated=merge))

    check(fn, tf.TensorSpec([7, 4, 3]), tf.TensorSpec([4], tf.int32), inputs=draw)


@pytest.mark.parametrize("blank", [None, 0, -2])
def test_words_of_any_length(blank):
    def fn(x):
        lengths = tf.fill([tf.shape(x)[1]], tf.shape(x)[0])
        (decoded,), score = tf.nn.ctc_greedy_decoder(x, lengths, blank_index=blank)
        return [tf.sparse.to_dense(decoded, default_value=-1), score]

    check(fn, SCORES, inputs=draw)


def test_blanks_only():
    def fn(x):
        return list(raw.CTCGreedyDecoder(inputs=x, sequence_length=[4, 2]))

    check(fn, tf.TensorSpec([4, 2, 3]), inputs=[np.tile(np.array([0.0, 1.0, 2.0], np.float32), (4, 2, 1))])
