"""Random valid models compute what TensorFlow does."""

from __future__ import annotations

import pytest

from fuseconv.testing import check
from tests.fuzz.programs import OPS, draw, program

# `python -m pytest tests/fuzz/test_programs.py` with another range finds what these do not.
SEEDS = range(50)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_file_computes_what_the_program_does(seed: int) -> None:
    made, specs = program(seed)
    try:
        check(made, *specs, inputs=draw, atol=1e-4, seed=seed)
    except Exception as error:
        steps = [(name, operands) for name, _, operands in made.steps]
        raise AssertionError(f"program({seed}) of {specs}, steps {steps}: {error}") from error


def test_each_op_comes_in_a_program() -> None:
    assert {name for seed in SEEDS for name, *_ in program(seed)[0].steps} == OPS.keys()
