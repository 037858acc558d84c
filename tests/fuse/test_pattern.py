"""Patterns, matched with ops that are built by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from fuseconv.fuse.pattern import Constant, pattern
from fuseconv.fuse.pattern_terms import glance
from fuseconv.ir import types
from fuseconv.ir.graph import Op, Quantization, Value, constant


def value(name="x"):
    return op("tf.Placeholder", name=name)


def op(kind, *operands, name="", **attrs):
    made = Op(kind, operands, attrs, name, (name,))
    return made.add_result(types.FLOAT32, (2, 3))


def number(x, dtype=np.float32):
    return constant(np.array(x, dtype))


def matches(found, result):
    """Return what each match of a pattern binds."""
    ways = []

    def accept(bound):
        ways.append(SimpleNamespace(values=dict(bound.values), ops=dict(bound.ops)))
        return False

    assert not found.match(result.op, accept)
    return ways


def only(found, result):
    (bindings,) = matches(found, result)
    return bindings


@pattern
def scaled(tf, x):
    return tf.Relu6(tf.AddV2(x, 3.0))


def test_parameters_and_numbers():
    x = value()
    assert only(scaled, op("tf.Relu6", op("tf.AddV2", x, number(3)))).values == {"x": x}
    assert only(scaled, op("tf.Relu6", op("tf.AddV2", number(3), x))).values == {"x": x}
    assert only(scaled, op("tf.Relu6", op("tf.Add", x, number([[3.000001]])))).values == {"x": x}


@pytest.mark.parametrize("other", [3.001, [3.0, 3.0], -3.0, 0.0])
def test_other_numbers_do_not_match(other):
    assert not matches(scaled, op("tf.Relu6", op("tf.AddV2", value(), number(other))))


def test_zero_is_exact():
    found = pattern(lambda tf, x: tf.Maximum(x, 0.0))
    assert not matches(found, op("tf.Maximum", value(), number(1e-30)))
    assert matches(found, op("tf.Maximum", value(), number(0)))


def test_a_parameter_is_one_value():
    found = pattern(lambda tf, x: tf.Sub(x, tf.Neg(x)))
    x = value()
    assert only(found, op("tf.Sub", x, op("tf.Neg", x))).values == {"x": x}
    assert not matches(found, op("tf.Sub", x, op("tf.Neg", value())))


def test_equal_small_constants_are_one_value():
    @pattern
    def found(tf, x, axes: Constant):
        return tf.Sub(tf.Sum(x, axes), tf.Max(x, axes))

    def matched(a, b):
        x = value()
        return matches(found, op("tf.Sub", op("tf.Sum", x, a), op("tf.Max", x, b)))

    assert matched(number([1], np.int32), number([1], np.int32))
    assert not matched(number([1], np.int32), number([2], np.int32))
    assert not matched(number([1], np.int32), number(1, np.int32))
    assert not matched(value(), value())


def test_constants_are_asked_for_by_annotation():
    @pattern
    def found(tf, x, c: Constant):
        return tf.Mul(x, c)

    x, c = value(), number([1, 2])
    assert only(found, op("tf.Mul", c, x)).values == {"x": x, "c": c}
    assert not matches(found, op("tf.Mul", x, x))


def test_attributes_hold_their_default_unless_named():
    found = pattern(lambda tf, x, a: tf.Sum(x, a, keep_dims=True))
    x, a = value(), value("a")
    assert matches(found, op("tf.Sum", x, a, keep_dims=True))
    assert not matches(found, op("tf.Sum", x, a))
    assert not matches(found, op("tf.Sum", x, a, keep_dims=True, other=1))
    assert matches(found, op("tf.Sum", x, a, keep_dims=True, _output_shapes=1))
    named = pattern(lambda tf, x, a: tf.Sum(x, a, name="sum"))
    assert only(named, op("tf.Sum", x, a, keep_dims=True)).ops["sum"].attrs == {"keep_dims": True}
    predicate = pattern(lambda tf, x: tf.LeakyRelu(x, alpha=lambda held: held is None or held < 0.5))
    assert matches(predicate, op("tf.LeakyRelu", x))
    assert not matches(predicate, op("tf.LeakyRelu", x, alpha=0.9))


def test_alternatives_are_tried_in_order():
    @pattern
    def found(tf, x):
        return tf.Neg(x, name="first") | tf.Neg(tf.Abs(x), name="second") | tf.Sqrt(x)

    assert found.kinds == ("tf.Neg", "tf.Sqrt") and found.size == 2 and found.op_names == ("first", "second")
    x = op("tf.Abs", value())
    assert [list(bindings.ops) for bindings in matches(found, op("tf.Neg", x))] == [["first"], ["second"]]


def test_any_of_several_kinds_and_any_operands():
    found = pattern(lambda tfl, x: tfl["RELU", "RELU6"](tfl.CONV_2D(x, ..., name="conv")))
    x, w = value(), number([1])
    result = op("tfl.RELU6", op("tfl.CONV_2D", x, w, None, padding="SAME"))
    assert only(found, result).values == {"x": x}
    assert not matches(found, op("tfl.TANH", op("tfl.CONV_2D", x, w)))
    assert not matches(pattern(lambda tfl, x: tfl.NEG(x)), op("tfl.NEG", x, x))


def test_a_glance_shows_the_makers_of_operands_and_which_are_constant_or_left_out():
    x = Value(types.FLOAT32, (2, 3))
    assert glance(op("tf.Add", op("tf.Neg", x), number(2), x, None).op) == ("tf.Add", "tf.Neg", True, False, None)


def test_a_glance_tells_what_cannot_match():
    @pattern
    def either(tf, x, y):
        return tf.Relu(tf.Sub(x, y) | 1.0) | tf.Add(x, tf.Neg(y, None))

    @pattern
    def rest(tfl, x, c: Constant):
        return tfl.CONV_2D(x, c, None, ...)

    likely = [
        ("tf.Relu", "tf.Sub"), ("tf.Relu", True), ("tf.Add", "tf.Neg", True), ("tf.Add", False, "tf.Neg"),
    ]  # fmt: skip
    assert all(map(either.may_end_at, likely))
    unlikely = [
        ("tf.Relu", False), ("tf.Relu", "tf.Neg"), ("tf.Relu", None), ("tf.Relu",), ("tf.Relu", True, True),
        ("tf.Neg", True), ("tf.Add", None, "tf.Neg"), ("tf.Add", "tf.Sub", True),
    ]  # fmt: skip
    assert not any(map(either.may_end_at, unlikely))
    assert rest.may_end_at(("tfl.CONV_2D", False, True, None))
    assert rest.may_end_at(("tfl.CONV_2D", "tfl.NEG", True, None, True))
    assert not rest.may_end_at(("tfl.CONV_2D", False, False, None))
    assert not rest.may_end_at(("tfl.CONV_2D", False, True))


def test_inner_values_have_no_other_reader():
    inner = op("tf.AddV2", value(), number(3))
    result = op("tf.Relu6", inner)
    reader = op("tf.Neg", inner)
    assert not matches(scaled, result)
    shared = pattern(lambda tf, x: tf.Relu6(tf.AddV2(x, 3.0, shared=True)))
    assert matches(shared, result)
    reader.op.set_operands(())
    assert matches(scaled, result)


def test_an_inner_value_that_is_read_twice_by_the_match():
    found = pattern(lambda tf, x, y: tf.Mul(tf.Sub(x, y), tf.Sub(x, y)))
    d = op("tf.Sub", value(), value("y"))
    assert matches(found, op("tf.Mul", d, d))


def test_variable_tensors_and_quantized_values_do_not_match():
    for spoil in ("variable", "quantization"):
        result = op("tf.Relu6", op("tf.AddV2", value(), number(3)))
        setattr(result, spoil, True if spoil == "variable" else Quantization((0.1,), (0,)))
        assert not matches(scaled, result)


@pattern
def hard_swish(tf, x):
    gate = tf.Relu6(tf.AddV2(x, 3.0, name="shift"))
    return tf.Mul(x, tf.RealDiv(gate, 6.0) | tf.Mul(gate, 1 / 6))


class TestNearestMiss:
    """Each is x * relu6(x + 3) / 6 but for some things."""

    def expression(self, shift=3.0, gate="tf.Relu6", divide="tf.RealDiv", by=6.0, **attrs):
        x = value()
        shifted = op("tf.AddV2", x, shift if hasattr(shift, "uses") else number(shift), name="add")
        clipped = op(gate, shifted, name="clip", **attrs)
        return op("tf.Mul", op(divide, clipped, number(by), name="divide"), x, name="mul")

    def miss(self, result, found=hard_swish):
        assert not matches(found, result)
        return found.nearest_miss(result.op)

    def test_a_match_is_no_miss(self):
        assert hard_swish.nearest_miss(self.expression().op) is None

    @pytest.mark.parametrize(
        "at, why, change",
        [
            ("add", "the constant is 2.5, not 3", {"shift": 2.5}),
            ("add", "an operand is the constant [3.0, 3.0], not the constant 3", {"shift": [3.0, 3.0]}),
            ("divide", "the constant is 5, not 6", {"by": 5.0}),
            ("divide", "an operand is Relu 'clip', not Relu6", {"gate": "tf.Relu"}),
            ("mul", "an operand is Maximum 'divide', not RealDiv or Div or Mul", {"divide": "tf.Maximum"}),
            ("clip", "the attribute extra holds 1", {"extra": 1}),
        ],
    )
    def test_one_thing(self, at, why, change):
        result = self.expression(**change)
        miss = self.miss(result)
        assert (miss.op.name, miss.why) == (at, why)
        names = {"add", "clip", "divide", "mul"} - ({miss.instead.name} if miss.instead else set())
        assert {matched.name for matched in miss.matched} == names

    def test_an_operand_that_is_no_constant(self):
        miss = self.miss(self.expression(shift=op("tf.Placeholder", name="y")))
        assert miss.why == "an operand is Placeholder 'y', not the constant 3"

    def test_another_reader(self):
        result = self.expression()
        clip = result.op.operands[0].op.operands[0].op
        other = op("tf.Neg", clip.result, name="other")
        miss = self.miss(result)
        assert (miss.op, miss.why) == (clip, "its result is also read by 'other'")
        other.op.set_kind("ir.return")
        assert self.miss(result).why == "its result is an output too"
        op("tf.Abs", clip.result)
        assert self.miss(result) is None

    def test_an_attribute_that_has_its_default(self):
        found = pattern(lambda tf, x: tf.Neg(tf.Exp(tf.LeakyRelu(x, alpha=0.5))))
        miss = self.miss(op("tf.Neg", op("tf.Exp", op("tf.LeakyRelu", value(), name="c"), name="b"), name="a"), found)
        assert (miss.op.name, miss.why) == ("c", "the attribute alpha holds its default")

    def test_two_things(self):
        assert self.miss(self.expression(shift=2.0, by=5.0)) is None
        result = self.expression(by=5.0)
        op("tf.Neg", result.op.operands[0])
        assert self.miss(result) is None

    def test_a_value_that_should_be_another_is_another_expression(self):
        result = self.expression()
        result.op.set_operand(1, value("y"))
        assert self.miss(result) is None

    def test_different_constants_in_two_places(self):
        @pattern
        def softmax(tf, x, axes: Constant):
            power = tf.Exp(tf.Sub(x, tf.Max(x, axes)))
            return tf.RealDiv(power, tf.Sum(power, axes))

        x = value()
        power = op("tf.Exp", op("tf.Sub", x, op("tf.Max", x, number(-1, np.int32), name="max"), name="sub"), name="exp")
        result = op("tf.RealDiv", power, op("tf.Sum", power, number(0, np.int32), name="sum"), name="divide")
        miss = self.miss(result, softmax)
        assert (miss.op.name, miss.why) == ("sum", "axes is both the constant -1 and the constant 0")

    def test_too_little_matches(self):
        found = pattern(lambda tf, x: tf.Neg(tf.AddV2(x, 3.0)))
        assert self.miss(op("tf.Neg", op("tf.AddV2", value(), number(2)), name="a"), found) is None

    def test_a_term_that_is_missing_altogether(self):
        found = pattern(lambda tf, x: tf.Neg(tf.Exp(tf.Abs(tf.Sqrt(tf.Tanh(x))))))
        def made(inner):
            return op("tf.Neg", op("tf.Exp", op("tf.Abs", inner, name="c"), name="b"), name="a")

        assert self.miss(made(value()), found) is None
        nearly = made(op("tf.Sqrt", number(1), name="d"))
        miss = self.miss(nearly, found)
        assert miss.why == "an operand is the constant 1.0, not Tanh"
        assert [matched.name for matched in miss.matched] == ["a", "b", "c", "d"]


def test_optional_operands():
    found = pattern(lambda tfl, x, w: tfl.FULLY_CONNECTED(x, w, None))
    x, w = value(), value("w")
    assert matches(found, op("tfl.FULLY_CONNECTED", x, w, None))
    assert not matches(found, op("tfl.FULLY_CONNECTED", x, w, w))


def test_what_can_match_nothing_is_an_error():
    with pytest.raises(TypeError, match="dialect, tf or tfl, not x"):
        pattern(lambda x, y: x)
    with pytest.raises(TypeError, match="MAXIMUM takes 2 operands, not 1"):
        pattern(lambda tfl, x: tfl["MAXIMUM", "ADD"](x))
    with pytest.raises(TypeError, match="RELU takes 1 operand, not 2"):
        pattern(lambda tfl, x: tfl.RELU(x, x, ...))
    assert pattern(lambda tfl, x: tfl.ADD(x, ...)).size == 1
    with pytest.raises(TypeError, match="no operator RELU_6"):
        pattern(lambda tfl, x: tfl["RELU", "RELU_6"](x))
    with pytest.raises(TypeError, match="dialect, tf or tfl, not nothing"):
        pattern(lambda: 1)
    with pytest.raises(TypeError, match="returns an op"):
        pattern(lambda tf, x: tf.Relu(x) | x)
    with pytest.raises(TypeError, match="where its parameter y is"):
        pattern(lambda tf, x, y: tf.Relu(x))
    with pytest.raises(TypeError, match=r"an operand of tf\.Relu is a value, an op or a number, not 'x'"):
        pattern(lambda tf, x: tf.Relu("x"))
