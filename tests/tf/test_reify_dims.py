"""DimReifier that are known in symbols, computed from what has them."""

from __future__ import annotations

from fuseconv.ir import dims
from fuseconv.ir.graph import Op
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.reify_dims import DimReifier
from tests.tf.text_cases import kinds, module_of


def test_sizes_are_read_and_computed() -> None:
    module, _ = module_of("main {\n input %x: float32[n,2]\n input %y: float32[4,m]\n return %x\n}")
    graph = module.signatures[0].graph
    n, m = dims.symbol("n"), dims.symbol("m")
    sizes = DimReifier(graph.inputs)
    assert all(sizes.knows(dim) for dim in (3, n, n * m + 1, dims.floordiv(n, 2))) and not sizes.knows(dims.symbol("k"))
    tf = TfBuilder(graph.ops, Op("tf.Old"))
    assert sizes.build(tf, 3).data == 3
    sizes.build(tf, dims.floordiv(n, 2) + 1)
    assert kinds(module) == ["Shape", "StridedSlice", "FloorDiv", "AddV2"]
