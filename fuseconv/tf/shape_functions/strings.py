"""Shape functions of ops on strings."""

from __future__ import annotations

from typing import Any

from fuseconv.ir import dims
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import UnknownShape, broadcast, shape_of
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


@infers("ParseExample", "ParseSingleExample")
def parse_example(
    op: Op, serialized: Value, *operands: Value, dense_shapes: list[Any], sparse_keys: Any = (), dense_keys: Any = ()
) -> Shapes:
    sparse = (len(op.results) - len(dense_shapes)) // 3
    return _parsed(op, shape_of(serialized), sparse, dense_shapes)


@infers("ParseExampleV2")
def parse_example_v2(
    op: Op,
    serialized: Value,
    names: Value,
    sparse_keys: Value,
    dense_keys: Value,
    ragged_keys: Value,
    *defaults: Value,
    dense_shapes: list[Any],
) -> Shapes:
    (sparse,) = shape_of(sparse_keys)
    if not isinstance(sparse, int):
        raise UnknownShape
    return _parsed(op, shape_of(serialized), sparse, dense_shapes)


def _parsed(op: Op, batch: Shape, sparse: int, dense_shapes: list[Any]) -> Shapes:
    """Return the sparse features (indices first), the dense ones, and the ragged ones, whose shapes are not told."""
    counts = [dims.fresh("values") for _ in range(sparse)]
    shapes: list[Shape | None] = [(count, len(batch) + 1) for count in counts]
    shapes += [(count,) for count in counts]
    shapes += [(len(batch) + 1,) for _ in counts]
    for shape in dense_shapes:
        known = None if shape is None else [n if n is not None and n >= 0 else dims.fresh("steps") for n in shape]
        shapes.append(None if known is None else (*batch, *known))
    return [*shapes, *[None] * (len(op.results) - len(shapes))]
