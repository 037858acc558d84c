"""Each kernel of TensorFlow Lite Micro runs on the types that its rules take, and computes what LiteRT's own does.

Kernels refuse types in Prepare, or as late as in Invoke; the rules are held to both."""

from __future__ import annotations

import re

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Quantization, Value
from fuseconv.targets import micro as rules
from fuseconv.tfl.integer import INT8, INT16
from fuseconv.write.flatbuffer_export import to_bytes
from tests.targets.refusals import why
from tests.tf.text_cases import module_of

micro = pytest.importorskip(
    "tflite_micro.python.tflite_micro.runtime", reason="the package tflite-micro is not installed (group `micro`)"
)

_POOL = "{'filter_height': 2, 'filter_width': 2, 'stride_h': 2, 'stride_w': 2, 'padding': 'VALID'}"
_KEPT, _DROPPED = "{'keep_dims': True}", "{'keep_dims': False}"
_HALF_PIXELS = "{'align_corners': False, 'half_pixel_centers': True}"
# The operands and the op, with T for a type; both have a line for each of several ops.
_FORMS = {
    ("T[2,3]", "T[2,3] = tfl.OP(%0)"):
        "ABS CEIL COS ELU EXP FLOOR HARD_SWISH LEAKY_RELU LOG LOGISTIC LOG_SOFTMAX NEG RELU RELU6 ROUND RSQRT SIN SQRT "
        "SQUARE TANH L2_NORMALIZATION ZEROS_LIKE",
    ("T[2,3]", "T[2,3] = tfl.OP(%0) {'beta': 1.0}"): "SOFTMAX",
    ("T[2,3] T[2,3]", "T[2,3] = tfl.OP(%0, %1)"):
        "ADD SUB MUL DIV SQUARED_DIFFERENCE MAXIMUM MINIMUM FLOOR_DIV FLOOR_MOD PRELU ADD_N",
    ("T[2,1,2,3,2] T[2,2,2,3,1]", "T[2,2,2,3,2] = tfl.OP(%0, %1)"):
        "ADD SUB MUL DIV SQUARED_DIFFERENCE MAXIMUM MINIMUM",
    ("T[2,3] T[3]", "bool[2,3] = tfl.OP(%0, %1)"): "EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL",
    ("T[2,3] T[2,3]", "T[2,3] = tfl.OP(%0, %1) "): "LOGICAL_AND LOGICAL_OR",
    ("T[2,3]", "T[2,3] = tfl.OP(%0) "): "LOGICAL_NOT",
    ("T[2,3,4]", f"T[2,4] = tfl.OP(%0, int32[1] 1) {_DROPPED}"): "SUM MEAN REDUCE_MAX REDUCE_MIN REDUCE_ALL",
    ("T[1,4,5,3]", f"T[1,1,1,3] = tfl.OP(%0, int32[2] [1, 2]) {_KEPT}"): "SUM MEAN REDUCE_MAX REDUCE_MIN",
    ("T[2,3,4,2,3]", f"T[2,2,3] = tfl.OP(%0, int32[2] [1, 2]) {_DROPPED}"): "SUM MEAN REDUCE_MAX REDUCE_MIN",
    ("T[2,3,4]", "int32[2,4] = tfl.OP(%0, int32[] 1) {'output_type': 'INT32'}"): "ARG_MAX ARG_MIN",
    **{("T[2,3]", f"{to}[2,3] = tfl.OP(%0)"): "CAST" for to in ("float32", "int8", "int16", "int32", "bool")},
    ("T[2,3]", "T[3,2] = tfl.OP(%0, int32[2] [3, 2])"): "RESHAPE",
    ("T[2,1,3]", "T[2,3] = tfl.OP(%0) {'squeeze_dims': [1]}"): "SQUEEZE",
    ("T[2,3]", "T[2,1,3] = tfl.OP(%0, int32[] 1)"): "EXPAND_DIMS",
    ("T[2,3,4,2,2]", "T[2,4,2,3,2] = tfl.OP(%0, int32[5] [0, 2, 3, 1, 4])"): "TRANSPOSE",
    ("T[2,3,1,2,2,2]", "T[2,1,2,3,2,2] = tfl.OP(%0, int32[6] [0, 2, 3, 1, 4, 5])"): "TRANSPOSE",
    ("T[2,3] T[2,4]", "T[2,7] = tfl.OP(%0, %1) {'axis': 1}"): "CONCATENATION",
    ("T[2,3] T[2,3]", "T[2,2,3] = tfl.OP(%0, %1) {'axis': 1, 'values_count': 2}"): "PACK",
    ("T[2,3]", "T[2,5] = tfl.OP(%0, int32[2,2] [0, 0, 1, 1])"): "PAD",
    ("T[2,3] T[]", "T[2,5] = tfl.OP(%0, int32[2,2] [0, 0, 1, 1], %1)"): "PADV2",
    ("T[2,3]", "T[2,5] = tfl.OP(%0, int32[2,2] [0, 0, 1, 1]) {'mode': 'REFLECT'}"): "MIRROR_PAD",
    ("T[1,2,4,3,2]", "T[1,2,2,3,2] = tfl.OP(%0, int32[5] [0, 0, 1, 0, 0], int32[5] [1, 2, 2, 3, 2])"): "SLICE",
    ("T[4,3]", "T[2,2] = tfl.OP(%0, int32[2] [0, 1], int32[2] [4, 3], int32[2] [2, 1])"): "STRIDED_SLICE",
    ("T[4,3]", "T[3] = tfl.OP(%0, int32[2] [1, 0], int32[2] [2, 3], int32[2] [1, 1]) {'shrink_axis_mask': 1}"):
        "STRIDED_SLICE",
    ("T[4,3] int32[2]", "T[4,2] = tfl.OP(%0, %1) {'axis': 1}"): "GATHER",
    ("T[4,3] int32[2,2]", "T[2] = tfl.OP(%0, %1)"): "GATHER_ND",
    ("int32[2] T[4,3]", "T[2,3] = tfl.OP(%0, %1)"): "EMBEDDING_LOOKUP",
    ("bool[2,1] T[2,3] T[]", "T[2,3] = tfl.OP(%0, %1, %2)"): "SELECT_V2",
    ("T[1,3,1,2,1]", "T[2,3,1,2,2] = tfl.OP(%0, int32[5] [2, 3, 1, 2, 2])"): "BROADCAST_TO",
    ("T[]", "T[2,3] = tfl.OP(int32[2] [2, 3], %0)"): "FILL",
    ("T[1,4,4,2]", "T[1,2,2,8] = tfl.OP(%0) {'block_size': 2}"): "SPACE_TO_DEPTH",
    ("T[1,2,2,8]", "T[1,4,4,2] = tfl.OP(%0) {'block_size': 2}"): "DEPTH_TO_SPACE",
    ("T[1,4,4,2]", "T[4,2,2,2] = tfl.OP(%0, int32[2] [2, 2], int32[2,2] [0, 0, 0, 0])"): "SPACE_TO_BATCH_ND",
    ("T[4,2,2,2]", "T[1,4,4,2] = tfl.OP(%0, int32[2] [2, 2], int32[2,2] [0, 0, 0, 0])"): "BATCH_TO_SPACE_ND",
    ("T[1,4,4,2]", f"T[1,2,2,2] = tfl.OP(%0) {_POOL}"): "AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D",
    ("T[1,4,4,2]", f"T[1,8,8,2] = tfl.OP(%0, int32[2] [8, 8]) {_HALF_PIXELS}"):
        "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR",
    ("T[2,3]", "T[2,3] = tfl.OP(%0, int32[] 1)"): "CUMSUM",
    ("T[2,3]", "T[2,3] = tfl.OP(%0, int32[1] 1)"): "REVERSE_V2",
    ("T[2,3,4]", "T[2,3,4] = tfl.OP(%0, int32[2] [2, 1])"): "REVERSE_V2",
    ("T[2,3,4]", "T[2,3,4] = tfl.OP(%0, int32[2] [0, 2])"): "REVERSE_V2",
    ("T[2,2,2,2,3] T[3]", "T[2,2,2,2,3] = tfl.OP(%0, %1)"): "PRELU",
    ("T[2,2,2,2,3]", "T[2,2,2,2,3] = tfl.OP(%0)"): "L2_NORMALIZATION LOG_SOFTMAX",
    ("T[1,4,2]", "T[2,3,2] = tfl.OP(%0, int32[1] 2, int32[1,2] [1, 1])"): "SPACE_TO_BATCH_ND",
    ("T[1,4,4,2]", "T[4,3,3,2] = tfl.OP(%0, int32[2] [2, 2], int32[2,2] [1, 1, 1, 1])"): "SPACE_TO_BATCH_ND",
    ("T[4,3,3,2]", "T[1,4,5,2] = tfl.OP(%0, int32[2] [2, 2], int32[2,2] [1, 1, 1, 0])"): "BATCH_TO_SPACE_ND",
    ("T[2,3] T[3]", "T[2,3] = tfl.OP(%0, %1) {'fused_activation_function': 'RELU6'}"): "ADD SUB MUL DIV",
    ("T[2,3] T[2,3]", "T[2,6] = tfl.OP(%0, %1) {'axis': -1, 'fused_activation_function': 'RELU'}"): "CONCATENATION",
    ("T[2,3,1] T[1,4]", "T[2,3,4] = tfl.OP(%0, %1)"): "ADD SUB MUL DIV SQUARED_DIFFERENCE MAXIMUM MINIMUM",
    ("T[2,1,4,3] T[3,5,4]", "T[2,3,3,5] = tfl.OP(%0, %1) {'adj_x': True, 'adj_y': True}"): "BATCH_MATMUL",
    ("T[2,3,4] int32[2,2]", "T[2,2,4] = tfl.OP(%0, %1) {'axis': 1, 'batch_dims': 1}"): "GATHER",
    ("T[4,5,3]", "T[2,2,1] = tfl.OP(%0, int32[3] [-2, 3, 2], int32[3] [9, 0, 3], int32[3] [1, -2, 1])"):
        "STRIDED_SLICE",
    ("T[2,3,4]", "T[2,3,4] = tfl.OP(%0, int32[] -2) {'exclusive': True, 'reverse': True}"): "CUMSUM",
    **{("T[2,3]", f"{to}[2,3] = tfl.OP(%0) "): "QUANTIZE DEQUANTIZE" for to in ("float32", "int8", "int16")},
    ("T[2,3,4] T[2,4,5]", "T[2,3,5] = tfl.OP(%0, %1)"): "BATCH_MATMUL",
    ("T[4,3] T[2,3] int32[2]", "T[4,3] = tfl.OP(%0, %1, %2)"): "DYNAMIC_UPDATE_SLICE",
    ("T[2,3]", "int32[2] = tfl.OP(%0) {'out_type': 'INT32'}"): "SHAPE",
}  # fmt: skip
# Of several results or bodies, of states or weights: files of models run them.
_OF_MODELS = {
    "CALL_ONCE", "IF", "WHILE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "BROADCAST_ARGS", "SVDF", "CONV_2D",
    "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "SPLIT", "SPLIT_V", "UNPACK",
    "UNIDIRECTIONAL_SEQUENCE_LSTM", "CUSTOM",
}  # fmt: skip
_CASES = [(type, *form) for form, kinds in _FORMS.items() for type in kinds.split()]
# LiteRT's RSQRT of int16 reads a table of 512 parts, and of the others it has no kernels of integers.
_OTHERWISE = {
    ("RSQRT", "int16"), ("SQUARED_DIFFERENCE", "int16"), ("ADD_N", "int8"), ("CUMSUM", "int8"), ("ZEROS_LIKE", "int8"),
}  # fmt: skip


