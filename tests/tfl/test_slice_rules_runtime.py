"""A part of a result is what the op makes of the parts of its operands that its rule tells of."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.tfl.slice_rules import _RULES, needs
from tests.tfl import cases
from tests.tfl.cases import case, f, i32, scalar
from tests.tfl.parts import check_parts

MORE = [
    case("add", f(2, 3, 4), f(3, 1)),
    case("pad", f(2, 3, 4), i32([0, 0], [1, 0], [0, 0])),
    case("padv2", f(3, 2), i32([0, 0], [1, 0]), scalar(5, np.float32)),
    case("mirror_pad", f(3, 3), i32([0, 0], [0, 2]), mode="SYMMETRIC"),
    case("reshape", f(2, 3, 4), i32(2, 12)),
    case("reshape", f(2, 6), i32(2, 2, 3)),
    case("batch_matmul", f(2, 5, 4), f(2, 5, 3), adj_x=True),
    case("batch_matmul", f(3, 2, 4, 5), f(2, 3, 5), adj_y=True),
    case("resize_bilinear", f(2, 2, 3, 4), i32(5, 7), half_pixel_centers=True),
    case("resize_nearest_neighbor", f(2, 2, 3, 4), i32(5, 7)),
    case("reduce_max", f(2, 3, 4), i32(-2)),
]
TRIALS = [trial for trial in (*cases.ALL, *MORE) if trial.kind.upper() in _RULES and trial.inputs]


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_parts(trial: cases.Case) -> None:
    check_parts(trial, needs, lambda size: 1)


def test_every_rule_is_tried() -> None:
    assert {trial.kind.upper() for trial in TRIALS} == set(_RULES)
