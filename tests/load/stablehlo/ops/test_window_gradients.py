"""Gradients of pools, against JAX and StableHLO's own tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.load.stablehlo.ops.window_gradients import _Windows
from tests.load.stablehlo.modules import FOLDER, check_case, names
from tests.load.stablehlo.referee import RIGHT, judge, modules

MODULES = {name: module for name, module in modules(FOLDER / "referee.tar.xz").items() if "select_and_scatter" in name}


@pytest.mark.parametrize("name", MODULES)
def test_numbers_go_where_the_chosen_elements_are(name: str, tmp_path: Path) -> None:
    assert judge(*MODULES[name], tmp_path).state == RIGHT


@pytest.mark.parametrize("name", names("window_gradients"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


def test_places_outside_are_told() -> None:
    windows = _Windows(shape=[3, 4], counts=[2, 2], sizes=[2, 3], strides=[2, 2], low=[0, 1])
    flat, inside = windows.places((1, 0))
    assert inside.tolist() == [[False, True], [False, False]]
    assert flat[0].tolist() == [4, 5]
    assert np.all(flat < 12)