def test_no_op_is_left_out() -> None:
    assert {type for type, *_ in _CASES}.union(_OF_MODELS) == rules.OPS.keys()


@pytest.mark.parametrize(("type", "operands", "op"), _CASES, ids=[f"{type}-{op[:12]}" for type, _, op in _CASES])
def test_taken_types_run(type: str, operands: str, op: str) -> None:
    text = op.replace("OP", type).strip()
    for dtype in ("float32", "int8", "int16", "int32", "int64", "bool"):
        given, line = (re.sub(r"\bT\[", f"{dtype}[", each) for each in (operands, text))
        if why("micro", given, line) is None:
            _check(_module(given, line), type, dtype)


def _module(operands: str, line: str) -> Module:
    inputs = [f"input %i{index}: {each}" for index, each in enumerate(operands.split())]
    line = re.sub(r"%(\d)", r"%i\1", line)
    module, _ = module_of("\n".join(["main {", *inputs, f"%y: {line}", "return %y", "}"]))
    return module


def _check(module: Module, type: str, dtype: str) -> None:
    graph = module.signatures[0].graph
    _set_scales(graph, type)
    rng = np.random.default_rng(1)
    feeds = [_numbers(value, type, rng) for value in graph.inputs]
    data = to_bytes(module)
    small = micro.Interpreter.from_bytes(data, arena_size=1 << 16)
    for _ in range(2):
        for index, array in enumerate(feeds):
            small.set_input(array, index)
        small.invoke()
    found = small.get_output(0)
    if (type, dtype) not in _OTHERWISE:
        np.testing.assert_allclose(found, _by_litert(data, feeds), rtol=1e-6, atol=1e-6, err_msg=f"{type} of {dtype}")


def _set_scales(graph: Graph, type: str) -> None:
    for value in (*graph.inputs, *graph.outputs) if type != "CAST" else ():
        if value.dtype in (types.INT8, types.INT16):
            kernels = INT8 if value.dtype is types.INT8 else INT16
            made = value in graph.outputs and kernels.fixed_scale.get(type)
            value.quantization = made or Quantization((0.05 if kernels is INT8 else 0.0005,), (0,))


def _numbers(value: Value, type: str, rng: np.random.Generator) -> np.ndarray:
    shape = [int(dim) for dim in value.shape or ()]  # type: ignore[arg-type]
    if value.dtype is types.BOOL:
        return rng.random(shape) > 0.5
    places = type in ("GATHER", "GATHER_ND", "EMBEDDING_LOOKUP", "DYNAMIC_UPDATE_SLICE")
    if value.dtype is types.FLOAT32:
        return rng.uniform(0.1, 2, shape).astype(np.float32)
    return rng.integers(*((0, 2) if places and value.dtype is types.INT32 else (1, 60)), shape, value.dtype.numpy)


def _by_litert(data: bytes, feeds: list[np.ndarray]) -> np.ndarray:
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), feeds):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
