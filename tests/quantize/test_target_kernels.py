"""What a target takes of floats alone stays float."""

from __future__ import annotations

import pytest

from fuseconv.fuse.registry import Registry
from fuseconv.quantize.recipe import choose_recipes
from fuseconv.quantize.target_kernels import refused_integers
from fuseconv.tfl.integer import INT8, INT16, Kernels
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of

_NORM = """
    main {
      input %x: float32[2,4]
      %a: float32[2,4] = tfl.ABS(%x)
      %b: float32[2,4] = tfl.SQRT(%a)
      %c: float32[2,4] = tfl.L2_NORMALIZATION(%b)
      %y: float32[2,3] = tfl.FULLY_CONNECTED(%c, float32[3,4] [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3], _)
      return %y
    }
"""


@pytest.mark.parametrize(("kernels", "target", "left"), [
    (INT8, "micro", ["SQRT"]), (INT16, "micro", ["SQRT"]), (INT8, "qnn", []),
])  # fmt: skip
def test_kinds_of_a_target(kernels: Kernels, target: str, left: list[str]) -> None:
    module, _ = module_of(_NORM)
    graph = module.signatures[0].graph
    assert [op.type for op in refused_integers(graph, kernels, Registry().target(target))] == left


def test_a_recipe_leaves_them_float() -> None:
    module, _ = module_of(_NORM)
    ranges = measured(x=(-2, 2), a=(0.5, 2), b=(0.7, 1.4), c=(0, 1), y=(0, 9)).ranges
    (recipe,) = choose_recipes(module, ranges, INT8, target=Registry().target("micro")).values()
    (why,) = recipe.why.values()
    assert why == "micro takes it on floats alone: a tensor is of int8, and not float32"
    assert not choose_recipes(module, ranges, INT8)[module.signatures[0].graph].why
