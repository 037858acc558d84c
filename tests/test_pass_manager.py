"""Pipelines: order, repetition, conditions, facts, records of each run, and passes of plug-ins at named places."""

from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.fuse.registry import Registry
from fuseconv.ir.graph import Module, Op, Value, constant
from fuseconv.ir.types import INT32
from fuseconv.ir.verifier import Fact, MalformedError
from fuseconv.pass_manager import (
    AfterChanges,
    Context,
    Deferred,
    Pass,
    PassManager,
    Repeat,
    Stage,
    check_names,
    insert,
    module_pass,
    passes_of,
    rewrite_pass,
)
from fuseconv.pipeline import BODY_CHECK, CONVERT
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from tests.tf.text_cases import module_of

TEXT = """main {
    input %0 "x": float32[2]
    %1 "y": float32[2] = tf.Neg(%0) {}
    return %1
}"""


def manager(module: Module | None = None, **options: object) -> PassManager:
    return PassManager(Context(module or Module(), Report(), {"log": []}), verify_each=True, **options)  # type: ignore[arg-type]


def logs(name: str, *changes: bool, **facts: Any) -> Pass:
    """A pass that logs its name, and says of each run whether it changed anything."""
    said = iter(changes)

    @module_pass(name, **facts)
    def run(log: list[str]) -> bool:
        """Log. Twice."""
        log.append(name)
        return next(said, False)

    return run


def names(runs: PassManager) -> list[str]:
    return runs.context.log


def test_passes_run_in_order_with_what_they_ask_for() -> None:
    runs = manager()
    runs.run((logs("a"), Stage("s", (logs("b"),)), logs("c").when(lambda context: len(context.log) > 5), logs("d")))
    assert names(runs) == ["a", "b", "d"]
    assert list(runs.context.report.seconds) == ["s"]
    assert [(run.name, run.changes) for run in runs.context.report.passes] == [("a", 0), ("b", 0), ("d", 0)]


