"""Numpy's results against TensorFlow's."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from fuseconv.tf import folders
from fuseconv.tf.folders import evaluate
from tests.tf.all_cases import CASES
from tests.tf.harness import BATCHES, Case

# What the compared functions round: transcendental ones, and sums whose order differs.
_ULPS = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-12, np.dtype(np.float16): 2e-3}


@pytest.mark.parametrize("case", [case for case in CASES if case.op in folders.TABLE], ids=str)
def test_equals_tensorflow(case: Case) -> None:
    expected = case.run(BATCHES[0])
    results = evaluate(case.static(BATCHES[0]), case.arrays(BATCHES[0]))
    if case.declined:
        assert results is None
        return
    assert results is not None
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected):
        assert result.dtype == wanted.dtype
        assert result.shape == wanted.shape
        if wanted.dtype == ml_dtypes.bfloat16:
            np.testing.assert_allclose(result.astype(np.float32), wanted.astype(np.float32), rtol=1e-2, atol=1e-3)
        elif wanted.dtype.kind in "fc":
            tolerance = _ULPS[wanted.real.dtype]
            np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance / 10)
        else:
            np.testing.assert_array_equal(result, wanted)
