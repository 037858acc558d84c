"""Forms of lookups, against LiteRT's own ops."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.targets.forms.parity import forms_of, target_of, without


@pytest.mark.parametrize("operands, op", [
    ("float32[5,4] int32[2,3]", "float32[2,3,4] = tfl.GATHER(%0, %1) {'axis': 0}"),
    ("float32[1,5,4] int32[1,3]", "float32[1,3,4] = tfl.GATHER(%0, %1) {'axis': 1, 'batch_dims': 1}"),
    ("float32[5,4] int32[]", "float32[5] = tfl.GATHER(%0, %1) {'axis': 1}"),
])  # fmt: skip
def test_gathers(operands: str, op: str) -> None:
    assert forms_of(target_of("gpu"), operands, op, 0, 4) == ["RESHAPE", "GATHER", "RESHAPE"]


def test_constant_places_of_64_bits() -> None:
    op = "float32[2,2,4] = tfl.GATHER(%0, int64[2,2] [0, 4, 2, 1]) {'axis': 0}"
    assert forms_of(target_of("gpu"), "float32[5,4]", op) == ["GATHER", "RESHAPE"]


@pytest.mark.parametrize("op, forms", [
    ("int32[3] = tfl.ARG_MAX(%0, int32[] 1) {'output_type': 'INT32'}", ["TOPK_V2", "RESHAPE"]),
    ("int32[7] = tfl.ARG_MAX(%0, int32[] 0) {'output_type': 'INT32'}", ["TRANSPOSE", "TOPK_V2", "RESHAPE"]),
    ("int32[3] = tfl.ARG_MIN(%0, int32[] -1) {'output_type': 'INT32'}", ["NEG", "TOPK_V2", "RESHAPE"]),
])  # fmt: skip
def test_the_place_of_the_largest(op: str, forms: list[str]) -> None:
    assert forms_of(target_of("gpu"), "float32[3,7]", op) == forms


def test_places_of_64_bits() -> None:
    op = "int64[3] = tfl.ARG_MAX(%0, int32[] 1) {'output_type': 'INT64'}"
    assert forms_of(without("ARG_MAX"), "float32[3,7]", op) == ["TOPK_V2", "RESHAPE", "CAST"]


def test_the_largest_alone() -> None:
    op = "float32[3,1], int32[3,1] = tfl.TOPK_V2(%0, int32[] 1)"
    assert forms_of(target_of("micro"), "float32[3,7]", op) == ["REDUCE_MAX", "ARG_MAX", "RESHAPE"]


_HOT = "tfl.ONE_HOT(%0, int32[] 3, float32[] 2.5, float32[] -1.0)"


def test_one_hot_of_a_table() -> None:
    op = f"float32[2,4,3] = {_HOT} {{'axis': -1}}"
    assert forms_of(target_of("gpu"), "int32[2,4]", op, -1, 4) == ["RESHAPE", "ONE_HOT", "RESHAPE"]


@pytest.mark.parametrize("axis, shape", [(-1, "2,4,3"), (1, "2,3,4"), (0, "3,2,4")])
def test_one_hot_by_comparison(axis: int, shape: str) -> None:
    op = f"float32[{shape}] = {_HOT} {{'axis': {axis}}}"
    assert forms_of(target_of("micro"), "int32[2,4]", op, -1, 4) == ["RESHAPE", "EQUAL", "SELECT_V2"]


@pytest.mark.parametrize("target, forms", [
    ("gpu", ["ONE_HOT"]), ("micro", ["RESHAPE", "EQUAL", "SELECT_V2"]),
])  # fmt: skip
def test_one_hot_of_what_was_cast_to_64_bits(target: str, forms: list[str]) -> None:
    found = _converted(target, lambda i: tf.one_hot(tf.cast(i, tf.int64), 7, axis=-1), (5,))
    assert found == forms


def test_a_gather_of_what_was_cast_to_64_bits() -> None:
    table = tf.random.stateless_normal((7, 3), (1, 2))
    found = _converted("gpu", lambda i: tf.gather(table, tf.reshape(tf.cast(i, tf.int64), [5])) * 2.0, (5, 1))
    assert "CAST" not in found and "GATHER" in found


def test_truths() -> None:
    op = "bool[3,4] = tfl.GATHER(%0, %1) {'axis': 0}"
    assert forms_of(target_of("micro"), "bool[5,4] int32[3]", op, 0, 4) == ["CAST", "GATHER", "CAST"]


def _converted(target: str, fn: Callable[[tf.Tensor], tf.Tensor], shape: tuple[int, ...]) -> list[str]:
    """Return the ops of a function of places for a target, which refuses none."""
    found = check(fn, tf.TensorSpec(shape, tf.int32), target=target, inputs=lambda rng, s, t: rng.integers(0, 7, s, t))
    assert found.report.target is not None and found.report.target["refused"] == []
    return found.ops
