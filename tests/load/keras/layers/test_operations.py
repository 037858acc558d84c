"""Functions of `keras.ops` as layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import check_data, check_ways


def _moved(ops: Any, x: Any, y: Any, i: Any) -> list[Any]:
    return [
        x[:, 0], x[..., 1:3], x[:, None, ::-1], x[:, -1], ops.reshape(x, (-1, 12)), ops.ravel(x), ops.flip(x, axis=1),
        ops.transpose(x, (0, 2, 1)), ops.swapaxes(x, 1, 2), ops.moveaxis(x, 1, -1), ops.roll(x, 1, axis=1),
        ops.expand_dims(x, (1, -1)), ops.squeeze(ops.expand_dims(x, 1), 1), ops.tile(x, (1, 2, 1)), ops.tile(x, 2),
        ops.repeat(x, 2, axis=1), ops.concatenate([x, y], axis=-1), ops.stack([x, y], axis=1),
        ops.roll(x, 2), ops.roll(x, (1, -2), axis=(2, 1)),
        *ops.split(x, 2, axis=-1), *ops.split(x, [1, 3], axis=-1), ops.unstack(x, axis=1)[1],
        ops.take(x, [0, -2], axis=1), ops.take(y, ops.clip(i, -1, 2), axis=1), ops.one_hot(i, 4),
        ops.pad(x, ((0, 0), (1, 1), (0, 0))), ops.pad(x, ((0, 0), (1, 1), (0, 2)), constant_values=2.0),
        ops.pad(x, ((0, 0), (1, 1), (0, 2)), mode="reflect"), ops.cast(x, "int32"),
    ]  # fmt: skip


def _arithmetic(ops: Any, x: Any, y: Any, i: Any) -> list[Any]:
    a = ops.abs(x) + 0.5
    return [
        x / 2, i / 2, i + x[:, 0, :2], i * 0.5, ops.arange(4) + ops.cast(x, "int32"), 2 - x, -x, a**2, x * y,
        ops.power(a, 2.5), x + np.arange(4, dtype="float32"), x + np.arange(3, dtype="float32")[:, None],
        x[:, :, :3] + np.arange(3, dtype="float32")[:, None],
        ops.stack([x] * 3, 1) + np.arange(3, dtype="float32")[:, None],
        ops.floor_divide(i, 2), ops.mod(i, 3), ops.mod(x, 0.7), ops.maximum(x, y), ops.minimum(x, 0.25),
        ops.square(x), ops.sqrt(a), ops.rsqrt(a), ops.exp(x), ops.log(a), ops.erf(x), ops.sign(x), ops.reciprocal(a),
        ops.clip(x, -1, 1), ops.where(x > 0, x, 0.0), ops.logical_not(x > 0), ops.logical_and(x > 0, y > 0),
        ops.logical_or(i, i), ops.not_equal(x, y), x <= 0.5, ops.floor(x), ops.ceil(x), ops.log1p(a), ops.expm1(x),
        ops.matmul(x, ops.transpose(y, (0, 2, 1))), ops.matmul(x, np.ones((4, 2), "float32")),
        ops.matmul(x, np.ones(4, "float32")), ops.matmul(x[0, 0], ops.transpose(y, (0, 2, 1))),
        ops.einsum("abc,adc->abd", x, y), ops.einsum("cab,dab", x, y), ops.einsum("ba,bc", x[:, 0], y[:, 1]),
    ]  # fmt: skip


def _reductions(ops: Any, x: Any, y: Any, i: Any) -> list[Any]:
    return [
        ops.mean(x, axis=1), ops.mean(x), ops.max(x, axis=-1, keepdims=True), ops.min(x, axis=(1, 2)),
        ops.sum(x, axis=(1, 2)), ops.sum(i, axis=1), ops.prod(x, axis=1), ops.var(x, axis=1),
        ops.std(x, axis=-1, keepdims=True), ops.all(x > 0, axis=1), ops.any(i, axis=1), ops.argmax(x, axis=-1),
        ops.argmin(ops.relu(x), axis=1, keepdims=True), ops.argmax(i, axis=1), ops.normalize(x),
        ops.argmax(x), ops.argmin(i), ops.max(x > 0, axis=1), ops.min(x > -1, axis=-1, keepdims=True),
        ops.normalize(x, axis=1, epsilon=2.0), ops.softmax(x, axis=1), ops.log_softmax(x), ops.gelu(x),
        ops.gelu(x, approximate=False), ops.silu(x), ops.leaky_relu(x, 0.3), ops.elu(x, 0.5), ops.hard_silu(x),
        ops.sigmoid(x), ops.tanh(x), ops.relu6(x), ops.softplus(x), ops.softsign(x), ops.selu(x),
    ]  # fmt: skip


def model(*parts: Any) -> Any:
    from keras import ops

    x, y, i = keras.Input((3, 4), name="x"), keras.Input((3, 4), name="y"), keras.Input((2,), dtype="int32", name="i")
    return keras.Model([x, y, i], [output for part in parts for output in part(ops, x, y, i)])


# Keras does not load operations from .h5 files.
def test_what_is_read_as_data_is_what_keras_computes(tmp_path: Path) -> None:
    check_data(model(_moved, _arithmetic, _reductions), tmp_path, formats=["keras"])


def test_data_and_keras_agree(tmp_path: Path) -> None:
    check_ways(model(lambda ops, x, y, i: [x[:, 0] / 2, ops.argmax(x, axis=-1)]), tmp_path, formats=["keras"])


@pytest.mark.parametrize(
    "why, make",
    [
        ("no tensor of numbers", lambda ops, x, y, i: ops.prod(x > 0, axis=1)),
        ("axis=None", lambda ops, x, y, i: ops.squeeze(ops.expand_dims(x, 1))),
        ("the equation", lambda ops, x, y, i: ops.einsum("...c,dc", x, y[:, 0])),
        ("shift=", lambda ops, x, y, i: ops.roll(x, (1, 2), axis=1)),
        ("axis=None, keepdims=True", lambda ops, x, y, i: ops.argmax(x, keepdims=True)),
        ("order=1", lambda ops, x, y, i: ops.normalize(x, order=1)),
        ("its class is none", lambda ops, x, y, i: ops.bincount(i)),
    ],
)
def test_what_is_not_known_is_refused(why: str, make: Any, tmp_path: Path) -> None:
    model(lambda *of: [make(*of)]).save(tmp_path / "model.keras")
    with pytest.raises(UnknownLayer, match=f"(?s){why}"):
        load(tmp_path / "model.keras")


def test_an_array_is_of_a_known_type(tmp_path: Path) -> None:
    from fuseconv.load.keras.model import _decoded

    given = {"class_name": "__numpy__", "config": {"value": [1, 2], "dtype": "int32"}}
    assert _decoded(given).dtype == np.int32
    given["config"] = {"value": ["x"], "dtype": "S9999999999"}
    with pytest.raises((KeyError, InputError)):
        _decoded(given)
