"""Weights of dense layers are stored in 4 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fuseconv.quantize.weights_to_int4 as module
from fuseconv import convert
from fuseconv.errors import InputError
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.selection import Selection
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


@pytest.fixture(autouse=True)
def _small_constants_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_ELEMENTS", 4)


def test_rows_have_a_scale() -> None:
    context = check_pass("weights-to-int4", """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [7, 2, 8, -14], float32[2] [1, 2])
      return %y
    }
    """, """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, int4[2,2]<1.0,2.0@0> [7, 2, 4, -7], float32[2] [1, 2]) \
{'asymmetric_quantize_inputs': True}
      return %y
    }
    """, block_size=None)
    assert [(item.type, item.before, item.after) for item in context.report.quantized] == [("int4", 16, 2)]


def test_what_has_no_kernel_stays() -> None:
    check_pass("weights-to-int4", """
    main {
      input %x: float32[n,3]
      %a: float32[n,4] = tfl.FULLY_CONNECTED(%x, float32[4,3] [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], _)
      %b: float32[n,2] = tfl.FULLY_CONNECTED(%a, float32[2,4] [1, nan, 2, 3, 1, 2, 3, 4], _)
      %c: float32[2,4] = tfl.ADD(float32[2,4] [1, 2, 3, 4, 5, 6, 7, 8], float32[4] [1, 2, 3, 4])
      return %b, %c
    }
    """, block_size=None)


def test_blocks_have_an_op_for_the_activation_and_a_warning() -> None:
    attrs = {"fused_activation_function": "RELU"}
    built, report = module_of(f"""
    main {{
      input %x: float32[n,32]
      %y: float32[n,1] = tfl.FULLY_CONNECTED(%x, float32[1,32] {[*range(32)]}, _) {attrs}
      return %y
    }}
    """)
    module.weights_to_int4(built, report, Selection(), 32, Calibration())
    product, relu = built.signatures[0].graph.ops
    assert product.attrs["fused_activation_function"] == "NONE" and relu.type == "RELU"
    assert "leave out --block-size" in report.warnings[0]


def test_scales_that_clip_are_better_than_ones_that_hold_all() -> None:
    rows = np.random.default_rng(0).standard_normal((3, 400)).astype(np.float32)
    largest = np.abs(rows).max(axis=1) / 7
    best = module._best_scales(rows, largest)

    def squares(scales: np.ndarray) -> np.ndarray:
        along = scales[:, None]
        return np.square(np.clip(np.rint(rows / along), -7, 7) * along - rows).sum(axis=1)

    assert (squares(best) < 0.9 * squares(largest)).all() and (best <= largest).all()


@pytest.mark.parametrize("block_size", [None, 32])
def test_integers_of_4_bits_are_kept(block_size: int | None) -> None:
    check_pass("weights-to-int4", """
    main {
      input %x: float32[n,4]
      %y: float32[n,3] = tfl.FULLY_CONNECTED(%x, float32[3,4] [0.5, 1, -2.5, 3, 0, 0, 0, 0, 0.1, 0.6, -0.7, 0], _)
      return %y
    }
    """, """
    main {
      input %x: float32[n,4]
      %y: float32[n,3] = tfl.FULLY_CONNECTED(%x, \
int4[3,4]<0.5,0.10000000149011612,0.10000000149011612@0> [1, 2, -5, 6, 0, 0, 0, 0, 1, 6, -7, 0], _) \
{'asymmetric_quantize_inputs': True}
      return %y
    }
    """, block_size=block_size)


@pytest.mark.parametrize("group", [8, 32])
@pytest.mark.parametrize("stored", [(0, 15), (-8, 7), (-15, 3)])
def test_4_bits_with_zero_points_and_groups_are_not_rounded_twice(stored: tuple[int, int], group: int) -> None:
    rng = np.random.default_rng(0)
    scales = np.repeat(rng.uniform(0.1, 1, (2, 96 // group)), group, axis=1)
    weights = rng.integers(*stored, (2, 96), endpoint=True) * scales
    built, report = module_of(f"""
    main {{
      input %x: float32[n,96]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,96] {weights.tolist()}, _)
      return %y
    }}
    """)
    module.weights_to_int4(built, report, Selection(), None, Calibration())
    assert built.signatures[0].graph.ops[0].operands[1].dtype.name == "float32"  # type: ignore[union-attr]
    assert "are stored in 8" in report.warnings[0]


@pytest.mark.parametrize(("options", "why"), [
    ({"quantize": "int4", "block_size": 16}, "--block-size 16 is none of 32, 64, 128"),
    ({"quantize": "dynamic", "block_size": 32}, "--block-size is for --quantize int4"),
])  # fmt: skip
def test_block_sizes(options: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        convert("testdata/conv_bn", **options)
