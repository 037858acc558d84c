"""Shape functions of ops on strings."""

from __future__ import annotations

from fuseconv.ir import dims
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import broadcast, shape_of
from fuseconv.tf.shape_functions.registry import Shapes, infers


@infers(
    "AsString", "DecodeBase64", "EncodeBase64", "RegexFullMatch", "RegexReplace", "StaticRegexFullMatch",
    "StaticRegexReplace", "StringLength", "StringLower", "StringStrip", "StringToHashBucket", "StringToHashBucketFast",
    "StringToHashBucketStrong", "StringToNumber", "StringUpper",
)  # fmt: skip
def like_first(op: Op, x: Value, *others: Value) -> Shapes:
    return x.shape


@infers("StringJoin")
def string_join(op: Op, *operands: Value) -> Shapes:
    return broadcast(*(x.shape for x in operands))


@infers("Substr")
def substr(op: Op, x: Value, position: Value, length: Value) -> Shapes:
    return broadcast(x.shape, position.shape)


@infers("StringSplitV2")
def string_split(op: Op, x: Value, separator: Value) -> Shapes:
    count = dims.fresh("words")
    return [(count, 2), (count,), (2,)]


@infers("DecodeRaw")
def decode_raw(op: Op, x: Value) -> Shapes:
    return (*shape_of(x), dims.fresh("bytes"))
