"""Kernels compute with weights of 4 bits: with and without delegates, with any batch, in rows and blocks."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import fuseconv.quantize.weights_to_int4 as module
from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Module
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.selection import Selection
from fuseconv.report.records import Report
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl.interpret import module_of

_AUTO, _PLAIN = OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


@pytest.fixture(autouse=True)
def _small_constants_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_ELEMENTS", 4)


def _narrowed(inputs: int, outputs: int, rank: int, activation: str, block: int | None) -> tuple[Module, np.ndarray]:
    """A dense layer in 4 bits, and the weights that it has."""
    rng = np.random.default_rng(inputs)
    weights = (rng.standard_normal((outputs, inputs)) * rng.uniform(0.1, 2, (outputs, 1))).astype(np.float32)
    bias = rng.standard_normal(outputs).astype(np.float32)
    options = {"fused_activation_function": activation, "keep_num_dims": rank > 2}
    made = module_of(
        lambda tfl, x: tfl.fully_connected(x, weights, bias, **options),
        (types.FLOAT32, (symbol("batch"), *[2] * (rank - 2), inputs)),
    )
    module.weights_to_int4(made, Report(), Selection(), block, Calibration())
    (op, *_) = made.signatures[0].graph.ops
    narrow = op.operands[1]
    assert narrow is not None and narrow.dtype is types.INT4 and narrow.data is not None and narrow.quantization
    scales = np.array(narrow.quantization.scale, np.float32).reshape(-1, 1)
    if narrow.quantization.blocks is not None:
        of_blocks = narrow.quantization.blocks.data
        assert of_blocks is not None and block is not None
        scales = np.repeat(of_blocks.astype(np.float32), block, axis=1)
    stored = narrow.data.astype(np.float32) * scales
    assert 0 < np.abs(stored - weights).max() < 0.3 * np.abs(weights).max()
    return made, stored


_ACTIVATIONS = {"NONE": lambda y: y, "RELU": lambda y: np.maximum(y, 0), "RELU6": lambda y: np.clip(y, 0, 6)}


@pytest.mark.parametrize("resolver", [_AUTO, _PLAIN])
@pytest.mark.parametrize(("inputs", "outputs", "rank", "activation", "block"), [
    (6, 5, 2, "NONE", None), (64, 7, 3, "RELU", None), (38, 33, 2, "RELU6", None),
    (64, 7, 2, "NONE", 32), (64, 5, 3, "RELU", 64), (256, 18, 2, "RELU6", 128),
])  # fmt: skip
def test_kernels(
    inputs: int, outputs: int, rank: int, activation: str, block: int | None, resolver: OpResolverType
) -> None:
    made, weights = _narrowed(inputs, outputs, rank, activation, block)
    bias = made.signatures[0].graph.ops[0].operands[2]
    assert bias is not None and bias.data is not None
    interpreter = Interpreter(model_content=to_bytes(made), experimental_op_resolver_type=resolver)
    index = interpreter.get_input_details()[0]["index"]
    for rows in (1, 3, 3, 2):
        x = np.random.default_rng(rows).standard_normal((rows, *[2] * (rank - 2), inputs)).astype(np.float32)
        interpreter.resize_tensor_input(index, x.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(index, x)
        interpreter.invoke()
        actual = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        wanted = _ACTIVATIONS[activation](x @ weights.T + bias.data)
        assert np.abs(actual - wanted).max() < 0.02 * np.abs(x @ weights.T).max()
