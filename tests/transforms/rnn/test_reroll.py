"""Unrolled steps on IR text: what looks at them ends, however many ways lead through them."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from fuseconv.transforms.rnn import reroll
from fuseconv.transforms.rnn.reroll import reroll_loops
from tests.tf.text_cases import module_of


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
    graph = module.signatures[0].graph
    (rolled,) = reroll_loops(graph, module)
    assert rolled.loop.type == "StatelessWhile"


def test_sequences_are_looked_at_a_limited_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    look = Mock(wraps=reroll._UnrolledLoop)
    monkeypatch.setattr(reroll, "_UnrolledLoop", look)
    monkeypatch.setattr(reroll, "_MOST_VISITS", 0)
    steps = "".join(f"""
      %a{at}: float32[3]; %b{at}: float32[3]; %c{at}: float32[3] = tf.Unpack(%x{at}) {{'num': 3}}
      %x{at + 1}: float32[3,3] = tf.Pack(%c{at}, %b{at}, %a{at})
    """ for at in range(50))  # fmt: skip
    module, _ = module_of(f"main {{\ninput %x0: float32[3,3]\n{steps}\nreturn %x50\n}}")
    assert not [*reroll_loops(module.signatures[0].graph, module)]
    assert look.call_count == 32
