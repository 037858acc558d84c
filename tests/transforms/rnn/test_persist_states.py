"""States that stay in the op's own variable tensor."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from fuseconv import convert
from tests.check_pass import check_pass


def test_zeros_are_not_written_where_the_caller_resets() -> None:
    context = check_pass("persist-states", """
    main {
      input %x: float32[1,5,2]
      %h: float32[1,3] {'variable': True} = tfl.FILL(int32[2] [1, 3], float32[] 0.0)
      %y: float32[1,5,3] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, float32[3,2] [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], \
float32[3,3] [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]], float32[3] [1.0, 2.0, 3.0], %h) \
{'fused_activation_function': 'TANH'}
      return %y
    }
    """, """
    main {
      input %x: float32[1,5,2]
      variable %h: float32[1,3] {'variable': True}
      %y: float32[1,5,3] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, float32[3,2] [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], \
float32[3,3] [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]], float32[3] [1.0, 2.0, 3.0], %h) \
{'fused_activation_function': 'TANH'}
      return %y
    }
    """, rnn_state="variable")
    (warning,) = context.report.warnings
    assert all(call in warning for call in ("reset_all_variables()", "ResetVariableTensors()", "TFLite Micro"))


def test_zeros_are_written_on_every_invoke() -> None:
    check_pass("persist-states", """
    main {
      input %x: float32[1,5,2]
      %h: float32[1,3] {'variable': True} = tfl.FILL(int32[2] [1, 3], float32[] 0.0)
      %y: float32[1,5,3] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, float32[3,2] [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], \
float32[3,3] [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]], float32[3] [1.0, 2.0, 3.0], %h) \
{'fused_activation_function': 'TANH'}
      return %y
    }
    """)


@pytest.mark.parametrize("steps, dtype", [(None, "float32"), (5, "string")])
def test_states_outlive_what_the_runtime_allocates_anew(steps: int | None, dtype: str, tmp_path: Path) -> None:
    """It does so for more steps than before, and for words, and zeroes the ops' own variable tensors then."""
    import keras
    import tf_keras
    from ai_edge_litert.interpreter import Interpreter

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
