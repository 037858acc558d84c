"""How patterns are applied to a graph."""

import numpy as np
import pytest

from fuseconv.errors import FuseconvError, InputError
from fuseconv.fuse.match import Fusion
from fuseconv.fuse.pattern import pattern
from fuseconv.fuse.pattern_rewriter import fuse_patterns
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Signature, constant
from fuseconv.ir.verifier import check
from fuseconv.report.records import Report
from tests.check_pass import check_pass

SHAPE = (2, 3)


class Model:
    """A module with one graph, an input x, and ops that are added by their types."""

    def __init__(self):
        self.graph = Graph("main")
        self.x = self.graph.add_input(types.FLOAT32, SHAPE, "x")
        self.module = Module([Signature(["serving_default"], self.graph, ["x"], ["y"])])
        self.report = Report()

    def op(self, kind, *operands, name="", **attrs):
        values = [constant(np.float32(v)) if isinstance(v, float) else v for v in operands]
        made = Op(kind, values, attrs, name or kind, (name or kind,))
        self.graph.ops.append(made)
        return made.add_result(types.FLOAT32, SHAPE)

    def fuse(self, *fusions, dialect="tf"):
        check(self.module)
        fuse_patterns(self.module, fusions, self.report, dialect)
        check(self.module)
        return [op.kind for op in self.graph.ops]


def fusion(name, traced, rewrite, check=lambda m: None):
    return Fusion(name, "", pattern(traced), rewrite, check)


NEGATED = fusion("negated", lambda tf, x: tf.Neg(tf.Neg(x)), lambda tfl, m: m.x)
RELU6 = fusion("relu6", lambda tf, x: tf.Minimum(tf.Relu(x), 6.0), lambda tfl, m: tfl.relu6(m.x))
RELU = fusion("relu", lambda tf, x: tf.Relu(x), lambda tfl, m: tfl.relu(m.x))


def test_what_is_built_takes_name_readers_and_sources():
    model = Model()
    y = model.op("tf.Minimum", model.op("tf.Relu", model.x, name="a"), 6.0, name="b")
    model.graph.outputs = [y, model.op("tf.Abs", y)]
    assert model.fuse(RELU6) == ["tfl.RELU6", "tf.Abs"]
    made = model.graph.ops[0]
    assert model.graph.outputs[0] is made.result and model.graph.ops[1].operands == [made.result]
    assert (made.result.name, made.sources) == ("b", ("a", "b"))
    (record,) = model.report.records
    assert (record.kind, record.rule, record.sources, record.emitted) == ("fused", "relu6", ("a", "b"), ("RELU6",))


def test_what_comes_to_nothing_is_removed():
    model = Model()
    model.graph.outputs = [model.op("tf.Abs", model.op("tf.Neg", model.op("tf.Neg", model.x)))]
    assert model.fuse(NEGATED) == ["tf.Abs"]
    assert [record.kind for record in model.report.records] == ["removed"]


def test_a_whole_expression_goes_before_its_parts():
    model = Model()
    model.graph.outputs = [model.op("tf.Minimum", model.op("tf.Relu", model.x), 6.0), model.op("tf.Relu", model.x)]
    assert model.fuse(RELU, RELU6) == ["tfl.RELU6", "tfl.RELU"]


def test_a_shared_op_stays_for_its_other_readers():
    shared = fusion("s", lambda tf, x: tf.Relu(tf.Abs(x, shared=True)), lambda tfl, m: tfl.abs_(m.x))
    model = Model()
    inner = model.op("tf.Abs", model.x)
    model.graph.outputs = [model.op("tf.Relu", inner), inner]
    assert model.fuse(shared) == ["tf.Abs", "tfl.ABS"]


