"""What tests of masked layers share."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from fuseconv.testing import Converted, check

FUSED = {"UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN"}
# From no row at all to one for each kind of mask, and more.
BATCHES = (2, 6)


def masks(rng: np.random.Generator, batch: int, time: int) -> np.ndarray:
    """Rows that are all true, all false, padded on the right, padded on the left, and full of holes, in any order."""
    start, end = rng.integers(1, time, 2)
    steps = np.arange(time)
    kinds = [steps >= 0, steps < 0, steps < end, steps >= start, rng.integers(0, 2, time) > 0]
    order = rng.permutation(max(batch, len(kinds)))
    return np.array([kinds[i % len(kinds)] for i in order[:batch]])


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Masks of all kinds; lengths and other whole numbers from 0 to beyond the time; normal numbers."""
    if dtype == np.bool_:
        return masks(rng, *shape)
    if dtype.kind == "i":
        return rng.integers(0, 9, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def check_fused(fn: Any, *specs: Any, count: int = 1, inputs: Any = draw, **options: Any) -> Converted:
    """Asserts that a model holds so many fused ops and no loop, and computes what it should."""
    converted = check(fn, *specs, inputs=inputs, batches=BATCHES, static=False, **options)
    assert sum(Counter(converted.ops)[op] for op in FUSED) == count, (converted.ops, converted.refused)
    assert "WHILE" not in converted.ops
    return converted


def check_loop(fn: Any, *specs: Any, inputs: Any = draw) -> list[str]:
    """Asserts that a model holds no fused op, and computes what it should; returns the reasons."""
    converted = check(fn, *specs, inputs=inputs, batches=BATCHES, static=False)
    assert not FUSED & set(converted.ops), converted.ops
    return [record.why for record in converted.report.records if record.rule == "raise-rnn-loops"]
