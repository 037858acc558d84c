"""Attention as the composite that XNNPACK and NPUs know: by its forms, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.fusions.test_odml_norms import composites

ROWS, HEADS, DEPTH = 5, 2, 3
SPEC = tf.TensorSpec([None, ROWS, HEADS * DEPTH])
WEIGHTS = np.random.default_rng(3).standard_normal((3, HEADS * DEPTH, HEADS * DEPTH)).astype(np.float32)
CAUSAL = np.tril(np.ones((ROWS, ROWS), bool))
NAME = "odml.scaled_dot_product_attention"


def heads(x: Any, number: int, count: int = HEADS) -> Any:
    rows = tf.reshape(x @ WEIGHTS[number], [-1, ROWS, count, HEADS * DEPTH // count])
    return tf.transpose(rows, [0, 2, 1, 3])


def attention(x: Any, mask: Any = lambda scores: scores, scale: float = 0.5, count: int = HEADS) -> Any:
    q, k, v = (heads(x, number, count) for number in range(3))
    weights = tf.nn.softmax(mask(tf.matmul(q, k, transpose_b=True) * scale))
    return tf.reshape(tf.transpose(weights @ v, [0, 2, 1, 3]), [-1, ROWS, HEADS * DEPTH])


MASKS = {
    "none": lambda scores: scores,
    "added": lambda scores: scores + np.where(CAUSAL, 0, -1e9).astype(np.float32),
    "chosen": lambda scores: tf.where(CAUSAL, scores, np.finfo(np.float32).min),
    "of heads": lambda scores: scores + np.arange(HEADS * ROWS, dtype=np.float32).reshape(1, HEADS, 1, ROWS),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks(name: str) -> None:
    converted = check(lambda x: attention(x, MASKS[name]), SPEC, composites=["odml.*"], static=name == "added")
    ((found, attributes),) = composites(converted)
    assert found == NAME and attributes.keys() == {"scale"}
    # Of what turned heads to the front, nothing is left but in the function.
    assert "TRANSPOSE" not in converted.ops[: converted.ops.index("STABLEHLO_COMPOSITE") + 2]


def test_a_mask_of_each_row() -> None:
    def model(x: Any, lengths: Any) -> Any:
        mask = tf.sequence_mask(lengths, ROWS)
        return attention(x, lambda scores: scores + (1 - tf.cast(mask, tf.float32))[:, None, None] * -1e9)

    converted = check(
        model, SPEC, tf.TensorSpec([None], tf.int32), composites=["odml.*"],
        inputs=lambda rng, shape, dtype: (
            rng.standard_normal(shape).astype(dtype) if dtype == np.float32
            else rng.integers(1, ROWS + 1, shape).astype(dtype)
        ),
    )  # fmt: skip
    assert [name for name, _ in composites(converted)] == [NAME]


@pytest.mark.parametrize("model, why", [
    (lambda x: attention(x, count=1), "it has one head, for which NPUs compute as if the batch were 1"),
    (lambda x: attention(x, lambda scores: tf.minimum(scores, np.float32(2))), "the constant of MINIMUM does more"),
], ids=["one head", "bounded"])  # fmt: skip
def test_others_stay(model: Any, why: str) -> None:
    converted = check(model, SPEC, composites=["odml.*"], static=False)
    assert "STABLEHLO_COMPOSITE" not in converted.ops
    assert why in converted.refused.get(NAME, "")
