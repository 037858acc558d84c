"""Tell equal names of inputs, outputs and variables apart."""

from __future__ import annotations

from collections.abc import Sequence


def unique(names: Sequence[str]) -> list[str]:
    """Return the names, with a number added to those that came before."""
    taken: set[str] = set()
    unique = []
    for name in names:
        candidate, count = name, 0
        while candidate in taken:
            count += 1
            candidate = f"{name}_{count}"
        taken.add(candidate)
        unique.append(candidate)
    return unique
