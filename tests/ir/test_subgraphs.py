"""The subgraphs of a file: signatures first, then functions as ops refer to them."""

from __future__ import annotations

import pytest

from fuseconv.errors import FuseconvError
from fuseconv.ir.subgraphs import subgraphs
from tests.tf.text_cases import module_of

_MAIN = """
main {
  input %x: float32[2]
  %y: float32[2] = tfl.WHILE(%x) {'cond_subgraph_index': @more, 'body_subgraph_index': @step}
  return %y
}
"""
_STEP = """
step {
  input %x: float32[2]
  %y: float32[2] = tfl.WHILE(%x) {'cond_subgraph_index': @more, 'body_subgraph_index': @inner}
  return %y
}
"""


def _function(name: str, type: str) -> str:
    return f"""
{name} {{
  input %x: float32[2]
  %y: {type} = tfl.ABS(%x)
  return %y
}}
"""


def test_functions_stand_in_the_order_of_the_first_reference() -> None:
    names = ("unused", "inner", "more")
    module, _ = module_of(_MAIN, _STEP, *(_function(name, "float32[2]") for name in names))
    assert [graph.name for graph in subgraphs(module)] == ["main", "more", "step", "inner"]


def test_a_function_that_is_not_there() -> None:
    module, _ = module_of(_MAIN, _STEP, _function("more", "float32[2]"), _function("inner", "float32[2]"))
    del module.functions["step"]
    with pytest.raises(FuseconvError, match="refers to a function step that is not there"):
        list(subgraphs(module))
