"""Shape functions of ops that pass values on, hold state, or take part in control flow."""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.ir import dims
from fuseconv.ir.dims import Dim, Shape
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import UnknownShape, same_shape
from fuseconv.tf.shape_functions.registry import Shapes, infers


@infers(
    "Identity", "StopGradient", "PreventGradient", "CheckNumerics", "CheckNumericsV2", "Snapshot", "DeepCopy",
    "GuaranteeConst", "DebugGradientIdentity", "LoopCond",
)  # fmt: skip
def identity(op: Op, x: Value) -> Shapes:
    return x.shape


@infers("IdentityN", "XlaOptimizationBarrier")
def identity_n(op: Op, *operands: Value) -> Shapes:
    return [x.shape for x in operands]


@infers("Switch")
def switch(op: Op, x: Value, predicate: Value) -> Shapes:
    return [x.shape, x.shape]


def declared(shape: Sequence[int | None] | None) -> Shape | None:
    """Return a shape attribute as a shape: -1 and None are unknown sizes."""
    if shape is None:
        return None
    return tuple(_size(dim) for dim in shape)


def _size(dim: int | Dim | None) -> Dim:
    return dims.fresh() if dim is None or (isinstance(dim, int) and dim < 0) else dim


@infers("EnsureShape")
def ensure_shape(op: Op, x: Value, *, shape: Sequence[int | None] | None = None) -> Shapes:
    return same_shape([x.shape, declared(shape)])


@infers("Placeholder")
def placeholder(op: Op, *, shape: Sequence[int | None] | None = None) -> Shapes:
    return declared(shape)


@infers("PlaceholderWithDefault")
def placeholder_with_default(op: Op, x: Value, *, shape: Sequence[int | None] | None = None) -> Shapes:
    stated = declared(shape)
    same_shape([x.shape, stated])
    return stated


@infers("NoOp", "Assert")
def nothing(op: Op, *operands: Value) -> Shapes:
    return []


@infers("VarHandleOp", "HashTableV2", "MutableHashTableV2", "LookupTableSizeV2")
def handle(op: Op, *operands: Value) -> Shapes:
    return ()


@infers("ReadVariableOp")
def read_variable(op: Op, handle: Value) -> Shapes:
    # A handle does not tell the shape of its variable; the result keeps the shape that the loader gave it.
    return op.result.shape


@infers("VariableShape")
def variable_shape(op: Op, handle: Value) -> Shapes:
    return op.result.shape


@infers("LookupTableFindV2")
def lookup_table_find(op: Op, table: Value, keys: Value, default: Value) -> Shapes:
    if keys.shape is None or default.shape is None:
        raise UnknownShape
    return (*keys.shape, *default.shape)
