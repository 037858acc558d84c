"""Pairs that quantize and dequantize round as TensorFlow's kernels do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

_RAW = tf.raw_ops
_ENDS = {"quantization_min_val": -128, "quantization_max_val": 127}


def _wide(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return rng.uniform(-5, 6, shape).astype(dtype)


def _uniform(x: Any, scales: Any, zeros: Any, **options: Any) -> Any:
    constants = {"scales": np.float32(scales), "zero_points": np.int32(zeros), **_ENDS, **options}
    stored = _RAW.UniformQuantize(input=x, Tout=tf.qint8, **constants)
    return _RAW.UniformDequantize(input=stored, Tout=tf.float32, **constants)


def _ranged(x: Any, low: float, high: float, kind: Any, **options: Any) -> Any:
    both = {name: options.pop(name) for name in ("mode", "narrow_range") if name in options}
    made = _RAW.QuantizeV2(input=x, min_range=low, max_range=high, T=kind, **options, **both)
    return _RAW.Dequantize(input=made.output, min_range=made.output_min, max_range=made.output_max, **both)


def test_uniform() -> None:
    check(lambda x: _uniform(x, 0.031, -20), tf.TensorSpec((None, 80)), inputs=_wide)
    check(lambda x: _uniform(x, [0.02, 0.03, 0.05], [3, 0, -7], quantization_axis=1), tf.TensorSpec((None, 3, 40)),
          inputs=_wide)  # fmt: skip


@pytest.mark.parametrize("kind", [tf.qint8, tf.quint8])
@pytest.mark.parametrize("mode", ["MIN_COMBINED", "SCALED"])
@pytest.mark.parametrize("ends", [(-3.0, 2.0), (-1.0, 4.5), (0.0, 0.001)])
def test_ranges(ends: tuple[float, float], mode: str, kind: Any) -> None:
    check(lambda x: _ranged(x, *ends, kind, mode=mode), tf.TensorSpec((None, 80)), inputs=_wide)


def test_narrow_ranges() -> None:
    check(lambda x: _ranged(x, -4.0, 3.0, tf.qint8, mode="SCALED", narrow_range=True), tf.TensorSpec((None, 80)),
          inputs=_wide)  # fmt: skip


def test_dense_layers_become_integers() -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(16, 9)).astype(np.float32)

    def dense(x: Any) -> Any:
        rounded = _uniform(weights, np.abs(weights).max(0) / 127, np.zeros(9), quantization_axis=1)
        y = tf.nn.relu(tf.matmul(_uniform(x, 0.03, 5), rounded))
        return _uniform(y, 0.06, -128)

    x = tf.TensorSpec((None, 16))
    converted = check(dense, x, quantize="int8", atol=0.012)
    assert converted.ops == ["QUANTIZE", "FULLY_CONNECTED", "DEQUANTIZE"]


def test_what_is_no_pair_is_refused() -> None:
    scales = {"scales": np.float32(0.1), "zero_points": np.int32(0), **_ENDS}
    fn = lambda x: tf.cast(_RAW.UniformQuantize(input=x, Tout=tf.qint8, **scales), tf.int32)  # noqa: E731
    check_refused(fn, tf.TensorSpec((2, 5)), match="UniformQuantize")
    fn = lambda x: _ranged(x, -3.0, 2.0, tf.qint8, mode="MIN_FIRST")  # noqa: E731
    check_refused(fn, tf.TensorSpec((2, 5)), match="QuantizeV2")
