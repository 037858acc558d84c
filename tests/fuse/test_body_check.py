"""A fusion is made only if the body computes what the fused op does, as far as that can be found out."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner

from fuseconv.api import _small_file
from fuseconv.cli import main
from fuseconv.errors import InputError
from fuseconv.fuse import isolation, numeric_check
from fuseconv.fuse.body_check import BodyCheck
from fuseconv.fuse.composites import fuse_composites
from fuseconv.fuse.registry import Registry
from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Signature, constant
from fuseconv.report.records import Report
from fuseconv.testing import check, convert_function, implements
from tests.annotated import annotated

TABLE = np.random.default_rng(0).standard_normal((11, 4)).astype(np.float32)
IDS = tf.TensorSpec([None], tf.int32)
ACME = str(Path(__file__).parent / "acme.py")


def ids(rng, shape, dtype):
    return rng.integers(0, 11, shape).astype(dtype)


def lookup(body, name="embedding_lookup"):
    fn = annotated(body, name)
    return lambda x: fn(TABLE, x)


def halved(table, ids):
    return tf.gather(table, ids) * 0.5


def why(converted):
    return [record.why for record in converted.report.records if record.kind == "fused"]


def test_a_body_that_does_something_else_is_used():
    converted = check(lookup(halved), IDS, inputs=ids)
    assert "EMBEDDING_LOOKUP" not in converted.ops
    assert "result 0 differs by" in converted.refused["embedding_lookup"]


def test_never_trusts_the_name():
    converted = convert_function(lookup(halved), IDS, verify_fusions="never")
    assert converted.ops == ["EMBEDDING_LOOKUP"] and why(converted) == [""]


def test_a_small_constant_that_is_added_is_seen():
    body = lambda table, ids: tf.gather(table, ids) + 1e-2  # noqa: E731
    assert "differs" in check(lookup(body), IDS, inputs=ids, static=False).refused["embedding_lookup"]


def test_a_shape_that_differs_is_seen():
    fn = annotated(lambda x, flow: x[:, 1:], "addons:DenseImageWarp")
    specs = tf.TensorSpec([None, None, 5, 3]), tf.TensorSpec([None, None, 5, 2])
    # The runtime lacks the op, so only its name and shapes can be judged.
    assert "unresolved custom op" in why(convert_function(fn, *specs))[0]


def test_an_op_that_the_runtime_lacks_is_unverifiable():
    fn = annotated(lambda x: x * 2.0, implements("my_op", tfl_fusable_op=True))
    (reason,) = why(convert_function(fn, tf.TensorSpec([None, 3])))
    assert reason.startswith("it cannot be verified") and "my_op" in reason


def spectrogram(x):
    frames = tf.signal.frame(tf.transpose(x), 8, 4) * tf.signal.hann_window(8)
    return tf.square(tf.abs(tf.signal.rfft(frames, [8])))


def hadamard(x):
    two = np.array([[1, 1], [1, -1]], np.float32) / np.sqrt(2)
    return tf.matmul(x, np.kron(np.kron(two, two), two).astype(np.float32))


@pytest.mark.parametrize(
    ("name", "body", "shape", "right", "wrong"),
    [
        ("AudioSpectrogram", spectrogram, [20, 2], {"window_size": 8, "stride": 4, "magnitude_squared": True},
         {"magnitude_squared": False}),
        ("aeq.hadamard_rotation", hadamard, [3, 8], {"hadamard_size": 8, "random_binary_vector": [1] * 8},
         {"hadamard_size": 4}),
    ],
)  # fmt: skip
def test_custom_ops_that_the_runtime_has_are_checked(name, body, shape, right, wrong):
    converted = check(annotated(body, implements(name, tfl_fusable_op=True, **right)), tf.TensorSpec(shape))
    assert converted.ops == [name] and why(converted)[0].startswith("the body agrees")
    converted = check(annotated(body, implements(name, tfl_fusable_op=True, **right | wrong)), tf.TensorSpec(shape))
    assert name not in converted.ops and "differs" in converted.refused["tfl_fusable_op"]


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.uint8, tf.int8])
def test_whole_numbers_that_are_no_places_are_drawn_from_many(dtype):
    """The larger of zeros and ones is their OR as well."""
    specs = [tf.TensorSpec([None, 3], dtype)] * 2
    either = annotated(lambda x, y: tf.bitwise.bitwise_or(x, y), "acme.Max")
    converted = check(either, *specs, plugins=[ACME], static=False)
    assert "elements of result 0 differ" in converted.refused["acme_max"]
    larger = annotated(lambda x, y: tf.maximum(x, y), "acme.Max")
    check(larger, *specs, plugins=[ACME], ops=["MAXIMUM"])


def test_whole_numbers_that_no_op_takes_are_drawn_again():
    """The runtime does not divide by zero; zeros and ones are drawn where others are refused."""
    specs = [tf.TensorSpec([3], tf.int32)] * 2
    fn = annotated(lambda x, y: tf.maximum(x, y) + 0 * (x // (y + 3)), "acme.Max")
    assert why(convert_function(fn, *specs, plugins=[ACME]))[0].startswith("the body agrees")


def test_a_placeholder_is_unverifiable():
    converted = convert_function(lookup(lambda table, ids: tf.zeros([tf.shape(ids)[0], 4])), IDS)
    assert converted.ops == ["EMBEDDING_LOOKUP"] and "placeholder" in why(converted)[0]


def test_a_body_that_cannot_be_lowered_is_unverifiable():
    def body(table, ids):
        rows = tf.gather(table, ids)
        return rows + 0.0 * tf.math.special.spence(1.0 + tf.abs(rows))

    converted = convert_function(lookup(body), IDS)
    assert converted.ops == ["EMBEDDING_LOOKUP"]
    assert "cannot be lowered: Spence" in why(converted)[0]


def test_a_loop_that_does_not_end_is_unverifiable(monkeypatch):
    monkeypatch.setattr(numeric_check, "_PATIENCE", {"auto": 0.2})

    def body(table, ids):
        """Ends after some seconds, for the sake of the tests that follow."""
        rows = tf.gather(table, ids)
        return tf.while_loop(lambda i, r: i < 2_000_000, lambda i, r: [i + 1, tf.sin(r)], [0, rows])[1]

    assert "a loop has not ended after 0.2 s" in why(convert_function(lookup(body), IDS))[0]


def test_a_body_that_draws_random_numbers_is_used():
    def body(table, ids):
        return tf.gather(table, ids) + tf.random.uniform([4], maxval=1e-2)

    refused = convert_function(lookup(body), IDS).refused["embedding_lookup"]
    assert refused == "the body computes something else than the fused op: it computes something else in each run"


def test_each_function_is_checked_once(monkeypatch):
    judged = []
    judge = numeric_check.NumericCheck._examine
    monkeypatch.setattr(
        numeric_check.NumericCheck, "_examine", lambda self, claim: (judged.append(claim.key[0]), judge(self, claim))[1]
    )
    fn = annotated(lambda table, ids: tf.gather(table, ids), "embedding_lookup")
    converted = check(lambda x, y: (fn(TABLE, x), fn(TABLE, y)), IDS, IDS, inputs=ids, static=False)
    assert converted.ops.count("EMBEDDING_LOOKUP") == 2 and judged == ["embedding_lookup"]


def test_one_child_runs_all_checks_and_ends_with_the_pass(monkeypatch):
    started, alive = [], []
    start = isolation._start
    monkeypatch.setattr(isolation, "_start", lambda: (started.append(1), start())[1])
    monkeypatch.setattr(numeric_check, "Sandbox", isolation.Sandbox)

    def close(self):
        alive.append(self.sandbox.pid > 0)
        self.sandbox.close()

    monkeypatch.setattr(numeric_check.NumericCheck, "close", close)
    lookups = [annotated(lambda table, ids: tf.gather(table, ids), "embedding_lookup") for _ in range(2)]
    converted = convert_function(lambda x: [fn(TABLE[rows:], x) for rows, fn in enumerate(lookups)], IDS)
    assert converted.ops.count("EMBEDDING_LOOKUP") == 2 and all("agrees" in told for told in why(converted))
    assert len(started) == 1 and alive[0] and not any(alive[1:])
    assert len(alive) > 1, "one more time at the end of the conversion"


def test_auto_skips_what_takes_too_long_and_says_so(monkeypatch):
    monkeypatch.setattr(numeric_check, "BUDGET_SECONDS", 0.0)
    converted = convert_function(lookup(halved), IDS)
    assert converted.ops == ["EMBEDDING_LOOKUP"] and "not checked" in why(converted)[0]
    assert any("--verify-fusions always" in warning for warning in converted.report.warnings)
    assert "EMBEDDING_LOOKUP" not in convert_function(lookup(halved), IDS, verify_fusions="always").ops


def test_the_estimate_counts_weights_and_rows():
    """An LSTM of 2000 units on long sequences is not tried in a second."""
    fn = annotated(lambda x, w: tf.matmul(x, w), implements("my_op", tfl_fusable_op=True))
    weights = np.ones((3000, 3000), np.float32)
    converted = convert_function(lambda x: fn(x, weights), tf.TensorSpec([500, 3000]))
    assert "not checked" in why(converted)[0]


def test_a_large_table_is_no_reason_to_skip():
    """What is constant is read once, and only rows that are given are multiplied by it."""
    table = np.ones((20000, 50), np.float32)
    fn = annotated(halved, "embedding_lookup")
    converted = convert_function(lambda x: fn(table, x), IDS)
    assert "differs" in converted.refused["embedding_lookup"] and converted.report.warnings == []


def test_auto_stops_when_the_time_is_used_up(monkeypatch):
    """A loop takes longer than its shapes tell."""
    monkeypatch.setattr(numeric_check, "_estimate", lambda *args: 0.0)
    monkeypatch.setattr(numeric_check, "BUDGET_SECONDS", 1e-4)
    assert "not checked" in why(convert_function(lookup(halved), IDS))[0]


def test_results_that_only_one_call_reads_are_compared():
    """The second result of a function can be wrong where the first is right."""
    inner = annotated(lambda x, flow: (x * 1.0, x * 2.0), "acme.Twins")
    specs = [tf.TensorSpec([2, 3])] * 2
    with_one = lambda x, y: inner(x, y)[0]  # noqa: E731
    for model in (lambda x, y: (with_one(x, y), inner(y, x)), lambda x, y: (inner(y, x), with_one(x, y))):
        converted = check(model, *specs, plugins=[ACME])
        assert converted.fused == ["acme_twins"] and "result 1 differs" in converted.refused["acme_twins"]


@pytest.mark.parametrize(
    ("body", "model"),
    [
        (lambda x, y: 2.0 * x, lambda fn, x, y: (fn(x, x), fn(x, y))),
        (lambda x, y: 1.0 * x, lambda fn, x, y: (fn(x, tf.zeros([2, 3])), fn(x, y))),
        (lambda x, y: 1.0 * x, lambda fn, x, y: (fn(x, tf.zeros([2, 99])[:, :3]), fn(x, tf.fill([2, 3], 2.0)))),
    ],
)
def test_what_one_call_does_not_show_another_may(body, model):
    """An operand that stands twice, or is zero, hides what the body does with it."""
    fn = annotated(body, "acme.Add")
    converted = check(lambda x, y: model(fn, x, y), tf.TensorSpec([2, 3]), tf.TensorSpec([2, 3]), plugins=[ACME])
    assert converted.fused[:1] == ["acme_add"] and converted.refused["acme_add"]


def test_a_body_that_makes_no_numbers_is_used():
    fn = annotated(lambda x, y: (x + y) * np.float32(np.nan), "acme.Add")
    converted = check(fn, tf.TensorSpec([2, 3]), tf.TensorSpec([2, 3]), plugins=[ACME])
    assert "infinite or no number" in converted.refused["acme_add"]


@pytest.mark.parametrize("rows", [(None, 2), (2, None), (None, None)])
@pytest.mark.parametrize("time_major", [False, True])
def test_a_state_that_has_a_batch_of_its_own(rows, time_major):
    """Nothing says that the unknown batch of one input is the known batch of another."""
    fn = annotated(partial(unrolled_lstm, time_major), "lstm_own", time_major=time_major)
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in ((4, 12), (3, 12), (12,))]
    specs = tf.TensorSpec([5, rows[0], 4] if time_major else [rows[0], 5, 4]), *[tf.TensorSpec([rows[1], 3])] * 2
    converted = convert_function(lambda x, h, c: fn(x, h, c, *weights)[:4], *specs)
    assert converted.fused == ["keras_lstm"] and why(converted)[0].startswith("the body agrees")


def test_rounding_that_a_long_recurrence_enlarges_is_no_difference():
    """With weights as large as these an LSTM is chaotic: what differs in the last bit differs in all in the end."""
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in ((8, 256), (64, 256), (256,))]

    def lstm(clip, x, h, c, kernel, recurrent, bias):
        def step(state, now):
            h, c = state
            i, f, g, o = tf.split(tf.matmul(now, kernel) + tf.matmul(h, recurrent) + bias, 4, axis=1)
            c = tf.clip_by_value(tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g), -clip, clip)
            return tf.sigmoid(o) * tf.tanh(c), c

        h, c = tf.scan(step, tf.transpose(x, [1, 0, 2]), (h, c))
        return h[-1], tf.transpose(h, [1, 0, 2]), h[-1], c[-1], tf.constant(0.0)

    specs = tf.TensorSpec([1, 100, 8]), tf.TensorSpec([1, 64]), tf.TensorSpec([1, 64])
    for clip, right in ((1e9, True), (2.0, False)):
        fn = annotated(partial(lstm, clip), "lstm_long")
        converted = convert_function(lambda x, h, c, fn=fn: fn(x, h, c, *weights)[1], *specs, verify_fusions="always")
        assert ("keras_lstm" in converted.refused) != right


def unrolled_lstm(time_major, x, h, c, kernel, recurrent, bias):
    outputs = []
    for step in tf.unstack(x, 5, axis=0 if time_major else 1):
        i, f, g, o = tf.split(tf.matmul(step, kernel) + tf.matmul(h, recurrent) + bias, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        outputs.append(h)
    return h, tf.stack(outputs, axis=0 if time_major else 1), h, c, tf.constant(0.0)


def test_the_model_is_left_as_it_was():
    """Constants of the model have no readers in the models of the check."""
    table, half = constant(TABLE), constant(np.float32(0.5))
    callee = Graph("f", {"_implements": FuncRef("embedding_lookup")})
    inner = callee.add_input(types.FLOAT32, TABLE.shape, "table"), callee.add_input(types.INT32, (3,), "ids")
    gather = Op("tf.GatherV2", [*inner, constant(np.int32(0))], {}, "gather")
    mul = Op("tf.Mul", [gather.add_result(types.FLOAT32, (3, 4)), half], {}, "mul")
    callee.ops, callee.outputs = [gather, mul], [mul.add_result(types.FLOAT32, (3, 4))]
    graph = Graph("main")
    call = Op("tf.PartitionedCall", [table, graph.add_input(types.INT32, (3,), "x")], {"f": FuncRef("f")}, "call")
    graph.ops, graph.outputs = [call], [call.add_result(types.FLOAT32, (3, 4))]
    module = Module([Signature(["main"], graph, ["x"], ["y"])], {"f": callee})
    registry = Registry.builtin()
    report = Report()
    judge = BodyCheck(numeric_check.NumericCheck("always", lambda small: _small_file(small, registry)))
    fuse_composites(module, registry.fusions, report, judge)
    assert "differs" in next(record.why for record in report.records if record.kind == "refused")
    assert graph.ops == [call] and callee.ops == [gather, mul]
    assert table.uses == {call: 1} and half.uses == {mul: 1}


def test_the_command_line_takes_the_mode(tmp_path):
    module = tf.Module()
    module.run = tf.function(lookup(halved)).get_concrete_function(tf.TensorSpec([None], tf.int32, name="x"))
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.run)
    for mode, fused in {"never": True, "always": False}.items():
        arguments = [str(tmp_path / "model"), "-o", str(tmp_path / "out.tflite"), "--verify-fusions", mode, "--json"]
        result = CliRunner().invoke(main, ["convert", *arguments])
        assert result.exit_code == 0
        assert ("EMBEDDING_LOOKUP" in {op["type"] for op in json.loads(result.stdout)["ops"]}) == fused


def test_an_unknown_mode():
    with pytest.raises(InputError, match="auto, always, never"):
        convert_function(lookup(halved), IDS, verify_fusions="sometimes")
