"""Reductions of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.ir.graph import constant
from fuseconv.load.stablehlo.ops.reductions import _reduced, is_identity
from tests.load.stablehlo.modules import check_case, computed, names, new_scope


@pytest.mark.parametrize("name", names("reductions"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


_JOINS = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}


@pytest.mark.parametrize("kind", _JOINS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.float32])
def test_the_number_that_changes_no_other(kind: str, dtype: type) -> None:
    ends = [-np.inf, np.inf] if dtype is np.float32 else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    numbers: np.ndarray = np.array([0, 1, 3, *ends], dtype)
    for start in numbers:
        with np.errstate(all="ignore"):
            changes_none = np.array_equal(_JOINS[kind](numbers, start), numbers)
        assert is_identity(kind, start) == changes_none, start


@pytest.mark.parametrize(("kind", "start"), [("minimum", 0), ("minimum", 255), ("maximum", 255), ("maximum", 0)])
def test_what_a_reduction_of_unsigned_numbers_starts_from(kind: str, start: int) -> None:
    data = np.array([[3, 200, 7], [9, 4, 250]], np.uint8)
    scope, (x,) = new_scope(data)
    made = _reduced(scope, kind, x, constant(np.uint8(start)), [1])
    expected = _JOINS[kind].reduce(data, axis=1, initial=start)
    np.testing.assert_array_equal(computed(scope, made, data), expected)
