"""An op that is folded gives bit for bit what TFLite's kernel gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.ir import types
from fuseconv.ir.graph import Quantization, Value, constant
from fuseconv.tfl.builder import FOLD_GROWTH_BYTES, Builder
from fuseconv.tfl.opdef import KERNELS
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl import cases
from tests.tfl.cases import case, floats, i32, scalar
from tests.tfl.interpret import module_of

_RNG = np.random.default_rng(2)


def wide(*shape: int) -> np.ndarray:
    return (_RNG.normal(size=shape) * 100).astype(np.float32)


def whole(dtype: Any, *shape: int) -> np.ndarray:
    return _RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


RELU6: dict[str, Any] = {"fused_activation_function": "RELU6"}
MORE = [
    *(case(kind, wide(3, 4), wide(4)) for kind in ("add", "sub", "mul", "div", "maximum", "minimum")),
    *(case(kind, wide(3, 4), wide(4), **RELU6) for kind in ("add", "sub", "mul", "div")),
    *(case(kind, whole(np.int32, 3, 4), whole(np.int32, 4)) for kind in ("add", "sub", "mul", "maximum", "minimum")),
    *(case(kind, whole(np.int64, 3, 4), whole(np.int64, 4)) for kind in ("add", "sub", "mul", "maximum", "minimum")),
    case("div", i32(7, -7, 7, -7, 6), i32(2, 2, -2, -2, 3)),
    case("div", i32(7, -7, 7, -7, 90), i32(2, 2, -2, -2, 3), fused_activation_function="RELU6"),
    case("neg", whole(np.int64, 5)),
    *(
        case(kind, *operands)
        for kind in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
        for operands in ((wide(3, 4), wide(4)), (whole(np.int32, 3, 4) % 3, whole(np.int32, 4) % 3))
    ),
    case("cast", wide(20), out_data_type="INT32"),
    case("cast", floats(-0.9, 0.9, 255.5, 0), out_data_type="UINT8"),
    case("cast", wide(20), out_data_type="FLOAT16"),
    case("cast", wide(20), out_data_type="BFLOAT16"),
    case("cast", wide(5), out_data_type="BOOL"),
    case("cast", whole(np.int64, 20), out_data_type="INT32"),
    case("cast", whole(np.int64, 20), out_data_type="FLOAT32"),
    case("cast", whole(np.int32, 20), out_data_type="FLOAT32"),
    case("cast", whole(np.int32, 20) % 70000, out_data_type="FLOAT16"),
    case("cast", whole(np.int32, 20), out_data_type="INT8"),
    case("cast", np.array([True, False]), out_data_type="INT32"),
    case("cast", np.array([1.7, -2.1], np.float16), out_data_type="INT32"),
    case("sqrt", np.abs(wide(50))),
    case("rsqrt", np.abs(wide(50))),
    case("gather", wide(2, 3, 4), i32([[0, 2]], [[1, 1]]), axis=2, batch_dims=1),
    case("strided_slice", wide(3, 4), i32(5, -9), i32(-5, 9), i32(-2, 3)),
    case("pad", whole(np.int32, 2, 3), i32([1, 2], [0, 1])),
]


def is_folded(trial: cases.Case) -> bool:
    return trial.kind.upper() in KERNELS and not trial.options.get("offset")


TRIALS = [trial for trial in cases.ALL if is_folded(trial)] + MORE


def arrays_of(trial: cases.Case) -> list[np.ndarray]:
    arrays = [operand.array if isinstance(operand, cases.Input) else operand for operand in trial.operands]
    return [array for array in arrays if array is not None]


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_folding_is_what_the_kernel_computes(trial: cases.Case):
    arrays = arrays_of(trial)
    ops: list = []
    folded = getattr(Builder(ops, "op"), trial.kind)(*map(constant, arrays), **trial.options)
    assert not ops and folded.is_const

    # In the interpreter the first operand (for FILL the second) is an input, so that nothing is folded.
    at = 1 if trial.kind == "fill" else 0

    def build(tfl: Builder, x: Value):
        operands: list = [constant(array) for array in arrays]
        operands[at] = x
        return getattr(tfl, trial.kind)(*operands, **trial.options)

    module = module_of(build, (types.of_array(arrays[at]), arrays[at].shape))
    # The plain kernels: XNNPACK's divisions and roots are not the same to the last bit.
    interpreter = Interpreter(
        model_content=to_bytes(module),
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    expected = interpreter.get_signature_runner("serve")(x0=arrays[at])["y0"]
    assert folded.data.dtype == expected.dtype == folded.dtype.numpy
    assert folded.shape == expected.shape
    assert folded.data.tobytes() == expected.tobytes()


def test_every_kernel_is_tried():
    assert {trial.kind.upper() for trial in TRIALS} == set(KERNELS)


@pytest.mark.parametrize(
    "trial",
    [
        case("div", i32(1), i32(0)),
        case("div", floats(1), floats(0)),
        case("mul", floats(1e30), floats(1e30)),
        case("maximum", floats(np.nan), floats(1)),
        case("add", floats(1), floats(1), fused_activation_function="TANH"),
        case("sqrt", floats(-1)),
        case("less", floats(np.nan), floats(1)),
        case("rsqrt", floats(0)),
        case("cast", floats(3e9), out_data_type="INT32"),
        case("cast", floats(2.0**31), out_data_type="INT32"),
        case("cast", floats(-1), out_data_type="UINT8"),
        case("cast", floats(np.nan), out_data_type="INT32"),
    ],
    ids=str,
)
def test_what_kernels_do_not_promise_is_left_to_the_runtime(trial: cases.Case):
    ops: list = []
    result = getattr(Builder(ops, "op"), trial.kind)(*map(constant, arrays_of(trial)), **trial.options)
    assert not result.is_const and len(ops) == 1


def test_parts_beyond_the_ends_are_left_to_the_runtime():
    """Begins and sizes may be known in the interpreter of fusions only."""
    assert KERNELS["SLICE"](floats(1, 2), i32(1), i32(5)) is None
    assert KERNELS["PAD"](floats(1, 2), i32([-1, 0])) is None


def test_a_transpose_is_a_view():
    weights = wide(3, 4)
    folded = Builder([], "op").transpose(constant(weights), [1, 0])
    assert np.shares_memory(folded.data, weights)


def test_a_fold_that_grows_is_left_to_the_runtime():
    ops: list = []
    Builder(ops, "op").fill([FOLD_GROWTH_BYTES], scalar(0, np.float32))
    assert [op.type for op in ops] == ["FILL"]


def test_quantized_constants_are_not_folded():
    stored = constant(np.array([1, 2], np.int8))
    stored.quantization = Quantization((0.5,), (0,))
    ops: list = []
    Builder(ops, "op").add(stored, stored)
    assert [op.type for op in ops] == ["ADD"]
