"""What weights are multiplied by, over samples: of kernels of floats that take weights of few bits.

Those of a dense layer are rounded together, and those of each gate of a fused recurrent layer. Convolutions, and what
stands in loops and branches, are rounded without."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Op, Value
from fuseconv.ir.terms import operand_of
from fuseconv.quantize.error_feedback import Moments
from fuseconv.tfl.directions import DIRECTIONS, outputs_of, takes_operands

# The products of inputs that are kept in all, in bytes. Weights that would take more are rounded without.
_MOST_BYTES = 1 << 30


class Multiplied:
    """The moments of what the weights of a graph's ops are multiplied by, over samples.

    found: the moments, by the ops of each list, whose weights read the same tensors. left_out: ops of which too much
    would have to be kept."""

    def __init__(self, graph: Graph) -> None:
        readers: dict[tuple[Value, ...], list[Op]] = {}
        for op in graph.ops:
            weights = _weights(op)
            if weights:
                readers.setdefault(tuple(weights), []).append(op)
        alike: dict[tuple[Value | Op, ...], list[Op]] = {}
        for ops in readers.values():
            alike.setdefault(tuple(dict.fromkeys(map(_multiplied, ops))), []).extend(ops)
        self.found: list[tuple[list[Op], Moments]] = []
        self.left_out: list[Op] = []
        self._last: dict[Op, list[np.ndarray]] = {}
        room = _MOST_BYTES
        for ops in alike.values():
            size = 8 * _inputs(ops[0]) ** 2
            if size > room:
                self.left_out += ops
            else:
                room -= size
                self.found.append((ops, Moments()))

    @property
    def needed(self) -> list[Value]:
        """Return the tensors that `see` is to be given of each run."""
        ops = [op for ops, _ in self.found for op in ops]
        return list(dict.fromkeys(value for op in ops for value in _read(op)))

    def see(self, arrays: Mapping[Value, np.ndarray]) -> None:
        """Take in what a run computed. arrays: of `needed`, those that it did."""
        for ops, moments in self.found:
            for op in {_multiplied(op): op for op in ops}.values():
                if arrays.keys() >= set(_read(op)):
                    rows = self._steps(op, arrays) if op.type in DIRECTIONS else arrays[_read(op)[0]]
                    if np.isfinite(rows).all():
                        moments.add(rows.reshape(-1, _inputs(op)))

    def _steps(self, op: Op, arrays: Mapping[Value, np.ndarray]) -> np.ndarray:
        """Return for each step x and, of each direction, the h that it begins with: [..., inputs]."""
        axis = 0 if op.attrs.get("time_major") else 1
        outputs, directions = [arrays[value] for value in op.results], DIRECTIONS[op.type]
        if len(outputs) < len(directions):
            outputs = np.split(outputs[0], [outputs_of(op, directions[0])], axis=2)
        ends = [[np.take(output, [at], axis) for at in (0, -1)] for output in outputs]
        last = [each[not direction.backward] for direction, each in zip(directions, ends)]
        first = [self._first(op, number, each, arrays) for number, each in enumerate(last)]
        self._last[op] = last
        return np.concatenate([arrays[_read(op)[0]], *_before_each(op, outputs, first, axis)], axis=2)

    def _first(self, op: Op, number: int, like: np.ndarray, arrays: Mapping[Value, np.ndarray]) -> np.ndarray:
        """Return the h of a direction that a run begins with: what is written into its state, what the run before left,
        or zeros."""
        state = op.operands[DIRECTIONS[op.type][number].states[0]]
        given = operand_of(state, "tfl.TILE")
        if given is not None:
            return arrays[given].reshape(like.shape)
        last = self._last[op][number] if op in self._last and state is not None and state.op is None else None
        return last if last is not None and last.shape == like.shape else np.zeros_like(like)

    def moments(self) -> Iterator[tuple[Value, Moments]]:
        """Yield the first result of each op, with the moments of what its weights were multiplied by."""
        for ops, moments in self.found:
            yield from ((op.results[0], moments) for op in ops if moments.is_measured)


def _before_each(op: Op, outputs: Sequence[np.ndarray], first: Sequence[np.ndarray], axis: int) -> Iterator[np.ndarray]:
    """Yield for each direction of a recurrent op the h that each of its steps begins with. outputs: what it made of all
    steps, along `axis`. first: what it began with, one step each."""
    for direction, output, start in zip(DIRECTIONS[op.type], outputs, first):
        parts = [start, np.delete(output, 0 if direction.backward else -1, axis)]
        yield np.concatenate(parts[::-1] if direction.backward else parts, axis)


def _multiplied(op: Op) -> Value | Op:
    """Return what ops have in common that multiply by the same numbers."""
    assert op.operands[0] is not None
    return op if op.type in DIRECTIONS else op.operands[0]


def _read(op: Op) -> list[Value]:
    """Return the tensors that tell what an op multiplies, x first."""
    directions = DIRECTIONS.get(op.type, ())
    given = [operand_of(op.operands[each.states[0]], "tfl.TILE") for each in directions]
    values = [op.operands[0], *(op.results if directions else ()), *given]
    return [value for value in values if value is not None]


def _weights(op: Op) -> list[Value]:
    """Return the weights of an op that go together: none of an op that has no such ones."""
    if op.type == "FULLY_CONNECTED" and op.attrs.get("weights_format", "DEFAULT") == "DEFAULT":
        indices: Iterable[int] = (1,)
    elif op.type in DIRECTIONS and takes_operands(op):
        indices = [index for each in DIRECTIONS[op.type] for index in (*each.of_x, *each.of_h)]
    else:
        return []
    values = [op.operands[index] for index in indices]
    weights = [value for value in values if value is not None]
    plain = all(value.is_const and value.dtype is types.FLOAT32 and value.rank == 2 for value in weights)
    alone = all(reader.type == op.type for value in weights for reader in value.uses)
    return weights if plain and alone else []


def _inputs(op: Op) -> int:
    """Return how many numbers the weights of an op are multiplied by, h of each direction among them."""
    directions = DIRECTIONS.get(op.type, ())
    of_x = op.operands[directions[0].of_x[-1] if directions else 1]
    assert of_x is not None and of_x.shape is not None
    return int(of_x.shape[1]) + sum(outputs_of(op, each) for each in directions)  # type: ignore[arg-type]
