"""Constants stay out of weights that others read without them, or the file would have them twice."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.fusions.shared_weights import READ_ELSEWHERE
from fuseconv.testing import check, convert_function
from tests.check_pass import check_pass

RNG = np.random.default_rng(0)
WORDS, DEPTH = 127, 12
IDS = tf.TensorSpec([None, 5], tf.int32)
ROWS = tf.TensorSpec([None, 16])
_ARRAY = np.round(RNG.normal(size=(20, 16)), 2).astype(np.float32)
_OTHER = np.round(RNG.normal(size=(20, 16)), 2).astype(np.float32)
_FACTOR = np.round(RNG.normal(size=16) + 3, 2).astype(np.float32)


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


TABLE = tf.Variable(draw(WORDS, DEPTH))


def shared(*shape):
    return tf.Variable(draw(*shape))


def nbytes(w):
    return w.numpy().nbytes


GAMMA, BETA = draw(DEPTH) + 3, draw(DEPTH)


def ids(rng, shape, dtype):
    return rng.integers(0, WORDS, shape).astype(dtype)


def norm(x):
    return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-3)


HEADS = {
    "gamma": lambda x: tf.matmul(norm(x) * GAMMA, TABLE, transpose_b=True),
    "gamma and beta": lambda x: tf.matmul(norm(x) * GAMMA + BETA, TABLE, transpose_b=True),
    "a number": lambda x: tf.matmul(x * DEPTH**-0.5, TABLE, transpose_b=True),
    "a transposed table": lambda x: tf.matmul(norm(x) * GAMMA, tf.transpose(TABLE)),
    "an einsum": lambda x: tf.einsum("bsd,vd->bsv", norm(x) * GAMMA, TABLE),
    "a number behind": lambda x: tf.matmul(x, TABLE, transpose_b=True) / 0.7,
    "a negated head": lambda x: 1.0 - tf.matmul(x, TABLE, transpose_b=True),
    "a gate": lambda x: tf.matmul(x * (tf.sigmoid(x) * GAMMA), TABLE, transpose_b=True),
}


@pytest.mark.parametrize("head", HEADS)
def test_tied_embeddings_are_stored_once(head):
    made = check(lambda i: HEADS[head](tf.gather(TABLE, i)), IDS, inputs=ids, atol=1e-4)
    assert len(made.data) < 2 * WORDS * DEPTH * 4
    assert READ_ELSEWHERE in made.refused.values()


def test_an_output_reads_the_table_too():
    w = tf.Variable(draw(40, 16))
    made = check(lambda x: (tf.matmul(x * 3.0, w, transpose_b=True), tf.identity(w)), ROWS)
    assert "MUL" in made.ops and len(made.data) < 2 * 40 * 16 * 4


def test_shared_layers_that_agree_take_the_constants():
    w, a, b = shared(3, 3, 16, 16), draw(16), draw(16)
    image = tf.TensorSpec([None, 3, 4, 16])
    conv = lambda x: tf.nn.conv2d(x, w, 1, "SAME")  # noqa: E731
    both = check(lambda x, y: (tf.nn.relu((conv(x) + b) * a), tf.nn.relu((conv(y) + b) * a)), image, image)
    assert both.ops == ["CONV_2D"] * 2 and len(both.data) < 2 * nbytes(w)
    before = check(lambda x, y: (conv(norm(x) * a), conv(norm(y) * a)), image, image)
    assert before.ops.count("MUL") == 4 and len(before.data) < 2 * nbytes(w)


def test_shared_layers_that_differ_keep_one_weight():
    w, a, b = shared(3, 3, 16, 16), draw(16), draw(16)
    image = tf.TensorSpec([None, 3, 4, 16])
    conv = lambda x: tf.nn.conv2d(x, w, 1, "SAME")  # noqa: E731
    assert len(check(lambda x, y: (conv(x) * a, conv(y) * b), image, image).data) < 2 * nbytes(w)
    assert len(check(lambda x, y: (conv(x * a), conv(y * b)), image, image).data) < 2 * nbytes(w)
    assert len(check(lambda x, y: (conv(x) * a, conv(y)), image, image).data) < 2 * nbytes(w)


def test_weights_that_are_smaller_than_the_tensor_saved_are_written_again():
    w, a, b = shared(1, 1, 17, 16), draw(16), draw(16)
    image = tf.TensorSpec([None, 9, 7, 17])
    conv = lambda x: tf.nn.conv2d(x, w, 1, "SAME")  # noqa: E731
    check(lambda x, y: (conv(x) * a, conv(y) * b), image, image, ops=["CONV_2D"] * 2)


def test_signatures_that_share_layers(tmp_path):
    from fuseconv import convert

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w, self.b, self.a = (tf.Variable(draw(*shape)) for shape in ([16, 40], [40], [40]))

        @tf.function(input_signature=[ROWS])
        def scores(self, x):
            return {"y": (tf.matmul(x, self.w) + self.b) * self.a}

        @tf.function(input_signature=[ROWS])
        def best(self, x):
            return {"y": tf.argmax((tf.matmul(x, self.w) + self.b) * self.a, -1)}

    model = Model()
    tf.saved_model.save(model, str(tmp_path / "m"), signatures={"scores": model.scores, "best": model.best})
    conversion = convert(tmp_path / "m")
    assert sorted(op.type for op in conversion.report.emitted) == ["ARG_MAX", "FULLY_CONNECTED", "FULLY_CONNECTED"]
    assert len(conversion.data) < 2 * 16 * 40 * 4 + 1500


def test_groups_of_one_kernel():
    w = shared(3, 3, 4, 8)
    image = tf.TensorSpec([None, 2, 2, 16])
    made = check(lambda x: tf.concat([tf.nn.conv2d(part, w, 1, "SAME") for part in tf.split(x, 4, 3)], 3), image)
    assert made.ops.count("CONV_2D") == 4 and len(made.data) < 2 * nbytes(w) + 2000


def _text(array):
    return f"float32[{','.join(map(str, array.shape))}] {array.tolist()}"


HEAD = f"""
    main {{
      input %i: int32[n]
      const %table: {_text(_ARRAY)[:14]} = {_ARRAY.tolist()}
      %x: float32[n,16] = tfl.GATHER(%table, %i)
      %a: float32[n,16] = tfl.MUL(%x, {_text(_FACTOR)})
      %y: float32[n,20] = tfl.FULLY_CONNECTED(%a, %table, _)
      return %y
    }}
    """


def test_a_table_stays_as_it_is():
    check_pass("fuse-tfl-patterns", HEAD)


def test_another_table_takes_the_factor():
    before = HEAD.replace("%a, %table", f"%a, {_text(_OTHER)}")
    check_pass("fuse-tfl-patterns", before, f"""
    main {{
      input %i: int32[n]
      %x: float32[n,16] = tfl.GATHER({_text(_ARRAY)}, %i)
      %y: float32[n,20] = tfl.FULLY_CONNECTED(%x, {_text(_OTHER * _FACTOR)})
      return %y
    }}
    """)  # fmt: skip


def test_what_is_refused_says_so():
    made = convert_function(lambda i: HEADS["gamma"](tf.gather(TABLE, i)), IDS)
    assert made.refused["constants_into_next_weights"] == READ_ELSEWHERE
