"""Elementwise of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fuseconv
from fuseconv.runners import TFLiteFile
from tests.load.stablehlo.modules import cases, check_case, names


@pytest.mark.parametrize("name", names("elementwise"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


def test_what_is_too_large_for_fewer_bits_is_infinite(tmp_path: Path) -> None:
    """Without a delegate, too, whose kernel of MUL knows no infinity."""
    (tmp_path / "half.mlirbc").write_bytes(cases()["elementwise/reduce_precision_5_10"].data)
    data = fuseconv.convert(tmp_path / "half.mlirbc").data
    x = np.array([65519, 65520, 1e30, np.inf] * 3, np.float32) * np.repeat(np.array([1, -1, 1], np.float32), 4)
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16).astype(np.float32)
    for delegates in (True, False):
        file = TFLiteFile(data or b"", delegates=delegates)
        np.testing.assert_array_equal(file.run("serving_default", {"args_0": x})["output_0"], expected)
