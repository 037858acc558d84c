"""Fusions, rules and passes of plug-ins that are wrong: each is named, with the line of the plug-in."""

from __future__ import annotations

import pytest
import tensorflow as tf

from fuseconv.errors import InputError
from fuseconv.testing import check, convert_function
from tests.annotated import annotated
from tests.fuse.plugin_file import write


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return m.z", "interface has no z"),
        ("raise KeyError('oops')", "KeyError: 'oops'"),
        ("return 1 / 0", "ZeroDivisionError"),
        ("return None", "must return"),
        ("return [m.x, m.y]", "a list of at most 1"),
        ("return {}", "did not make the result sum"),
        ("return {'total': m.x}", "must return"),
        ("return {'sum': 3}", "must return values"),
        ("return tfl.cast(m.x, out_data_type='INT32')", "made sum a int32"),
        ("return tfl.no_such_op(m.x)", "no operator NO_SUCH_OP"),
        ("return tfl.add(m.x)", "ADD takes"),
        ("return tfl.add(m.x, m.y, fused_activation_function='TAN')", "'TAN' is no ActivationFunctionType; there are"),
        ("return tfl.softmax(m.x, beta='1')", "the attribute beta cannot be '1'"),
        ("return tfl.custom('', [m.x], [(m.x.dtype, m.x.shape)])", "a custom op has a name"),
        ("return tfl.custom('A', [m.x], [(m.x.dtype, m.x.shape)], {'a': m.x})", "the options of A are bytes"),
        ("return tfl.custom('A', [m.x], [('float32', m.x.shape)])", "the type of a result is a DType"),
    ],
)
def test_a_rewrite_that_is_wrong_is_named(tmp_path, body, why):
    plugin = write(
        tmp_path,
        f"def rewrite(tfl, m):\n    {body}\n"
        "def check(m): pass\n"
        "FUSIONS = [Fusion('acme_add', 'ADD', ADD, rewrite, check)]\n",
    )
    fn = annotated(lambda x, y: x + y, "acme.Add")
    out = tmp_path / "out.tflite"
    with pytest.raises(InputError, match=r"the fusion acme_add \(.*mine\.py:5\)") as caught:
        convert_function(fn, tf.TensorSpec([2, 3]), tf.TensorSpec([2, 3]), plugins=[plugin], out=out)
    assert why in str(caught.value) and not out.exists()


DRAWS = (
    "def draw(rng, m):\n    return %s\n"
    "FUSIONS = [Fusion('acme_add', 'ADD', ADD, lambda tfl, m: tfl.add(m.x, m.y), draw=draw)]\n"
)
ADD = tf.TensorSpec([2, 3]), tf.TensorSpec([2, 3])


@pytest.mark.parametrize(
    ("drawn", "why"),
    [("{'x': m.w}", "no w"), ("{'w': 1.0}", "no w"), ("{'x': rng.normal(size=[3, 2])}", "shape"), ("None", "items")],
)
def test_operands_that_cannot_be_drawn_are_named(tmp_path, drawn, why):
    plugin = write(tmp_path, DRAWS % drawn)
    fn = annotated(lambda x, y: x + y, "acme.Add")
    with pytest.raises(InputError, match=rf"the fusion acme_add \(.*mine\.py:5\) failed: .*{why}"):
        convert_function(fn, *ADD, plugins=[plugin])


def test_what_is_drawn_takes_the_operands_type(tmp_path):
    plugin = write(tmp_path, DRAWS % "{'x': rng.normal(size=[2, 3])}")
    fn = annotated(lambda x, y: x + y + 1e-3, "acme.Add")
    assert "differs" in check(fn, *ADD, plugins=[plugin]).refused["acme_add"]


def test_a_check_that_returns_false_is_named(tmp_path):
    """It would be overlooked."""
    plugin = write(
        tmp_path,
        "def check(m):\n    return m.x.rank == 3\n"
        "FUSIONS = [Fusion('acme_add', 'ADD', ADD, lambda tfl, m: tfl.add(m.x, m.y), check)]\n",
    )
    fn = annotated(lambda x, y: x + y, "acme.Add")
    with pytest.raises(InputError, match=r"the check of the fusion acme_add \(.*mine\.py:5\) must refuse by"):
        convert_function(fn, *ADD, plugins=[plugin])


