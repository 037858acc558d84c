"""Values, ops and graphs: use lists, copies, what counts as an edit."""

from __future__ import annotations

import gc

from fuseconv.ir import types
from fuseconv.ir.graph import copy_graph, count_edits, detach, empty_constants, replace_uses
from fuseconv.ir.verifier import check
from tests.tf.text_cases import module_of, short_text

TEXT = """main {
  input %x: float32[2]
  %y: float32[2] = tf.AddV2(%x, %x)
  %z: float32[2] = tf.Neg(%y)
  return %z, %y
}
"""


def test_use_lists_count_each_read() -> None:
    module, _ = module_of(TEXT)
    graph = module.signatures[0].graph
    add, neg = graph.ops
    assert graph.inputs[0].uses == {add: 2} and add.result.uses == {neg: 1, graph.terminator: 1}
    replace_uses(add.result, graph.inputs[0])
    assert not add.result.uses and graph.outputs == [neg.result, graph.inputs[0]]
    graph.ops.remove(add)
    detach(add)
    assert graph.inputs[0].uses == {neg: 1, graph.terminator: 1}
    check(module)


def test_a_copy_has_ops_and_values_of_its_own() -> None:
    module, _ = module_of(TEXT)
    graph = module.signatures[0].graph
    copy = module.signatures[0].graph = copy_graph(graph)
    check(module)
    assert short_text(module) == short_text(module_of(TEXT)[0])
    assert not {*copy.ops} & {*graph.ops} and copy.inputs[0] is not graph.inputs[0]


def test_edits_are_counted_where_an_operand_or_a_kind_changes() -> None:
    module, _ = module_of(TEXT)
    add, neg = module.signatures[0].graph.ops
    before = count_edits()
    neg.set_operand(0, add.result)
    neg.set_operands([add.result])
    assert count_edits() == before
    neg.set_operand(0, add.operands[0])
    assert count_edits() == before + 1
    neg.set_kind("tf.Neg")
    assert count_edits() == before + 1
    neg.set_kind("tf.Abs")
    assert count_edits() == before + 2


def test_kinds_have_a_dialect_and_a_type() -> None:
    (add, _) = module_of(TEXT)[0].signatures[0].graph.ops
    add.set_kind("tfl.ADD")
    assert (add.kind, add.dialect, add.type) == ("tfl.ADD", "tfl", "ADD")


def test_what_is_taken_apart_is_no_garbage() -> None:
    for found in (0, 1):
        module, _ = module_of(TEXT)
        gc.collect()
        if not found:
            module.take_apart()
        del module
        assert (gc.collect() > 0) == found


def test_nothing_of_sizes_that_numpy_does_not_hold_is_no_constant() -> None:
    assert empty_constants([(types.FLOAT32, (0, 1 << 40))])
    assert not empty_constants([(types.FLOAT32, (0, 1 << 40, 1 << 40))])
