"""Number values and attributes: keys that are equal only where what they stand for is equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fuseconv.ir.graph import Value
from fuseconv.ir.product import Product

# Constants up to this size go by their contents.
SMALL_BYTES = 256


def value_key(value: Value | None) -> Any:
    """Return the key of an operand: constants of up to SMALL_BYTES go by their contents, all else by identity."""
    if value is None or isinstance(value, Product) or value.data is None or value.data.nbytes > SMALL_BYTES:
        return id(value)
    data = tuple(value.data.flat) if value.data.dtype == object else value.data.tobytes()
    return value.dtype.name, value.data.shape, data, value.quantization


def attrs_key(attrs: Mapping[str, Any]) -> str:
    """Return the key of an op's attributes. `repr` alone leaves out elements of large arrays."""
    plain = [
        (name, (value.dtype.str, value.shape, value.tolist()) if isinstance(value, np.ndarray) else value)
        for name, value in attrs.items()
    ]
    return repr(sorted(plain, key=lambda pair: pair[0]))
