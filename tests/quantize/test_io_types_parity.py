"""Files whose inputs and outputs are integers run, and compute the same."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.ir import types
from fuseconv.quantize.calibrate import Calibration, calibrate
from fuseconv.quantize.io_types import set_io_types
from fuseconv.quantize.selection import Selection
from fuseconv.quantize.to_integers import to_integers
from fuseconv.report.records import Report
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl.interpret import module_of as built


@pytest.mark.parametrize("resolver", [OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES])
@pytest.mark.parametrize(
    ("mode", "kind"),
    [("int8", "int8"), ("int8", "uint8"), ("int8", "int16"), ("int16x8", "int8"), ("int16x8", "int16")],
)
def test_files_run(mode: str, kind: str, resolver: OpResolverType) -> None:
    x = np.linspace(-2, 3, 12, dtype=np.float32).reshape(4, 3)
    module = built(lambda tfl, x: tfl.leaky_relu(x, alpha=0.3), (types.FLOAT32, x.shape))
    calibration = Calibration([{"x0": x}])
    calibrate(module, Report(), calibration)
    to_integers(module, Report(), calibration, mode, Selection(), "float", None)
    set_io_types(module, kind, calibration, Report(), None)
    interpreter = Interpreter(model_content=to_bytes(module), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    (given,), (made,) = interpreter.get_input_details(), interpreter.get_output_details()
    assert given["dtype"] == made["dtype"] == np.dtype(kind)
    (scale, zero), (of_result, zero_of_result) = given["quantization"], made["quantization"]
    ends = np.iinfo(kind)
    interpreter.set_tensor(given["index"], np.clip(np.rint(x / scale) + zero, ends.min, ends.max).astype(kind))
    interpreter.invoke()
    result = (interpreter.get_tensor(made["index"]).astype(np.float32) - zero_of_result) * of_result
    np.testing.assert_allclose(result, np.where(x > 0, x, 0.3 * x), atol=0.06)
