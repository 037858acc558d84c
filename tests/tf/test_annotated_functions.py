"""Calls and the annotations of the functions that they call."""

from __future__ import annotations

from fuseconv.ir.graph import FuncRef, Graph, Op
from fuseconv.tf.annotated_functions import annotation, callee_of, implements, original


def test_only_a_call_of_a_function_has_a_callee() -> None:
    function = Graph("f")
    functions = {"f": function}
    assert callee_of(Op("tf.PartitionedCall", (), {"f": FuncRef("f")}), functions) is function
    assert callee_of(Op("tf.PartitionedCall", (), {"f": FuncRef("g")}), functions) is None
    assert callee_of(Op("tf.While", (), {"f": FuncRef("f")}), functions) is None


def test_the_annotation_of_a_function() -> None:
    function = Graph("lstm@call", {"_implements": FuncRef("lstm_1", {"time_major": True})})
    found = annotation(function)
    assert implements(function) and found is not None and found.attrs == {"time_major": True}
    assert original(function) == "lstm"
    assert not implements(Graph("f", {"_implements": "text"})) and original(Graph("f")) == "f"
