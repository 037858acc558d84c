"""Random valid programs of JAX compute what JAX does."""

from __future__ import annotations

import io
from collections import defaultdict

import numpy as np
import pytest
import tensorflow as tf  # noqa: F401 - its kernels fold a constant of one of the programs

from tests.fuzz.jax_runs import check_program
from tests.load.stablehlo.modules import archived

FILES = archived("programs.tar.xz")


@pytest.mark.parametrize("seed", [name.removesuffix(".mlirbc") for name in FILES if name.endswith(".mlirbc")])
def test_the_file_computes_what_the_program_does(seed: str) -> None:
    runs: defaultdict[str, dict[str, np.ndarray]] = defaultdict(dict)
    for name, array in np.load(io.BytesIO(FILES[f"{seed}.npz"])).items():
        number, _, own = name.partition("/")
        runs[number][own] = array
    check_program(FILES[f"{seed}.mlirbc"], [*runs.values()])
