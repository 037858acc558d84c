"""Functions of `jax.vmap` that multiply by weights on the left, and attention of groups of heads, against JAX."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.stablehlo.modules import check_case, names

# The most ops of each.
_MOST = {
    "attention_of_groups": 14, "attention_of_groups_dynamic": 14, "dense": 1, "dense_dynamic": 1, "dense_square": 2,
    "left_and_transposed": 2, "lstm": 5, "lstm_dynamic": 8, "sum_dynamic": 6,
}  # fmt: skip


@pytest.mark.parametrize("name", names("vmap"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    made = check_case(name, tmp_path)
    kind = name.removeprefix("vmap/")
    assert sum(made.values()) <= _MOST[kind], made
    assert made["UNIDIRECTIONAL_SEQUENCE_LSTM"] == kind.startswith("lstm")
    assert made["SOFTMAX"] == kind.startswith("attention")
