"""What ops do besides computing their results."""

from __future__ import annotations

import pytest

from fuseconv.ir.graph import STATEFUL, FuncRef, Op
from fuseconv.ir.types import FLOAT32
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
    if not effect:
        op.add_result(FLOAT32, (2,))
    assert (has_effect(op, module, {}), is_idle(op), is_repeatable(op)) == (effect, idle, repeatable)


@pytest.mark.parametrize(("table", "repeatable"), [("HashTableV2", True), ("MutableHashTableV2", False)])
def test_a_table_of_fixed_contents_finds_the_same_again(table: str, repeatable: bool) -> None:
    module, _ = module_of(
        "main {\n input %x: string[2]\n"
        f" %h: resource[] = tf.{table}() {{'shared_name': 't', 'key_dtype': string, 'value_dtype': int64}}\n"
        " %y: int64[2] = tf.LookupTableFindV2(%h, %x, int64[] -1)\n return %y\n}"
    )
    find = module.signatures[0].graph.outputs[0].op
    assert find is not None and is_repeatable(find) is repeatable


@pytest.mark.parametrize(
    ("kind", "effect"),
    [
        ("tf.MyOwn", True), ("tf.SaveV2", True), ("tf.WriteFile", True), ("tfl.CUSTOM", True),
        ("tfl.HASHTABLE_IMPORT", True),
        ("tf.Assert", False), ("tf.NoOp", False), ("tf.DisableCopyOnRead", False), ("tf.FlushSummaryWriter", False),
    ],
)  # fmt: skip
def test_what_has_no_results_is_there_for_its_effect_unless_idle(kind: str, effect: bool) -> None:
    module, _ = module_of("main {\n input %x: float32[2]\n return %x\n}")
    assert has_effect(Op(kind), module, {}) is effect
    # What it runs tells, if it runs functions.
    assert not has_effect(Op("tf.PartitionedCall", [], {"f": FuncRef("there is none")}), module, {})


@pytest.mark.parametrize("kind", ["tf.MyOwn", "tfl.CUSTOM"])
def test_an_op_of_unknown_kind_says_that_it_is_stateful(kind: str) -> None:
    module, _ = module_of("main {\n input %x: float32[2]\n return %x\n}")
    plain, stateful = Op(kind), Op(kind, attrs={STATEFUL: True})
    for op in (plain, stateful):
        op.add_result(FLOAT32, (2,))
    assert has_effect(stateful, module, {}) and not is_repeatable(stateful)
    assert not has_effect(plain, module, {}) and is_repeatable(plain) is (kind == "tf.MyOwn")


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
    for kind, first in (("tf.StatelessCase", 1), ("tf.While", 0), ("tfl.IF", 1), ("tfl.WHILE", 0)):
        op = Op(kind, attrs={"branches": [FuncRef("a"), FuncRef("b")]})
        assert [offset for _, offset in bodies(op, module)] == [first, first]
    known: dict[str, bool] = {}
    assert has_effect(branch, module, known) and known == {"a": False, "b": True}
    assert references(Op("tf.Case", [], {"branches": [FuncRef("x"), FuncRef("y")]})) == ["x", "y"]
