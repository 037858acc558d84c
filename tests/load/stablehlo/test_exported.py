"""Models that `jax.export` made."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fuseconv
from fuseconv.load.stablehlo.exported import on_disk
from tests.load.stablehlo.modules import cases


def test_an_exported_function_is_converted() -> None:
    exported: Any = SimpleNamespace(mlir_module_serialized=cases()["elementwise/tanh"].data, fun_name="<lambda> f")
    conversion = fuseconv.convert(exported)
    assert [op.type for op in conversion.report.emitted] == ["TANH"]
    with on_disk(exported) as path:
        assert Path(path).name == "lambda_f.mlirbc"
    assert not Path(path).exists()


def test_a_path_stays_what_it_is() -> None:
    with on_disk("folder/model") as path:
        assert path == "folder/model"
