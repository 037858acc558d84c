"""Interpreter of small models in numpy, in this process: of TF ops, and of tfl ops that numpy computes.

What it declines, a child process runs (isolation.py), which takes some 20 ms to begin with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fuseconv.ir.graph import Module, Op
from fuseconv.tf import interpreter
from fuseconv.tf.folders.bounds import PRODUCTS_PER_NUMBER
from fuseconv.tf.folders.registry import Declined, require
from fuseconv.tf.interpreter import Item, Step
from fuseconv.tfl import recurrent_kernels
from fuseconv.tfl.opdef import KERNELS

# What one run may take: ops, and numbers that these move or add up. It is some 5 ms.
_MOST_OPS = 1000
_MOST_NUMBERS = 1 << 22


class Interpreter(interpreter.Interpreter):
    """A model of one signature. Called with arrays for its inputs, it returns those of its outputs, or raises Declined.

    As in the runtime, a recurrent op leaves its last states in the tensors of its states; a model whose states outlive
    a run is declined."""

    def __init__(self, module: Module, what: str) -> None:
        super().__init__(module, _MOST_OPS, _MOST_NUMBERS)
        self.what = what

    def __call__(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        self._ops_left, self._numbers_left = _MOST_OPS, float(_MOST_NUMBERS)
        with interpreter.declining():
            return self.run(self._module.signatures[0].graph, arrays)

    def step(self, op: Op) -> Step:
        return super().step(op) if op.dialect != "tfl" else lambda items, depth: self._run_tfl(op, items)

    def _run_tfl(self, op: Op, operands: Sequence[Item]) -> Sequence[Item]:
        for result in op.results:
            self.spend(0, math.prod(result.shape) if result.is_static else math.inf)  # type: ignore[arg-type]
        recurrent = recurrent_kernels.KERNELS.get(op.kind)
        if recurrent is not None:
            self.spend(0, _recurrent_numbers(operands))
            held = [item if value and value.variable else _held(item) for value, item in zip(op.operands, operands)]
            try:
                return recurrent(*held, **op.attrs)
            except recurrent_kernels.Unserved:
                raise Declined from None
        kernel = KERNELS.get(op.type)
        made = None if kernel is None else kernel(*operands, **op.attrs)
        require(made is not None)
        return [np.array(made) if op.result.variable else made]


def _held(array: Item) -> Item:
    """Return an array that nothing can be written to."""
    if array is not None:
        array = array.view()
        array.flags.writeable = False
    return array


def _recurrent_numbers(operands: Sequence[Item]) -> float:
    """Return how many numbers a recurrent op moves or adds up: each step multiplies all weights by each row of the
    batch."""
    x, *weights = operands
    rows = x.shape[0] * x.shape[1]
    return rows * sum(array.size for array in weights if array is not None) / PRODUCTS_PER_NUMBER
