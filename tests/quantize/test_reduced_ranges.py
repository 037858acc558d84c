"""A file that computes the ranges of its own tensors: those that numpy finds, and the module stays what it is."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.graph import constant
from fuseconv.ir.product import Product
from fuseconv.ir.text import print_module
from fuseconv.quantize import reduced_ranges
from fuseconv.quantize.reduced_ranges import ReducedRanges
from tests.tf.text_cases import module_of

_TEXT = """
main {
  input %x: float32[n,2]
  input %y: float32[n,2]
  %a: float32[n,2] = tfl.SUB(%x, %y)
  %b: float32[2,n] = tfl.TRANSPOSE(%a, int32[2] [1, 0])
  %c: float32[] = tfl.SUM(%b, int32[2] [0, 1])
  %i: int32[n,2] = tfl.CAST(%x)
  %e: float32[n,0] = tfl.SLICE(%x, int32[2] [0, 0], int32[2] [-1, 0])
  %r: float32[n,2] = tfl.RESHAPE(%x, int32[2] [-1, 2])
  return %c, %i, %e, %r
}
"""


def _ranges(reduced: ReducedRanges, x: np.ndarray) -> dict[str, tuple[float, float]]:
    assert reduced.run({"i0": x, "i1": np.ones_like(x)})
    return {value.name: (each.least, each.largest) for value, each in reduced.ranges().items()}


def test_ranges_of_results() -> None:
    module, _ = module_of(_TEXT)
    before = print_module(module)
    reduced = ReducedRanges.of(module)
    assert reduced is not None and print_module(module) == before
    assert [len(value.uses) for value in module.signatures[0].graph.inputs] == [4, 1]
    first, second = np.array([[-4, 3]], np.float32), np.array([[0, 1], [5, 2], [7, -1]], np.float32)
    assert _ranges(reduced, first) == {"a": (-5, 2), "b": (-5, 2), "c": (-3, -3), "r": (-4, 3)}
    # The second sample widens what the first one gave.
    assert _ranges(reduced, second) == {"a": (-5, 6), "b": (-5, 6), "c": (-3, 8), "r": (-4, 7)}


def test_what_is_computed_is_reduced_at_once() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n,2]
      %a: float32[n,2] = tfl.ABS(%x)
      %b: float32[n,2] = tfl.EXP(%a)
      return %b
    }
    """)
    reduced = ReducedRanges.of(module)
    assert reduced is not None
    ops = [op["op_name"] for op in reduced.interpreter._get_ops_details()]
    ends = ["REDUCE_MIN", "REDUCE_MAX", "SUM"]
    assert ops == ["ABS", *ends, "EXP", *ends, "PACK"]


def test_weights_are_read_where_the_file_has_them() -> None:
    module, _ = module_of("main {\n  input %x: float32[n,3]\n  %z: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,3] "
                          "[[1, 2, 3], [4, 5, 6]], _)\n  return %z\n}")  # fmt: skip
    weights = module.signatures[0].graph.ops[0].operands[1]
    assert weights is not None and weights.data is not None
    array = weights.data.copy()
    weights.data = np.asfortranarray(array)
    product = Product(weights, np.array([[2.0], [0.5]], np.float32), 12.0)
    module.signatures[0].graph.ops[0].set_operand(1, product)
    assert ReducedRanges.of(module) is not None
    assert (product.data == array * [[2.0], [0.5]]).all() and product.data.flags.c_contiguous
    assert (product.stored == array).all()  # what is written anew is multiplied once


@pytest.mark.parametrize("read", [
    "%z: float32[n,100] = tfl.ABS(%y)", "%z: int32[n] = tfl.ARG_MAX(%y, int32[] 1) {'output_type': 'INT32'}",
    f"%z: float32[n,1] = tfl.FULLY_CONNECTED(%y, float32[1,100] {[1] * 100}, _)",
    # What these make of NaN is NaN, which is looked for there.
    "%z: float32[n,n] = tfl.FULLY_CONNECTED(%x, %y, _)", "%z: float32[n,n] = tfl.FULLY_CONNECTED(%y, %x, _)",
    "%z: float32[n,n] = tfl.BATCH_MATMUL(%x, %y) {'adj_y': True}",
    "%z: float32[n,n] = tfl.BATCH_MATMUL(%y, %x) {'adj_y': True}",
    "%z: float32[n,100] = tfl.ADD(%y, float32[] 3.0)", "%z: float32[n,100] = tfl.SUB(float32[] 3.0, %y)",
    "%z: float32[n,100] = tfl.MUL(%y, float32[] 0.0)", "%z: float32[n,100] = tfl.SQUARED_DIFFERENCE(%x, %y)",
    "%z: float32[n] = tfl.MEAN(%y, int32[1] [1])", "%z: float32[100] = tfl.SUM(%y, int32[1] [0])",
    "%t: float32[100,n] = tfl.TRANSPOSE(%y, int32[2] [1, 0])\n%z: float32[100,n] = tfl.ADD(%t, float32[] 3.0)",
    # These may hide it.
    "%z: float32[n,100] = tfl.ADD(%y, float32[] 3.0) {'fused_activation_function': 'RELU'}",
    "%z: float32[n,100] = tfl.MAXIMUM(%y, float32[] 3.0)", "%z: float32[n,100] = tfl.RELU6(%y)",
])  # fmt: skip
@pytest.mark.parametrize("place", [0, 1, 98, 99])
def test_nan_among_many_numbers(place: int, read: str) -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,100]
      %y: float32[n,100] = tfl.LOG(%x)
      {read}
      return %z
    }}
    """)
    reduced = ReducedRanges.of(module)
    x = np.ones((1, 100), np.float32)
    assert reduced is not None and reduced.run({"i0": x})
    x[0, place] = -1
    before = reduced.ranges()
    assert not reduced.run({"i0": x}) and reduced.ranges() == before


def test_nan_is_looked_for_where_it_ends() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n,2]
      %a: float32[n,2] = tfl.ADD(%x, float32[] 3.0)
      %b: float32[n,2] = tfl.MUL(%a, %x)
      %c: float32[n,2] = tfl.RELU(%b)
      return %a, %c
    }
    """)
    reduced = ReducedRanges.of(module)
    # The two ends of each tensor, and the sums of b, which RELU reads, and of c.
    assert reduced is not None and reduced.added.numbers.shape == (2 * 3 + 2,)


@pytest.mark.parametrize("text", [
    "main {\n  input %x: int32[n]\n  return %x\n}", _TEXT.replace("%r: float32[n,2]", "%r: float32[*]"),
    _TEXT + "other {\n  input %x: float32[2]\n  return %x\n}",
])  # fmt: skip
def test_what_is_measured_otherwise(text: str) -> None:
    module, _ = module_of(text)
    assert ReducedRanges.of(module) is None


@pytest.mark.parametrize(("sizes", "wanted"), [("1000,100", 1), ("1,100", 1), ("1001,1000", 3), ("n,1000", 1)])
def test_samples_run_on_one_thread_where_products_are_small(
    sizes: str, wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reduced_ranges, "processors", lambda: 3)
    columns = int(sizes.split(",")[1])
    module, _ = module_of(f"""
    main {{
      input %x: float32[{sizes}]
      %y: float32[{sizes.split(",")[0]},100] = tfl.FULLY_CONNECTED(%x, float32[100,1] {[*range(100)]}, _)
      return %y
    }}
    """)
    module.signatures[0].graph.ops[0].set_operand(1, constant(np.zeros((100, columns), np.float32)))
    assert reduced_ranges.threads(module) == wanted
