"""What a matcher binds, and takes back."""

from fuseconv.fuse.matcher import NodeMatcher, outside_readers
from fuseconv.fuse.pattern_terms import Bindings, Node, Parameter
from tests.fuse.test_pattern import op, value

X, Y = Parameter("x"), Parameter("y")


def node(kind, *operands, shared=False, name=None):
    return Node((kind,), operands, False, {}, name, shared)


def ways(term, result):
    """Return the values that each way to match binds by name, after a look at what is left bound."""
    found = []

    def accept(bound):
        found.append(dict(bound.values))
        return False

    bound = Bindings(accept)
    assert not NodeMatcher(term, lambda bound: bound.accept(bound)).match(result.op, bound)
    assert not (bound.values or bound.ops or bound.matched or bound.inner)
    return found


def test_operands_of_a_commutative_op_match_in_both_orders_at_every_depth():
    a, b, c = value("a"), value("b"), value("c")
    term = node("tf.Mul", node("tf.Mul", X, Y, name="inner"), Parameter("z"), name="outer")
    found = ways(term, op("tf.Mul", c, op("tf.Mul", a, b)))
    assert found == [{"x": a, "y": b, "z": c}, {"x": b, "y": a, "z": c}]


def test_the_first_way_that_is_accepted_ends_the_search():
    a, b = value("a"), value("b")
    seen = []

    def accept(bound):
        seen.append(bound.values["x"])
        return True

    matcher = NodeMatcher(node("tf.Add", X, Y), lambda bound: bound.accept(bound))
    assert matcher.match(op("tf.Add", a, b).op, Bindings(accept)) and seen == [a]


def test_a_failure_behind_tries_another_way():
    x = value()
    term = node("tf.Sub", node("tf.Add", X, Y), node("tf.Neg", Y))
    assert ways(term, op("tf.Sub", op("tf.Add", x, y := value("y")), op("tf.Neg", x))) == [{"x": y, "y": x}]


def test_readers_of_an_inner_result():
    inner = op("tf.Neg", value())
    result, other = op("tf.Abs", inner), op("tf.Exp", inner)

    def readers(shared):
        found = []
        matcher = NodeMatcher(
            node("tf.Abs", node("tf.Neg", X, shared=shared)), lambda bound: found.extend(outside_readers(bound))
        )
        matcher.match(result.op, Bindings(lambda bound: False))
        return found

    assert readers(shared=False) == [(inner.op, other.op)]
    assert readers(shared=True) == []
