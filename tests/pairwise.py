"""Parameters of tests of which not all values come together: each two of them do, or each one comes in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import pytest

Row = tuple[int, ...]


Values = Sequence[Any] | Mapping[str, Any]


def pairwise(**values: Values) -> pytest.MarkDecorator:
    """Parametrize a test: names -> values, or values by the names that they have in the test's.

    What three values only show together needs a test of its own. Two parameters alone get all of their combinations.
    """
    return _parametrize(values, rows([len(of) for of in values.values()]))


def in_turn(**values: Values) -> pytest.MarkDecorator:
    """Parametrize a test as `pairwise` does, each value with the first ones of the other parameters: for parameters
    that have nothing to do with one another, as an axis and a type of elements."""
    first = [0] * len(values)
    every = {(*first[:place], index, *first[place + 1 :])
             for place, of in enumerate(values.values()) for index in range(len(of))}  # fmt: skip
    return _parametrize(values, sorted(every))


def _parametrize(values: Mapping[str, Values], chosen: Sequence[Row]) -> pytest.MarkDecorator:
    named = [[*of.items()] if isinstance(of, Mapping) else [(_name(value), value) for value in of]
             for of in values.values()]  # fmt: skip
    cases = [[of[index] for of, index in zip(named, row)] for row in chosen]
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


def _name(value: Any) -> str:
    """Return how a test tells a value: a function by its name, for its address is another in each process."""
    return getattr(value, "__name__", str(value))
