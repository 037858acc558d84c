"""Half of a result is what the op makes of the parts of its operands that its rule of tiles tells of."""

from __future__ import annotations

import pytest

from fuseconv.tfl.tile_rules import _RULES, _needs
from tests.tfl import cases
from tests.tfl.cases import VALID, case, f, i32, weights
from tests.tfl.parts import check_parts

MORE = [
    case("depthwise_conv_2d", f(2, 5, 4, 4), weights(1, 2, 2, 4), weights(4), **VALID, depth_multiplier=1),
    case("depthwise_conv_2d", f(2, 5, 4, 2), weights(1, 2, 2, 8), weights(8), **VALID, depth_multiplier=4),
    case("depthwise_conv_2d", f(2, 5, 4, 2), weights(1, 2, 2, 6), weights(6), **VALID, depth_multiplier=3),
    case("conv_2d", f(2, 5, 4, 4), weights(6, 2, 2, 2), weights(6), **VALID),
    case("average_pool_2d", f(2, 5, 4, 4), **VALID, filter_height=2, filter_width=3),
    case("resize_bilinear", f(1, 2, 3, 4), i32(5, 7), half_pixel_centers=True),
    case("reshape", f(2, 3, 8), i32(2, 3, 4, 2)),
    case("reshape", f(2, 3, 4, 2), i32(2, 3, 8)),
    case("reshape", f(2, 3, 2, 3), i32(2, 3, 6)),
    case("batch_matmul", f(4, 2, 3, 5), f(4, 2, 5, 3)),
    case("batch_matmul", f(4, 2, 3, 5), f(1, 2, 5, 3)),
    case("batch_matmul", f(2, 3, 5), f(4, 2, 5, 3)),
]
TRIALS = [trial for trial in (*cases.ALL, *MORE) if trial.kind.upper() in _RULES and trial.inputs]


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_parts(trial: cases.Case) -> None:
    check_parts(trial, _needs, lambda size: size // 2)


def test_every_rule_is_tried() -> None:
    assert {trial.kind.upper() for trial in TRIALS} == set(_RULES)
