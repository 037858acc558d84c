"""Loops of unrolled steps, on IR text: what looks for them ends, however many sequences there are."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from fuseconv.transforms.rnn import reroll
from fuseconv.transforms.rnn.reroll import reroll_loops
from tests.tf.text_cases import module_of


def test_sequences_are_looked_at_a_limited_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    look = Mock(wraps=reroll.UnrolledSteps)
    monkeypatch.setattr(reroll, "UnrolledSteps", look)
    monkeypatch.setattr(reroll, "_MOST_VISITS", 0)
    steps = "".join(f"""
      %a{at}: float32[3]; %b{at}: float32[3]; %c{at}: float32[3] = tf.Unpack(%x{at}) {{'num': 3}}
      %x{at + 1}: float32[3,3] = tf.Pack(%c{at}, %b{at}, %a{at})
    """ for at in range(50))  # fmt: skip
    module, _ = module_of(f"main {{\ninput %x0: float32[3,3]\n{steps}\nreturn %x50\n}}")
    assert not [*reroll_loops(module.signatures[0].graph, module)]
    assert look.call_count == 32