def test_values_of_another_call_are_named(tmp_path):
    plugin = write(
        tmp_path,
        "MADE = []\n"
        "def rewrite(tfl, m):\n    MADE.append(tfl.add(m.x, m.y))\n    return MADE[0]\n"
        "FUSIONS = [Fusion('acme_add', 'ADD', ADD, rewrite)]\n",
    )
    fn = annotated(lambda x, y: x + y, "acme.Add")
    with pytest.raises(InputError, match=r"the fusion acme_add \(.*mine\.py:6\) must return operands and what it has"):
        convert_function(lambda x, y: fn(fn(x, y), y), *ADD, plugins=[plugin])


def test_the_line_of_the_plugin_is_told_not_ours(tmp_path):
    plugin = write(
        tmp_path,
        "def rewrite(tfl, m):\n    x = m.x\n    return tfl.no_such_op(x)\n"
        "FUSIONS = [Fusion('acme_add', 'ADD', ADD, rewrite)]\n",
    )
    fn = annotated(lambda x, y: x + y, "acme.Add")
    with pytest.raises(InputError, match=r"NO_SUCH_OP .*mine\.py:7\)$"):
        convert_function(fn, *ADD, plugins=[plugin])


def test_a_pattern_that_matches_what_it_makes_is_named(tmp_path):
    plugin = write(
        tmp_path,
        "FUSIONS = [Fusion('acme_add', 'ADD', pattern(lambda tfl, x, y: tfl.ADD(x, y)),\n"
        "                  lambda tfl, m: tfl.add(m.x, m.y))]\n",
    )
    with pytest.raises(InputError, match=r"the fusion acme_add \(.*mine\.py:6\) matches what fusions make"):
        convert_function(lambda x, y: x + y, *ADD, plugins=[plugin])


def test_a_pattern_whose_rewrite_is_wrong_is_named(tmp_path):
    plugin = write(
        tmp_path,
        "def rewrite(tfl, m):\n    raise ValueError('oops')\n"
        "FUSIONS = [Fusion('acme_neg', 'NEG', pattern(lambda tf, x: tf.Neg(x)), rewrite)]\n",
    )
    with pytest.raises(InputError, match=r"the fusion acme_neg \(.*mine\.py:5\) failed: ValueError: oops"):
        convert_function(lambda x: -x, tf.TensorSpec([2, 3]), plugins=[plugin])


def test_a_rule_that_is_wrong_is_named(tmp_path):
    plugin = write(
        tmp_path,
        "from fuseconv.lower.rules import lowers\n"
        "@lowers\ndef Spence(tfl, x):\n    raise ValueError('oops')\n",
    )
    with pytest.raises(InputError, match=r"the rule for Spence \(.*mine\.py:6\) failed: ValueError: oops"):
        convert_function(lambda x: tf.math.special.spence(x), tf.TensorSpec([3, 3]), plugins=[plugin])


@pytest.mark.parametrize(
    ("parameters", "body", "why"),
    [
        ("module", "raise ValueError('oops')", "failed: ValueError: oops"),
        ("module, batchsize", "pass", "asks for batchsize, which passes are not given; did you mean batch_size"),
        ("module", "module.signatures[0].graph.ops.clear()", "leaves a module that is none: .* before"),
    ],
)
def test_a_pass_that_is_wrong_is_named(tmp_path, parameters, body, why):
    plugin = write(
        tmp_path,
        "from fuseconv.pass_manager import module_pass\n"
        f"@module_pass('acme', before='lower')\ndef acme({parameters}):\n    {body}\n",
    )
    with pytest.raises(InputError, match=rf"the pass acme \(.*mine\.py:6\) {why}"):
        convert_function(lambda x: -x, tf.TensorSpec([2, 3]), plugins=[plugin])
