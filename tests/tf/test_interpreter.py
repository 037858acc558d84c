"""TF functions run in numpy: lists, branches and calls as TensorFlow has them, and nothing that may be harmful."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.tf.folders.registry import Declined
from fuseconv.tf.interpreter import Interpreter, declining
from tests.tf.text_cases import module_of

X = np.arange(6, dtype=np.float32).reshape(2, 3)
SIDES = """
    twice {
      input %x: float32[2,3]
      %y: float32[2,3] = tf.AddV2(%x, %x)
      return %y
    }
    same {
      input %x: float32[2,3]
      return %x
    }
    """


def run(*graphs: str, numbers: float = 1000) -> list[np.ndarray]:
    module, _ = module_of(*graphs)
    with declining():
        return Interpreter(module, 100, numbers).run(module.signatures[0].graph, [X])


def main(*ops: str, result: str = "%y") -> str:
    return "\n".join(["main {", "input %x: float32[2,3]", *ops, f"return {result}", "}"])


@pytest.mark.parametrize(("condition", "factor"), [("bool[] True", 2), ("float32[] 0.0", 1), ("int32[] -3", 2)])
def test_a_branch_runs(condition: str, factor: int) -> None:
    branch = f"%y: float32[2,3] = tf.If({condition}, %x) {{'then_branch': @twice, 'else_branch': @same}}"
    np.testing.assert_array_equal(run(main(branch), SIDES)[0], factor * X)


def test_conditions_that_are_no_numbers_are_declined() -> None:
    """TensorFlow asks whether these are empty."""
    with pytest.raises(Declined):
        run(main("%y: float32[2,3] = tf.If(bool[1] [False], %x) {'then_branch': @twice, 'else_branch': @same}"), SIDES)


@pytest.mark.parametrize(("shape", "is_declined"), [("float32[3,2]", True), ("float32[2,n]", False)])
def test_an_op_that_makes_another_shape_than_it_says_is_declined(shape: str, is_declined: bool) -> None:
    text = main(f"%y: {shape} = tf.Neg(%x)")
    if is_declined:
        with pytest.raises(Declined):
            run(text)
    else:
        np.testing.assert_array_equal(run(text)[0], -X)


def test_a_graph_may_run_on_other_shapes_than_were_inferred() -> None:
    module, _ = module_of(main("%y: float32[2,3] = tf.Neg(%x)"))
    with declining():
        (made,) = Interpreter(module, 100, 1000).run(module.signatures[0].graph, [X[0]])
    np.testing.assert_array_equal(made, -X[0])


def test_a_list_is_forwarded_whole() -> None:
    lists = [
        "%empty: variant[*] = tf.EmptyTensorList(int32[1] [3], int32[] -1) {'element_dtype': float32}",
        "%row: float32[3] = tf.GatherV2(%x, int32[] 1, int32[] 0)",
        "%one: variant[*] = tf.TensorListPushBack(%empty, %row)",
        "%two: variant[*] = tf.TensorListPushBack(%one, %row)",
        "%same: variant[*] = tf.Identity(%two)",
        "%count: int32[] = tf.TensorListLength(%same)",
        "%y: float32[2,3] = tf.TensorListStack(%same, int32[1] [3]) {'num_elements': 2}",
    ]
    stacked, count = run(main(*lists, result="%y, %count"))
    np.testing.assert_array_equal(stacked, X[[1, 1]])
    assert count == 2


@pytest.mark.parametrize(
    "op",
    [
        "tf.AddV2(%x, float32[4,5] [[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0], "
        "[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]])",
        "tf.TensorListGetItem(%x, int32[] 0, int32[1] [3])",
        "tf.Tile(%x, int32[2] [20, 20])",
        "tf.WriteFile(%x, %x)",
    ],
)
def test_what_does_not_fit_is_large_or_not_known_is_declined(op: str) -> None:
    with pytest.raises(Declined):
        run(main(f"%y: float32[?a,?b] = {op}"))
