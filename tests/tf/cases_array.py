"""Cases of ops that make, join, split, slice and rearrange tensors, and that pass them on."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.tf.cases import f, i, n, p, row, s

# Passing on.
for _op in (
    "Identity", "StopGradient", "PreventGradient", "Snapshot", "DeepCopy", "GuaranteeConst", "DebugGradientIdentity",
):  # fmt: skip
    row(_op, lambda b: [f(b, 4)])
for _op in ("CheckNumerics", "CheckNumericsV2"):
    row(_op, lambda b: [f(b, 4)], message="bad")
row("IdentityN", lambda b: [[f(b, 4), n(2, b)]])
row("EnsureShape", lambda b: [f(b, 4)], shape=[None, 4])
row("PlaceholderWithDefault", lambda b: [f(5, 4)], shape=[5, 4])

# Shapes.
for _type in (tf.int32, tf.int64):
    row("Shape", lambda b: [f(b, 4, 2)], out_type=_type)
    row("Size", lambda b: [f(b, 4, 2)], out_type=_type)
row("ShapeN", lambda b: [[f(b, 4, 2), f(3, b)]])
row("Rank", lambda b: [f(b, 4, 2)])
row("Reshape", lambda b: [f(b, 6), i(b, 2, 3)])
row("Reshape", lambda b: [f(b, 6), i(-1, 2)], name="rest")
row("Reshape", lambda b: [f(b, 6), i(b, -1)], name="rest after batch")
row("Reshape", lambda b: [f(b, 4, 6), i(4 * b, 6)], name="merged")
row("Reshape", lambda b: [f(4 * b, 6), i(-1, 4, 6)], name="split")
row("Reshape", lambda b: [f(b, b - 2, 6), i(b, b - 2, 2, 3)], name="valid window")
row("Reshape", lambda b: [f(1, 1), np.zeros(0, np.int32)], name="scalar")
row("Squeeze", lambda b: [f(1, 3, 1, 2)])
row("Squeeze", lambda b: [f(b, 1, 4, 1)], squeeze_dims=[1, -1])
for _axis in (0, 1, -1, 2):
    row("ExpandDims", lambda b, a=_axis: [f(b, 4), s(a)])
row("ExpandDims", lambda b: [f(b, 4), i(1)], name="vector")
row("Transpose", lambda b: [f(b, 4, 2), i(2, 0, 1)])
row("ConjugateTranspose", lambda b: [f(b, 4).astype(np.complex64) * (1 + 2j), i(1, 0)])
row("BroadcastTo", lambda b: [f(4, 1), i(b, 4, 3)])
row("BroadcastTo", lambda b: [f(), i(b, 4)], name="scalar")
row("BroadcastArgs", lambda b: [i(4, 1), i(2, 4, 3)])
row("Bitcast", lambda b: [f(b, 4)], type=tf.int32)
row("Bitcast", lambda b: [f(b, 4)], type=tf.uint8)
row("Bitcast", lambda b: [f(b)], type=tf.uint8)
row("Bitcast", lambda b: [n(b, 4, low=0, dtype=np.uint8)], type=tf.int32)

# Joining and splitting.
for _axis in (0, 1, -1):
    row("ConcatV2", lambda b, a=_axis: [[f(b, b), 2 * f(b, b)], s(a)], name=f"axis {_axis}")
    row("Concat", lambda b, a=_axis: [s(a % 2), [f(b, b), 2 * f(b, b)]], name=f"axis {_axis}")
    row("Pack", lambda b: [[f(b, 3), 2 * f(b, 3)]], axis=_axis)
row("ConcatV2", lambda b: [[f(b, 2), f(b, 3), f(b, 0)], s(1)])
row("ConcatV2", lambda b: [[i(b), i(2, 3 * b)], s(0)], name="content")
row("Pack", lambda b: [[s(b), s(7), s(2 * b)]], name="content")
row("Pack", lambda b: [[np.array(b"a", object), np.array(b"b", object)]], name="strings")
row("ConcatOffset", lambda b: [s(1), [i(2, 3), i(2, 4), i(2, 1)]])
row("ConcatOffset", lambda b: [s(1), [i(b, 3), i(b, 4), i(b, 2 * b)]], name="content")
row("ConcatOffset", lambda b: [s(0), [i(b, 3), i(2, 3), i(2 * b, 3)]], name="content")
for _axis in (0, 1, -2):
    row("Split", lambda b, a=_axis: [s(a), f(2 * b, 4, 3 * b)], num_split=2 if _axis != -2 else 4)
    row("Unpack", lambda b: [f(3, 3, b)], num=3, axis=_axis % 2)
row("Split", lambda b: [s(0), i(b, 2, 7, 3 * b)], num_split=2, name="content")
row("Unpack", lambda b: [i(b, 2, 7)], num=3, name="content")
row("SplitV", lambda b: [f(b, 7), i(2, 4, 1), s(1)], num_split=3)
row("SplitV", lambda b: [f(b, b), i(2, -1), s(1)], num_split=2)
row("SplitV", lambda b: [i(b, 2, 7), i(1, -1), s(0)], num_split=2, name="content")

# Padding and repeating.
row("Pad", lambda b: [f(b, 4), np.array([[0, 0], [1, 2]], np.int32)])
row("Pad", lambda b: [n(b, 4), np.array([[1, 0], [b, 2]], np.int64)], name="int")
row("Pad", lambda b: [i(b, 4), np.array([[1, 2]], np.int32)], name="content")
row("PadV2", lambda b: [f(b, 4), np.array([[0, 1], [1, 2]], np.int32), np.float32(7)])
for _mode in ("REFLECT", "SYMMETRIC"):
    row("MirrorPad", lambda b: [f(b, 4), np.array([[0, 2], [3, 0]], np.int32)], mode=_mode)
row("Tile", lambda b: [f(b, 4), i(2, 3)])
row("Tile", lambda b: [f(1, 4), i(b, 3)], name="batch")
row("Tile", lambda b: [i(b, 4), i(2)], name="content")
row("Fill", lambda b: [i(b, 4), np.float32(3)])
row("Fill", lambda b: [np.array([b, 4], np.int64), s(3)], name="int64")
row("Fill", lambda b: [i(3), s(b)], name="content")
row("OneHot", lambda b: [n(b, 2, low=-1, high=6), s(5), np.float32(2), np.float32(-1)])
row("OneHot", lambda b: [n(b, 2, low=-1, high=6), s(5), s(1), s(0)], axis=0)
row("OneHot", lambda b: [n(b, 2, low=-1, high=6, dtype=np.int64), s(2 * b), np.array(True), np.array(False)], axis=1)
for _range in ((0, 7, 2), (7, 0, -3), (3, 3, 1)):
    row("Range", lambda b, r=_range: [s(e) for e in r], name=str(_range))
row("Range", lambda b: [s(0), s(b), s(1)], name="batch")
row("Range", lambda b: [s(2), s(2 + 3 * b), s(2)], name="stride")
row("Range", lambda b: [np.float32(0), np.float32(1), np.float32(0.1)], name="float")
row("Range", lambda b: [np.float32(5), np.float32(-1), np.float32(-0.75)], name="float down")
row("LinSpace", lambda b: [np.float32(-1), np.float32(2), s(7)])
row("LinSpace", lambda b: [np.float32(-1), np.float32(2), s(1)])

# Rearranging.
row("ReverseV2", lambda b: [f(b, 4, 3), i(0, -1)])
row("ReverseV2", lambda b: [i(b, 4, 3), i(0)], name="content")
row("Reverse", lambda b: [f(b, 4), np.array([False, True])])
row("ReverseSequence", lambda b: [f(b, 4), np.full(b, 2, np.int64)], seq_dim=1)
row("Roll", lambda b: [f(b, 4), i(1, -2), i(0, 1)])
row("Roll", lambda b: [f(b, 4), s(3), s(1)], name="scalar")
row("SpaceToBatchND", lambda b: [f(b, 5, 6, 2), i(2, 3), np.array([[1, 0], [0, 3]], np.int32)])
row("BatchToSpaceND", lambda b: [f(6 * b, 3, 3, 2), i(2, 3), np.array([[1, 0], [0, 2]], np.int32)])
row("SpaceToBatch", lambda b: [f(b, 5, 6, 2), np.array([[1, 0], [0, 2]], np.int32)], block_size=2)
row("BatchToSpace", lambda b: [f(4 * b, 3, 4, 2), np.array([[1, 0], [0, 2]], np.int32)], block_size=2)
row("SpaceToDepth", lambda b: [f(b, 4, 6, 3)], block_size=2)
row("DepthToSpace", lambda b: [f(b, 4, 6, 12)], block_size=2)

# Slicing.
row("Slice", lambda b: [f(b, 6), i(0, 2), i(-1, 3)])
row("Slice", lambda b: [f(b, 6), i(1, 2), i(b - 1, -1)], fresh=True)
row("Slice", lambda b: [f(9, 6), i(0, 2), i(b, -1)], name="batch")
row("Slice", lambda b: [i(b, 6, 2 * b), i(1), i(2)], name="content")
row("StridedSlice", lambda b: [f(b, 6), i(0, 1), i(0, 5), i(1, 2)], begin_mask=1, end_mask=1)
row("StridedSlice", lambda b: [f(b, 6), i(0, -1), i(0, -5), i(-1, -2)], begin_mask=1, end_mask=1)
row("StridedSlice", lambda b: [f(b, 6), i(0), i(b), i(1)], name="whole")
row("StridedSlice", lambda b: [f(b, 6), i(0), i(2), i(1)], name="clamped", fresh=True)
row("StridedSlice", lambda b: [f(2 * b, 6), i(0), i(b), i(1)], name="half")
row("StridedSlice", lambda b: [i(b, 6, 2 * b), i(1), i(3), i(1)], name="content")
row("StridedSlice", lambda b: [i(b, 6, 2 * b), i(-1), i(0), i(1)], shrink_axis_mask=1, name="content")
row(
    "StridedSlice", lambda b: [f(b, 6, 3, 2), i(1, 0, 0, 2), i(2, 0, 0, 3), i(1, 1, 1, 1)],
    ellipsis_mask=2, new_axis_mask=4, shrink_axis_mask=1, end_mask=8, fresh=True,
)  # fmt: skip
row("Gather", lambda b: [f(7, 3), n(b, 2, low=0, high=7)])
row("Gather", lambda b: [i(b, 2, 2 * b), i(2, 0)], name="content")
row("GatherV2", lambda b: [i(b, 2, 2 * b), i(2, 0), s(0)], name="content")
for _axis in (0, 1, -1):
    row("GatherV2", lambda b, a=_axis: [f(b, 3, 4), i(2, 0), s(a)], name=f"axis {_axis}")
    row("GatherV2", lambda b, a=_axis: [f(b, 3, 4), s(2), s(a)], name=f"scalar on axis {_axis}")
row("GatherV2", lambda b: [f(b, 7, 3), n(b, 2, low=0, high=7), s(1)], batch_dims=1)
row("GatherV2", lambda b: [f(b, 2, 3, 7), n(b, 2, 4, low=0, high=7), s(3)], batch_dims=-1)
row("GatherNd", lambda b: [f(3, 4, 2), np.array([[0, 1], [2, 3], [1, 1]], np.int32)])
row("GatherNd", lambda b: [f(3, 4, b), np.array([[[0], [2]]], np.int64)], name="rows")
_INDICES = np.array([[4], [1], [4]], np.int32)
row("ScatterNd", lambda b: [_INDICES, f(3, 2), i(6, 2)])
row("ScatterNd", lambda b: [_INDICES, f(3, b), i(6, b)], name="batch")
for _op in ("Add", "Sub", "Max", "Min"):
    row(f"TensorScatter{_op}", lambda b: [f(6, b), _INDICES, f(3, b)])
row("ScatterNdNonAliasingAdd", lambda b: [f(6, b), _INDICES, f(3, b)])
row("TensorScatterUpdate", lambda b: [f(6, b), _INDICES[1:], f(2, b)])
row("DynamicStitch", lambda b: [[i(0, 2), i(1, 3)], [f(2, b), -f(2, b)]])
row("DynamicStitch", lambda b: [[i(0, 1, 2), i(2)], [i(b, 6, 4), i(1)]], name="content")
row("DynamicStitch", lambda b: [[np.array([[0, 2]], np.int32), s(1)], [f(1, 2, b), f(b)]], name="ranks")
row("DynamicPartition", lambda b: [f(5, 3), i(0, 1, 1, 0, 1)], num_partitions=2, fresh=True)

# Random numbers.
for _op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
    row(_op, lambda b: [i(b, 4)], dtype=tf.float32)
row("RandomUniformInt", lambda b: [i(b, 4), s(0), s(9)])
row("SobolSample", lambda b: [s(3), s(b), s(2)])
row("StatelessRandomUniform", lambda b: [i(b, 4), i(1, 2)])
row("StatelessRandomNormal", lambda b: [i(b, 4), i(1, 2)])
_KEY, _COUNTER = np.array([7], np.uint64), np.array([7, 1], np.uint64)
for _op in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"):
    row(f"{_op}V2", lambda b: [i(b, 4), _KEY, _COUNTER, s(1)])
row("StatelessTruncatedNormal", lambda b: [i(b, 4), i(1, 2)])
row("StatelessRandomUniformInt", lambda b: [i(b, 4), i(1, 2), s(0), s(9)])
row("StatelessRandomUniformIntV2", lambda b: [i(b, 4), _KEY, _COUNTER, s(1), s(0), s(9)])
row("StatelessRandomUniformFullInt", lambda b: [i(b, 4), i(1, 2)], dtype=tf.int32)
row("StatelessRandomUniformFullIntV2", lambda b: [i(b, 4), _KEY, _COUNTER, s(1)], dtype=tf.int32)
row("StatelessRandomGetKeyCounter", lambda b: [i(1, 2)])
row("StatelessRandomGetKeyCounterAlg", lambda b: [i(1, 2)])
row("StatelessRandomGetAlg", lambda b: [])
row("Multinomial", lambda b: [f(b, 4), s(6)])
row("RandomGamma", lambda b: [i(b, 4), p(2)])
row("RandomShuffle", lambda b: [f(b, 4)])
row("StatelessShuffle", lambda b: [f(b, 4), _KEY, _COUNTER, s(1)])

# Strings.
_WORDS = np.array([b"a b", b"", b"cde f g", b"7", b" x "], object)
for _op in ("StringLength", "StringLower", "StringUpper", "StringStrip"):
    row(_op, lambda b: [_WORDS])
for _op in ("StringToHashBucket", "StringToHashBucketFast"):
    row(_op, lambda b: [_WORDS], num_buckets=9)
row("StringToHashBucketStrong", lambda b: [_WORDS], num_buckets=9, key=[1, 2])
row("EncodeBase64", lambda b: [_WORDS])
row("DecodeBase64", lambda b: [np.array([b"YWJj"], object)])
row("DecodeRaw", lambda b: [np.array([b"abcd", b"efgh"], object)], out_type=tf.int16, fresh=True)
row("RegexFullMatch", lambda b: [_WORDS, np.array(b"a.*", object)])
row("StaticRegexFullMatch", lambda b: [_WORDS], pattern="a.*")
row("StaticRegexReplace", lambda b: [_WORDS], pattern="a", rewrite="b")
_EXAMPLE = tf.train.Example(features=tf.train.Features(feature={
    "a": tf.train.Feature(float_list=tf.train.FloatList(value=[1, 2, 3])),
    "b": tf.train.Feature(int64_list=tf.train.Int64List(value=[4, 5])),
})).SerializeToString()  # fmt: skip
_KEYS, _NONE = np.array([b"a"], object), np.array([], object)
_LONG = np.zeros([0], np.int64)
row("ParseExample", lambda b: [np.array([_EXAMPLE] * b, object), _NONE, [b"b"], [b"a"], [f(0)]],
    sparse_types=[tf.int64], dense_shapes=[[3]], fresh=True)  # fmt: skip
row("ParseExample", lambda b: [np.array([_EXAMPLE] * b, object), _NONE, [], [b"a", b"b"], [f(0), _LONG]],
    sparse_types=[], dense_shapes=[[3], [2, 1]], name="dense")  # fmt: skip
row("ParseExampleV2", lambda b: [np.array([_EXAMPLE] * b, object), _NONE, _NONE, _KEYS, _NONE, [f(0)]],
    num_sparse=0, sparse_types=[], ragged_value_types=[], ragged_split_types=[], dense_shapes=[[3]])  # fmt: skip
row("ParseExampleV2", lambda b: [np.array([_EXAMPLE] * b, object), _NONE, np.array([b"b"], object), _KEYS, _NONE,
    [f(1)]], num_sparse=1, sparse_types=[tf.int64], ragged_value_types=[], ragged_split_types=[], dense_shapes=[[-1]],
    fresh=True, name="sparse")  # fmt: skip
row("ParseSingleExample", lambda b: [np.array(_EXAMPLE, object), [_LONG]], num_sparse=1, sparse_keys=["a"],
    dense_keys=["b"], sparse_types=[tf.float32], dense_shapes=[[2]], fresh=True)  # fmt: skip
row("StringToNumber", lambda b: [np.array([b"1", b"2.5"], object)])
row("AsString", lambda b: [n(b, 2)])
row("AsString", lambda b: [n(b, 2)], name="wide", width=6, fill="0")
row("AsString", lambda b: [f(b, 2) > 0], name="bool", width=7)
row("AsString", lambda b: [f(b, 2) * 1e4], name="float")
row("AsString", lambda b: [f(b, 2) * 1e4], name="precise", precision=2, width=9, fill="-")
row("AsString", lambda b: [f(b, 2) * 1e9], name="scientific", scientific=True)
row("AsString", lambda b: [f(b, 2) * 1e-9], name="shortest", shortest=True)
row("AsString", lambda b: [f(b, 2, dtype=np.float64)], name="double", precision=12)
row("RegexReplace", lambda b: [_WORDS, np.array(b"a", object), np.array(b"b", object)])
row("StringJoin", lambda b: [[_WORDS, np.array(b"-", object)]])
row("StringJoin", lambda b: [[_WORDS, _WORDS]], name="separated", separator=", ")
row("Substr", lambda b: [np.array([b"abc", b"def"], object), s(0), s(2)])
row("StringSplitV2", lambda b: [_WORDS, np.array(b"", object)], fresh=True)

# Of old and of gradient graphs.
row("DataFormatDimMap", lambda b: [n(b, low=0, high=4)], src_format="NHWC", dst_format="NCHW")
row("DataFormatVecPermute", lambda b: [i(b, 7, 8, 9)], src_format="NHWC", dst_format="NCHW")
for _op in ("InplaceAdd", "InplaceSub", "InplaceUpdate"):
    row(_op, lambda b: [f(b, 4), i(0, 2), f(2, 4)])
row("Empty", lambda b: [i(b, 3)], dtype=np.float32, init=True)
row("StridedSliceGrad", lambda b: [i(b, 4), i(0, 1), i(2, 3), i(1, 1), f(2, 2)])
row("UnravelIndex", lambda b: [n(b, low=0, high=6), i(2, 3)])
row("ParallelDynamicStitch", lambda b: [[i(0, 2), i(1)], [f(2, b), f(1, b)]])
row("BroadcastGradientArgs", lambda b: [i(b, 1, 3), i(4, 1)], fresh=True)
row("BroadcastGradientArgs", lambda b: [i(1, 4, 3), i(1, 1, 3)], fresh=True, name="both-1")
row("BroadcastGradientArgs", lambda b: [i(1, 3), i(1, 3)], fresh=True, name="equal")
row("MirrorPadGrad", lambda b: [f(b, 4), i((0, 0), (1, 1))], mode="REFLECT")
