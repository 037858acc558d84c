"""The changes that passes make to graphs: rewriting ops, replacing uses, adding functions, and undoing trials."""

from __future__ import annotations

import pytest

from fuseconv.ir.graph import Graph, Module, Op, Signature, Value
from fuseconv.ir.rewriter import (
    Speculative,
    add_function,
    erase_function,
    erase_ops,
    replace_uses_except,
    rewrite_ops,
)
from fuseconv.ir.types import FLOAT32
from fuseconv.ir.verifier import check


def _chain(*kinds: str) -> Graph:
    """A graph in which each op reads what the one before it makes."""
    graph = Graph("main")
    value = graph.add_input(FLOAT32, (2,), "x")
    for number, kind in enumerate(kinds):
        op = Op(f"tf.{kind}", [value], {}, f"op{number}")
        value = op.add_result(FLOAT32, (2,))
        graph.ops.append(op)
    graph.outputs = [value]
    return graph


def _kinds(graph: Graph) -> list[str]:
    check(Module([Signature(["main"], graph, ["x"], ["y"])]))
    return [op.type for op in graph.ops]


def _append(kind: str, operand: Value | None, out: list[Op]) -> list[Value]:
    out.append(Op(f"tf.{kind}", [operand], {}, kind))
    return [out[-1].add_result(FLOAT32, (2,))]


def test_ops_are_replaced_in_their_place() -> None:
    graph = _chain("Abs", "Neg", "Abs")
    assert rewrite_ops(graph, {"tf.Neg"}, lambda op, out: _append("Sin", op.operands[0], out))
    assert _kinds(graph) == ["Abs", "Sin", "Abs"]


def test_an_op_without_replacement_stays_behind_what_was_appended() -> None:
    graph = _chain("Abs", "Neg")

    def insert(op: Op, out: list[Op]) -> None:
        op.set_operand(0, _append("Sin", op.operands[0], out)[0])

    assert not rewrite_ops(graph, {"tf.Neg"}, insert)
    assert _kinds(graph) == ["Abs", "Sin", "Neg"]


def test_a_graph_without_such_ops_is_left_as_it_is() -> None:
    graph = _chain("Abs")
    ops = graph.ops
    assert not rewrite_ops(graph, {"tf.Neg"}, lambda op, out: pytest.fail("no op is to be rewritten"))
    assert graph.ops is ops


@pytest.mark.parametrize("revisit", [False, True])
def test_new_ops_are_rewritten_where_they_are_revisited(revisit: bool) -> None:
    graph = _chain("Neg")
    following = {"tf.Neg": "Abs", "tf.Abs": "Sin"}
    rewrite_ops(graph, following, lambda op, out: _append(following[op.kind], op.operands[0], out), revisit)
    assert _kinds(graph) == (["Sin"] if revisit else ["Abs"])


def test_an_op_that_hands_its_operand_on_goes() -> None:
    graph = _chain("Identity", "Abs")
    rewrite_ops(graph, {"tf.Identity"}, lambda op, out: [v for v in op.operands if v is not None])
    assert _kinds(graph) == ["Abs"] and graph.ops[0].operands == graph.inputs


def test_uses_are_replaced_but_those_that_are_kept() -> None:
    graph = _chain("Abs", "Neg")
    x, abs_op = graph.inputs[0], graph.ops[0]
    sin = Op("tf.Sin", [x], {}, "sin")
    graph.ops.insert(0, sin)
    replace_uses_except(x, sin.add_result(FLOAT32, (2,)), (sin,))
    assert abs_op.operands == [sin.result] and sin.operands == [x]
    assert _kinds(graph) == ["Sin", "Abs", "Neg"]


def test_erased_ops_read_nothing() -> None:
    graph = _chain("Abs", "Neg")
    graph.outputs = graph.inputs
    erase_ops(graph, set(graph.ops))
    assert not graph.ops and list(graph.inputs[0].uses) == [graph.terminator]


def test_a_function_whose_name_is_taken_gets_another() -> None:
    module = Module(functions={"f": Graph("f"), "f'": Graph("f'")})
    graph = Graph("f")
    assert add_function(module, graph).name == graph.name == "f''"
    assert module.functions["f''"] is graph


def test_what_is_not_kept_is_undone() -> None:
    graph = _chain("Abs")
    module = Module(functions={"f": Graph("f")})
    with Speculative(module.functions) as trial:
        _append("Neg", graph.inputs[0], trial.ops)
        inner = _chain("Abs")
        inner.name = "g"
        inner.ops[0].set_operands(graph.inputs)
        add_function(module, inner)
    assert list(graph.inputs[0].uses) == graph.ops and list(module.functions) == ["f"]


def test_an_error_undoes_a_trial() -> None:
    graph = _chain("Abs")
    with pytest.raises(ValueError, match="no"), Speculative() as trial:
        _append("Neg", graph.inputs[0], trial.ops)
        raise ValueError("no")
    assert list(graph.inputs[0].uses) == graph.ops and not trial.ops


def test_what_is_kept_stays() -> None:
    graph = _chain("Abs")
    functions: dict[str, Graph] = {}
    with Speculative(functions) as trial:
        _append("Neg", graph.inputs[0], trial.ops)
        functions["f"] = Graph("f")
        trial.keep()
    assert len(trial.ops) == 1 and trial.ops[0] in graph.inputs[0].uses and "f" in functions


def test_an_erased_function_reads_nothing() -> None:
    inner, outer = _chain("Abs"), _chain("Abs")
    inner.ops[0].set_operands(outer.inputs)
    functions = {"f": inner}
    erase_function(functions, "f")
    assert not functions and list(outer.inputs[0].uses) == outer.ops
