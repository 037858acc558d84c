"""Some of the cells of models and modes; `python -m tests.quantize.cells` runs all. What verifies quantized files."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv import convert
from fuseconv.quantize import QUANTIZATIONS
from fuseconv.verifying import verify
from tests.quantize.cells import TOLERANCES, Cells

_CHOSEN = {
    "mobile": [("dynamic", "fused"), ("int16x8", "fused"), ("int8", "fused")],
    "stacked": [("float16", "fused"), ("dynamic", "fused"), ("int8", "fused")],
    "gru": [("int4", "fused"), ("int16x8", "fused")],
    "embedding_lstm": [("int4", "fused"), ("int8", "fused")],
}


@pytest.mark.parametrize("name", _CHOSEN)
def test_cells(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    cells = Cells(name, tmp_path_factory.mktemp("cells"))
    assert not [(mode, rnn, why) for mode, rnn in _CHOSEN[name] if (why := cells.check(mode, rnn))]


def test_a_wrong_cell_is_told(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = Cells("conv1d", tmp_path_factory.mktemp("cells"))
    monkeypatch.setitem(TOLERANCES, "int8", 1e-9)
    assert "first run of 2 rows with delegates: error" in cells.check("int8")
    assert TOLERANCES.keys() == set(QUANTIZATIONS)


def test_steps_of_a_quantized_file_are_parts_of_the_range_of_all_runs() -> None:
    """One run makes 0.03, where a step is 0.008: an error of one is a third of what it makes."""
    weights = np.linspace(0.5, 1, 9).reshape(3, 3).astype(np.float32)
    made = tf.function(lambda x: tf.tanh(x @ weights), [tf.TensorSpec((1, 3), name="x")])
    sizes = np.r_[0.011, np.linspace(-1, 1, 99)].astype(np.float32)
    samples = np.outer(sizes, [1.0, 0.7, 0.9]).astype(np.float32)[:, None]
    data = convert(made, quantize="int8", calibration_data=[{"x": x} for x in samples]).data
    assert data is not None
    few = {"x": np.concatenate([samples[:1], samples[-3:]])}
    result = verify(made, data, data=few)
    assert result.passed and result.outputs[0].relative is not None and result.outputs[0].relative < 0.02
    (alone,) = verify(made, data, data={"x": samples[:1]}).outputs
    assert not alone.passed and "is allowed" in alone.why


def test_weights_of_fewer_bits_are_judged_by_each_run() -> None:
    """What they make is as exact as its own numbers are large: a bias of 0.002 is wrong where the model makes 0.001."""
    weights = np.linspace(0.5, 1, 256).reshape(16, 16).astype(np.float32)
    spec = [tf.TensorSpec((1, 16), name="x")]
    data = convert(tf.function(lambda x: x @ weights + 0.002, spec), quantize="float16").data
    assert data is not None
    sizes = {"x": np.array([[[1e-4] * 16], [[1.0] * 16]], np.float32)}
    (found,) = verify(tf.function(lambda x: x @ weights, spec), data, data=sizes).outputs
    assert not found.passed and "is allowed" in found.why


def test_samples_of_several_signatures_verify_each() -> None:
    weights = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)

    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec((1, 8), name="x")])
        def first(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": x @ weights}

        @tf.function(input_signature=[tf.TensorSpec((2, 8), name="x")])
        def second(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"z": tf.nn.relu(x @ weights)}

    model = Model()
    rng = np.random.default_rng(1)
    arrays = {
        "x": rng.uniform(-100, 100, (100, 1, 8)).astype(np.float32),
        "second/x": rng.uniform(-300, 300, (100, 2, 8)).astype(np.float32),
    }
    functions = {"first": model.first, "second": model.second}
    made = convert(functions, quantize="int8", calibration_data=arrays)
    assert made.data is not None
    for given in ({"samples": made.samples}, {"data": arrays}):
        result = verify(functions, made.data, **given)
        assert result.passed
        assert [(name, shapes["x"]) for name, shapes, _ in result.runs] == [("first", (1, 8)), ("second", (2, 8))]
    assert {how for _, _, how in verify(functions, made.data, samples=made.samples).drawn} == {"calibration samples"}
