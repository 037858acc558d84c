"""Shapes that are inferred, against the shapes that TensorFlow's results have."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Op, constant
from fuseconv.ir.types import FLOAT32
from fuseconv.tf import shape_functions
from tests.tf.all_cases import CASES
from tests.tf.harness import BATCHES, Case, at_batch


@pytest.mark.parametrize("case", CASES, ids=str)
def test_static(case: Case) -> None:
    """Constant operands of known shapes: every size is known, or depends on data and is not claimed."""
    expected = [result.shape for result in case.run(BATCHES[0])]
    inferred = shape_functions.infer(case.static(BATCHES[0]))
    assert inferred is not None, f"{case.op} has no shape function"
    assert len(inferred) == len(expected)
    for shape, real in zip(inferred, expected):
        _check(shape, real, BATCHES[0], case.fresh)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_symbolic(case: Case) -> None:
    """Sizes and contents that depend on the batch: what is inferred holds at both batch sizes."""
    inferred = shape_functions.infer(case.symbolic())
    assert inferred is not None
    for batch in BATCHES:
        for shape, result in zip(inferred, case.run(batch)):
            _check(shape, result.shape, batch, case.fresh)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_unknown(case: Case) -> None:
    """Operands of which nothing is known: nothing wrong is claimed, and nothing fails."""
    op = case.symbolic()
    for operand in op.operands:
        assert operand is not None
        operand.shape = operand.content = operand.data = None
    inferred = shape_functions.infer(op)
    assert inferred is not None
    for shape, result in zip(inferred, case.run(BATCHES[0])):
        if shape is not None:
            _check(shape, result.shape, BATCHES[0], True)


def _check(shape, real: tuple[int, ...], batch: int, fresh: bool) -> None:
    assert shape is not None
    assert len(shape) == len(real)
    for dim, size in zip(shape, real):
        size_here = at_batch(dim, batch)
        if isinstance(size_here, Sym):
            assert fresh, f"{shape} is not known"
            assert all(name.startswith("?") for name in size_here.symbols())
        else:
            assert size_here == size, f"{shape} is {real}"


FLOAT, INT = np.float32, np.int32
# Operands that do not fit together, as constants, with the attributes.
MISFITS: tuple[tuple[str, list[np.ndarray], dict], ...] = (
    ("ArgMax", [np.zeros((2, 0), FLOAT), INT(1)], {}),
    ("ArgMin", [np.zeros((0, 0), FLOAT), INT(0)], {}),
    ("BatchToSpaceND", [np.zeros((4, 2, 2, 1), FLOAT), np.array([2], INT), np.zeros((2, 2), INT)], {}),
    ("Conv2D", [np.ones((1, 4, 4, 5), FLOAT), np.ones((1, 1, 1, 1), FLOAT)], {"strides": [1] * 4, "padding": "SAME"}),
    ("Conv2DBackpropInput", [np.array([1, 4, 4, 2], INT), np.ones((1, 1, 2, 3), FLOAT), np.ones((1, 4, 4, 5), FLOAT)],
     {"strides": [1] * 4, "padding": "SAME"}),
    ("Conv3D", [np.ones((1, 4, 4, 4, 4), FLOAT), np.ones((1, 1, 1, 2, 3), FLOAT)],
     {"strides": [1] * 5, "padding": "SAME"}),
    ("GatherV2", [np.zeros((4, 3), FLOAT), np.array([0, 3], INT), INT(1)], {}),
    ("GatherNd", [np.zeros((4, 3), FLOAT), np.zeros((0, 3), INT)], {}),
    ("MatrixSetDiag", [np.zeros((4, 3), FLOAT), np.zeros(4, FLOAT)], {}),
    ("MatrixSetDiagV3", [np.zeros((4, 3), FLOAT), np.zeros((3, 3), FLOAT), np.array([-1, 0], INT)], {}),
    ("MatrixDiagPartV3", [np.zeros((4, 3), FLOAT), np.array([1, 0], INT), FLOAT(0)], {}),
    ("Pad", [np.zeros(2, FLOAT), np.zeros((1, 3), INT)], {}),
    ("Slice", [np.zeros((2, 3), FLOAT), np.zeros(1, INT), np.ones(1, INT)], {}),
    ("Slice", [np.zeros((2, 3), FLOAT), np.zeros(2, INT), np.array([3, 1], INT)], {}),
    ("SpaceToBatchND", [np.zeros((1, 2, 2, 1), FLOAT), np.zeros(0, INT), np.zeros((2, 2), INT)], {}),
    ("TensorScatterAdd", [np.zeros((4, 3), FLOAT), np.zeros((2, 1), INT), np.ones((3, 3), FLOAT)], {}),
    ("TensorScatterUpdate", [np.zeros((4, 3), FLOAT), np.zeros((2, 3), INT), np.ones(2, FLOAT)], {}),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "arrays", "attrs"), MISFITS, ids=[each[0] for each in MISFITS])
def test_operands_that_do_not_fit_are_told_where_tensorflow_tells(kind: str, arrays: list, attrs: dict) -> None:
    """An op that TensorFlow refuses is one that LiteRT would refuse to load; unknown sizes may fit."""
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    names = [argument.name for argument in op_def_registry.get(kind).input_arg]
    with pytest.raises((ValueError, tf.errors.OpError)):
        getattr(tf.raw_ops, kind)(**dict(zip(names, map(tf.constant, arrays))), **attrs)
    op = Op(f"tf.{kind}", [constant(np.asarray(array)) for array in arrays], attrs)
    op.add_result(FLOAT32, None)
    assert "the model is damaged" in shape_functions.contradiction(op)
    first = op.operands[0]
    assert first is not None
    if first.dtype is FLOAT32 and kind not in ("BatchToSpaceND", "MatrixDiagPartV3", "Pad", "SpaceToBatchND"):
        first.shape = first.data = None
        assert not shape_functions.contradiction(op)
