"""Embedding lookups, under both names."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.annotated import FORMS, annotated
from tests.pairwise import pairwise

TABLE = np.random.default_rng(0).standard_normal((11, 4)).astype(np.float32)


def ids(rng, shape, dtype):
    return rng.integers(0, 11, shape).astype(dtype)


def by_gather(table, ids):
    return tf.gather(table, ids)


def by_matmul(table, ids):
    return tf.tensordot(tf.one_hot(ids, table.shape[0]), table, 1)


@pytest.mark.parametrize("form", FORMS)
def test_the_forms_of_an_annotation(form):
    fn = annotated(by_gather, "embedding_lookup", form)
    converted = check(lambda x: fn(TABLE, x), tf.TensorSpec([None], tf.int32), ops=["EMBEDDING_LOOKUP"], inputs=ids)
    (record,) = [r for r in converted.report.records if r.kind == "fused"]
    assert record.rule == "embedding_lookup" and "agrees" in record.why


@pairwise(
    name=["embedding_lookup", "embedding_matmul"],
    shape=[[], [None], [None, 3], [None, None, 2]],
    dtype={"int32": tf.int32, "int64": tf.int64},
)
def test_ids_of_any_rank_and_type(name, shape, dtype):
    fn = annotated(by_matmul if name == "embedding_matmul" else by_gather, name)
    converted = check(lambda x: fn(TABLE, x), tf.TensorSpec(shape, dtype), inputs=ids)
    assert converted.fused[:1] == ["embedding_lookup"]
    assert "EMBEDDING_LOOKUP" in converted.ops


def test_a_table_that_is_an_input():
    fn = annotated(by_gather, "embedding_lookup")
    specs = tf.TensorSpec([11, 4, 2]), tf.TensorSpec([None, 3], tf.int32)

    def draw(rng, shape, dtype):
        return ids(rng, shape, dtype) if dtype == np.int32 else rng.standard_normal(shape).astype(dtype)

    assert "EMBEDDING_LOOKUP" in check(fn, *specs, inputs=draw).ops


@pytest.mark.parametrize(
    ("table", "spec", "why"),
    [
        (TABLE.astype(np.float16), tf.TensorSpec([None], tf.int32), "float32"),
        (TABLE[:, 0], tf.TensorSpec([None], tf.int32), "rank 2"),
    ],
)
def test_refusals(table, spec, why):
    fn = annotated(by_gather, "embedding_lookup")
    assert why in check(lambda x: fn(table, x), spec, inputs=ids, static=False).refused["embedding_lookup"]
