"""Which ops read the memory of a constant, in whatever form."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.constant_readers import OP_BYTES, ConstantReaders
from fuseconv.ir.graph import Graph, Module, Op, Signature, Value, constant, detach
from fuseconv.ir.product import Product

TABLE = np.arange(OP_BYTES, dtype=np.float32).reshape(-1, 16)


def _module(*values: Value) -> Module:
    """A module with a function, in each of which every other value is read, by one op each."""
    graphs = Graph("main"), Graph("inner")
    for place, value in enumerate(values):
        op = Op("tfl.NEG", [value], {}, f"op{place}")
        op.add_result(value.dtype, value.shape)
        graphs[place % 2].ops.append(op)
    return Module([Signature(["main"], graphs[0], [], [])], {"inner": graphs[1]})


def _others(*values: Value) -> list[str]:
    """The readers of what the first value is made from, besides the first op."""
    module = _module(*values)
    readers = ConstantReaders(module)
    return sorted(op.name for op, _ in readers.others(values[0], module.signatures[0].graph.ops[0]))


def test_one_value_and_views_of_one_array():
    table = constant(TABLE)
    assert _others(table, table, constant(TABLE.T), constant(TABLE.reshape(-1)), constant(TABLE.T.T)) == [
        "op1", "op2", "op3", "op4",
    ]  # fmt: skip


def test_copies_and_parts_are_arrays_of_their_own():
    assert _others(constant(TABLE), constant(TABLE.copy()), constant(TABLE[:40]), constant(TABLE[1:])) == []


def test_products_read_what_they_are_made_from():
    table = constant(TABLE)
    factors = np.full((1, 16), 2, np.float32)
    assert _others(table, Product(table, factors, 1e4)) == ["op1"]
    assert _others(Product(table, factors, 1e4), constant(TABLE.T)) == ["op1"]


def test_small_constants_do_not_count():
    small = constant(TABLE[:16])
    assert small.data is not None and small.data.nbytes == OP_BYTES
    assert _others(small, small) == []


def test_outputs_read_too():
    table = constant(TABLE)
    module = _module(table)
    graph = module.signatures[0].graph
    graph.outputs = [table]
    assert [op for op, _ in ConstantReaders(module).others(table, graph.ops[0])] == [graph.terminator]


def test_ops_come_and_go():
    table = constant(TABLE)
    module = _module(table, table)
    graph, inner = module.graphs()
    readers = ConstantReaders(module)
    assert [op.name for op, _ in readers.others(table, graph.ops[0])] == ["op1"]
    new = Op("tfl.NEG", [constant(TABLE.T)], {}, "new")
    readers.add([new])
    detach(inner.ops[0])
    assert [op.name for op, _ in readers.others(table, graph.ops[0])] == ["new"]
