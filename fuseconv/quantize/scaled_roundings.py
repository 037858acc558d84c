"""What the steps of a rounding are scaled and shifted by goes into constants before or behind it.

Other passes have moved it apart from the rounding: into the weights before it, into weights and behind means after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value, constant, replace_uses
from fuseconv.tfl.linear import Linear, linear
from fuseconv.tfl.traits import activation_of

# A factor so near to 1 is one.
_UNIT = 1e-6


def scale_readers(value: Value, gain: float) -> bool:
    """Let constants of those that read a value, behind means too, take the gain in; return False if others read it.

    A product by 1 that this makes goes: MUL(x, 1) -> x."""
    takers = list(_takers(value))
    if None in takers:
        return False
    for op, index in filter(None, takers):
        _scale(op, index, gain)
        if op.kind == "tfl.MUL":
            _forward_unit(op, index)
    return True


def _takers(value: Value) -> Iterator[tuple[Op, int] | None]:
    """Yield each constant, by the place of the operand, that what reads a value is multiplied by; None for another
    reader."""
    todo = [value]
    while todo:
        read = todo.pop()
        for op in read.uses:
            found = linear(op)
            factor = _factor(op) if op.kind == "tfl.MUL" else None
            if found is not None and found.data is read:
                yield op, found.layout.weights
            elif factor is not None:
                yield op, factor
            elif op.kind == "tfl.MEAN":
                todo.append(op.result)
            else:
                yield None


def _factor(op: Op) -> int | None:
    """Return the place of the constant of a product of floats; None if it has none."""
    for index, value in enumerate(op.operands):
        if value is not None and value.is_const and value.dtype is types.FLOAT32 and value.quantization is None:
            return index
    return None


def _scale(op: Op, index: int, gain: float) -> None:
    value = op.operands[index]
    assert value is not None and value.data is not None
    op.set_operand(index, constant(value.data * np.float32(gain), types.FLOAT32, value.name))


def _forward_unit(op: Op, index: int) -> None:
    factor, other = op.operands[index], op.operands[1 - index]
    assert factor is not None and factor.data is not None and other is not None
    is_unit = np.abs(factor.data - 1).max(initial=0) < _UNIT and other.shape == op.result.shape
    if is_unit and activation_of(op) == "NONE":
        replace_uses(op.result, other)


def shifts(root: Value, readers: AbstractSet[Op]) -> bool:
    """Return whether a bias can take in what is subtracted from a tensor that is read by these ops."""
    return _maker(root, readers, ("NONE",)) is not None


def shift_maker(root: Value, offset: float) -> None:
    """Subtract the offset from the bias of what makes a tensor, as `shifts` allows."""
    found = linear(root.op)
    assert found is not None
    bias = np.zeros(found.outputs, np.float32) if found.bias is None else found.bias
    _set_bias(found, bias - np.float32(offset))


def scale_maker(root: Value, gain: float, readers: AbstractSet[Op]) -> bool:
    """Let weights and bias of what makes a tensor that these ops read take the gain in; return False if they cannot."""
    found = _maker(root, readers, ("NONE", "RELU"))
    if found is None:
        return False
    _scale(found.op, found.layout.weights, gain)
    if found.bias is not None:
        _set_bias(found, found.bias * np.float32(gain))
    return True


def _maker(root: Value, readers: AbstractSet[Op], activations: Collection[str]) -> Linear | None:
    found = linear(root.op) if root.uses.keys() <= readers else None
    return found if found is not None and found.activation in activations else None


def _set_bias(found: Linear, bias: np.ndarray) -> None:
    missing = found.layout.bias + 1 - len(found.op.operands)
    operands = [*found.op.operands, *[None] * missing]
    operands[found.layout.bias] = constant(bias, types.FLOAT32, f"{found.op.name}/bias")
    found.op.set_operands(operands)
