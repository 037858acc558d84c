"""IR that is malformed, and the sentence that says how."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.graph import Graph, Module
from fuseconv.ir.verifier import MalformedError, check
from tests.tf.text_cases import module_of

TEXT = """main {
  input %x: float32[2]
  %y: float32[2] = tf.AddV2(%x, float32[2] [1.0, 2.0])
  %z: float32[2] = tf.Neg(%y)
  return %z
}
"""


def graph_of(module: Module) -> Graph:
    return module.signatures[0].graph


def other_order(module: Module) -> None:
    graph_of(module).ops.reverse()


def wrong_use(module: Module) -> None:
    graph_of(module).inputs[0].uses.clear()


def wrong_shape(module: Module) -> None:
    graph_of(module).ops[0].operands[1].shape = (3,)  # type: ignore[union-attr]


def wrong_type(module: Module) -> None:
    graph_of(module).ops[0].operands[1].data = np.zeros(2, np.int32)  # type: ignore[union-attr]


def wrong_maker(module: Module) -> None:
    graph_of(module).ops[0].result.index = 1


def same_name(module: Module) -> None:
    module.functions["f"] = Graph("main")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (other_order, "reads .* before anything makes it"),
        (wrong_use, "the use list of .* does not tell how often"),
        (wrong_shape, r"holds an array of shape \(2,\)"),
        (wrong_type, "holds an array of int32"),
        (wrong_maker, "names another op as its maker"),
        (same_name, "two graphs have the same name"),
    ],
)
def test_what_is_malformed(damage, sentence: str) -> None:
    module, _ = module_of(TEXT)
    check(module)
    damage(module)
    with pytest.raises(MalformedError, match=sentence):
        check(module)


def test_ops_of_another_dialect() -> None:
    with pytest.raises(MalformedError, match="is not of the dialect tfl"):
        check(module_of(TEXT)[0], "tfl")
