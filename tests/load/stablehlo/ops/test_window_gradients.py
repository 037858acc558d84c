"""Gradients of pools, against JAX and StableHLO's own tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.window_gradients import _Windows, _windows
from fuseconv.load.stablehlo.scope import RefusedError
from tests.load.stablehlo.modules import FOLDER, check_case, names, operation
from tests.load.stablehlo.referee import RIGHT, judge, modules

MODULES = {name: module for name, module in modules(FOLDER / "referee.tar.xz").items() if "select_and_scatter" in name}


@pytest.mark.parametrize("name", MODULES)
def test_numbers_go_where_the_chosen_elements_are(name: str, tmp_path: Path) -> None:
    assert judge(*MODULES[name], tmp_path).state == RIGHT


@pytest.mark.parametrize("name", names("window_gradients"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


def test_places_outside_are_told() -> None:
    windows = _Windows(0, shape=[3, 4], counts=[2, 2], sizes=[2, 3], strides=[2, 2], low=[0, 1])
    flat, inside = windows.places((1, 0))
    assert inside.tolist() == [[False, True], [False, False]]
    assert flat[0].tolist() == [4, 5]
    assert np.all(flat < 12)


@pytest.mark.parametrize(
    ("types", "error", "why"),
    [
        ("float32[4,?] float32[2,?]", RefusedError, "but for a batch in front"),
        ("float32[?,?] float32[?,?]", RefusedError, "but for a batch in front"),
        ("float32[?,6] float32[?,2]", DamagedError, "one number for each window"),
    ],
)
def test_windows_over_unknown_sizes_are_refused(types: str, error: type[Exception], why: str) -> None:
    sizes = {"window_dimensions": [1, 2], "window_strides": [1, 2], "padding": [0] * 4}
    op = operation(f"select_and_scatter {types} float32[] -> {types.split()[0]}", **sizes)  # type: ignore[arg-type]
    with pytest.raises(error, match=why):
        _windows(op)
