"""What ops do besides computing their results."""

from __future__ import annotations

import pytest

from fuseconv.ir.graph import FuncRef, Op
from fuseconv.tf.side_effects import bodies, callers, has_effect, is_idle, is_repeatable, references
from tests.tf.text_cases import module_of


@pytest.mark.parametrize(
    ("kind", "effect", "idle", "repeatable"),
    [
        ("tf.AddV2", False, False, True), ("tf.AssignVariableOp", True, False, False), ("tf.Assert", False, True, True),
        ("tf.RandomUniform", False, False, False), ("tf.StatelessRandomUniform", False, False, True),
        ("tf.ReadVariableOp", False, False, False), ("tf.ScatterNd", False, False, True),
        ("tfl.CALL_ONCE", True, False, False), ("tfl.ADD", False, False, True), ("tfl.WHILE", False, False, False),
    ],
)  # fmt: skip
def test_kinds(kind: str, effect: bool, idle: bool, repeatable: bool) -> None:
    module, _ = module_of("main {\n input %x: float32[2]\n return %x\n}")
    op = Op(kind)
    assert (has_effect(op, module, {}), is_idle(op), is_repeatable(op)) == (effect, idle, repeatable)


def test_functions_that_ops_run() -> None:
    module, _ = module_of(
        "main {\n input %p: bool[]\n input %x: float32[2]\n"
        " %y: float32[2] = tf.If(%p, %x) {'then_branch': @a, 'else_branch': @b}\n return %y\n}",
        "a {\n input %x: float32[2]\n return %x\n}",
        "b {\n input %x: float32[2]\n %h: resource[] = tf.VarHandleOp() {'shared_name': 'v'}\n"
        " tf.AssignVariableOp(%h, %x)\n return %x\n}",
    )
    (branch,) = module.signatures[0].graph.ops
    assert references(branch) == ["a", "b"] and not is_repeatable(branch)
    assert [(body.name, offset) for body, offset in bodies(branch, module)] == [("a", 1), ("b", 1)]
    assert callers(module) == {graph.terminator: branch for graph in module.functions.values()}
    known: dict[str, bool] = {}
    assert has_effect(branch, module, known) and known == {"a": False, "b": True}
    assert references(Op("tf.Case", [], {"branches": [FuncRef("x"), FuncRef("y")]})) == ["x", "y"]
