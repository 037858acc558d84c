"""What is multiplied from the right has a zero point of 0."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuseconv.ir.graph import Quantization
from fuseconv.quantize.affine import Range, parameters
from fuseconv.quantize.centered import centered
from fuseconv.quantize.recipe import choose_recipes
from fuseconv.quantize.rewriting import rewrite
from fuseconv.tfl.integer import INT8
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of

_ATTENTION = """
    main {
      input %x: float32[2,6,4]
      %a: float32[2,6,4] = tfl.ABS(%x)
      %q: float32[2,3,4]; %k: float32[2,3,4] = tfl.SPLIT(int32[] 1, %a) {'num_splits': 2}
      %t: float32[2,4,3] = tfl.TRANSPOSE(%k, int32[3] [0, 2, 1])
      %y: float32[2,3,3] = tfl.BATCH_MATMUL(%q, %t)
      return %y
    }
"""
_RANGES = {"x": (-2.0, 2.0), "a": (0.0, 2.0), "q": (0.0, 1.0), "k": (0.0, 2.0), "t": (0.0, 2.0), "y": (0.0, 9.0)}


@pytest.mark.parametrize("zero", [-128, -5, 0, 7, 127])
def test_all_numbers_are_held(zero: int) -> None:
    (scale,), zeros = centered(Quantization((0.5,), (zero,))).scale, (0,)
    assert centered(Quantization((0.5,), (zero,))).zero_point == zeros
    assert scale * 127 >= 0.5 * max(127 - zero, (128 + zero) * 127 / 128) - 1e-4


def test_what_it_is_made_of_has_one_scale() -> None:
    """No conversion stands in front of the product."""
    module, _ = module_of(_ATTENTION)
    graph = module.signatures[0].graph
    ranges = measured(**_RANGES).ranges
    (recipe,) = choose_recipes(module, ranges, INT8).values()
    rewrite(graph, recipe)
    assert [op.type for op in graph.ops] == ["QUANTIZE", "ABS", "SPLIT", "TRANSPOSE", "BATCH_MATMUL", "DEQUANTIZE"]
    product = graph.ops[4]
    assert product.operands[1] is not None and product.operands[1].quantization is not None
    assert product.operands[1].quantization.zero_point == (0,) and not recipe.why


def test_what_has_another_zero_point_is_converted() -> None:
    module, _ = module_of(_ATTENTION.replace("tfl.ABS(%x)", "tfl.LOGISTIC(%x)"))
    graph = module.signatures[0].graph
    ranges = measured(**{**_RANGES, "a": (0, 1), "k": (0, 1), "t": (0, 1)}).ranges
    (recipe,) = choose_recipes(module, ranges, INT8).values()
    rewrite(graph, recipe)
    types = [op.type for op in graph.ops]
    assert types == ["QUANTIZE", "LOGISTIC", "SPLIT", "TRANSPOSE", "QUANTIZE", "BATCH_MATMUL", "DEQUANTIZE"]
    assert graph.ops[4].result.quantization.zero_point == (0,)  # type: ignore[union-attr]


@pytest.mark.parametrize(("least", "floats"), [(0.0, ["BATCH_MATMUL"]), (-2 * 128 / 127, [])])
def test_what_the_model_rounds_itself_is_not_rounded_again(least: float, floats: list[str]) -> None:
    module, _ = module_of(_ATTENTION)
    calibration = measured(**_RANGES)
    for value in [value for op in module.signatures[0].graph.ops for value in op.results if value.name in "akt"]:
        calibration.ranges[value] = replace(Range(least, 2.0), fixed=True)
    assert parameters(Range(-2 * 128 / 127, 2.0)).zero_point == (0,)
    (recipe,) = choose_recipes(module, calibration.ranges, INT8).values()
    assert [op.type for op in recipe.why] == floats


def test_a_range_that_several_products_read_is_widened_once() -> None:
    text = _ATTENTION.replace("return %y", "%z: float32[2,3,3] = tfl.BATCH_MATMUL(%q, %t)\nreturn %y, %z")
    module, _ = module_of(text)
    calibration = measured(**_RANGES, z=(0.0, 9.0))
    choose_recipes(module, calibration.ranges, INT8)
    (found,) = {calibration.ranges[value] for op in module.signatures[0].graph.ops for value in op.results
                if value.name in "akt"}  # fmt: skip
    assert found == Range(-2.0 * 128 / 127, 2.0)
