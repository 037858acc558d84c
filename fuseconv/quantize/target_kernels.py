"""What a target takes of floats alone."""

from __future__ import annotations

from dataclasses import replace

from fuseconv.ir.graph import Graph, Op
from fuseconv.targets.signature import TensorSpec, signature_of
from fuseconv.targets.target import Target
from fuseconv.tfl.integer import LSTM, Kernels
from fuseconv.tfl.linear import LAYOUTS


def refused_integers(graph: Graph, kernels: Kernels, target: Target) -> dict[Op, str]:
    """Return the ops that a target refuses on integers, though it takes them on floats, and why: SQRT of TensorFlow
    Lite Micro. Products and LSTMs, whose weights have types of their own, are left to the targets' tables."""
    found = {}
    for op in graph.ops:
        if op in kernels and op.type not in LAYOUTS and op.type != LSTM:
            floats = signature_of(op)
            operands = [_in_integers(spec, kernels) for spec in floats.operands]
            results = [_in_integers(spec, kernels) for spec in floats.results]
            why = target.refusal(floats._replace(operands=operands, results=results))  # type: ignore[arg-type]
            if why is not None and target.refusal(floats) is None:
                found[op] = f"{target.name} takes it on floats alone: {why}"
    return found


def _in_integers(spec: TensorSpec | None, kernels: Kernels) -> TensorSpec | None:
    is_float = spec is not None and spec.dtype == "float32"
    return replace(spec, dtype=kernels.activations.name, scales=1) if spec is not None and is_float else spec
