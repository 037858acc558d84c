"""The narrow type of floats that a model computes in, by its GraphDef or its StableHLO."""

from __future__ import annotations

import itertools
import re
from typing import Any

from fuseconv.tf.traits import FORWARDS, RESHAPES, node_ops

# Of DataType in TensorFlow's types.proto, the coarsest first.
_HALF_TYPES = {14: "bfloat16", 19: "float16"}
# Moves of weights that may be kept in 16 bits, and computed on in 32.
_MOVES = node_ops(FORWARDS | RESHAPES)
# A statement of MLIR's text that is no constant, conversion or concatenation, and what it makes.
_STATEMENT = re.compile(r"stablehlo\.(?!con|reshape|transpose)\w.*[x<](bf16|f16)>(?: loc\(.*)?$", re.MULTILINE)


def half_type(graph_def: Any) -> str:
    """Return "bfloat16" or "float16" if a node of a graph or of its functions computes in it, the coarser one if there
    are both; "" if none does. Weights that are cast from it count for nothing."""
    bodies = (function.node_def for function in graph_def.library.function)
    nodes = itertools.chain(graph_def.node, *bodies)
    found = {node.attr["T"].type for node in nodes if "T" in node.attr and node.op not in _MOVES}
    return next((name for number, name in _HALF_TYPES.items() if number in found), "")


def half_type_of_module(text: str) -> str:
    """Return the same of a StableHLO module, by the text that JAX writes."""
    found = set(_STATEMENT.findall(text))
    return "bfloat16" if "bf16" in found else "float16" if found else ""
