"""Functions of `keras.ops` as layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras

from tests.keras_parity import check_cases


def operations() -> Any:
    from keras import ops

    x, y = keras.Input((3, 4), name="x"), keras.Input((3, 4), name="y")
    outputs = [
        ops.add(x, y), ops.subtract(x, 2.0), ops.multiply(0.5, x), ops.maximum(x, y), ops.minimum(x, 0.25),
        ops.not_equal(x, y), ops.logical_and(ops.greater(x, y), ops.less_equal(x, 0.5)),
        ops.any(ops.less(x, y), axis=-1),
        ops.squeeze(ops.expand_dims(x, 1), axis=1),
    ]  # fmt: skip
    return keras.Model([x, y], outputs)


def test_data_and_keras_agree(tmp_path: Path) -> None:
    # Keras does not load operations from .h5 files.
    check_cases({"operations": operations}, "operations", tmp_path, formats=["keras"])
