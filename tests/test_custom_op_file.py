"""Files with custom ops run without their kernels, and are held against TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.custom_op_file import CustomOpFile
from fuseconv.errors import InputError
from fuseconv.testing import check, convert_function, implements

X = tf.TensorSpec([None, 6])
PLUGIN = '''
from fuseconv.fuse.match import Fusion, composite

def rewrite(tfl, m):
    return tfl.custom("AcmeRMSNorm", [m.x, m.w], [(m.x.dtype, m.x.shape)], {"epsilon": m.attrs["epsilon"]})

FUSIONS = [Fusion("acme_rms_norm", "CUSTOM", composite("acme.RMSNorm", "x w -> y", {"epsilon": float}), rewrite)]
'''


def _norm(x: Any, w: Any, epsilon: float) -> Any:
    return x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + epsilon) * w


def _numpy_norm(x: np.ndarray, w: np.ndarray, epsilon: float) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(epsilon)) * w


def _model(x: Any) -> Any:
    w = tf.constant([1.0, -2.0, 3.0, 0.5, 2.0, 1.5])
    norm = tf.function(lambda x, w: _norm(x, w, 0.5), experimental_implements=implements("acme.RMSNorm", epsilon=0.5))
    once = norm(tf.nn.relu(x), w)
    return norm(once + x, w) - 1.0, once, x * 2.0


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("plugin") / "acme.py"
    path.write_text(PLUGIN)
    return str(path)


def test_custom_ops_of_a_plugin_are_checked(plugin: str) -> None:
    converted = check(_model, X, plugins=[plugin], custom_ops={"AcmeRMSNorm": _numpy_norm})
    assert converted.ops.count("AcmeRMSNorm") == 2
    with pytest.raises(AssertionError, match="cut at custom ops"):
        check(_model, X, plugins=[plugin], custom_ops={"AcmeRMSNorm": lambda x, w, epsilon: x * w})


def test_a_custom_op_alone(plugin: str) -> None:
    """Its operands are inputs and constants, its result is the output."""
    def model(x: Any) -> Any:
        implemented = implements("acme.RMSNorm", epsilon=0.1)
        return tf.function(lambda x, w: _norm(x, w, 0.1), experimental_implements=implemented)(x, tf.ones([6]))

    check(model, X, plugins=[plugin], custom_ops={"AcmeRMSNorm": _numpy_norm}, ops=["AcmeRMSNorm"])


@pytest.mark.parametrize(("function", "why"), [
    (lambda x, w, epsilon: [x, x], "returns 2 arrays, where the op has 1 results"),
    (lambda x, w, epsilon: x.astype(np.float64), "returns float64"),
    (lambda x, w, epsilon: x[:, :2], r"returns float32\[\d, 2\]"),
])  # fmt: skip
def test_a_function_returns_what_the_file_says(function: Any, why: str, plugin: str) -> None:
    with pytest.raises(InputError, match=why):
        check(_model, X, plugins=[plugin], custom_ops={"AcmeRMSNorm": function})


def test_what_cannot_be_cut_is_refused(plugin: str) -> None:
    data = convert_function(_model, X, plugins=[plugin]).data
    with pytest.raises(InputError, match="no custom op AcmeRMSNorms; did you mean AcmeRMSNorm"):
        CustomOpFile(data, {"AcmeRMSNorms": _numpy_norm})
    state = tf.Variable(tf.zeros([6]))
    data = convert_function(lambda x: _model(state.assign_add(x[0])[None]), X, plugins=[plugin]).data
    with pytest.raises(InputError, match="without variables"):
        CustomOpFile(data, {"AcmeRMSNorm": _numpy_norm})