def test_a_refusal_is_recorded_once_and_only_if_the_op_stays():
    def refuse(m):
        m.refuse("not today")

    refused = fusion("refused", lambda tf, x: tf.Relu(x), lambda tfl, m: m.x, refuse)
    model = Model()
    model.graph.outputs = [model.op("tf.Relu", model.x, name="a"), model.op("tf.Neg", model.op("tf.Neg", model.x))]
    assert model.fuse(refused, NEGATED) == ["tf.Relu"]
    assert model.fuse(refused, NEGATED) == ["tf.Relu"]
    assert [(r.sources, r.why) for r in model.report.records if r.kind == "refused"] == [(("a",), "not today")]
    assert model.fuse(fusion("refused", lambda tf, x: tf.Relu(x), lambda tfl, m: tfl.relu(m.x))) == ["tfl.RELU"]
    assert not [record for record in model.report.records if record.kind == "refused"]
    model = Model()
    model.graph.outputs = [model.op("tf.Relu", model.x)]
    assert model.fuse(refused, RELU) == ["tfl.RELU"]
    assert [record.kind for record in model.report.records] == ["fused"]


def test_another_way_to_match_is_tried_after_a_refusal():
    ordered = fusion(
        "ordered", lambda tf, x, y: tf.AddV2(x, y), lambda tfl, m: tfl.add(m.x, m.y),
        lambda m: m.require(m.x.op is not None, "x is an input"),
    )  # fmt: skip
    model = Model()
    model.graph.outputs = [model.op("tf.AddV2", model.x, model.op("tf.Abs", model.x))]
    assert model.fuse(ordered) == ["tf.Abs", "tfl.ADD"]
    assert [record.kind for record in model.report.records] == ["fused"]


def test_a_result_of_another_shape_is_an_error_of_its_module():
    grown = fusion(
        "grown", lambda tf, x: tf.Relu(x), lambda tfl, m: tfl.add(m.x, np.zeros((4, 1, 1), np.float32))
    )  # fmt: skip
    model = Model()
    model.graph.outputs = [model.op("tf.Relu", model.x)]
    with pytest.raises(InputError, match=r"the fusion grown .* made result of the shape \(4, 2, 3\)"):
        model.fuse(grown)
    assert list(model.x.uses) == [model.graph.ops[0]]


def test_what_is_built_is_matched_again():
    activated = fusion(
        "activated", lambda tfl: tfl.RELU(tfl.ADD(..., name="add")),
        lambda tfl, m: tfl.add(*m.add.operands, fused_activation_function="RELU"),
    )  # fmt: skip
    squared = fusion("squared", lambda tfl, x: tfl.SQUARE(x), lambda tfl, m: tfl.relu(m.x))
    model = Model()
    model.graph.outputs = [model.op("tfl.SQUARE", model.op("tfl.ADD", model.x, model.x))]
    assert model.fuse(activated, squared, dialect="tfl") == ["tfl.ADD"]


def test_a_reader_that_goes_away_lets_others_match():
    model = Model()
    inner = model.op("tf.Relu", model.x)
    dropped = fusion("dropped", lambda tf, x, y: tf.Sub(x, tf.Mul(y, 0.0)), lambda tfl, m: m.x)
    # Walking backwards, the minimum is seen first, while the product still reads what is inside it.
    product = model.op("tf.Sub", model.x, model.op("tf.Mul", inner, 0.0))
    model.graph.outputs = [product, model.op("tf.Minimum", inner, 6.0)]
    assert model.fuse(RELU6, dropped) == ["tfl.RELU6"]


def test_fusions_that_undo_each_other_are_an_error():
    again = fusion("again", lambda tfl, x: tfl.RELU(x), lambda tfl, m: tfl.relu(m.x))
    model = Model()
    model.graph.outputs = [model.op("tfl.RELU", model.x)]
    with pytest.raises(FuseconvError, match="again"):
        model.fuse(again, dialect="tfl")


def test_only_patterns_of_the_dialect_are_tried():
    model = Model()
    model.graph.outputs = [model.op("tf.Relu", model.x)]
    assert model.fuse(RELU, dialect="tfl") == ["tf.Relu"]


