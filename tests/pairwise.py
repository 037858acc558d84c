"""Parameters of a test of which each two values come together in some run, instead of all with all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import pytest

Row = tuple[int, ...]


def pairwise(**values: Sequence[Any] | Mapping[str, Any]) -> pytest.MarkDecorator:
    """Parametrize a test: names -> values, or values by the names that they have in the test's.

    What three values only show together needs a test of its own. Two parameters alone get all of their combinations.
    """
    named = [[*of.items()] if isinstance(of, Mapping) else [(str(value), value) for value in of]
             for of in values.values()]  # fmt: skip
    cases = [[of[index] for of, index in zip(named, row)] for row in rows([len(of) for of in named])]
    parameters = [pytest.param(*(value for _, value in case), id="-".join(name for name, _ in case)) for case in cases]
    return pytest.mark.parametrize([*values], parameters)


def rows(sizes: Sequence[int]) -> list[Row]:
    """Return combinations of numbers below the sizes, few of them, in which each two numbers of two places stand."""
    every = [*product(*map(range, sizes))]
    left = {pair for row in every for pair in _pairs(row)}
    chosen: list[Row] = []
    while left:
        best = max(every, key=lambda row: sum(pair in left for pair in _pairs(row)))
        left.difference_update(_pairs(best))
        chosen.append(best)
    return sorted(chosen)


def _pairs(row: Row) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    return combinations(enumerate(row), 2)
