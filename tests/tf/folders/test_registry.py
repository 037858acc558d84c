"""The table of numpy kernels, and what they decline."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Op, constant
from fuseconv.tf.folders import evaluate
from fuseconv.tf.folders.registry import TABLE, Declined, kernel, require, widened


def op(kind: str, *arrays: np.ndarray, **attrs: object) -> Op:
    made = Op(kind, [constant(array) for array in arrays], dict(attrs))
    made.add_result(types.of_array(arrays[0]), None)
    return made


def test_a_kernel_is_marked_for_the_ops_that_it_names() -> None:
    marked = kernel("Frob")(lambda op, x, y: x)
    assert marked.kernel == ("Frob",) and "Frob" not in TABLE
    assert TABLE["AddV2"].required == 2


def test_what_no_kernel_serves_is_none() -> None:
    x = np.ones(3, np.float32)
    assert evaluate(op("tf.AddV2", x, x), [x, x]) is not None
    assert evaluate(op("tf.AddV2", x, x[:2]), [x, x[:2]]) is None
    assert evaluate(op("tf.AddV2", x, x, strange=1), [x, x]) is None
    assert evaluate(op("tf.Unheard", x), [x]) is None and evaluate(op("tfl.ADD", x, x), [x, x]) is None


def test_half_precision_is_summed_in_single() -> None:
    assert widened(np.ones(1, ml_dtypes.bfloat16)).dtype == widened(np.ones(1, np.float16)).dtype == np.float32
    assert widened(np.ones(1, np.float64)).dtype == np.float64
    require(True)
    with pytest.raises(Declined):
        require(0)
