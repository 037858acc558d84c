"""Terms of patterns: alternatives, sizes, and what rules a term out without following operands."""

from __future__ import annotations

from fuseconv.fuse.pattern import Dialect
from fuseconv.fuse.pattern_terms import Parameter, alternatives, count_ops, needed_kinds, nodes_of

tf = Dialect("tf")
X, C = Parameter("x"), Parameter("c", constant=True)


def test_alternatives_are_flat() -> None:
    a, b, c = tf.Relu(X), tf.Elu(X), tf.Selu(X)
    assert alternatives(a | b | c) == (a, b, c)
    assert alternatives(a) == (a,)


def test_the_larger_alternative_counts() -> None:
    term = tf.Mul(X, tf.Relu(X) | tf.Neg(tf.Relu(X)))
    assert count_ops(term) == 3
    assert count_ops(term, min) == 2
    assert len(list(nodes_of(term))) == 4


def test_kinds_that_every_match_has() -> None:
    either = tf.Relu(X) | tf.Neg(tf.Relu(X))
    assert needed_kinds(tf.Mul(X, either)) == {"tf.Mul", "tf.Relu"}
    assert needed_kinds(tf["Mul", "AddV2"](tf.Elu(X), C)) == {"tf.Elu"}
    assert needed_kinds(X) == set()


def test_a_parameter_that_stands_twice_is_one_value() -> None:
    node = tf.Mul(X, X)
    assert node.may_be(("tf.Mul", "tf.Relu", "tf.Relu"))
    assert not node.may_be(("tf.Mul", "tf.Relu", "tf.Elu"))
    assert not node.may_be(("tf.Mul", "tf.Relu", True))


def test_operands_rule_a_node_out() -> None:
    node = tf.Mul(tf.Relu(X), C)
    assert node.may_be(("tf.Mul", "tf.Relu", True))
    assert node.may_be(("tf.Mul", True, "tf.Relu"))  # it is commutative
    assert not node.may_be(("tf.Mul", "tf.Elu", True))
    assert not node.may_be(("tf.Mul", "tf.Relu", False))
    assert not node.may_be(("tf.Mul", "tf.Relu"))
    assert not node.may_be(("tf.AddV2", "tf.Relu", True))
