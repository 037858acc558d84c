"""Products of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.load.stablehlo.ops.products import product
from tests.load.stablehlo.modules import check_case, computed, names, new_scope


@pytest.mark.parametrize("name", names("products"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.mark.parametrize(("left", "right", "made"), [
    ("bij", "jbk", "bik"), ("bij", "jkb", "bik"), ("ibj", "bjk", "bik"), ("bji", "bkj", "bik"), ("bij", "bjk", "bik"),
    ("j", "jk", "k"), ("ij", "j", "i"), ("ij", "kj", "ik"), ("ji", "jk", "ik"), ("hij", "jk", "hik"),
    ("hji", "jk", "hik"), ("hij", "kj", "hik"), ("bhij", "bjk", "bhik"), ("bj", "bjk", "bk"), ("bcij", "bcjk", "bcik"),
    ("cbij", "bcjk", "bcik"), ("ij", "kl", "ijkl"), ("ijl", "jlk", "ik"),
])  # fmt: skip
def test_products_of_any_dimensions(left: str, right: str, made: str) -> None:
    """The dimensions of the batch are b and c; those that both sides have besides are summed over."""
    sizes, rng = dict(zip("bchijkl", (2, 3, 4, 5, 3, 2, 4))), np.random.default_rng(0)
    sides = [rng.standard_normal([sizes[name] for name in side]).astype(np.float32) for side in (left, right)]
    scope, (x, y) = new_scope(*sides)
    shared = [name for name in left if name in right and name not in "bc"]
    batch = [name for name in "bc" if name in left and name in right]
    contracted, batches = ([[side.index(name) for name in of] for side in (left, right)] for of in (shared, batch))
    value = product(scope, x, y, contracted, batches, [len(left), len(right)])
    expected = np.einsum(f"{left},{right}->{made}", *sides)
    np.testing.assert_allclose(computed(scope, value, *sides), expected, atol=1e-5)


@pytest.mark.parametrize("equation", ["ij,jk->ik", "bij,bkj->bik", "ij,kl->ijkl", "ijl,jlk->ik"])
def test_a_product_of_booleans_tells_whether_any_pair_is_true(equation: str) -> None:
    left, right, _ = equation.replace("->", ",").split(",")
    sizes, rng = dict(zip("bijkl", (2, 3, 5, 4, 2))), np.random.default_rng(0)
    sides = [rng.random([sizes[name] for name in side]) < 0.3 for side in (left, right)]
    scope, (x, y) = new_scope(*sides)
    shared = [name for name in left if name in right and name != "b"]
    contracted, batches = ([[side.index(name) for name in of if name in side] for side in (left, right)]
                           for of in (shared, "b"))  # fmt: skip
    value = product(scope, x, y, contracted, batches, [len(left), len(right)])
    expected = np.einsum(equation, *(side.astype(np.int32) for side in sides)) > 0
    np.testing.assert_array_equal(computed(scope, value, *sides), expected)
