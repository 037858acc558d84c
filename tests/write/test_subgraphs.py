"""Signatures come first, then what ops refer to, in the order of the first reference."""

from __future__ import annotations

import pytest

from fuseconv.errors import FuseconvError
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Signature
from fuseconv.write.subgraphs import subgraphs


def test_the_order_is_that_of_references() -> None:
    graphs = {name: Graph(name) for name in ("main", "b", "a", "unused")}
    branches = {"then_subgraph_index": FuncRef("a"), "else_subgraph_index": FuncRef("b")}
    graphs["main"].ops = [Op("tfl.IF", attrs=branches)]
    functions = {name: graphs[name] for name in ("unused", "b", "a")}
    module = Module([Signature([name], graphs["main"], [], []) for name in ("one", "two")], functions)
    assert [graph.name for graph in subgraphs(module)] == ["main", "a", "b"]
    del module.functions["b"]
    with pytest.raises(FuseconvError, match="refers to a function b that is not there"):
        list(subgraphs(module))
