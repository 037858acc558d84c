"""States that outlive an invoke are there in the next, whatever the runtime allocates anew between the two."""

from __future__ import annotations

import itertools
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from ai_edge_litert.interpreter import Interpreter

from fuseconv import convert


@pytest.mark.parametrize("steps, dtype", [(None, "float32"), (5, "string")])
def test_states_outlive_what_the_runtime_allocates_anew(steps: int | None, dtype: str, tmp_path: Path) -> None:
    """It does so for more steps than before, and for words, and zeroes the ops' own variable tensors then."""
    rng = np.random.default_rng(0)
    for library, kind in itertools.product([keras, tf_keras], ["LSTM", "SimpleRNN"]):
        x, word = library.Input((steps, 3), 2, name="x"), library.Input((1,), 2, dtype=dtype, name="word")
        model = library.Model([x, word], getattr(library.layers, kind)(4, stateful=True)(x))
        model.save(tmp_path / "model.keras")
        run = Interpreter(model_content=convert(tmp_path / "model.keras").data).get_signature_runner()
        for count in (5, 5, 5) if steps else (5, 7, 4):
            chunk = rng.standard_normal((2, count, 3), np.float32)
            words = np.array([["a"], ["b"]], object) if dtype == "string" else np.ones((2, 1), np.float32)
            (made,) = run(x=chunk, word=words).values()
            np.testing.assert_allclose(made, model([tf.constant(chunk), tf.constant(words)]), atol=1e-6)
