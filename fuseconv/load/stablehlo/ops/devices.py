"""Collective ops, which nobody takes part in but the device itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, refuse_unless


@imports("all_gather", "all_reduce", "all_to_all", "collective_broadcast", "reduce_scatter")
def collective(tf: Scope, op: Operation, *operands: Value) -> Sequence[Value]:
    """The operands, where each group of replicas is one of them."""
    groups = op.attribute("replica_groups")
    alone = isinstance(groups, np.ndarray) and groups.ndim == 2 and groups.shape[1] == 1
    refuse_unless(alone, "its devices exchange numbers, and TFLite runs on one")
    if [var.type for var in op.operands] != [var.type for var in op.results]:
        raise DamagedError("what one device makes alone is not what it had")
    return [tf.Identity(x) for x in operands]


@imports
def collective_permute(tf: Scope, op: Operation, x: Value) -> Value:
    """The operand, where the one device sends it to itself; zeros, where none sends it anything."""
    pairs = op.attribute("source_target_pairs")
    own = isinstance(pairs, np.ndarray) and pairs.ndim == 2 and not pairs.any() and len(pairs) < 2
    refuse_unless(own, "its devices exchange numbers, and TFLite runs on one")
    if op.operands[0].type != op.results[0].type:
        raise DamagedError("what one device makes alone is not what it had")
    return tf.Identity(x) if len(pairs) else tf.ZerosLike(x)
