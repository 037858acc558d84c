"""Count the multiplications with an addition that an op takes. What only moves or compares counts nothing, and so do
elementwise ops: next to products they are little."""

from __future__ import annotations

import math
from collections.abc import Callable

from fuseconv.targets.signature import OpSignature, TensorSpec

# Places of the operands that are weights of a matrix, for each step of a sequence.
_RECURRENT = {
    "UNIDIRECTIONAL_SEQUENCE_RNN": range(1, 3), "RNN": range(1, 3), "SVDF": range(1, 3),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": range(1, 9), "LSTM": range(1, 9), "BIDIRECTIONAL_SEQUENCE_LSTM": range(1, 34),
    "BIDIRECTIONAL_SEQUENCE_RNN": range(1, 8),
}  # fmt: skip


def multiply_adds(op: OpSignature) -> int:
    """Return how many there are, at the sizes that the file has before a resize."""
    count = _COUNTS.get(op.type)
    if count is None or not op.results or op.operand(0) is None or op.operand(1) is None:
        return 0
    return count(op, op.operands[0], op.operands[1])  # type: ignore[arg-type]


def _product(op: OpSignature, x: TensorSpec, weights: TensorSpec) -> int:
    return op.results[0].size * math.prod(weights.shape[1:])


def _depthwise(op: OpSignature, x: TensorSpec, weights: TensorSpec) -> int:
    return op.results[0].size * math.prod(weights.shape[1:3])


def _conv_3d(op: OpSignature, x: TensorSpec, weights: TensorSpec) -> int:
    return op.results[0].size * math.prod(weights.shape[:4])


def _transposed(op: OpSignature, shape: TensorSpec, weights: TensorSpec) -> int:
    x = op.operand(2)
    places = 0 if x is None or not x.rank else x.size // max(x.shape[-1], 1)
    return places * weights.size


def _matmul(op: OpSignature, x: TensorSpec, y: TensorSpec) -> int:
    depth = x.shape[-2:] if x.rank > 1 else (1, *x.shape[-1:])
    return op.results[0].size * (depth[0] if op.options.get("adj_x") else depth[-1])


def _recurrent(op: OpSignature, x: TensorSpec, weights: TensorSpec) -> int:
    steps = math.prod(x.shape[:-1])
    used = [op.operand(index) for index in _RECURRENT[op.type]]
    return steps * sum(tensor.size for tensor in used if tensor is not None and tensor.rank == 2)


_COUNTS: dict[str, Callable[[OpSignature, TensorSpec, TensorSpec], int]] = {
    "CONV_2D": _product, "FULLY_CONNECTED": _product, "DEPTHWISE_CONV_2D": _depthwise, "CONV_3D": _conv_3d,
    "TRANSPOSE_CONV": _transposed, "CONV_3D_TRANSPOSE": _transposed, "BATCH_MATMUL": _matmul,
    **dict.fromkeys(_RECURRENT, _recurrent),
}  # fmt: skip
