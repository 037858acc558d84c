"""A product with weights of a whole sequence is told from others, and computed of one step."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.graph import Op
from fuseconv.tf.builder import TfBuilder
from fuseconv.transforms.rnn.projection import Projection
from tests.tf.text_cases import module_of

_WEIGHTS = "float32[2,3] [[1, 2, 3], [4, 5, 6]]"
_BIAS = "float32[3] [1, 2, 3]"
_PROJECTIONS = {
    "of each": f"""
        %p: float32[5,n,3] = tf.BatchMatMulV2(%x, {_WEIGHTS})
        %y: float32[5,n,3] = tf.AddV2({_BIAS}, %p)""",
    "as a matrix": f"""
        %f: float32[_,2] = tf.Reshape(%x, int32[2] [-1, 2])
        %p: float32[_,3] = tf.MatMul(%f, {_WEIGHTS})
        %s: float32[_,3] = tf.BiasAdd(%p, {_BIAS})
        %y: float32[5,n,3] = tf.Reshape(%s, int32[3] [5, -1, 3])""",
    "transposed weights": f"""
        %p: float32[5,n,3] = tf.BatchMatMulV2(%x, float32[3,2] [[1, 4], [2, 5], [3, 6]]) {{'adj_y': True}}
        %y: float32[5,n,3] = tf.AddV2(%p, {_BIAS})""",
}


def _projection(lines: str) -> Projection | None:
    graph = module_of(f"main {{\ninput %x: float32[5,n,2]\n{lines}\nreturn %y\n}}")[0].signatures[0].graph
    found = Projection.of(graph.outputs[0])
    assert found is None or found.x is graph.inputs[0]
    return found


@pytest.mark.parametrize("lines", _PROJECTIONS.values(), ids=_PROJECTIONS)
def test_a_step_is_its_product_and_bias(lines: str) -> None:
    found = _projection(lines)
    assert found is not None
    assert [bias.data.tolist() for bias in found.biases] == [[1, 2, 3]]  # type: ignore[union-attr]
    ops: list[Op] = []
    row = found.x.op or module_of("main {\ninput %x: float32[n,2]\nreturn %x\n}")[0].signatures[0].graph.inputs[0]
    made = found.step(TfBuilder(ops, found.product), row)  # type: ignore[arg-type]
    assert [op.kind for op in ops] == ["tf.MatMul", "tf.AddV2"]
    assert made.shape is not None and made.shape[-1] == 3
    weights = np.array(ops[0].operands[1].data)  # type: ignore[union-attr]
    weights = weights.T if ops[0].attrs.get("transpose_b") else weights
    assert weights.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_what_turns_the_sequence_around_is_done_to_what_is_projected() -> None:
    found = _projection(_PROJECTIONS["of each"].replace("%y:", "%z:") + """
        %t: float32[n,5,3] = tf.Transpose(%z, int32[3] [1, 0, 2])
        %y: float32[n,5,3] = tf.ReverseV2(%t, int32[1] [1])""")  # fmt: skip
    assert found is not None
    assert [op.kind for op in found.moves] == ["tf.Transpose", "tf.ReverseV2"]
    ops: list[Op] = []
    moved = found.moved(TfBuilder(ops, found.product))
    assert [op.kind for op in ops] == ["tf.Transpose", "tf.ReverseV2"]
    assert moved.shape is not None and (moved.shape[1], moved.shape[2]) == (5, 2)


@pytest.mark.parametrize("lines", [
    "%y: float32[5,n,2] = tf.Tanh(%x)",
    # a bias of each step
    f"""%p: float32[5,n,3] = tf.BatchMatMulV2(%x, {_WEIGHTS})
        %y: float32[5,n,3] = tf.AddV2(%p, float32[5,1,1] [[[1]], [[2]], [[3]], [[4]], [[5]]])""",
    # weights of each step
    "%y: float32[5,n,3] = tf.BatchMatMulV2(%x, float32[1,2,3] [[[1, 2, 3], [4, 5, 6]]])",
    # rows that are mixed
    f"""%f: float32[_,2] = tf.Reshape(%x, int32[2] [-1, 2])
        %p: float32[_,3] = tf.MatMul(%f, {_WEIGHTS})
        %y: float32[n,5,3] = tf.Reshape(%p, int32[3] [-1, 5, 3])""",
    # vectors that are turned around
    f"""%p: float32[5,n,3] = tf.BatchMatMulV2(%x, {_WEIGHTS})
        %y: float32[5,n,3] = tf.ReverseV2(%p, int32[1] [2])""",
], ids=["no product", "biases of steps", "rank 3", "mixed rows", "turned vectors"])  # fmt: skip
def test_others_are_no_projections(lines: str) -> None:
    assert _projection(lines) is None
