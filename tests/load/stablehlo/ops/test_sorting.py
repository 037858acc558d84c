"""Sorting of StableHLO, against JAX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.load.stablehlo.bytecode import Region
from fuseconv.load.stablehlo.ops.sorting import sort
from fuseconv.load.stablehlo.scope import RefusedError
from tests.load.stablehlo.modules import check_case, computed, names, new_scope, operation, region


@pytest.mark.parametrize("name", names("sorting"))
def test_it_computes_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


def _total(direction: str, kinds: list[str]) -> Region:
    """Return the comparator of the first of these operands in the total order, in which -0 is less than 0."""
    body = region(" ".join(f"{kind}[] {kind}[]" for kind in kinds) + " -> bool[]")
    text = f"compare {kinds[0]}[] {kinds[0]}[] -> bool[]"
    op = operation(text, comparison_direction=direction, compare_type="TOTALORDER")
    op.operands[:] = body.arguments[:2]
    body.ops[-1].operands[:] = op.results
    body.ops.insert(0, op)
    return body


@pytest.mark.parametrize(("direction", "order"), [("GT", [2, 6, 0, 4, 1, 3, 5]), ("LT", [5, 1, 3, 0, 4, 6, 2])])
def test_minus_zero_is_less_than_zero_in_the_total_order(direction: str, order: list[int]) -> None:
    """So PyTorch's topk sorts."""
    x, places = np.array([[0, -0.0, 5, -0.0, 0, -3, 1]], np.float32), np.arange(7, dtype=np.int32)[None]
    scope, operands = new_scope(x, places)
    text = "sort float32[1,7] int32[1,7] -> float32[1,7] int32[1,7]"
    op = operation(text, [_total(direction, ["float32", "int32"])], dimension=1, is_stable=True)
    np.testing.assert_array_equal(computed(scope, sort(scope, op, *operands)[1], x, places), [order])
    scope, operands = new_scope(x)
    op = operation("sort float32[1,7] -> float32[1,7]", [_total(direction, ["float32"])], dimension=1, is_stable=True)
    made = computed(scope, sort(scope, op, *operands)[0], x)
    np.testing.assert_array_equal(made.view(np.int32), x[:, order].view(np.int32))


def test_the_total_order_of_half_floats_is_refused() -> None:
    scope, operands = new_scope(np.zeros(2, np.float16))
    op = operation("sort float16[2] -> float16[2]", [_total("LT", ["float16"])], dimension=0, is_stable=True)
    with pytest.raises(RefusedError, match="-0 comes before 0"):
        sort(scope, op, *operands)
