"""Of scales where all quotients are said to be right, they are; of the others, some are far off."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.ir import types
from fuseconv.ir.graph import Quantization, Value
from fuseconv.ir.types import DType
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.quotients import divides, least_steps
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl.interpret import module_of


@pytest.mark.parametrize(("dtype", "zero_points", "result", "least", "right"), [
    (types.INT8, (0, -128), 1 / 65, 1, True), (types.INT8, (0, -128), 1 / 63, 1, False),
    (types.INT8, (3, -128), 1 / 300, 1, True), (types.INT8, (0, 127), 1 / 2, 1, False),
    (types.INT8, (-128, -128), 1 / 33, 1, True), (types.INT8, (-128, -128), 1 / 31, 1, False),
    (types.INT8, (0, -128), 1 / 5, 9, True), (types.INT8, (0, -128), 1 / 5, 8, False),
    (types.INT8, (-128, -128), 1 / 5, 8, True), (types.INT8, (-128, -128), 1 / 5, 7, False),
    (types.INT16, (0, 0), 1 / 8200, 1, True), (types.INT16, (0, 0), 1 / 8100, 1, False),
    (types.INT16, (0, 0), 1 / 260, 17, True), (types.INT16, (0, 0), 1 / 250, 17, False),
])  # fmt: skip
def test_all_pairs(dtype: DType, zero_points: tuple[int, int], result: float, least: int, right: bool) -> None:
    ends = np.iinfo(dtype.numpy)
    few = np.array([*range(-40, 1 - least), 0, *range(least, 41)])
    x = few.clip(0) if zero_points[0] == ends.min else few
    y = np.array([1, 2, 3, 5, 31, 32, 33, 63, 64, 100, 255, *(2 ** np.arange(7, 15)), ends.max])
    y = np.unique(y.clip(1, 255 if dtype is types.INT8 else ends.max))
    y = -y if zero_points[1] == ends.max else y
    scales = [Quantization((1.0,), (each,)) for each in zero_points]
    scales.append(Quantization((float(np.float32(result)),), (0,)))
    assert divides(scales[0], scales[1], scales[2], dtype, negative=bool(y[0] < 0), least=least) is right

    def build(tfl: Builder, a: Value, b: Value) -> Value:
        (made,) = tfl.typed_op("DIV", [a, b], [(dtype, (x.size, y.size))], {"fused_activation_function": "NONE"})
        for value, scale in zip((a, b, made), scales):
            value.quantization = scale
        return made

    data = to_bytes(module_of(build, (dtype, (x.size, 1)), (dtype, (1, y.size))))
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    stored = [(x + zero_points[0])[:, None], (y + zero_points[1])[None]]
    for detail, array in zip(interpreter.get_input_details(), stored):
        interpreter.set_tensor(detail["index"], array.astype(dtype.numpy))
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    wanted = (x[:, None] / y / scales[2].scale[0]).clip(ends.min, ends.max)
    assert bool(np.abs(found - wanted).max() <= 1.0001) is right


def test_least_steps() -> None:
    scale = Quantization((0.5,), (0,))
    assert least_steps(None, scale) == least_steps(np.zeros(2), scale) == least_steps(np.array([0.1, 9]), scale) == 1
    assert least_steps(np.array([-8.0, 0, 20]), scale) == 15
