"""States that stay in the op's own variable tensor."""

from __future__ import annotations

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
