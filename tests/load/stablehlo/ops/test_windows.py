"""Windows of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Value
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.windows import dynamic_windows
from fuseconv.load.stablehlo.scope import RefusedError, Scope
from tests.load.stablehlo.modules import check_case, names, operation, region


@pytest.mark.parametrize("name", names("windows"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


def test_gaps_in_what_is_padded_by_computed_amounts_are_refused() -> None:
    scope = Scope(Graph("main"), Mock(ModuleImporter))
    op = operation("custom_call float32[?] float32[] int32[1] int32[1] int32[1] int32[1] int32[1,2] -> float32[?]")
    x, start, padding = Value(types.FLOAT32, None), Value(types.FLOAT32, ()), Value(types.INT32, (1, 2))
    amounts = [scope.const(np.array([number], np.int32)) for number in (3, 1, 2, 1)]
    with pytest.raises(RefusedError, match="computed amounts has gaps"):
        dynamic_windows(scope, op, region("float32[] float32[] -> float32[]"), x, start, *amounts, padding)
