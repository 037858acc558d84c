"""Convolution of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Value, constant
from fuseconv.ir.types import DType
from fuseconv.load.stablehlo.ops.convolution import _fits_float
from tests.load.stablehlo.modules import check_case, names


@pytest.mark.parametrize("name", names("convolution"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.mark.parametrize(("made", "kind", "inputs", "fits"), [
    (types.INT32, types.INT8, 1024, True), (types.INT32, types.INT8, 1025, False),
    (types.INT32, types.UINT8, 258, True), (types.INT32, types.UINT8, 259, False),
    (types.INT16, types.INT8, 2, False), (types.INT32, types.INT32, 1, False), (types.FLOAT32, types.FLOAT32, 1, False),
])  # fmt: skip
def test_integers_are_convolved_as_floats_that_are_exact(made: DType, kind: DType, inputs: int, fits: bool) -> None:
    x, kernel = Value(kind, (1, 2, inputs)), Value(kind, (1, inputs, 3))
    assert _fits_float(made, x, kernel, [0, 1, 2], [1, inputs, 3]) == fits


def test_of_weights_that_are_known_their_sum_counts() -> None:
    weights = np.full((3, 9000, 2), -7, np.int8)
    x, order = Value(types.INT8, (1, 4, 9000)), [0, 1, 2]
    assert not _fits_float(types.INT32, x, constant(weights), order, [3, 9000, 2])
    weights[1:] = 0
    assert _fits_float(types.INT32, x, constant(weights), order, [3, 9000, 2])
