"""What functions capture, and how their tensors are called; `test_live.py` compares the numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.errors import InputError
from fuseconv.load.traced_functions import Traced, load, size, traced

SPEC = tf.TensorSpec([None, 2], name="x")


def test_captures_become_variables_tables_and_constants() -> None:
    variable, tensor = tf.Variable([1.0, 2.0], name="w"), tf.constant([3.0, 4.0])
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([5], tf.int64), tf.constant(["five"])), "?"
    )

    @tf.function(input_signature=[SPEC, tf.TensorSpec([1], tf.int64, "key")])
    def function(x: tf.Tensor, key: tf.Tensor) -> tuple:
        return x * variable + tensor, table.lookup(key)

    item = traced(function.get_concrete_function())
    assert (item.inputs, item.outputs) == (["x", "key"], ["output_0", "output_1"])
    module = load({"a": item, "b": item})
    (signature,) = module.signatures
    assert signature.names == ["a", "b"]
    np.testing.assert_array_equal(module.variables["w"].data, [1, 2])
    assert [(t.keys, t.values) for t in module.tables.values()] == [([5], [b"five"])]
    kinds = {op.type for op in signature.graph.ops}
    assert {"VarHandleOp", "HashTableV2"} <= kinds
    constants = [value.data for op in signature.graph.ops for value in op.operands if value and value.is_const]
    assert any(np.array_equal(data, [3, 4]) for data in constants if data is not None)
    assert size({"a": item, "b": item}) == size({"a": item}) > 8


def test_functions_of_one_module_share_variables_and_no_node() -> None:
    one, other = tf.Variable([1.0, 2.0], name="w"), tf.Variable([5.0, 6.0], name="w")

    def function(first: tf.Variable, second: tf.Variable) -> tf.types.experimental.ConcreteFunction:
        return tf.function(lambda x: first * x + second).get_concrete_function(SPEC)

    module = load({"a": traced(function(one, other)), "b": traced(function(other, one))})
    assert {name: list(map(float, variable.data)) for name, variable in module.variables.items()} == {  # type: ignore
        "w": [1, 2], "w_1": [5, 6],
    }  # fmt: skip
    names = [op.name for signature in module.signatures for op in signature.graph.ops]
    assert len(set(names)) == len(names) and {name.partition("/")[0] for name in names} == {"a", "b"}


def _scaled(
    w: tf.Variable, factor: float = 2.0, inner: Callable = tf.nn.relu, out: str = "y", spec: tf.TensorSpec = SPEC
) -> Traced:
    called = tf.function(lambda x: inner(x * w))
    return traced(tf.function(lambda x: {out: called(x) * factor}).get_concrete_function(spec))


def test_functions_that_compute_the_same_are_one_signature() -> None:
    w = tf.Variable([1.0, 2.0])
    one, other = _scaled(w), _scaled(w)
    assert one.function is not other.function
    module = load({"a": one, "b": other})
    assert [signature.names for signature in module.signatures] == [["a", "b"]]


@pytest.mark.parametrize(
    "change",
    [
        {"w": tf.Variable([1.0, 2.0])}, {"factor": 3.0}, {"inner": tf.nn.elu}, {"out": "z"},
        {"spec": tf.TensorSpec([3, 2], name="x")}, {"spec": tf.TensorSpec([None, 2], name="other")},
    ],
)  # fmt: skip
def test_functions_that_differ_are_signatures_of_their_own(change: dict) -> None:
    w = tf.Variable([1.0, 2.0])
    module = load({"a": _scaled(w), "b": _scaled(**{"w": w, **change})})
    assert [signature.names for signature in module.signatures] == [["a"], ["b"]]


def test_a_function_without_results_is_refused() -> None:
    counter = tf.Variable(0.0)
    function = tf.function(lambda x: (counter.assign_add(tf.reduce_sum(x)), None)[1]).get_concrete_function(SPEC)
    with pytest.raises(InputError, match="returns no tensor; it cannot be converted"):
        traced(function)


def test_unnamed_arguments_get_numbers() -> None:
    spec = tf.TensorSpec([2], name="same")
    function = tf.function(lambda x, y: {"sum": x + y}).get_concrete_function(spec, spec)
    item = traced(function)
    assert (item.inputs, item.outputs) == (["input_0", "input_1"], ["sum"])


def test_a_table_that_nothing_has_filled_is_refused() -> None:
    def found(words: tf.Tensor) -> tf.Tensor:
        keys = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
        return tf.lookup.StaticHashTable(keys, -1).lookup(words)

    function = tf.compat.v1.wrap_function(found, [tf.TensorSpec([None], tf.string)])
    with pytest.raises(InputError, match="a table that nothing has filled yet"):
        load({"a": traced(function)})
