"""Shapes that are inferred, against the shapes that TensorFlow's results have."""

from __future__ import annotations

import pytest

from fuseconv.ir.dims import Sym
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
