"""Vectors whose signs cancel, and those whose signs a result has."""

from __future__ import annotations

import pytest

from fuseconv.transforms.tf.reject_vector_signs import SEEN_SIGNS
from tests.check_pass import check_pass

CANCEL = {
    "a product": "%y: float32[4,3] = tf.MatMul(%u, %v) {'transpose_b': True}",
    "scaled": """%w: float32[3,3] = tf.RealDiv(%v, %s)
      %y: float32[4,3] = tf.BatchMatMulV2(%u, %w) {'adj_y': True}""",
    "transposed": """%w: float32[3,3] = tf.Transpose(%v, int32[2] [1, 0])
      %y: float32[4,3] = tf.MatMul(%u, %w)""",
    "a diagonal between": """%d: float32[3,3] = tf.MatrixDiagV3(%s, int32[] 0, int32[] -1, int32[] -1, float32[] 0.0)
      %w: float32[4,3] = tf.MatMul(%u, %d)
      %y: float32[4,3] = tf.MatMul(%w, %v) {'transpose_b': True}""",
    "chosen": """%c: bool[3] = tf.Less(%s, float32[] 0.1)
      %w: float32[4,3] = tf.SelectV2(%c, float32[] 0.0, %u)
      %y: float32[4,3] = tf.MatMul(%w, %v) {'transpose_b': True}""",
    "vectors": """%w: float32[3] = tf.Mul(%x, %s)
      %e: float32[3,1] = tf.ExpandDims(%w, int32[] -1)
      %g: float32[3,1] = tf.MatMul(%v, %e) {'transpose_a': True}
      %h: float32[3] = tf.Squeeze(%g) {'squeeze_dims': [1]}
      %i: float32[3] = tf.Sub(%h, float32[] 0.0)
      %j: float32[4,3] = tf.Mul(%u, %i)
      %y: float32[4,3] = tf.Neg(%j)""",
    "squares": "%y: float32[4,3] = tf.Square(%u)",
    "an equation": "%y: float32[4,3] = tf.Einsum(%u, %s, %v) {'equation': 'ik,k,jk->ij'}",
    "values": "%y: float32[3] = tf.Neg(%s)",
}
SEEN = {
    "vectors": "%y: float32[4,3] = tf.Neg(%u)",
    "another order": """%w: float32[3,3] = tf.ReverseV2(%v, int32[1] [1])
      %y: float32[4,3] = tf.MatMul(%u, %w) {'transpose_b': True}""",
    "rows of one side": "%y: float32[4,3] = tf.MatMul(%u, %v)",
    "a sum": """%w: float32[3,3] = tf.AddV2(%v, float32[] 1.0)
      %y: float32[4,3] = tf.MatMul(%u, %w) {'transpose_b': True}""",
    "sizes of one side": """%w: float32[3,3] = tf.Abs(%v)
      %y: float32[4,3] = tf.MatMul(%u, %w) {'transpose_b': True}""",
    "a diagonal beside the main one": """%d: float32[4,4] = tf.MatrixDiagV3(%s, int32[] 1, int32[] -1, int32[] -1, \
float32[] 0.0)
      %y: float32[4,4] = tf.MatMul(%d, %u) {'transpose_b': True}""",
    "a matrix between": """%m: float32[3,3] = tf.Neg(%v)
      %w: float32[4,3] = tf.MatMul(%u, %q)
      %y: float32[4,3] = tf.MatMul(%w, %v) {'transpose_b': True}""",
    "an equation": "%y: float32[4] = tf.Einsum(%u, %v) {'equation': 'ik,jl->ij'}",
}
# Of n matrices, of which each has its own signs.
CANCEL_IN_BATCHES = {
    "a product": "%y: float32[n,4,3] = tf.BatchMatMulV2(%u, %v) {'adj_y': True}",
    "scaled": """%e: float32[n,1,3] = tf.ExpandDims(%s, int32[] 1)
      %w: float32[n,4,3] = tf.Mul(%u, %e)
      %y: float32[n,4,3] = tf.BatchMatMulV2(%w, %v) {'adj_y': True}""",
    "transposed": """%w: float32[4,n,3] = tf.Transpose(%u, int32[3] [1, 0, 2])
      %m: float32[3,n,3] = tf.Transpose(%v, int32[3] [-2, 0, -1])
      %y: float32[n,4,3] = tf.Einsum(%w, %m) {'equation': 'ibk,jbk->bij'}""",
    "a sum of products": "%y: float32[4,3] = tf.Einsum(%u, %v) {'equation': 'bik,bjk->ij'}",
    "a diagonal between": """%d: float32[n,3,3] = tf.MatrixDiagV3(%s, int32[] 0, int32[] -1, int32[] -1, float32[] 0.0)
      %w: float32[n,3,4] = tf.BatchMatMulV2(%d, %u) {'adj_y': True}
      %y: float32[n,3,4] = tf.BatchMatMulV2(%v, %w)""",
}
SEEN_IN_BATCHES = {
    "an equation": "%y: float32[n,n,4,3] = tf.Einsum(%u, %v) {'equation': 'bik,cjk->bcij'}",
    "a product": """%w: float32[4,n,3] = tf.Transpose(%u, int32[3] [1, 0, 2])
      %y: float32[4,n,n] = tf.BatchMatMulV2(%w, %w) {'adj_y': True}""",
    "products of elements": """%e: float32[n,1,3,3] = tf.ExpandDims(%v, int32[] 1)
      %f: float32[1,n,3,3] = tf.ExpandDims(%v, int32[] 0)
      %y: float32[n,n,3,3] = tf.Mul(%e, %f)""",
    "a product of all": """%e: float32[n,1,4,3] = tf.ExpandDims(%u, int32[] 1)
      %y: float32[n,n,4,3] = tf.BatchMatMulV2(%e, %v) {'adj_y': True}""",
    "a sum": """%e: float32[n,1,3,3] = tf.ExpandDims(%v, int32[] 1)
      %f: float32[n,n,3,3] = tf.AddV2(%e, %v)
      %y: float32[n,n,3,3] = tf.BatchMatMulV2(%f, %f) {'adj_y': True}""",
}


def check(body: str, why: str | None = None, batch: str = "") -> None:
    text = f"""
    main {{
      input %a: float32[{batch}4,3]
      input %x: float32[3]
      input %q: float32[3,3]
      %s: float32[{batch}3]; %u: float32[{batch}4,3]; %v: float32[{batch}3,3] = tf.Svd(%a)
      {body}
      return %y
    }}
    """
    after = text.replace("tf.Svd(%a)", f'tf.Svd(%a) {{}} "s" from ["s"] rejected "{why}"')
    check_pass("reject-vector-signs", text, None if why is None else after)


@pytest.mark.parametrize("body", CANCEL.values(), ids=CANCEL)
def test_signs_that_cancel_are_no_reason(body: str) -> None:
    check(body)


@pytest.mark.parametrize("body", SEEN.values(), ids=SEEN)
def test_vectors_whose_signs_are_seen_are_rejected(body: str) -> None:
    check(body, SEEN_SIGNS.why)


@pytest.mark.parametrize("body", CANCEL_IN_BATCHES.values(), ids=CANCEL_IN_BATCHES)
def test_signs_that_cancel_in_each_matrix_are_no_reason(body: str) -> None:
    check(body, batch="n,")


@pytest.mark.parametrize("body", SEEN_IN_BATCHES.values(), ids=SEEN_IN_BATCHES)
def test_vectors_that_meet_those_of_other_matrices_are_rejected(body: str) -> None:
    check(body, SEEN_SIGNS.why, "n,")