def test_names_that_only_another_pattern_has_are_none():
    seen = []

    def rewrite(tfl, m):
        seen.append((m.y, m.negation))
        return tfl.relu(m.x)

    difference = pattern(lambda tf, x, y: tf.AddV2(x, tf.Neg(y, name="negation")))
    both = Fusion("both", "", (pattern(lambda tf, x: tf.Relu(x)), difference), rewrite)
    model = Model()
    model.graph.outputs = [model.op("tf.Relu", model.x)]
    model.fuse(both)
    assert seen == [(None, None)]


HARD_SWISH = fusion(
    "hard_swish",
    lambda tf, x: tf.Mul(x, tf.RealDiv(tf.Relu6(tf.AddV2(x, 3.0)), 6.0)),
    lambda tfl, m: tfl.hard_swish(m.x),
)
GATE = fusion("gate", lambda tf, x: tf.RealDiv(tf.Relu6(tf.AddV2(x, 3.0)), 6.0), lambda tfl, m: m.x)


def test_near_misses_are_explained_where_asked():
    def refusals(explain, *fusions):
        model = Model()
        gate = model.op("tf.RealDiv", model.op("tf.Relu6", model.op("tf.AddV2", model.x, 2.0, name="shift")), 6.0)
        model.graph.outputs = [model.op("tf.Mul", model.x, gate, name="product")]
        fuse_patterns(model.module, fusions, model.report, "tf", explain)
        assert len(model.graph.ops) == 4
        return [(record.rule, record.sources, record.why) for record in model.report.records]

    assert not refusals(False, HARD_SWISH)
    why = "all fits but one thing: at 'shift' the constant is 2, not 3"
    assert refusals(True, HARD_SWISH) == [("hard_swish", ("product",), why)]
    # Part of a larger expression that was meant.
    assert refusals(True, GATE, HARD_SWISH) == [("hard_swish", ("product",), why)]
    assert refusals(True, GATE) == [("gate", ("tf.RealDiv",), why)]


def test_an_expression_of_tf_ops_becomes_one_op() -> None:
    check_pass("fuse-tf-patterns", """
    main {
      input %x: float32[2]
      %a: float32[2] = tf.AddV2(%x, float32[] 3.0)
      %b: float32[2] = tf.Relu6(%a)
      %c: float32[2] = tf.Mul(%x, %b)
      %d: float32[2] = tf.Mul(%c, float32[] 0.16666667)
      return %d
    }
    """, """
    main {
      input %x: float32[2]
      %d: float32[2] = tfl.HARD_SWISH(%x)
      return %d
    }
    """)


def test_bias_and_activation_go_into_the_layer() -> None:
    check_pass("fuse-tfl-patterns", """
    main {
      input %x: float32[2,3]
      %y: float32[2,2] = tfl.FULLY_CONNECTED(%x, float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], _)
      %z: float32[2,2] = tfl.ADD(%y, float32[2] [1.0, 2.0])
      %a: float32[2,2] = tfl.RELU(%z)
      return %a
    }
    """, """
    main {
      input %x: float32[2,3]
      %a: float32[2,2] = tfl.FULLY_CONNECTED(%x, float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], float32[2] [1.0, \
2.0]) {'fused_activation_function': 'RELU'}
      return %a
    }
    """)


def test_another_number_makes_another_function() -> None:
    check_pass("fuse-tf-patterns", """
    main {
      input %x: float32[2]
      %a: float32[2] = tf.AddV2(%x, float32[] 2.0)
      %b: float32[2] = tf.Relu6(%a)
      %c: float32[2] = tf.Mul(%x, %b)
      %d: float32[2] = tf.Mul(%c, float32[] 0.16666667)
      return %d
    }
    """)


def test_what_is_read_in_between_stays() -> None:
    check_pass("fuse-tfl-patterns", """
    main {
      input %x: float32[2,3]
      %y: float32[2,2] = tfl.FULLY_CONNECTED(%x, float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], _)
      %z: float32[2,2] = tfl.ADD(%y, float32[2] [1.0, 2.0])
      %a: float32[2,2] = tfl.RELU(%z)
      return %a, %z, %y
    }
    """)
