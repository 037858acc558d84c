"""The harness notices what is wrong."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import fuseconv
from fuseconv import testing
from fuseconv.errors import InputError, UnsupportedError
from fuseconv.testing import assert_close, check, check_refused, convert_function, implements
from fuseconv.verifying import verify


def test_a_function_with_variables_and_many_results():
    class Layer(tf.Module):
        def __init__(self):
            self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

        def __call__(self, x):
            return {"y": tf.matmul(x, self.w), "z": [tf.nn.relu(x)]}

    converted = check(Layer(), tf.TensorSpec([None, 2]))
    assert sorted(converted.ops) == ["FULLY_CONNECTED", "RELU"]
    assert [result.shape for result in converted.function(tf.ones([3, 2]))] == [(3, 2), (3, 2)]


def test_wrong_numbers_are_noticed(monkeypatch):
    def invoke(interpreter, arrays, allocate):
        return [arrays[0] if allocate else arrays[0] + np.float32(1e-3)]

    monkeypatch.setattr(testing, "_invoke", invoke)
    with pytest.raises(AssertionError, match=r"result 0, batch 2, invoke 2, AUTO.*an error of 0\.001"):
        check(tf.identity, tf.TensorSpec([None, 2]))


@pytest.mark.parametrize("resizes", [1, 9])
def test_what_is_wrong_after_one_resize_only_is_the_runtimes(resizes, monkeypatch):
    invoke, wrong = testing._invoke, []

    def invoke_wrongly(interpreter, arrays, allocate):
        results = invoke(interpreter, arrays, allocate)
        if allocate and len(arrays[0]) == 3 and len(wrong) < resizes:
            wrong.append(True)
            return [result + np.float32(1) for result in results]
        return results

    monkeypatch.setattr(testing, "_invoke", invoke_wrongly)
    if resizes == 1:
        check(tf.nn.relu, tf.TensorSpec([None, 2]), static=False)
        assert wrong
    else:
        with pytest.raises(AssertionError, match="batch 3, invoke 1, AUTO"):
            check(tf.nn.relu, tf.TensorSpec([None, 2]), static=False)


def test_wrong_ops_are_noticed():
    with pytest.raises(AssertionError, match=r"the ops are \['RELU'\], and not \['RELU6'\]"):
        check(tf.nn.relu, tf.TensorSpec([None, 2]), ops=["RELU6"])


def test_what_is_no_function_and_no_spec_is_told():
    with pytest.raises(InputError, match=r"is converted here, and not 'model': fuseconv.convert takes models"):
        check("model", tf.TensorSpec([None, 2]))
    for spec in ([None, 2], np.zeros((2, 2), np.float32)):
        with pytest.raises(InputError, match=r"is told by a tf.TensorSpec, such as tf.TensorSpec\(\[None, 3\]\), not "):
            check(tf.nn.relu, spec)


def test_refusals_must_be_for_the_reason_given():
    spec = tf.TensorSpec([2, 3], tf.float64)
    error = check_refused(tf.nn.relu, spec, match="float64")
    assert isinstance(error, UnsupportedError)
    with pytest.raises(AssertionError, match="is not in"):
        check_refused(tf.nn.relu, spec, match="int4")
    with pytest.raises(AssertionError, match="was converted"):
        check_refused(tf.nn.relu, tf.TensorSpec([2, 3]))


def test_convert_function_takes_the_options_of_convert():
    converted = convert_function(tf.nn.relu, tf.TensorSpec([None, 3]), batch_size=4)
    assert converted.data[4:8] == b"TFL3"


def test_what_is_close():
    ones = np.ones((2, 3), np.float32)
    assert_close(ones + 1e-6, ones)
    assert_close(np.array([np.nan, np.inf, 1.0]), np.array([np.nan, np.inf, 1.0]))
    assert_close(np.zeros((0, 3)), np.zeros((0, 3)))
    assert_close(np.array([1.004], ml_dtypes.bfloat16), np.array([1.0], ml_dtypes.bfloat16))
    assert_close(np.array([b"a"], object), np.array([b"a"], object))


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (np.ones(2, np.float32), np.ones(2, np.float64)),
        (np.ones((2, 1), np.float32), np.ones(2, np.float32)),
        (np.array([1.0, 1.001]), np.array([1.0, 1.0])),
        (np.array([1.0, np.nan]), np.array([1.0, 1.0])),
        (np.array([1.0, 1.0]), np.array([1.0, np.inf])),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([b"a"], object), np.array([b"b"], object)),
        (np.zeros((0, 3)), np.zeros((0, 4))),
    ],
)
def test_what_is_not_close(actual, expected):
    with pytest.raises(AssertionError):
        assert_close(actual, expected)


@pytest.mark.parametrize("value", [np.float32(3), (1, 2), b"a", [[1]], None])
def test_what_can_be_no_attribute(value):
    with pytest.raises(TypeError, match="an attribute is a bool, int, float, str, or a list of one of these"):
        implements("acme.Op", width=value)


def _saved_by_tensorflow(run: Any, specs: Sequence[tf.TensorSpec], captured: Sequence[Any], folder: Path) -> Path:
    """Save a function that returns a list of tensors; the names are those of `convert_function`."""

    def outputs(*args: Any) -> dict[str, Any]:
        return {f"y{index}": result for index, result in enumerate(run(*args))}

    module = tf.Module()
    named = [tf.TensorSpec(spec.shape, spec.dtype, f"x{index}") for index, spec in enumerate(specs)]
    module.run, module.captured = tf.function(outputs).get_concrete_function(*named), captured
    tf.saved_model.save(module, str(folder), signatures=module.run)
    return folder


@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize("draw", [tf.random.uniform, tf.zeros])
def test_a_function_is_saved_as_tensorflow_does(count: int, draw: Any, tmp_path: Path) -> None:
    """The short way gives the same file: names, order, calls of functions."""

    @tf.function(experimental_implements=implements("some.name", scale=2))
    def inner(x: Any, y: Any) -> Any:
        return x * 2.0 + y

    def run(x: Any, y: Any) -> Any:
        steps = [inner(x + index, tf.cast(y, tf.float32)) for index in range(count)]
        return [*steps, draw([2, 3]), y]

    specs = tf.TensorSpec([None, 3]), tf.TensorSpec([3], tf.int32)
    path = _saved_by_tensorflow(run, specs, [], tmp_path / "model")
    assert convert_function(run, *specs).data == fuseconv.convert(path).data


def test_what_a_function_captures_is_saved_as_tensorflow_does(tmp_path: Path) -> None:
    """Variables that share a name, one in a function of its own, one that is written; and a tensor."""
    scale, offset, state = (tf.Variable(np.full(3, n, np.float32), name="w") for n in (2, 3, 5))
    counter, tensor = tf.Variable(7, name="counter"), tf.constant([1.5, 2.5, 3.5])

    @tf.function
    def inner(x: Any) -> Any:
        return x * scale + tensor

    def run(x: Any) -> Any:
        return [inner(x) + offset, state.assign_add(x[0]), counter.assign_add(1)]

    spec = tf.TensorSpec([None, 3])
    path = _saved_by_tensorflow(run, [spec], [scale, offset, state, counter], tmp_path / "model")
    converted = convert_function(run, spec)
    assert Counter(converted.ops) == Counter(op.type for op in fuseconv.convert(path).report.emitted)
    assert verify(path, converted.data or b"").passed


def test_a_table_that_a_function_captures_is_saved_by_its_owner() -> None:
    class Lookup(tf.Module):
        def __init__(self) -> None:
            keys, values = tf.constant([1, 2], tf.int64), tf.constant(["a", "b"])
            self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), "?")

        def __call__(self, x: Any) -> Any:
            return self.table.lookup(x)

    assert "HASHTABLE_FIND" in convert_function(Lookup(), tf.TensorSpec([3], tf.int64)).ops
