"""Inputs of a model are brought to like sizes where their weights differ much."""

from __future__ import annotations

import pytest

import fuseconv.quantize.balance_inputs as module
from fuseconv.quantize.selection import Selection
from tests.check_pass import check_pass


@pytest.fixture
def _small_constants_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LEAST_ELEMENTS", 2)


@pytest.mark.usefixtures("_small_constants_count")
def test_a_product_of_powers_of_two_stands_in_front() -> None:
    check_pass("balance-inputs", """
    main {
      input %x: float32[n,3]
      %c: float32[n,3] = tfl.ADD(%x, float32[3] [1, 2, 3])
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%c, float32[2,3] [1.1, 150, 0, -0.9, 100, 0], float32[2] [1, 2])
      return %y
    }
    """, """
    main {
      input %x: float32[n,3]
      %c: float32[n,3] = tfl.ADD(%x, float32[3] [1, 2, 3])
      %m: float32[n,3] = tfl.MUL(%c, float32[3] [0.0078125, 1, 0.000000059604645])
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%m, float32[2,3] [140.8, 150, 0, -115.2, 100, 0], float32[2] [1, 2])
      return %y
    }
    """)


@pytest.mark.usefixtures("_small_constants_count")
def test_inputs_that_come_alike_and_results_of_ops_stay() -> None:
    check_pass("balance-inputs", """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [1.1, 1.5, 0.9, 1.7], _)
      %t: float32[n,2] = tfl.TANH(%y)
      %z: float32[n,2] = tfl.FULLY_CONNECTED(%t, float32[2,2] [0.1, 150, 0.2, 1.7], _)
      return %z
    }
    """)


@pytest.mark.usefixtures("_small_constants_count")
def test_weights_that_lie_on_a_grid_stay() -> None:
    check_pass("balance-inputs", """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [1, 127, 2, 126], _)
      return %y
    }
    """)


@pytest.mark.usefixtures("_small_constants_count")
def test_what_is_to_stay_float_stays() -> None:
    check_pass("balance-inputs", """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [0.1, 150, 0.2, 1.7], _)
      return %y
    }
    """, selection=Selection(without=("FULLY_CONNECTED",)))
