"""Modules that speak of several devices, against JAX on one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.stablehlo.modules import check_case, names


@pytest.mark.parametrize("name", names("devices"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)
