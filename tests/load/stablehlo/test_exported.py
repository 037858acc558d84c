"""Models that `jax.export` made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError
from fuseconv.load.stablehlo.exported import exported_model
from tests.load.stablehlo.modules import cases


def test_an_exported_function_is_converted() -> None:
    exported: Any = SimpleNamespace(mlir_module_serialized=cases()["elementwise/tanh"].data, fun_name="<lambda> f")
    conversion = fuseconv.convert(exported)
    assert [op.type for op in conversion.report.emitted] == ["TANH"]
    assert exported_model(exported).name == "lambda_f"


class Tree:
    """What unflattens arguments by position, and flattens what is returned, as JAX's trees do."""

    def unflatten(self, leaves: list) -> tuple[tuple, dict]:
        return tuple(leaves), {}

    def flatten_up_to(self, result: Any) -> list:
        return [result]


class Exported:
    """What `jax.export` makes of tanh(x), with an argument before x that nothing reads and that the module has not."""

    mlir_module_serialized = cases()["elementwise/tanh"].data
    in_tree = out_tree = Tree()
    module_kept_var_idx = (1,)

    def __init__(self, factor: float) -> None:
        shape = fuseconv.convert(self).report.signatures[0].inputs[0].shape
        self.in_avals = [SimpleNamespace(shape=dims, dtype=np.dtype("float32")) for dims in ((2, "b"), shape)]
        self.factor = factor

    def mlir_module(self) -> str:
        return "%0 = stablehlo.tanh %arg0 : tensor<?x3xf32>"

    def call(self, unused: np.ndarray, x: np.ndarray) -> np.ndarray:
        assert unused.shape == (2, 1) and not unused.any()
        return np.tanh(x) * np.float32(self.factor)


def test_an_exported_function_is_verified() -> None:
    right, wrong = Exported(1.0), Exported(1.01)
    data = fuseconv.convert(right, rename={"args_0": "x"}).data
    assert data is not None
    verification = fuseconv.verify(right, data, rename={"args_0": "x"})
    assert verification.passed and list(verification.runs[0][1]) == ["x"]
    assert not fuseconv.verify(wrong, data, rename={"args_0": "x"}).passed
    with pytest.raises(InputError, match="a module of JAX has a function alone"):
        fuseconv.verify(right, data, outputs=["y"])


@pytest.mark.parametrize("option", ["signatures", "tags"])
def test_an_exported_function_is_all_that_there_is(option: str) -> None:
    with pytest.raises(InputError, match=f"lambda_f has no {option} to choose from"):
        exported_model(SimpleNamespace(mlir_module_serialized=b"", fun_name="lambda f")).load(**{option: ["a"]})  # type: ignore[arg-type]
