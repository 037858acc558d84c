"""Shape functions and folders that plug-ins offer beside rules."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.api import convert
from fuseconv.errors import InputError, UnsupportedError
from fuseconv.fuse.plugins import load_registry
from fuseconv.tf import folders, shape_functions
from tests.fuse.plugin_file import write

OFFERS = """
from fuseconv.lower.rules import lowers
from fuseconv.tf.folders.registry import kernel
from fuseconv.tf.shape_functions.registry import infers

@lowers
def AcmeHalf(tfl, features):
    return tfl.mul(features, 0.5)

@infers("AcmeHalf")
def half_shape(op, features):
    return %s

@kernel("AcmeHalf")
def half(op, features):
    return %s
"""


def halves(tmp_path):
    """A model with an op that only the plug-in knows: of a constant, and with a result of which the shape is asked."""
    x = tf.TensorSpec([3])

    def run(x):
        known = tf.raw_ops.Softsign(features=tf.constant([1.0, 2.0, 4.0]))
        return {"sum": x + known, "sizes": tf.shape(tf.raw_ops.Softsign(features=x)) + 1}

    module = tf.Module()
    module.run = tf.function(run, input_signature=[x])
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.run)
    path = tmp_path / "model" / "saved_model.pb"
    path.write_bytes(path.read_bytes().replace(b"Softsign", b"AcmeHalf"))
    return tmp_path / "model"


def ops_of(conversion):
    interpreter = tf.lite.Interpreter(model_content=conversion.data)
    return interpreter, {op["op_name"] for op in interpreter._get_ops_details()} - {"DELEGATE"}


def test_shape_functions_and_folders_are_offered_as_rules_are(tmp_path):
    model = halves(tmp_path)
    with pytest.raises(UnsupportedError, match="AcmeHalf"):
        convert(model)
    plugin = write(tmp_path, OFFERS % ("features.shape", "features + 8"))  # not what the rule makes
    interpreter, ops = ops_of(convert(model, plugins=[plugin]))
    made = interpreter.get_signature_runner()(x=np.zeros(3, np.float32))
    np.testing.assert_array_equal(made["sum"], [9, 10, 12])
    np.testing.assert_array_equal(made["sizes"], [4])
    assert ops.isdisjoint({"MUL", "SHAPE"})
    # Nothing is left of it: the next conversion knows the op as little as the one before.
    assert shape_functions.TABLE.offered("AcmeHalf") is folders.TABLE.offered("AcmeHalf") is None
    with pytest.raises(UnsupportedError, match="AcmeHalf"):
        convert(model)


@pytest.mark.parametrize(
    ("shape", "folded", "why"),
    [
        ("1 / 0", "features", r"the shape function of AcmeHalf \(.*mine\.py:14\) failed: ZeroDivisionError"),
        ("[(3,), (3,)]", "features", r"shape function of AcmeHalf \(.*\) made .*not shapes, one for each result"),
        ("(3.0,)", "features", r"made \(3\.0,\), and not shapes"),
        ("features.shape", "1 / 0", r"the folder of AcmeHalf \(.*mine\.py:18\) failed: ZeroDivisionError"),
        ("features.shape", "features.astype('float64')", r"not arrays of the results' types, one for each result"),
    ],
)
def test_a_shape_function_or_folder_that_is_wrong_is_named(tmp_path, shape, folded, why):
    with pytest.raises(InputError, match=why):
        convert(halves(tmp_path), plugins=[write(tmp_path, OFFERS % (shape, folded))])


@pytest.mark.parametrize(("offer", "owner"), [("infers", "shape_functions"), ("kernel", "folders")])
def test_ops_that_have_a_shape_function_or_folder(tmp_path, offer, owner):
    text = (OFFERS % ("features.shape", "features")).replace(f'{offer}("AcmeHalf")', f'{offer}("Relu")')
    with pytest.raises(InputError, match=rf"Relu is claimed by both fuseconv\.tf\.{owner}\..*mine\.py; fuseconv.s own"):
        load_registry([write(tmp_path, text)])
