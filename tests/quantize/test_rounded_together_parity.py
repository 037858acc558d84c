"""Samples make weights of few bits more exact: with any batch, twice in a row, with delegates and without."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from keras import layers

from fuseconv import convert
from tests.random_weights import randomize

_RNG = np.random.default_rng(0)
_MIX = _RNG.normal(size=(3, 16))


def _walks(count: int) -> np.ndarray:
    """Return sequences of inputs that go together."""
    hidden = np.cumsum(_RNG.normal(size=(count, 12, 3)), axis=1) / 3
    return (hidden @ _MIX + 0.1 * _RNG.normal(size=(count, 12, 16))).astype(np.float32)


def _model(kind: str) -> keras.Model:
    x = keras.Input((12, 16), name="x")
    if kind == "dense":
        y = layers.Dense(40, activation="relu")(layers.Dense(64)(x))
    else:
        make, units = (layers.LSTM, 32) if "LSTM" in kind else (layers.SimpleRNN, 64)
        layer = make(units, return_sequences=True)
        y = layers.Bidirectional(layer)(x) if kind.startswith("Bi") else layer(x)
    model = keras.Model(x, layers.Dense(32)(y))
    randomize(model, 1)
    return model


def _outputs(data: bytes, x: np.ndarray, resolver: OpResolverType) -> np.ndarray:
    interpreter = Interpreter(model_content=data, num_threads=1, experimental_op_resolver_type=resolver)
    runner = interpreter.get_signature_runner()
    runs = [next(iter(runner(x=part).values())) for part in (x[:1], x, x)]
    np.testing.assert_array_equal(runs[1], runs[2])
    np.testing.assert_allclose(runs[0], runs[1][:1], atol=1e-5)
    return runs[1]


@pytest.mark.parametrize(("kind", "mode", "part"), [
    ("dense", "int4", 0.7), ("dense", "dynamic", 1.1), ("LSTM", "dynamic", 0.9), ("BiLSTM", "dynamic", 0.9),
    ("BiRNN", "dynamic", 0.9), ("RNN", "int4", 0.9),
])  # fmt: skip
def test_errors_with_samples_and_without(kind: str, mode: str, part: float) -> None:
    model, samples, fresh = _model(kind), _walks(120), _walks(24)
    whole, without, better = (
        convert(model, quantize=how, calibration_data=None if given is None else {"x": given}).data
        for how, given in ((None, None), (mode, None), (mode, samples))
    )
    assert whole and without and better and len(better) == len(without)
    for resolver in (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        wanted = _outputs(whole, fresh, resolver)
        errors = [np.square(_outputs(data, fresh, resolver) - wanted).mean() ** 0.5 for data in (better, without)]
        assert errors[0] < part * errors[1]


