"""The table of integer kernels is what the runtime does: each op on int8 gives what it gives on floats, to a few steps
of the operands' and the result's scales, and ops that move numbers change none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.quantize.calibrate import Calibration, calibrate
from fuseconv.quantize.selection import Selection
from fuseconv.quantize.to_integers import to_integers
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.integer import INT8, INT16, Kernels
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl import cases
from tests.tfl.interpret import module_of

_PLAIN = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
# TensorFlow 2.21's kernels take fewer types than LiteRT's, and its XNNPACK ignores a zero point.
RUNTIMES: dict[str, Any] = {
    "LiteRT": lambda data: Interpreter(model_content=data),
    "LiteRT's own kernels": lambda data: Interpreter(model_content=data, experimental_op_resolver_type=_PLAIN),
    "TensorFlow": lambda data: tf.lite.Interpreter(model_content=data),
    "TensorFlow's own kernels": lambda data: tf.lite.Interpreter(
        model_content=data,
        experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    ),
}
MODES = {"int8": INT8, "int16x8": INT16}
# The largest errors, as parts of the range. Steep functions make much of a step of their operand; those of int16 look
# some up, and have weights of 8 bits.
_USUAL = {"int8": 0.03, "int16x8": 2e-4}
_STEEP = {
    "int8": {"exp": 0.05, "log": 0.06, "rsqrt": 0.05, "div": 0.05, "reduce_prod": 0.05},
    "int16x8": {"log": 0.01, "rsqrt": 0.01, "resize_bilinear": 0.002}
    | dict.fromkeys(("conv_2d", "depthwise_conv_2d", "fully_connected", "transpose_conv"), 0.03),
}


def _kinds(kernels: Kernels) -> set[str]:
    all_kinds = kernels.own_scale | kernels.fixed_scale.keys() | kernels.same_scale | kernels.joined_scale
    return {kind.lower() for kind in all_kinds}


_CASES = [
    pytest.param(case, mode, id=f"{case.kind}-{mode}") for mode, kernels in MODES.items() for case in cases.ALL
    if case.kind in _kinds(kernels) and (case.kind == "fill" or any(array.dtype == np.float32 for array in case.inputs))
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_every_kernel_is_tried(mode: str) -> None:
    tried = {param.values[0].kind for param in _CASES if param.values[1] == mode}  # type: ignore[union-attr]
    assert tried == _kinds(MODES[mode]) - {"embedding_lookup"}  # which reads a constant, and is tried below


def _build(case: cases.Case, moves: bool):
    """The op, behind an integer op, without which ops that move numbers would stay float."""

    def build(tfl: Builder, *inputs: Value):
        made = [tfl.sub(x, np.float32(0.25)) if x.dtype is types.FLOAT32 else x for x in inputs]
        rest = iter(made if moves else inputs)
        operands = [next(rest) if isinstance(operand, cases.Input) else operand for operand in case.operands]
        return getattr(tfl, case.kind)(*operands, **case.options)

    return build


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize(("case", "mode"), _CASES)
def test_kernel(case: cases.Case, mode: str, runtime: str) -> None:
    kernels = MODES[mode]
    moves = case.kind.upper() in kernels.same_scale | kernels.joined_scale
    module = module_of(_build(case, moves), *((types.of_array(array), array.shape) for array in case.inputs))
    feed = {f"x{index}": array for index, array in enumerate(case.inputs)}
    plain = _run(to_bytes(module), feed, runtime)
    # With a plan of an arena for TFLite Micro no op is float because that is faster on a CPU.
    calibration, report = Calibration([feed]), Report(plans_arena=True)
    calibrate(module, report, calibration)
    to_integers(module, report, calibration, mode, Selection(), "float", None)
    assert {item.op for item in report.quantized if not item.why} >= {case.kind.upper()}, report.quantized
    for expected, actual in zip(plain, _run(to_bytes(module), feed, runtime), strict=True):
        moved = [array for array in case.inputs if array.dtype == np.float32] if moves else []
        # What is filled with one number has no range but that from zero.
        span = max(float(np.ptp([*array.reshape(-1), 0])) for array in (expected, *moved))
        tolerance = _STEEP[mode].get(case.kind, _USUAL[mode])
        assert actual.dtype == np.float32 and np.abs(actual - expected).max() <= tolerance * span


def _run(data: bytes, feed: dict[str, np.ndarray], runtime: str) -> list[np.ndarray]:
    results = RUNTIMES[runtime](data).get_signature_runner("serve")(**feed)
    return [results[f"y{index}"] for index in range(len(results))]


def test_rows_of_a_constant_table() -> None:
    table = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    module = module_of(lambda tfl, ids: tfl.abs(tfl.embedding_lookup(ids, table)), (types.INT32, (3,)))
    feed = {"x0": np.array([5, 0, 2], np.int32)}
    calibration = Calibration([feed])
    calibrate(module, Report(), calibration)
    to_integers(module, Report(), calibration, "int8", Selection(), "float", None)
    assert [op.type for op in module.signatures[0].graph.ops] == ["EMBEDDING_LOOKUP", "ABS", "DEQUANTIZE"]
    (rows,) = _run(to_bytes(module), feed, "LiteRT")
    np.testing.assert_allclose(rows, np.abs(table[feed["x0"]]), atol=0.02 * float(np.ptp(table)))
