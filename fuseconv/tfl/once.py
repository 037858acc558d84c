"""What the runtime computes once, as it allocates tensors, rather than on every invoke."""

from __future__ import annotations

from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

# Ops whose kernels compute as tensors are allocated, and only then, if all operands are known (they call
# SetTensorToPersistentRo).
_KINDS = frozenset({
    "tfl.BROADCAST_ARGS", "tfl.CONCATENATION", "tfl.GATHER", "tfl.MUL", "tfl.RANGE", "tfl.REDUCE_PROD", "tfl.RESHAPE",
    "tfl.STRIDED_SLICE", "tfl.TILE",
})  # fmt: skip


def is_computed_once(value: Value) -> bool:
    """Return whether a value is made of constants and sizes by such ops alone."""
    pending, seen = [value], {value}
    while pending:
        value = pending.pop()
        if value.is_const or (value.op is not None and value.op.kind in ("tfl.SHAPE", "tfl.RANK")):
            continue
        if value.op is None or value.op.kind not in _KINDS:
            return False
        for operand in value.op.operands:
            if operand is not None and operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return True


def computed_on_every_invoke(tfl: Builder, value: Value) -> Value:
    """Build a copy that is computed on every invoke: x + 0, where the runtime fills in the 0."""
    shape = (1,) if value.rank else ()
    (zero,) = tfl.typed_op("FILL", [tfl.ints(shape), tfl.const(0, value.dtype)], [(value.dtype, shape)], {})
    return tfl.typed_op("ADD", [value, zero], [(value.dtype, value.shape)], {})[0]