def test_deferred_passes_are_imported_where_they_run(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("acme_passes")
    module.PASSES = (logs("b"), logs("c").when(lambda context: False))  # type: ignore[attr-defined]
    deferred = Deferred("acme_passes", lambda context: len(context.log) == 1)
    runs = manager()
    runs.run((deferred,))  # there is no such module yet
    monkeypatch.setitem(sys.modules, "acme_passes", module)
    runs.run((logs("a"), deferred, deferred))
    assert names(runs) == ["a", "b"]
    assert [item.name for item in passes_of((Stage("s", (deferred,)),))] == ["b", "c"]
    more = insert((Stage("s", (deferred,)),), logs("d", after="b"))
    assert [item.name for item in passes_of(more)] == ["b", "d", "c"]
    runs = manager()
    runs.run(more)  # the passes keep the condition, and the new one has none
    runs.run(more)
    assert names(runs) == ["d", "b", "d"]


def test_a_pass_after_changes_waits_for_one() -> None:
    clean = Pass("clean", lambda log: log.append("clean"), after_changes=True)
    runs = manager()
    runs.run((clean, logs("a"), clean, logs("b", True), clean, clean))
    assert names(runs) == ["clean", "a", "b", "clean"]
    # A pass may change what is no op, and says so.
    assert [run.changes for run in runs.context.report.passes] == [0, 0, 1, 0]


def test_passes_after_changes_wait_for_one_together() -> None:
    group = AfterChanges("s", (logs("a", True, True), logs("b", False, True)))
    runs = manager()
    runs.run((group, group, logs("c"), group, logs("d", True), group, group))
    assert names(runs) == ["a", "b", "c", "d", "a", "b"]
    more = insert((group,), logs("e", after="a"))
    assert [item.name for item in passes_of(more)] == ["a", "e", "b"]


def test_a_pass_is_left_out_where_no_op_is_of_its_kinds() -> None:
    runs = manager(module_of(TEXT)[0])
    runs.run((logs("a", kinds=("tf.Missing",)), logs("b", kinds=("tf.Missing", "tf.Neg")), logs("c", kinds=())))
    assert names(runs) == ["b"]


def test_repeat_ends_when_its_condition_holds_or_its_first_pass_rests() -> None:
    runs = manager()
    runs.run((Repeat((logs("a", True, True, False), logs("b"))),))
    assert names(runs) == ["a", "b"] * 3
    runs = manager()
    runs.run((Repeat((logs("a"),), until=lambda module: len(names(runs)) == 2),))
    assert names(runs) == ["a", "a"]
    runs = manager()
    runs.run((Repeat((logs("a", True, True, False, True),), until=lambda module: False),))
    assert names(runs) == ["a"] * 3  # the third round changes nothing


def test_edits_of_ops_are_counted_where_a_pass_does_not_say() -> None:
    module, _ = module_of(TEXT)

    @module_pass("negate-twice")
    def negate_twice(module: Module) -> None:
        graph = module.signatures[0].graph
        op = Op("tf.Neg", graph.outputs)
        op.add_result(graph.outputs[0].dtype, graph.outputs[0].shape)
        graph.ops.append(op)
        graph.outputs = op.results

    runs = manager(module)
    runs.run((negate_twice, logs("rest")))
    first, second = runs.context.report.passes
    assert first.changes == 2 and first.seconds > 0 and second.changes == 0


def test_what_a_pass_leaves_is_verified_and_names_it() -> None:
    module, _ = module_of(TEXT)

    def lose_an_op(module: Module) -> None:
        module.signatures[0].graph.ops.clear()

    lose_an_op.__module__ = "fuseconv.transforms"  # those of others are verified always
    with pytest.raises(MalformedError, match=r"behind the pass lose-an-op: .* before anything makes it"):
        manager(module).run((module_pass("lose-an-op")(lose_an_op),))


def test_facts_are_verified_before_and_after() -> None:
    never = Fact("NEVER", lambda module: "it never does")
    with pytest.raises(MalformedError, match="a requires NEVER, but it never does"):
        manager().run((logs("a", requires=(never,)),))
    with pytest.raises(MalformedError, match="a ensures NEVER, but it never does"):
        manager().run((logs("a", ensures=(never,)),))


def test_the_ir_is_printed_around_the_passes_that_are_named() -> None:
    module, _ = module_of(TEXT)
    stream = io.StringIO()
    manager(module, print_before=["b"], print_after=["all"], stream=stream).run((logs("a"), logs("b")))
    heads = [line for line in stream.getvalue().splitlines() if line.startswith("//")]
    assert heads == ["// IR after a", "// IR before b", "// IR after b"]
    assert "tf.Neg(%0)" in stream.getvalue()


def test_a_name_that_no_pass_has() -> None:
    check_names(["all", "canonicalize"], CONVERT)
    with pytest.raises(InputError, match="no pass is called canonicalise; did you mean canonicalize"):
        check_names(["canonicalise"], CONVERT)


@pytest.mark.parametrize("pipeline", [CONVERT, BODY_CHECK])
def test_what_a_pass_requires_is_ensured_before_it(pipeline) -> None:
    # The body check begins behind the passes that ensure facts about the model.
    ensured = set() if pipeline is CONVERT else {fact for item in passes_of(CONVERT) for fact in item.ensures}
    for item in passes_of(pipeline):
        assert {fact.name for fact in item.requires} <= {fact.name for fact in ensured}, item.name
        ensured |= set(item.ensures)


def test_every_pass_has_a_name_and_a_line_of_its_own() -> None:
    described = {item.name: item for item in passes_of(CONVERT)}
    for name, item in described.items():
        assert name == name.lower() and " " not in name
        assert item.summary and len(item.summary) <= 115 and not item.summary.endswith(":"), name
    assert len({item.summary for item in described.values()}) == len(described)


def test_a_stage_without_a_pass_to_run_is_not_mentioned() -> None:
    context = Context(Module(), Report(), {"log": []})
    never = logs("a").when(lambda context: False)
    PassManager(context).run((Stage("s", (never,)), Stage("t", (never, logs("b")))))
    assert list(context.report.seconds) == ["t"]


def test_a_plug_in_puts_a_pass_beside_another() -> None:
    pipeline = (Stage("s", (logs("a"), logs("b"), logs("a"))), logs("c"))
    before, after = module_pass("new", before="a")(len), module_pass("new", after="a")(len)
    assert [item.name for item in passes_of(insert(pipeline, before))] == ["new", "a", "b", "a", "c"]
    assert [item.name for item in passes_of(insert(pipeline, after))] == ["a", "b", "a", "new", "c"]
    with pytest.raises(InputError, match="stand beside canonicalise, which is no pass; did you mean canonicalize"):
        insert(CONVERT, module_pass("new", after="canonicalise")(lambda: None))
    with pytest.raises(InputError, match="there is a pass called a already"):
        insert(pipeline, module_pass("a", after="b")(lambda: None))


def test_a_converter_module_offers_passes() -> None:
    plugin = ModuleType("acme")
    exec(
        "from fuseconv.pass_manager import module_pass\n"
        "@module_pass('acme-check', after='freeze-variables')\n"
        "def acme_check(module):\n    'Look.'\n",
        plugin.__dict__,
    )
    assert [item.name for item in Registry(plugin).passes] == ["acme-check"]
    plugin = ModuleType("acme")
    exec("from fuseconv.pass_manager import module_pass\n@module_pass('p')\ndef p(module): 'Look.'\n", plugin.__dict__)
    with pytest.raises(InputError, match="the pass p of acme must say by before=, or by after=, where it stands"):
        Registry(plugin)


@pytest.mark.parametrize("revisit", [False, True])
def test_a_pass_of_one_rewrite(revisit: bool) -> None:
    """It is offered the ops of its kinds in every graph, and given what it names besides."""

    @rewrite_pass("halve", ("tf.Abs", "tf.Neg"), revisit=revisit)
    def halve(op: Op, out: list[Op], log: list[str], module: Module) -> list[Value] | None:
        """Halve: Neg(x) -> Abs(x), Abs(x) -> Sign(x)."""
        log.append(op.kind)
        assert module is runs.context.module
        made = TfBuilder(out, op)
        return [made.Abs(op.operands[0]) if op.type == "Neg" else made.Sign(op.operands[0])]

    inner = "other {\n%x: float32[2] = tf.Abs(float32[2] [1.0, 2.0])\nreturn %x\n}"
    module, _ = module_of("main {\ninput %x: float32[2]\n%y: float32[2] = tf.Neg(%x)\nreturn %y\n}\n" + inner)
    runs = manager(module)
    assert halve.summary == "Halve: Neg(x) -> Abs(x), Abs(x) -> Sign(x)" and halve.parameters == ("module", "log")
    assert runs.run((halve,)) and names(runs) == ["tf.Neg", *["tf.Abs"] * (1 + revisit)]
    kinds = [op.kind for graph in module.graphs() for op in graph.ops]
    assert kinds == (["tf.Sign", "tf.Sign"] if revisit else ["tf.Abs", "tf.Sign"])
    assert runs.run((halve,)) is not revisit
    halve(module, [])  # as a function of the module, too
    assert {op.kind for graph in module.graphs() for op in graph.ops} == {"tf.Sign"}


def test_a_rewrite_of_a_plug_in_that_fails_is_named() -> None:
    @rewrite_pass("acme", ("tf.Neg",))
    def fails(op: Op, out: list[Op]) -> list[Value]:
        raise KeyError("x")

    with pytest.raises(InputError, match=r"the pass acme \(.*test_pass_manager\.py:\d+\) failed: KeyError: 'x'"):
        manager(module_of(TEXT)[0]).run((fails,))


def test_what_a_pass_is_not_declared_with() -> None:
    with pytest.raises(TypeError, match="not with @module_pass alone"):
        module_pass(lambda module: None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"the pass p requires and ensures facts .*, not 'TFL_ONLY'"):
        module_pass("p", requires=("TFL_ONLY",))  # type: ignore[arg-type]
    for kinds in ("tf.Neg", ("Neg",)):
        with pytest.raises(TypeError, match=r"@rewrite_pass\(NAME, KINDS\)"):
            rewrite_pass("p", kinds)


def test_setting_the_same_operands_is_no_edit() -> None:
    value = constant(1, INT32)
    op = Op("tf.Neg", [value])
    runs = manager()
    runs.context.options["op"] = op

    def again(op: Op) -> None:
        op.set_operands([value])
        op.set_operand(0, value)

    runs.run((Pass("again", again),))
    assert runs.context.report.passes[0].changes == 0
