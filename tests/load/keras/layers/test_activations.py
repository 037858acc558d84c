"""Activation functions, and the layers that are nothing else."""

from __future__ import annotations

from pathlib import Path

import keras

from tests.keras_parity import FORMATS, branches, check_cases
from tests.pairwise import mostly_slow

L = keras.layers

FUNCTIONS = [
    "relu", "relu6", "sigmoid", "tanh", "softplus", "softsign", "exponential", "elu", "selu", "linear", "silu",
    "hard_sigmoid", "hard_silu", "mish", "gelu", "leaky_relu", "log_sigmoid", "hard_tanh", "tanh_shrink", "softmax",
    "log_softmax", "swish", "hard_swish", "sparsemax",
]  # fmt: skip

CASES = {
    "functions": lambda: branches((3, 4), *[L.Activation(name, name=f"a_{name}") for name in FUNCTIONS]),
    "layers": lambda: branches(
        (3, 4), L.ReLU(), L.ReLU(6), L.ReLU(max_value=2, negative_slope=0.1, threshold=0.3),
        L.ReLU(negative_slope=0.2), L.ReLU(threshold=0.5), L.LeakyReLU(), L.LeakyReLU(negative_slope=0.1), L.ELU(),
        L.ELU(alpha=0.5), L.PReLU(), L.PReLU(shared_axes=[1]), L.Softmax(), L.Softmax(axis=1),
        L.Dense(3, activation=L.LeakyReLU(0.2)),
    ),
}  # fmt: skip


@mostly_slow(name=[*CASES], suffix=FORMATS)
def test_data_and_keras_agree(name: str, suffix: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path, formats=[suffix])
