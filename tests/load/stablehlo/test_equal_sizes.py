"""Sizes of a signature's inputs that a module of StableHLO wants equal are one."""

from __future__ import annotations

import pytest

from fuseconv.ir.graph import Module
from fuseconv.load.stablehlo.equal_sizes import equate_sizes
from tests.tf.text_cases import module_of

MAIN = """
    main {
      input %x: float32[x,3]
      input %y: float32[y,3]
      %z: float32[*] = tf.StatefulPartitionedCall(%x, %y) {'f': @inner}
      return %z
    }
    """
INNER = """
    inner {
      input %x: float32[u,3]
      input %y: float32[v,3]
      %same: float32[u,3] = tf.Identity(%x)
      %z: float32[*] = tf.PartitionedCall(%same, %y) {'f': @module}
      return %z
    }
    """
MODULE = """
    module {
      input %x: float32[b,3]
      input %y: float32[b,3]
      %z: float32[b,3] = tf.AddV2(%x, %y)
      return %z
    }
    """


def equated(*graphs: str) -> list[str]:
    """The shapes of the first graph's inputs, behind those that the calls of `module` tell of."""
    module = module_of(*graphs)[0]
    calls = {
        op: graph for graph in module.graphs() for op in graph.ops
        if "f" in op.attrs and op.attrs["f"].name == "module"
    }  # fmt: skip
    equate_sizes(calls, module)
    return shapes(module)


def shapes(module: Module) -> list[str]:
    return [",".join(map(str, value.shape or ())) for value in module.signatures[0].graph.inputs]


def test_equal_symbols_of_a_module_make_sizes_equal() -> None:
    assert equated(MAIN, INNER, MODULE) == ["x,3", "x,3"]
    assert equated(MAIN.replace("@inner", "@module"), MODULE) == ["x,3", "x,3"]


@pytest.mark.parametrize(("graph", "old", "new"), [
    (MODULE, "%y: float32[b,3]", "%y: float32[c,3]"), (MODULE, "%y: float32[b,3]", "%y: float32[2*b,3]"),
    (MAIN, "float32[y,3]", "float32[2*y,3]"),
    (INNER, "%same: float32[u,3] = tf.Identity(%x)", "%same: float32[u,3] = tf.Neg(%x)"),
])  # fmt: skip
def test_others_stay(graph: str, old: str, new: str) -> None:
    graphs = [each.replace(old, new) if each is graph else each for each in (MAIN, INNER, MODULE)]
    found = equated(*graphs)
    assert found[0] == "x,3" and found[1] in ("y,3", "2*y,3")


def test_what_data_decide_or_nobody_reads_says_nothing_of_sizes() -> None:
    branch = """
    main {
      input %x: float32[x,3]
      input %y: float32[y,3]
      input %b: bool[]
      %z: float32[*] = tf.StatelessIf(%b, %x, %y) {'then_branch': @inner, 'else_branch': @inner}
      return %z
    }
    """
    assert equated(branch, INNER, MODULE)[:2] == ["x,3", "y,3"]
    unread = MAIN.replace("@inner", "@module").replace("return %z", "return %x")
    assert equated(unread, MODULE) == ["x,3", "y,3"]


def test_a_function_that_is_called_twice_is_left_alone() -> None:
    twice = MAIN.replace("return %z", """%w: float32[*] = tf.StatefulPartitionedCall(%y, %x) {'f': @inner}
      return %z, %w""")
    assert equated(twice, INNER, MODULE) == ["x,3", "y,3"]
