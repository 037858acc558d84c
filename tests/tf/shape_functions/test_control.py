"""Shape functions that TensorFlow cannot be asked about eagerly, and the table itself."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import Sym, symbol
from fuseconv.ir.graph import Op, Value
from fuseconv.tf import shape_functions
from fuseconv.tf.shape_functions import infer
from tests.tf.all_cases import CASES
from tests.tf.shape_functions.test_registry import OLD

B = symbol("B")
X = (B, 4)

# Ops on handles, and ops that only exist inside graphs; tested here.
_HERE = {
    "Assert", "HashTableV2", "LookupTableFindV2", "LookupTableSizeV2", "LoopCond", "MutableHashTableV2", "NoOp",
    "Placeholder", "QuantizeAndDequantize", "ReadVariableOp", "ResourceGather", "Switch", "TensorStridedSliceUpdate",
    "VarHandleOp", "VariableShape", "XlaDynamicSlice", "XlaDynamicUpdateSlice", "XlaSharding", "CudnnRNN",
    "CudnnRNNV2", "CudnnRNNV3",
}  # fmt: skip
# What issue 2 asks for, and what Keras models commonly hold.
_NEEDED = """
    Conv2D DepthwiseConv2dNative Conv2DBackpropInput Conv3D MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum
    BiasAdd Add AddV2 Sub Mul RealDiv Div FloorDiv FloorMod Mod Pow Maximum Minimum SquaredDifference Equal NotEqual
    Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalNot Abs Neg Exp Log Sqrt Rsqrt Square Sin Cos Tanh
    Erf Sigmoid Sign Floor Ceil Round Relu Relu6 LeakyRelu Elu Selu Softplus Softsign Softmax LogSoftmax
    FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 MaxPool AvgPool MaxPool3D AvgPool3D MaxPoolWithArgmax Sum Mean
    Max Min Prod Any All EuclideanNorm ArgMax ArgMin Concat ConcatV2 Split SplitV Pack Unpack Slice StridedSlice
    Gather GatherV2 GatherNd ScatterNd TensorScatterUpdate TensorScatterAdd Reshape Squeeze ExpandDims Transpose Pad
    PadV2 MirrorPad Tile BroadcastTo BroadcastArgs Cast OneHot Range LinSpace Fill ZerosLike OnesLike Shape ShapeN
    Size Rank ResizeBilinear ResizeNearestNeighbor SpaceToBatchND BatchToSpaceND SpaceToBatch BatchToSpace
    SpaceToDepth DepthToSpace Select SelectV2 Where TopKV2 Cumsum Cumprod ReverseV2 ReverseSequence Roll L2Loss LRN
    ResourceGather Identity IdentityN StopGradient PreventGradient CheckNumerics Snapshot EnsureShape MatrixDiagV3
    MatrixDiagPartV3 MatrixSetDiagV3 MatrixBandPart Unique NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5
    RandomUniform Bucketize Bitcast InvertPermutation RFFT IRFFT RFFT2D FFT LookupTableFindV2 HashTableV2 StringLower
    StringJoin
"""


def _infer(kind: str, *operands: tuple | None, results: int = 1, **attrs: Any):
    values = [Value(types.FLOAT32, shape) for shape in operands]
    op = Op(kind if "." in kind else f"tf.{kind}", values, attrs, name=kind)
    for _ in range(results):
        op.add_result(types.FLOAT32, None)
    return infer(op)


def test_every_shape_function_is_tested() -> None:
    lists = {op for op in shape_functions.TABLE if op.startswith(("TensorList", "EmptyTensorList"))}  # in test_lists.py
    xla = {op for op in shape_functions.TABLE if op.startswith("Xla")} - _HERE  # in test_xla.py
    assert set(shape_functions.TABLE) - {case.op for case in CASES} == _HERE | lists | xla | {kind for kind, *_ in OLD}


@pytest.mark.parametrize("op", _NEEDED.split())
def test_covers(op: str) -> None:
    assert op in shape_functions.TABLE


def test_layers_of_cudnn() -> None:
    state = (2, B, 5)
    made = _infer("CudnnRNNV3", (7, B, 4), state, state, (90,), (B,), results=5, direction="bidirectional")
    assert made == [(7, B, 10), state, state, None, None]
    gru = _infer("CudnnRNN", (7, B, 4), state, (0,), (90,), results=4, rnn_mode="gru")
    assert gru == [(7, B, 5), state, None, None]
    assert _infer("CudnnRNNV2", (7, B, 4), state, state, (90,), results=5) == [(7, B, 5), state, state, None, None]


def test_what_keeps_its_operands_shape() -> None:
    # TensorFlow has no kernel on the CPU for the first three.
    assert _infer("XlaSharding", X) == [X]
    assert _infer("XlaDynamicUpdateSlice", X, (1, 2), (2,)) == [X]
    (sliced,) = _infer("XlaDynamicSlice", X, (2,), (2,)) or [None]
    assert sliced is not None and len(sliced) == 2
    assert _infer("QuantizeAndDequantize", X) == [X]
    assert _infer("TensorStridedSliceUpdate", X, (1,), (1,), (1,), (4, 3)) == [X]


def test_handles_and_tables() -> None:
    for kind in ("VarHandleOp", "HashTableV2", "MutableHashTableV2"):
        assert _infer(kind) == [()]
    assert _infer("LookupTableSizeV2", ()) == [()]
    assert _infer("LookupTableFindV2", (), X, ()) == [X]
    assert _infer("LookupTableFindV2", (), X, (3,)) == [(B, 4, 3)]
    assert _infer("LookupTableFindV2", (), None, ()) == [None]
    # A handle does not tell the shape of its variable.
    assert _infer("ReadVariableOp", ()) == [None]
    assert _infer("VariableShape", ()) == [None]
    assert _infer("ResourceGather", (), X) == [None]


def test_a_variable_keeps_the_shape_that_it_was_loaded_with() -> None:
    op = Op("tf.ReadVariableOp", [Value(types.RESOURCE, ())], {}, name="read")
    op.add_result(types.FLOAT32, (3, 4))
    assert infer(op) == [(3, 4)]


def test_control_flow() -> None:
    assert _infer("Switch", X, (), results=2) == [X, X]
    assert _infer("LoopCond", ()) == [()]
    assert _infer("NoOp", results=0) == []
    assert _infer("Assert", (), X, results=0) == []


def test_placeholders() -> None:
    assert _infer("Placeholder") == [None]
    ((unknown, four),) = _infer("Placeholder", shape=(None, 4))
    assert isinstance(unknown, Sym) and four == 4
    assert _infer("EnsureShape", (B, B), shape=(None, 4)) == [(B, 4)]
    assert _infer("EnsureShape", None) == [None]


def test_what_has_no_shape_function() -> None:
    assert _infer("NoSuchOp", X) is None
    assert _infer("tfl.ADD", X, X) is None
    assert _infer("AddV2", X) is None


def test_shapes_that_do_not_fit_are_not_claimed() -> None:
    assert _infer("AddV2", (3,), (4,)) == [None]
    assert _infer("MatMul", (3,), (4,)) == [None]
    assert _infer("Conv2D", X, X, strides=[1, 1, 1, 1], padding="SAME") == [None]


def test_a_wrong_number_of_results_is_a_defect() -> None:
    with pytest.raises(TypeError, match="made 1 shapes where the op has 2 results"):
        _infer("Relu", X, results=2)
