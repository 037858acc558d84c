"""Hybrid kernels: float activations on int8 weights, which quantize the activations themselves as they run.

Sources: `Prepare` of LiteRT's kernels. Weights are symmetric; biases, layer norm coefficients and states stay float.
"""

from __future__ import annotations

from dataclasses import dataclass

from fuseconv.ir.graph import Op


@dataclass(frozen=True)
class Weights:
    """The weights of an op that has a hybrid kernel.

    operands: those that are int8, all of them or none. axis: the dimension whose every index has a scale of its own;
    None if the kernel reads one scale only. asymmetric: the op has the option `asymmetric_quantize_inputs`. outputs:
    the dimension of what is computed: sums run over the others; None where there are no sums, or it varies."""

    operands: tuple[int, ...]
    axis: int | None
    asymmetric: bool = False
    outputs: int | None = None


HYBRID = {
    "BATCH_MATMUL": Weights((1,), None, asymmetric=True),
    "BIDIRECTIONAL_SEQUENCE_LSTM": Weights((*range(1, 12), 16, *range(18, 29), 33, *range(40, 48)), None, True, 0),
    "BIDIRECTIONAL_SEQUENCE_RNN": Weights((1, 2, 5, 6, 10, 11), None, True, outputs=0),
    "CONV_2D": Weights((1,), 0, outputs=0),
    "DEPTHWISE_CONV_2D": Weights((1,), 3, outputs=3),
    "EMBEDDING_LOOKUP": Weights((1,), 0),
    "FULLY_CONNECTED": Weights((1,), 0, True, outputs=0),
    "TRANSPOSE_CONV": Weights((1,), 0, outputs=0),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Weights((*range(1, 12), 16), None, True, outputs=0),
    "UNIDIRECTIONAL_SEQUENCE_RNN": Weights((1, 2), None, True, outputs=0),
}
# Those that run over the steps of a sequence.
RECURRENT = frozenset(type for type in HYBRID if type.endswith(("_LSTM", "_RNN")))


def hybrid_weights(op: Op) -> Weights | None:
    """Return the weights that an op of floats may have as int8; None if its kernel takes none, in this form."""
    known = HYBRID.get(op.type)
    if known is None or op.attrs.get("diagonal_recurrent_tensors"):
        return None
    if op.attrs.get("weights_format", "DEFAULT") != "DEFAULT":
        return None
    if op.type == "BATCH_MATMUL" and not _is_one_product(op):
        return None
    return known


def _is_one_product(op: Op) -> bool:
    """Return whether rows of one batch dimension are multiplied with one matrix. Of more the kernel computes something
    else."""
    x, weights = op.operands
    return x is not None and weights is not None and x.rank in (2, 3) and weights.rank == 2
