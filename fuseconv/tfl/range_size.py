"""How many numbers a range of floats has."""

from __future__ import annotations

import numpy as np


def float_range_size(start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> int | None:
    """Return (limit - start) / delta, rounded up, for scalars of one type; None if that is no number.

    TensorFlow's kernel and LiteRT's compute it in the type itself. In float32 a range from 0 to 0.3 by 0.1 has 3
    numbers, though the float32 next to 0.3 is more than three times the one next to 0.1."""
    with np.errstate(all="ignore"):
        count = np.ceil((limit.reshape(()) - start.reshape(())) / delta.reshape(()))
    return max(int(count), 0) if np.isfinite(count) else None
