"""Where composites stand in a model, and what becomes of those that are not fused."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.errors import InputError
from fuseconv.testing import check, convert_function, implements
from tests.annotated import annotated

X = tf.TensorSpec([None, 4])
TABLE = np.random.default_rng(0).standard_normal((11, 4)).astype(np.float32)
IDS = tf.TensorSpec([None], tf.int32)


def ids(rng, shape, dtype):
    return rng.integers(0, 11, shape).astype(dtype)


def lookup(table=TABLE):
    fn = annotated(lambda table, ids: tf.gather(table, ids), "embedding_lookup")
    return lambda x: fn(table, x)


def fusable(body, name, **attrs):
    return annotated(body, implements(name, tfl_fusable_op=True, **attrs))


def test_a_composite_within_one_that_is_fused_goes_with_it():
    inner = fusable(lambda x: x + 1.0, "inner")
    outer = fusable(lambda x: inner(x) * 2.0, "outer")
    assert convert_function(outer, X).ops == ["outer"]


def test_a_composite_within_one_that_is_refused_is_fused():
    fn = lookup()
    outer = annotated(lambda x: fn(x) * 2.0, "no_module_knows_this")
    converted = check(outer, IDS, inputs=ids)
    assert "EMBEDDING_LOOKUP" in converted.ops
    assert "none of the fusions" in converted.refused["no_module_knows_this"]


def test_in_a_loop_and_in_a_branch():
    fn = lookup()

    def model(x):
        total = tf.zeros([tf.shape(x)[0], 4])
        _, total = tf.while_loop(
            lambda i, t: i < 3, lambda i, t: (i + 1, t + fn(x)), (0, total),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 4])),
        )  # fmt: skip
        return tf.cond(x[0] > 4, lambda: fn(x) + total, lambda: total)

    converted = check(model, IDS, inputs=ids)
    assert converted.ops.count("EMBEDDING_LOOKUP") == 2 and {"WHILE", "IF"} <= set(converted.ops)


def test_several_times_with_different_shapes_and_results_that_nobody_reads():
    fn = fusable(lambda x: (x * 2.0, tf.reduce_sum(x)), "my_op")

    def model(x, y):
        fn(y)
        return fn(x)[0], fn(y)[0]

    converted = convert_function(model, X, tf.TensorSpec([None, 3, 2]))
    assert converted.ops == ["my_op", "my_op"]


def test_a_function_that_reads_or_writes_variables_stays():
    class Layer(tf.Module):
        def __init__(self):
            self.table = tf.Variable(TABLE)
            # Only this form of an annotation lets TensorFlow trace a variable within.
            self.reads = annotated(
                lambda ids: tf.gather(self.table, ids), implements("my_op", tfl_fusable_op=True), "api"
            )
            self.writes = annotated(self.count, implements("count", tfl_fusable_op=True), "api")
            self.calls = tf.Variable(0)
            self.given = annotated(lambda table, ids: tf.gather(table, ids), "embedding_lookup")

        def __call__(self, ids):
            return self.reads(ids) + self.given(tf.convert_to_tensor(self.table), ids)

        def count(self, ids):
            self.calls.assign_add(1)
            return ids + self.calls

    layer = Layer()
    converted = check(layer, IDS, inputs=ids)
    assert "EMBEDDING_LOOKUP" in converted.ops and "my_op" not in converted.ops
    assert "hand its value in" in converted.refused["tfl_fusable_op"]
    refused = convert_function(layer.writes, IDS).refused
    assert "writes to a variable" in refused["tfl_fusable_op"]


def test_the_most_exact_name_goes_first():
    """A table lookup that also says that it may be a custom op is a lookup."""
    fn = annotated(lambda t, i: tf.gather(t, i), implements("embedding_lookup", tfl_fusable_op=True))
    assert check(lambda x: fn(TABLE, x), IDS, inputs=ids).ops == ["EMBEDDING_LOOKUP"]


def test_switched_off():
    converted = check(lookup(), IDS, inputs=ids, no_fuse=["embedding_*"], static=False)
    assert "EMBEDDING_LOOKUP" not in converted.ops and converted.refused["embedding_lookup"]
    assert check(lookup(), IDS, inputs=ids, fuse=["embedding_*"]).ops == ["EMBEDDING_LOOKUP"]
    with pytest.raises(InputError, match=r"no fusion is called nothing_\*"):
        convert_function(lookup(), IDS, fuse=["nothing_*"])


@pytest.mark.parametrize("operands", [1, 3])
def test_a_wrong_arity(operands):
    fn = annotated(lambda *given: tf.gather(given[0], given[-1]), "embedding_lookup")
    table = [tf.constant(TABLE[:, 0])] * (operands - 1)
    converted = check(lambda x: fn(*table, x), IDS, inputs=lambda rng, *of: np.zeros(*of), static=False)
    assert f"takes {operands} operands" in converted.refused["embedding_lookup"]


def test_an_operand_of_unknown_rank():
    fn = annotated(lambda t, i: tf.gather(t, i), "embedding_lookup")
    converted = convert_function(lambda x: fn(TABLE, tf.reshape(x, x)), IDS, allow_custom_ops=True)
    assert "rank" in converted.refused["embedding_lookup"]
