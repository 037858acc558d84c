"""Which ops read the same memory: a weight that several ops read is written to the file once, if all read it alike.

Two constants are one array if they are views of the same bytes: a table, the table reshaped, its transpose. What is
folded into one of them becomes another array, to be written too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from fuseconv.ir.graph import Module, Op, Value

# What an op and its tensors take in the file: a constant of so many bytes may as well be written twice.
OP_BYTES = 1 << 10


class ConstantReaders:
    """The constants of a module by the memory that they lie in. Small ones, of `OP_BYTES` or less, are left out."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._alike: dict[tuple[int, int], dict[Value, None]] | None = None

    def add(self, ops: Iterable[Op]) -> None:
        """Take in the constants of ops that were made since."""
        if self._alike is not None:
            self._collect(ops)

    def others(self, constant: Value, op: Op) -> Iterator[tuple[Op, Value]]:
        """Yield the ops besides this one that read the memory of a constant, and the constant as they read it: itself,
        a view of all its elements in any order, or a `Product` of them."""
        if constant.stored is None or constant.stored.nbytes <= OP_BYTES:
            return
        if self._alike is None:
            self._alike = {}
            for graph in self._module.graphs():
                self._collect((*graph.ops, graph.terminator))
        for value in self._alike.get(_key(constant.stored), ()):
            yield from ((reader, value) for reader in value.uses if reader is not op)

    def _collect(self, ops: Iterable[Op]) -> None:
        assert self._alike is not None
        for op in ops:
            for value in op.operands:
                array = None if value is None or value.op is not None else value.stored
                if array is not None and array.nbytes > OP_BYTES:
                    self._alike.setdefault(_key(array), {})[value] = None  # type: ignore[index]


def _key(array: np.ndarray) -> tuple[int, int]:
    """Return what arrays over the same memory have in common: where it begins, and its bytes."""
    return array.__array_interface__["data"][0], array.nbytes
