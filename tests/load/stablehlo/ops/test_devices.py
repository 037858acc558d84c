"""Modules that speak of several devices, against JAX on one."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Value
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.devices import collective_permute
from fuseconv.load.stablehlo.scope import RefusedError, Scope
from tests.load.stablehlo.modules import check_case, names, operation


@pytest.mark.parametrize("name", names("devices"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


def _sent(pairs: list, made: str = "float32[2]") -> Value:
    op = operation(f"collective_permute float32[2] -> {made}", source_target_pairs=np.array(pairs).reshape(-1, 2))
    return collective_permute(Scope(Graph("main"), Mock(ModuleImporter)), op, Value(types.FLOAT32, (2,)))


@pytest.mark.parametrize("pairs", [[[0, 1]], [[0, 0], [0, 0]]])
def test_what_goes_to_other_devices_is_refused(pairs: list) -> None:
    with pytest.raises(RefusedError, match="its devices exchange numbers"):
        _sent(pairs)


def test_a_device_sends_to_itself_or_gets_nothing() -> None:
    assert [_sent(pairs).op.kind for pairs in ([[0, 0]], [])] == ["tf.Identity", "tf.ZerosLike"]  # type: ignore[union-attr]
    with pytest.raises(DamagedError, match="not what it had"):
        _sent([[0, 0]], "float32[3]")
