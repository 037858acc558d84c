"""Each two values of two parameters come together, in fewer tests than all combinations are."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import pytest

from tests.pairwise import in_turn, mostly_slow, pairwise, rows


@pytest.mark.parametrize(
    ("sizes", "count"), [((2, 3), 6), ((2, 2, 2), 4), ((2, 3, 2), 6), ((3, 3, 3), 10), ((4, 1), 4)]
)
def test_each_pair_stands_in_a_row(sizes: tuple[int, ...], count: int) -> None:
    chosen = rows(sizes)
    for first, second in combinations(range(len(sizes)), 2):
        assert {(row[first], row[second]) for row in chosen} == {
            (a, b) for a in range(sizes[first]) for b in range(sizes[second])
        }
    assert len(chosen) == len(set(chosen)) == count


def test_values_have_their_names() -> None:
    mark = pairwise(a={"one": 1, "two": 2}, b=("x", "y")).mark
    names, cases = mark.args
    assert names == ["a", "b"]
    assert [(case.id, case.values) for case in cases] == [
        ("one-x", (1, "x")), ("one-y", (1, "y")), ("two-x", (2, "x")), ("two-y", (2, "y")),
    ]  # fmt: skip


def test_values_in_turn() -> None:
    _, cases = in_turn(a=[1, 2, 3], b="xy", c="z").mark.args
    assert [case.values for case in cases] == [(1, "x", "z"), (1, "y", "z"), (2, "x", "z"), (3, "x", "z")]


@pytest.mark.parametrize("sizes", [(2, 2, 10), (2, 7), (3, 1, 3), (2, 3, 3)])
def test_each_value_comes_in_a_test_that_is_not_slow(sizes: tuple[int, ...]) -> None:
    values = {f"p{place}": range(size) for place, size in enumerate(sizes)}
    _, cases = mostly_slow(**values).mark.args
    assert len({case.values for case in cases}) == len(cases) == math.prod(sizes)
    assert {mark.name for case in cases for mark in case.marks} <= {"slow"}
    quick = [case.values for case in cases if not case.marks]
    assert len(quick) == max(sizes)
    for place, size in enumerate(sizes):
        counts = Counter(values[place] for values in quick)
        assert counts.keys() == {*range(size)}
        assert max(counts.values()) - min(counts.values()) <= 2
    # Parameters do not go in step.
    assert len({values[:2] for values in quick}) == min(max(sizes), math.prod(sizes[:2]))
