"""The ranges of inputs of whole numbers, in the forms in which people write them.

    {"ids": (0, 29999)}    "ids=0:29999"    ["ids=0:29999", "hour=0:23"]    and of a model of one input: "0:29999"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fuseconv.errors import InputError, suggestion_or_all
from fuseconv.input_shapes import ONLY, full_names, given_to, named

if TYPE_CHECKING:
    import numpy as np

    # A signature's names, and the types of its inputs by their names.
    Inputs = tuple[Sequence[str], Mapping[str, np.dtype]]

# The least number and the largest, both of them in the range.
InputRange = tuple[int, int]
_RANGE = re.compile(r"(?:(.+)=)?(-?\d{1,19}):(-?\d{1,19})\Z", re.DOTALL)


def read_ranges(given: Any) -> dict[str, InputRange]:
    """Read ranges in any form that users write them in -> a dict by the names of inputs, `ONLY` for one without a name.

    Raises InputError for what is no range, and for an input that has two."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {name: _ends(ends, f"{name}={ends!r}") for name, ends in given.items()}
    parts: list[Any] = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    ranges: dict[str, InputRange] = {}
    for part in parts:
        match = _RANGE.match(part) if isinstance(part, str) else None
        if match is None:
            raise _no_range(part)
        name = match[1] or ONLY
        if name in ranges:
            raise InputError(f"--input-range gives {name or 'the only input'} twice")
        ranges[name] = _ends((int(match[2]), int(match[3])), part)
    return ranges


def checked_ranges(given: Mapping[str, InputRange], signatures: Sequence[Inputs]) -> list[dict[str, InputRange]]:
    """Return the ranges of the inputs of each signature, by the names of these.

    Raises InputError for a range of no input, and for one that the input's type cannot have."""
    known = [name for _, inputs in signatures for name in inputs]
    given = named(given, known, "a range", "NAME=0:29999")
    full = {name for names, inputs in signatures for name in full_names(names, inputs)}
    for name in given:
        if name not in full:
            raise InputError(f"--input-range: the model has no input {name}{suggestion_or_all(name, known)}")
    import numpy as np  # the command line's help does without it

    ranges = [given_to(names, inputs, given) for names, inputs in signatures]
    for (_, inputs), found in zip(signatures, ranges):
        for name, (low, high) in found.items():
            dtype = inputs[name]
            if dtype.kind not in "iu":
                raise InputError(f"--input-range: the input {name} is of {dtype.name}; only whole numbers have a range")
            if low < np.iinfo(dtype).min or high > np.iinfo(dtype).max:
                raise InputError(f"--input-range {name}={low}:{high} is more than {dtype.name} holds")
    return ranges


def _ends(ends: Any, told: str) -> InputRange:
    if isinstance(ends, Iterable) and not isinstance(ends, str):
        numbers = tuple(ends)
        if len(numbers) == 2 and all(hasattr(n, "__index__") and not isinstance(n, bool) for n in numbers):
            low, high = (int(number) for number in numbers)
            if low > high:
                raise InputError(f"--input-range {told} is empty: the least number comes first")
            return low, high
    raise _no_range(told)


def _no_range(told: Any) -> InputError:
    return InputError(f"--input-range {told} is no range of whole numbers: write NAME=0:29999, both numbers included")
