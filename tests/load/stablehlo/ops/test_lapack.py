"""Calls of LAPACK, against JAX."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Value
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.custom_calls import custom_call
from fuseconv.load.stablehlo.scope import RefusedError, Scope
from tests.load.stablehlo.modules import check_case, names, operation


@pytest.mark.parametrize("name", names("lapack"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


def _call(text: str, target: str, **config: Any) -> list[Value]:
    scope = Scope(Graph("main"), Mock(ModuleImporter))
    attributes: dict[str, Any] = {"call_target_name": f"lapack_{target}_ffi", "mhlo.backend_config": config}
    op = operation(text, **attributes)
    return list(custom_call(scope, op, *[Value(types.FLOAT32, (3, 3)) for _ in op.operands]))


def test_what_it_worked_with_is_refused_if_it_is_read() -> None:
    """Singular values alone leave no vectors, and no matrix."""
    kinds = "float32[3,3] float32[3] float32[3,3] float32[3,3] int32[]"
    work, values, left, right, _ = _call(f"custom_call float32[3,3] -> {kinds}", "sgesdd", mode=ord("N"))
    for value in (work, left, right):
        assert value.op is not None and value.op.rejection is not None
    assert values.op is not None and values.op.kind == "tf.Svd" and values.op.rejection is None


@pytest.mark.parametrize("mode", [ord("O"), None])
def test_other_options_are_refused(mode: int | None) -> None:
    with pytest.raises(RefusedError, match=f"its option mode is {mode}"):
        _call("custom_call float32[3,3] -> float32[3,3] float32[3] int32[]", "sgesdd", mode=mode)
