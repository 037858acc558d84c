"""Pixels of few bytes are repeated by copies of rows in quantized files, too."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv import convert, inspect, verify


@pytest.mark.parametrize(("mode", "copies"), [("float16", 2), ("dynamic", 2), ("int8", 2), ("int16x8", 0)])
def test_so_are_those_of_quantized_files(mode: str, copies: int) -> None:
    weights = np.random.default_rng(0).normal(size=(3, 3, 3, 8)).astype(np.float32)
    made = tf.function(
        lambda x: tf.image.resize(tf.nn.conv2d(x, weights, 1, "SAME"), (12, 12), "nearest"),
        [tf.TensorSpec((None, 6, 6, 3), name="x")],
    )
    samples = list(np.random.default_rng(1).normal(size=(100, 1, 6, 6, 3)).astype(np.float32))
    calibrated = [{"x": x} for x in samples] if mode.startswith("int") else None
    file = convert(made, quantize=mode, calibration_data=calibrated).data
    assert file is not None
    assert inspect(file)["op_counts"].get("CONCATENATION", 0) == copies
    assert verify(made, file, data={"x": np.stack(samples[:8])}).passed
