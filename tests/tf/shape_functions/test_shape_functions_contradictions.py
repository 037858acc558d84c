"""Nodes whose operands and attributes have the types that their op takes, and cannot run all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.types import BOOL, COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT32, INT64, DType
from fuseconv.tf.shape_functions import contradiction, infer

N = symbol("n")


def node(op: str, operands: list[Any], results: list[DType], **attrs: Any) -> Op:
    """Return an op. operands: arrays for constants; a shape for floats, or a type and a shape."""
    made = Op(f"tf.{op}", [_value(each) for each in operands], attrs)
    for dtype in results:
        made.add_result(dtype, None)
    return made


def _value(operand: Any) -> Value:
    if isinstance(operand, (list, int, np.ndarray)):
        return constant(np.array(operand, np.int32))
    dtype, shape = operand if operand and isinstance(operand[0], DType) else (FLOAT32, operand)
    return Value(dtype, shape)


def ints(*shape: int) -> tuple[DType, tuple[int, ...]]:
    return INT32, shape


def conv(strides: list[int], numbers: bytes) -> Op:
    operands = [(1, 4, 4, 3), (1, 1, 3, 2), strides, [[0, 0], [0, 0]], [1, 1], [1, 1], 1]
    return node("XlaConvV2", operands, [FLOAT32], dimension_numbers=numbers)


NHWC = bytes([0x40, 3, 0x5A, 2, 1, 2, 0x18, 2, 0x20, 3, 0x32, 2, 0, 1, 0x50, 3, 0x62, 2, 1, 2])
FLOATS, WHOLE = [FLOAT32], [INT32]


@pytest.mark.parametrize(("op", "why"), [
    (node("GatherV2", [(4,), ints(1), 100], FLOATS, batch_dims=0), "an axis 100 of 1 dimensions"),
    (node("MatrixBandPart", [(3, 3), [1], 0], FLOATS), "operand 1 has the shape [1]"),
    (node("MatrixBandPart", [(3,), 1, 0], FLOATS), "operand 0 has the shape [3]"),
    (node("TridiagonalMatMul", [(2,), (2,), (2,), (2, 1)], FLOATS), "operand 0 has the shape [2]"),
    (node("StatelessRandomGetKeyCounter", [ints(3)], [INT64, INT64]), "operand 0 has the shape [3]"),
    (node("Conv2D", [(1, 4, 4), (1, 1, 3, 2)], FLOATS, data_format="NCHW", strides=[1] * 4, padding="VALID"),
     "operand 0 has the shape [1,4,4]"),
    (node("PlaceholderWithDefault", [(3,)], FLOATS, shape=(2,)), "3 and 2 elements"),
    (node("Sum", [(2, 3), [1, -1]], FLOATS), "reduces a dimension twice, by the axes [1, 1]"),
    (node("FakeQuantWithMinMaxVarsPerChannel", [(2, 3), (2,), (2,)], FLOATS), "3 and 2 elements"),
    (node("FakeQuantWithMinMaxVars", [(2, 3), (), ()], FLOATS, num_bits=1), "quantizes to 1 bits"),
    (node("FakeQuantWithMinMaxArgs", [(2, 3)], FLOATS, min=1.0, max=1.0), "range is from 1.0 to 1.0"),
    (node("InvertPermutation", [[0, 2, 2]], WHOLE), "is no permutation"),
    (node("FloorMod", [ints(3), [2, 0, 1]], WHOLE), "divides by 0"),
    (node("Betainc", [(2,), (3, 2), ()], FLOATS), "do not have equally many dimensions"),
    (node("ClipByValue", [(2, 3), (3,), ()], FLOATS), "do not have equally many dimensions"),
    (node("SelfAdjointEigV2", [(2, 3)], FLOATS * 2), "2 and 3"),
    (node("MaxPool", [None], FLOATS, ksize=[1, 2, 2], strides=[1] * 4, padding="SAME"), "its windows are [1, 2, 2]"),
    (node("MaxPool", [None], FLOATS, ksize=[1] * 4, strides=[1, 0, 1, 1], padding="SAME"), "strides [1, 0, 1, 1]"),
    (node("MaxPool", [None], FLOATS, ksize=[1] * 4, strides=[1] * 4, padding="EXPLICIT"), "'EXPLICIT' is []"),
    (node("ArgMax", [(4,), 1], [INT64]), "an axis 1 of 1 dimensions"),
    (node("BiasAdd", [(2, 3), [1]], FLOATS, data_format="NCHW"), "adds a bias to 2 dimensions"),
    (node("BiasAdd", [(2, 3, 4), [[1]]], FLOATS, data_format="NCHW"), "operand 1 has the shape [1,1]"),
    (node("BiasAddGrad", [(4, 1)], FLOATS, data_format="NCHW"), "its gradient has 2 dimensions"),
    (node("ExpandDims", [(4,), [0, 1]], FLOATS), "it takes one axis, and is given 2"),
    (node("Split", [[0, 1], (4,)], FLOATS * 2), "operand 0 has the shape [2]"),
    (node("UniqueV2", [(4, 2), [0, 1]], [FLOAT32, INT32]), "it takes one axis, and is given 2"),
    (node("Relu6Grad", [(), (5,)], FLOATS), "do not have equally many dimensions"),
    (node("ApproximateEqual", [(1,), (5,)], [BOOL]), "1 and 5 elements"),
    (node("Reverse", [(4,), (BOOL, (4,))], FLOATS), "4 and 1 elements"),
    (node("ReverseV2", [(4, 2), [1, -1]], FLOATS), "reverses a dimension twice"),
    (node("ReverseV2", [(4, 2), [2]], FLOATS), "an axis 2 of 2 dimensions"),
    (node("ReverseSequence", [(2, 3), ints(2)], FLOATS, seq_dim=65536), "an axis 65536 of 2 dimensions"),
    (node("ReverseSequence", [(2, 3), ints(2)], FLOATS, seq_dim=0), "both its batch and its sequence"),
    (node("ReverseSequence", [(2, 3), ints(8)], FLOATS, seq_dim=1), "8 and 2 elements"),
    (node("Roll", [(2, 3), [1], [2]], FLOATS), "an axis 2 of 2 dimensions"),
    (node("Roll", [(2, 3), [1, 2], [0]], FLOATS), "2 and 1 elements"),
    (node("DataFormatVecPermute", [ints(1, 4, 4, 2)], WHOLE), "an operand of 4 dimensions"),
    (node("DataFormatVecPermute", [ints(5)], WHOLE), "5 sizes for the format 'NHWC'"),
    (node("DataFormatVecPermute", [ints(4)], WHOLE, dst_format="SAME"), "do not have the same letters"),
    (node("InplaceUpdate", [(), ints(2), (2,)], FLOATS), "a scalar, which has no rows"),
    (node("Lu", [(3, 1)], [FLOAT32, INT32]), "3 and 1"),
    (node("BatchMatMul", [(4, 5, 1, 3, 3), (2, 3, 4)], FLOATS), "do not have equally many dimensions"),
    (node("Einsum", [(2,)], FLOATS, equation="x"), "its equation 'x' has no ->"),
    (node("Einsum", [(2,)], FLOATS, equation="i,j->ij"), "has 2 terms for 1 operands"),
    (node("MirrorPadGrad", [(N,), [[0, 0, 1]]], FLOATS, mode="REFLECT"), "3 and 2 elements"),
    (node("RFFT", [(4,), [0]], [COMPLEX64]), "its lengths are [0]"),
    (node("Transpose", [(4,), -1], FLOATS), "an operand has 0 dimensions and not 1"),
    (node("ConjugateTranspose", [(4, 2), [[1, 0]]], FLOATS), "operand 1 has the shape [1,2]"),
    (node("Max", [(4, 2), [-3]], FLOATS, keep_dims=True), "an axis -3 of 2 dimensions"),
    (node("DynamicPartition", [(2,), ints(1)], FLOATS * 2, num_partitions=2), "2 and 1 elements"),
    (node("DynamicStitch", [[0, 1], [2], (2, 3), (2, 3)], FLOATS), "2 and 1 elements"),
    (node("DynamicStitch", [[0, 1], [2], (2, 3), (1, 4)], FLOATS), "3 and 4 elements"),
    (node("SparseSegmentSum", [[[1], [2]], [0, 2], [0, 0]], WHOLE), "an index beyond the 2 elements"),
    (node("SparseSegmentMeanWithNumSegments", [[[1], [2]], [0, 2], [0, 0], 1], FLOATS), "an index beyond the 2 elem"),
    (node("Cross", [(2, 3), (2, 4)], FLOATS), "3 and 4 elements"),
    (node("Cross", [(2, 4), (2, 4)], FLOATS), "4 and 3 elements"),
    (node("BroadcastArgs", [[3, 2, 1], [4, 1, 3, 2]], WHOLE), "do not broadcast"),
    (node("Conv2D", [(1, 4, 4, 1), (1, 1, 1, 1)], FLOATS, strides=[-1], dilations=[], padding="VALID"), "strides"),
    (node("NthElement", [(4,), -3], FLOATS), "element -3"),
    (node("NthElement", [(4,), 4], FLOATS), "the 5 largest of 4 elements"),
    (node("AudioSpectrogram", [(9, 2)], FLOATS, window_size=4, stride=0), "of 4 samples, 0 apart"),
    (node("FractionalMaxPool", [(1, 4, 4, 1)], FLOATS * 3, pooling_ratio=[1.0, 0.5, 1.0, 1.0]), "less than 1"),
    (node("TopK", [()], [FLOAT32, INT32], k=1), "a scalar"),
    (node("BroadcastTo", [(2, 3), [2, 4]], FLOATS), "it broadcasts 3 elements to 4"),
    (node("OneHot", [ints(2), 3, (2,), ()], FLOATS), "no scalars"),
    (node("SoftmaxCrossEntropyWithLogits", [(4, 3), (4, 2)], FLOATS * 2), "3 and 2"),
    (node("SparseSoftmaxCrossEntropyWithLogits", [(4, 3), ints(5)], FLOATS * 2), "4 and 5 elements"),
    (node("XlaDynamicSlice", [(4,), ints(0, 2), [2, 1]], FLOATS), "2 dimensions and not 1"),
    (node("SparseReduceSum", [ints(3, 2), (3,), ints(1, 0, 8), 0], FLOATS), "3 dimensions and not 1"),
    (node("LowerBound", [(8, 2), (3, 4)], WHOLE), "8 and 3 elements"),
    (node("Real", [(COMPLEX128, (2,))], FLOATS), "the parts of complex128 are not float32"),
    (node("Imag", [(COMPLEX64, (2,))], [FLOAT64]), "the parts of complex64 are not float64"),
    (node("ComplexAbs", [(COMPLEX64, (2,))], [FLOAT64]), "the parts of complex64 are not float64"),
    (node("Angle", [(COMPLEX128, (2,))], FLOATS), "the parts of complex128 are not float32"),
    (node("Complex", [(2,), (2,)], [COMPLEX128]), "the parts of complex128 are not float32"),
    (node("Select", [(BOOL, (1, 4)), (4,), (4,)], FLOATS), "equally many dimensions"),
    (node("Select", [(BOOL, (2,)), (3, 4), (3, 4)], FLOATS), "2 and 3 elements"),
    (node("HSVToRGB", [(2, 4)], FLOATS), "4 and 3 elements"),
    (node("AdjustHue", [(2, 2, 4), ()], FLOATS), "4 and 3 elements"),
    (node("ParallelConcat", [(1, 2), (1, 2)], FLOATS, shape=(2, None)), "it states no fixed shape"),
    (node("ParallelConcat", [(1, 2), (1, 2)], FLOATS, shape=(3, 2)), "3 and 2 elements"),
    (node("ParallelConcat", [(1, 2), (1, 3)], FLOATS, shape=(2, 2)), "2 and 3 elements"),
    (node("Bitcast", [()], [INT64]), "it makes a int64 of a single float32"),
    (node("Bitcast", [(2, 3)], [INT64]), "3 and 2 elements"),
    (node("RaggedGather", [ints(3), (4,), ints(2, 2)], [INT32, FLOAT32]), "2 levels of rows, and has results for 1"),
    (node("ApproxTopK", [(2, 3)], [FLOAT32, INT32], k=4), "the 4 largest of 3 elements"),
    (node("InTopKV2", [(4, 3), ints(2), 1], [BOOL]), "4 and 2 elements"),
    (node("NthElement", [(2, 3), 3], FLOATS), "the 4 largest of 3 elements"),
    (node("NthElement", [(2, 3), [1, 1]], FLOATS), "operand 1 has the shape [2]"),
    (node("SparseSegmentMean", [(4, 2), ints(2), ints(3)], FLOATS), "2 and 3 elements"),
    (node("SparseSegmentSumWithNumSegments", [(4, 2), ints(2), ints(3), 4], FLOATS), "2 and 3 elements"),
    (node("MatrixSolve", [(2, 3, 3), (4, 3, 1)], FLOATS), "2 and 4 elements"),
    (node("MatrixSolve", [(3, 4), (3, 1)], FLOATS), "3 and 4 elements"),
    (node("MatrixTriangularSolve", [(3, 3), (2, 1)], FLOATS), "3 and 2 elements"),
    (node("MatrixInverse", [(3, 4)], FLOATS), "3 and 4 elements"),
    (node("MatrixDeterminant", [(3, 4)], FLOATS), "3 and 4 elements"),
    (node("DiagPart", [(2, 3)], FLOATS), "2 and 3 elements"),
    (node("AudioSpectrogram", [(9, 1)], FLOATS, window_size=1, stride=1), "windows are of 1 samples, 1 apart"),
    (node("StridedSliceGrad", [[4], 0, [2], [1], (2,)], FLOATS), "0 dimensions and not 1"),
    (node("TensorStridedSliceUpdate", [(4,), [0], [2], [1, 1], (2,)], FLOATS), "1 and 2 elements"),
    (node("InplaceAdd", [(4, 2), ints(3), (2, 2)], FLOATS), "2 and 3 elements"),
    (node("InplaceUpdate", [(4, 2), ints(), (1, 2)], FLOATS), "0 dimensions and not 1"),
    (node("XlaDynamicUpdateSlice", [(4, 2), (1, 2), [0]], FLOATS), "1 and 2 elements"),
    (node("XlaDynamicUpdateSlice", [(4, 2), (5, 2), [0, 0]], FLOATS), "writes 5 elements over 4"),
    (node("SparseReduceSum", [(INT64, (3,)), (3,), [4, 4], 0], FLOATS), "1 dimensions and not 2"),
    (node("SparseDenseCwiseAdd", [(INT64, (4, 2)), (3,), [4, 4], (4, 4)], FLOATS), "4 and 3 elements"),
    (node("SparseDenseCwiseMul", [(INT64, (3, 1)), (3,), [4, 4], (4, 4)], FLOATS), "1 and 2 elements"),
    (node("SparseDenseCwiseDiv", [(INT64, (3, 1)), (3,), [4], (4, 4)], FLOATS), "has more than 1 dimensions"),
    (node("SparseSoftmax", [(INT64, (3, 2)), (3,), 4], FLOATS), "operand 2 has the shape []"),
    (node("SparseTensorDenseAdd", [(INT64, (3, 2)), (2,), [4, 4], (4, 4)], FLOATS), "3 and 2 elements"),
    (node("XlaKeyValueSort", [(3,), (4,)], [FLOAT32, FLOAT32]), "3 and 4 elements"),
    (node("XlaDotV2", [(2, 3), (3, 2)], FLOATS, dimension_numbers=b"\x0a"), "dimension numbers end within a field"),
    (node("XlaDotV2", [(2, 3), (3, 2)], FLOATS, dimension_numbers=b"\x08" + b"\xff" * 99), "of more than 70 bits"),
    (node("XlaGather", [(3, 3), ints(2, 1), [1, 3]], FLOATS, dimension_numbers=b"\x08\x09"), "its slices go to"),
    (conv([1], NHWC), "do not fit together"),
])  # fmt: skip
def test_what_cannot_run(op: Op, why: str) -> None:
    told = contradiction(op)
    assert why in told and told.endswith(": the model is damaged"), told


@pytest.mark.parametrize("op", [
    node("Real", [(COMPLEX128, (2,))], [FLOAT64]), node("Real", [(FLOAT32, (2,))], FLOATS),
    node("Complex", [(types.FLOAT64, (2,)), (types.FLOAT64, ())], [COMPLEX128]),
    node("Select", [(BOOL, (3,)), (3, 4), (N, 4)], FLOATS), node("Select", [(BOOL, ()), (3, 4), (3, 4)], FLOATS),
    node("RGBToHSV", [(2, N)], FLOATS), node("ParallelConcat", [(1, 2), (N, 2)], FLOATS, shape=(2, 2)),
    node("Bitcast", [(3, 2)], [INT64]), node("RaggedGather", [ints(3), (4,), ints(2)], [INT32, FLOAT32]),
    node("NthElement", [(2, 3), 2], FLOATS), node("NthElement", [(2, N), 9], FLOATS),
    node("SparseSegmentMean", [(4, 2), (INT32, (N,)), ints(3)], FLOATS),
    node("MatrixSolve", [(2, 3, 3), (N, 3, 1)], FLOATS), node("MatrixTriangularSolve", [(1, 3, 3), (2, 3, 1)], FLOATS),
    node("DiagPart", [(2, 3, 2, N)], FLOATS), node("StridedSliceGrad", [[4], [0], [2], [1], (2,)], FLOATS),
    node("InplaceAdd", [(4, 2), (INT32, (N,)), (2, 2)], FLOATS),
    node("XlaDynamicUpdateSlice", [(N, 2), (1, 2), [0, 0]], FLOATS),
    node("SparseDenseCwiseAdd", [(INT64, (N, 2)), (3,), [4, 4], ()], FLOATS),
    node("SparseReduceSum", [(INT64, (3, 2)), (N,), [4, 4], 0], FLOATS), conv([1, 1], NHWC),
])  # fmt: skip
def test_what_can_run(op: Op) -> None:
    assert not contradiction(op)


def test_a_tensor_has_as_many_dimensions_as_tensorflow_has() -> None:
    """Diag doubles them, and a few in a row would fill the memory with sizes."""
    assert not contradiction(node("Diag", [(1,) * 127], FLOATS))
    assert "256 dimensions" in contradiction(node("Diag", [(1,) * 128], FLOATS))
    assert infer(node("Diag", [(1,) * 128], FLOATS)) == [None]


def test_sizes_of_parts_are_a_vector_whatever_is_split() -> None:
    unknown = Value(FLOAT32, None)
    op = node("SplitV", [(4,), 1, 0], FLOATS * 2)
    op.set_operand(0, unknown)
    assert "operand 1 has the shape []" in contradiction(op)
