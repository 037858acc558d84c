"""Round weights one input after the other, so that those of later inputs make up for the errors of earlier ones.

Inputs that were measured together tell how: where two of them are alike, the weight of one undoes an error of the
other's; the mean of what is left goes into the bias. Weights with one scale for a whole matrix, as LSTMs have, lie in
coarse steps: this halves what that costs. It is the method of GPTQ (Frantar et al., 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

# Products of more inputs take more memory and time than they are worth.
_MOST_INPUTS = 4096
# A part of the mean variance is added to that of each input, so that no combination of inputs has none.
_DAMPING = 0.01
# What is left of mean squares behind such a part of them is their rounding.
_LEAST_PART = 1e-9
# Columns whose errors are handed on at once to all that follow, and rows for which that is one product: BLAS computes
# these on one thread where there are few columns.
_BLOCK = 64
# Rows are multiplied once they hold as many numbers: BLAS shares out many small products at a loss.
_MOST_PENDING = 1 << 20


@dataclass
class Moments:
    """The mean and the covariance of what a matrix is multiplied by, where `is_measured`.

    count: rows that were seen. total: their sum [inputs]. products: the sum of their products [inputs, inputs].
    largest: the largest absolute number in them. pending: rows that the sums lack."""

    count: int = 0
    total: np.ndarray | None = None
    products: np.ndarray | None = None
    largest: float = 0.0
    pending: list[np.ndarray] = field(default_factory=list)

    def add(self, rows: np.ndarray) -> None:
        """Take in rows [count, inputs]; none where these are too many inputs, which stay not measured."""
        if rows.shape[1] > _MOST_INPUTS:
            return
        self.count += len(rows)
        self.largest = max(self.largest, float(np.abs(rows).max(initial=0.0)))
        self.pending.append(rows)
        if sum(each.size for each in self.pending) >= _MOST_PENDING:
            self._sum_up()

    def _sum_up(self) -> None:
        if not self.pending:
            return
        rows = np.concatenate(self.pending).astype(np.float64)
        self.pending.clear()
        self.total = rows.sum(axis=0) + (0 if self.total is None else self.total)
        self.products = rows.T @ rows + (0 if self.products is None else self.products)

    @property
    def is_measured(self) -> bool:
        """Return whether rows were taken in: without, there is no mean and no covariance."""
        return self.count > 0

    @property
    def mean(self) -> np.ndarray:
        """Return the mean [inputs]."""
        self._sum_up()
        assert self.total is not None
        return self.total / self.count

    def part(self, inputs: Sequence[int]) -> Moments:
        """Return those of some of the inputs."""
        self._sum_up()
        if self.total is None or self.products is None:
            return Moments()
        at = np.array(inputs)
        return Moments(self.count, self.total[at], self.products[np.ix_(at, at)], self.largest)

    def covariance(self, centered: bool = True) -> np.ndarray:
        """Return the covariance [inputs, inputs], with a part of the mean variance added to each input's: the larger a
        part, the fewer rows tell of it. centered: about the mean, which a bias takes in; else about zero."""
        self._sum_up()
        assert self.products is not None
        found = self.products / self.count
        least = max(_LEAST_PART * float(np.trace(found)), np.finfo(np.float32).tiny)
        if centered:
            found = found - np.outer(self.mean, self.mean)
        mean_variance = max(float(np.trace(found)), least) / len(found)
        return found + max(_DAMPING, len(found) / self.count) * mean_variance * np.eye(len(found))


def round_gates(
    gates: Sequence[Sequence[np.ndarray]], scales: Sequence[Sequence[np.ndarray]], largest: int, moments: Moments,
    centered: bool = True,
) -> list[list[np.ndarray]]:  # fmt: skip
    """Return the integers that weights become, within [-largest, largest], as floats.

    gates: for each the matrices [outputs, inputs] that the inputs are multiplied by, a part of them each. scales: those
    of each matrix, of a shape that broadcasts to its. moments: of all inputs. centered: biases take in the mean."""
    exact = np.concatenate([np.concatenate(matrices, axis=1) for matrices in gates])
    of_all = [
        np.concatenate([np.broadcast_to(*each) for each in zip(steps, [array.shape for array in matrices])], axis=1)
        for steps, matrices in zip(scales, gates)
    ]
    stored = round_with_feedback(exact, np.concatenate(of_all), largest, moments.covariance(centered))
    rows = np.split(stored, np.cumsum([len(each) for each in of_all])[:-1])
    return [
        np.split(part, np.cumsum([array.shape[1] for array in matrices])[:-1], axis=1)
        for part, matrices in zip(rows, gates)
    ]


def round_with_feedback(weights: np.ndarray, scales: np.ndarray, largest: int, covariance: np.ndarray) -> np.ndarray:
    """Return the integers that weights [outputs, inputs] become, within [-largest, largest], as floats.

    scales: those of the weights, of a shape that broadcasts to theirs. covariance: that of the inputs, positive
    definite."""
    # Inputs that matter most come first, while there are others to make up for their errors.
    order = np.argsort(-np.diag(covariance), kind="stable")
    left, steps = (each[:, order].astype(np.float64) for each in np.broadcast_arrays(weights, scales))
    # Row i tells by how much an error of input i moves those behind it.
    moves = _inverse_factor(covariance[np.ix_(order, order)])
    stored = np.zeros_like(left)
    for start in range(0, len(order), _BLOCK):
        end = min(start + _BLOCK, len(order))
        errors = np.zeros((len(left), end - start))
        for at in range(start, end):
            stored[:, at] = np.clip(np.rint(left[:, at] / steps[:, at]), -largest, largest)
            errors[:, at - start] = (left[:, at] - stored[:, at] * steps[:, at]) / moves[at, at]
            left[:, at:end] -= np.outer(errors[:, at - start], moves[at, at:end])
        for rows in range(0, len(left), _BLOCK):
            part = slice(rows, rows + _BLOCK)
            left[part, end:] -= errors[part] @ moves[start:end, end:]
    return stored[:, np.argsort(order)]


def _inverse_factor(matrix: np.ndarray) -> np.ndarray:
    """Return the upper triangular matrix M with M.T @ M the inverse of a positive definite matrix. It is computed by
    halves: LAPACK's functions wake threads even for few numbers, and these take time as they wait for more."""
    if len(matrix) <= _BLOCK:
        return np.linalg.cholesky(np.linalg.inv(matrix)).T
    middle = len(matrix) // 2
    of_second = _inverse_factor(matrix[middle:, middle:])
    between = matrix[:middle, middle:] @ of_second.T
    of_first = _inverse_factor(matrix[:middle, :middle] - between @ between.T)
    found = np.zeros_like(matrix)
    found[:middle, :middle], found[middle:, middle:] = of_first, of_second
    found[:middle, middle:] = -(of_first @ between @ of_second)
    return found
