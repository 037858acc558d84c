"""A file that computes the ranges of its own tensors: those that numpy finds, and the module stays what it is."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.text import print_module
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


@pytest.mark.parametrize("read", [
    "%z: float32[n,100] = tfl.ABS(%y)", "%z: int32[n] = tfl.ARG_MAX(%y, int32[] 1) {'output_type': 'INT32'}",
    f"%z: float32[n,1] = tfl.FULLY_CONNECTED(%y, float32[1,100] {[1] * 100}, _)",
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


@pytest.mark.parametrize("text", [
    "main {\n  input %x: int32[n]\n  return %x\n}", _TEXT.replace("%r: float32[n,2]", "%r: float32[*]"),
    _TEXT + "other {\n  input %x: float32[2]\n  return %x\n}",
])  # fmt: skip
def test_what_is_measured_otherwise(text: str) -> None:
    module, _ = module_of(text)
    assert ReducedRanges.of(module) is None
