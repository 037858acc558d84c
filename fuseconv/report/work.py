"""The multiply-adds of ops, from the shapes that `fuseconv.inspecting` tells. A size that is not fixed counts as 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Shapes = Sequence[Sequence[int]]


def _convolution(operands: Shapes, results: Shapes, options: Mapping[str, Any]) -> int:
    """Each result is a sum over a filter [outputs, height, width, inputs]."""
    return math.prod(results[0]) * math.prod(operands[1][1:])


def _depthwise(operands: Shapes, results: Shapes, options: Mapping[str, Any]) -> int:
    """Each result is a sum over a window; the filter is [1, height, width, channels]."""
    return math.prod(results[0]) * math.prod(operands[1][1:-1])


def _convolution_3d(operands: Shapes, results: Shapes, options: Mapping[str, Any]) -> int:
    """The filter is [depth, height, width, inputs, outputs]."""
    return math.prod(results[0][:-1]) * math.prod(operands[1])


def _transposed_convolution(operands: Shapes, results: Shapes, options: Mapping[str, Any]) -> int:
    """Each element of the data, the third operand, is multiplied by a window for each output."""
    return math.prod(operands[2][:-1]) * math.prod(operands[1])


def _dense(operands: Shapes, results: Shapes, options: Mapping[str, Any]) -> int:
    """The weights are [outputs, inputs]."""
    return math.prod(operands[0]) * operands[1][0]


def _product(operands: Shapes, results: Shapes, options: Mapping[str, Any]) -> int:
    return math.prod(results[0]) * operands[0][-2 if options.get("adj_x") else -1]


def _recurrence(operands: Shapes, results: Shapes, options: Mapping[str, Any]) -> int:
    """Each step of each sequence is multiplied by every matrix; states, which are matrices too, add little."""
    return math.prod(operands[0][:-1]) * sum(math.prod(shape) for shape in operands[1:] if len(shape) == 2)


_RULES: dict[str, Callable[[Shapes, Shapes, Mapping[str, Any]], int]] = {
    "CONV_2D": _convolution, "DEPTHWISE_CONV_2D": _depthwise, "CONV_3D": _convolution_3d,
    "TRANSPOSE_CONV": _transposed_convolution, "FULLY_CONNECTED": _dense, "BATCH_MATMUL": _product,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _recurrence, "UNIDIRECTIONAL_SEQUENCE_RNN": _recurrence,
    "BIDIRECTIONAL_SEQUENCE_LSTM": _recurrence, "BIDIRECTIONAL_SEQUENCE_RNN": _recurrence,
}  # fmt: skip


def multiply_adds(op: Mapping[str, Any], tensors: Sequence[Mapping[str, Any]]) -> int:
    """Return the multiply-adds of an op, nearly; 0 of one that does not multiply matrices or windows."""
    rule = _RULES.get(op["op"])
    if rule is None:
        return 0
    operands, results = ([tensors[place]["shape"] if place >= 0 else () for place in op[key]]
                         for key in ("operands", "results"))  # fmt: skip
    try:
        return rule(operands, results, op["options"]) if all(results) else 0
    except IndexError:  # of an unknown rank
        return 0
