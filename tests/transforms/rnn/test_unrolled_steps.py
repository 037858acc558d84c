"""Steps that a model has written out are matched, on IR text, however many ways lead through them."""

from __future__ import annotations

import pytest

from fuseconv.ir.graph import Module
from fuseconv.transforms.rnn.rows import rows_of
from fuseconv.transforms.rnn.unrolled_steps import UnrolledSteps
from tests.tf.text_cases import module_of


def _match(module: Module) -> bool:
    graph = module.signatures[0].graph
    (rows,) = rows_of(graph)
    return UnrolledSteps(graph, rows, False).match([])


def _doubled(x: str) -> str:
    """Return the product of a state with weights, doubled 64 times: 2 ** 64 ways lead through that."""
    steps = [f"%{x}_{at + 1}: float32[1,2] = tf.AddV2(%{x}_{at}, %{x}_{at})\n" for at in range(64)]
    return f"%{x}_0: float32[1,2] = tf.MatMul(%{x}, float32[2,2] [[1, 2], [3, 4]])\n" + "".join(steps)


def test_what_is_made_of_states_alone_is_matched_once() -> None:
    steps = "".join(f"""
      {_doubled(f"h{at}")}
      %s{at}: float32[1,2] = tf.AddV2(%x{at}, %h{at}_64)
      %h{at + 1}: float32[1,2] = tf.Tanh(%s{at})
    """ for at in range(4))  # fmt: skip
    module, _ = module_of(f"""
    main {{
      input %x: float32[4,1,2]
      input %h0: float32[1,2]
      %x0: float32[1,2]; %x1: float32[1,2]; %x2: float32[1,2]; %x3: float32[1,2] = tf.Unpack(%x) {{'num': 4}}
      {steps}
      return %h4
    }}
    """)
    assert _match(module)


def _sums(*steps: str, start: str = "input %h0: float32[2]") -> Module:
    """Return h1 = step(x0, h0), h2 = step(x1, h1), ... of as many elements as there are steps."""
    elements = "; ".join(f"%x{at}: float32[2]" for at in range(len(steps)))
    lines = "\n".join(step.format(x=f"%x{at}", h=f"%h{at}", new=f"%h{at + 1}") for at, step in enumerate(steps))
    return module_of(f"""
    main {{
      input %x: float32[{len(steps)},2]
      {start}
      {elements} = tf.Unpack(%x) {{'num': {len(steps)}}}
      {lines}
      return %h{len(steps)}
    }}
    """)[0]


_STEP = "%s{x[2]}: float32[2] = tf.AddV2({x}, {h})\n{new}: float32[2] = tf.Tanh(%s{x[2]})"


def test_equal_steps_are_a_loop() -> None:
    assert _match(_sums(_STEP, _STEP, _STEP, _STEP))


def test_first_states_that_are_a_number_everywhere() -> None:
    assert _match(_sums(_STEP, _STEP, _STEP, start="%h0: float32[2] = tf.Fill(int32[1] [2], float32[] 0.5)"))


@pytest.mark.parametrize("other", [
    _STEP.replace("Tanh", "Relu"), _STEP.replace("{x}, {h}", "{h}, {x}"), _STEP.replace("{x}, {h}", "{x}, %h0"),
], ids=["another op", "other operands", "another state"])  # fmt: skip
@pytest.mark.parametrize("at", range(4))
def test_a_step_that_differs(other: str, at: int) -> None:
    steps = [_STEP] * 4
    steps[at] = other
    # Of the first state all is equal that reads it.
    assert _match(_sums(*steps)) == (at == 0 and "%h0" in other)
