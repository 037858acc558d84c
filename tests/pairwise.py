"""Parameters of tests of which not all values come together: each two of them do, or each one comes in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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


def mostly_slow(**values: Values) -> pytest.MarkDecorator:
    """Parametrize a test as `pairwise` does, but with all combinations, those marked slow without which each value
    still comes in a test: as few as the longest parameter has values, in which as many pairs as can be do."""
    sizes = [len(of) for of in values.values()]
    few = _covering(sizes)
    return _parametrize(values, [*product(*map(range, sizes))], slow=lambda row: row not in few)


def _parametrize(
    values: Mapping[str, Values], chosen: Sequence[Row], slow: Callable[[Row], bool] = lambda row: False
) -> pytest.MarkDecorator:
    named = [[*of.items()] if isinstance(of, Mapping) else [(_name(value), value) for value in of]
             for of in values.values()]  # fmt: skip
    parameters = []
    for row in chosen:
        names, case = zip(*(of[index] for of, index in zip(named, row)))
        parameters.append(pytest.param(*case, id="-".join(names), marks=[pytest.mark.slow] if slow(row) else []))
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


def _covering(sizes: Sequence[int]) -> list[Row]:
    """Return as many combinations as the largest size is, in which each number stands, and as many pairs as can be;
    numbers of a place stand about equally often."""
    every = [*product(*map(range, sizes))]
    pairs: set[Any] = {pair for row in every for pair in _pairs(row)}
    used = Counter({place: 0 for row in every for place in enumerate(row)})
    chosen: list[Row] = []

    def worth(row: Row) -> tuple[int, ...]:
        places = [*enumerate(row)]
        new = sum(not used[place] for place in places)
        return new, len(pairs & {*_pairs(row)}), -sum(used[place] for place in places)

    while not all(used.values()):
        best = max(every, key=worth)
        used.update(enumerate(best))
        pairs.difference_update(_pairs(best))
        chosen.append(best)
    return chosen


def _pairs(row: Row) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    return combinations(enumerate(row), 2)


def _name(value: Any) -> str:
    """Return how a test tells a value: a function by its name, for its address is another in each process."""
    return getattr(value, "__name__", str(value))
