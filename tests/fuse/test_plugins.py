"""Converter modules that users write: found, listed, used, and blamed if they are wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.api import convert
from fuseconv.errors import InputError, UnsupportedError
from fuseconv.fuse import plugins
from fuseconv.fuse.plugins import load_module, load_registry
from fuseconv.testing import check, convert_function
from fuseconv.tf import folders, shape_functions
from tests.annotated import annotated

PACKAGE = Path(__file__).parent.parent / "plugin_package"
MODULE = str(PACKAGE / "acme_fusions.py")
IN, UNITS, WIDTH, TIME = 4, 3, 2, 5


def projected_lstm(x, kernel, recurrent, bias, projection, scale):
    """What the plug-in's contract says, unrolled over time."""
    h, c = tf.zeros([tf.shape(x)[0], WIDTH]), tf.zeros([tf.shape(x)[0], UNITS])
    outputs = []
    for step in tf.unstack(x, TIME, axis=1):
        parts = tf.split(tf.matmul(step, kernel) + tf.matmul(h, recurrent), 4, axis=1)
        for i, (s, b) in enumerate(zip(tf.split(scale, 4), tf.split(bias, 4))):
            mean, variance = tf.nn.moments(parts[i], -1, keepdims=True)
            parts[i] = (parts[i] - mean) * tf.math.rsqrt(variance + 1e-8) * s + b
        c = tf.sigmoid(parts[1]) * c + tf.sigmoid(parts[0]) * tf.tanh(parts[2])
        h = tf.matmul(tf.sigmoid(parts[3]) * tf.tanh(c), projection)
        outputs.append(h)
    return tf.stack(outputs, axis=1)


def layer():
    shapes = (IN, 4 * UNITS), (WIDTH, 4 * UNITS), (4 * UNITS,), (UNITS, WIDTH), (4 * UNITS,)
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    fn = annotated(projected_lstm, "acme.ProjectedLSTM")
    return lambda x: fn(x, *weights)


X = tf.TensorSpec([None, TIME, IN])


def test_a_users_own_rnn_with_projection_and_layer_norm():
    converted = check(layer(), X, plugins=[MODULE])
    assert converted.fused == ["acme_projected_lstm"]
    assert converted.ops.count("UNIDIRECTIONAL_SEQUENCE_LSTM") == 1
    assert "no converter module" in convert_function(layer(), X).refused["acme.ProjectedLSTM"]


def test_a_users_pattern():
    check(lambda x: x - tf.floor(x), tf.TensorSpec([None, 3]), plugins=[MODULE], ops=["FLOOR_MOD"])


def test_a_users_rnn_with_the_keras_contract_needs_no_plugin():
    """A layer of one's own, in the interface of Keras's LSTM; TensorFlow Lite's guide calls it option 1."""
    rng = np.random.default_rng(0)
    shapes = (IN, 4 * UNITS), (UNITS, 4 * UNITS), (4 * UNITS,)
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]

    def lstm(x, h, c, kernel, recurrent, bias):
        outputs = []
        for step in tf.unstack(x, TIME, axis=1):
            i, f, g, o = tf.split(tf.matmul(step, kernel) + tf.matmul(h, recurrent) + bias, 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
            outputs.append(h)
        return h, tf.stack(outputs, axis=1), h, c, tf.constant(0.0)

    fn = annotated(lstm, "lstm_my_own")

    def model(x):
        zeros = tf.zeros([tf.shape(x)[0], UNITS])
        return fn(x, zeros, zeros, *weights)[:4]

    converted = check(model, X)
    assert converted.fused == ["keras_lstm"]
    assert "agrees" in next(r.why for r in converted.report.records if r.kind == "fused")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A directory in which the package is installed."""
    source = tmp_path_factory.mktemp("source") / "package"
    shutil.copytree(PACKAGE, source)
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target"]
    subprocess.run([*command, str(target), str(source)], check=True, capture_output=True)
    return target


def fuseconv(site: Path, *arguments: str) -> subprocess.CompletedProcess:
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    code = "from fuseconv.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )


def test_an_installed_package_is_found_and_listed(site):
    listed = fuseconv(site, "fusions", "--json")
    rows = {row["name"]: row for row in json.loads(listed.stdout)["fusions"]}
    assert rows["acme_projected_lstm"]["origin"] == "acme_fusions of acme-fusions"
    assert rows["acme_projected_lstm"]["matches"] == "acme.ProjectedLSTM"
    assert rows["keras_lstm"]["origin"] == "fuseconv.fusions.lstm"
    ops = {row["op"]: row for row in json.loads(fuseconv(site, "ops", "--json").stdout)["ops"]}
    assert ops["AcmeNegate"]["emits"] == ["NEG"]


def test_an_installed_package_converts(site, tmp_path):
    module = tf.Module()
    module.run = tf.function(layer()).get_concrete_function(tf.TensorSpec([None, TIME, IN], name="x"))
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.run)
    ran = fuseconv(site, "convert", str(tmp_path / "model"), "-o", str(tmp_path / "out.tflite"), "--verify", "--json")
    assert ran.returncode == 0, ran.stderr
    fused = [record for record in json.loads(ran.stdout)["records"] if record["kind"] == "fused"]
    assert [record["rule"] for record in fused] == ["acme_projected_lstm"]


@pytest.mark.parametrize(("place", "loads"), [
    ("a-1.0.dist-info/entry_points.txt", True), ("a.egg-info/entry_points.txt", True),
    ("EGG-INFO/entry_points.txt", True), ("other/entry_points.txt", False),
])  # fmt: skip
def test_importlib_is_asked_where_a_package_declares_plug_ins(tmp_path: Path, place: str, loads: bool) -> None:
    """To load what reads the metadata of packages takes longer than to look for the word."""
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_text("[fuseconv.plugins]\nacme = acme\n")
    assert plugins._may_declare(str(tmp_path)) is loads
    (tmp_path / place).write_text("[console_scripts]\nacme = acme:main\n")
    assert not plugins._may_declare(str(tmp_path))


def test_archives_may_declare_plug_ins(tmp_path: Path) -> None:
    (tmp_path / "packages.zip").touch()
    assert plugins._may_declare(str(tmp_path / "packages.zip"))
    assert not plugins._may_declare(str(tmp_path / "no_such_directory"))


def test_a_module_that_is_loaded_twice_counts_once():
    module = load_module("tests.annotated")
    registry = load_registry(["tests.annotated", "tests.annotated"])
    assert registry and module


HEAD = """
from fuseconv.fuse.match import Fusion, composite
from fuseconv.fuse.pattern import pattern
ADD = composite("acme.Add", "x y -> sum")
"""


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.py"
    path.write_text(HEAD + text)
    return str(path)


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


@pytest.mark.parametrize("times", [2, 3])
def test_a_rewrite_may_build_loops(tmp_path, times):
    """Of a composite, where the body says how often they should run, and of a pattern."""
    plugin = write(
        tmp_path,
        "def doubled(tfl, m):\n"
        "    return tfl.repeat(2, lambda tfl, step, x: [tfl.add(x, x)], [m.x])[0]\n"
        "FUSIONS = [\n"
        "    Fusion('fourfold', 'WHILE', composite('acme.Fourfold', 'x -> y'), doubled),\n"
        "    Fusion('negated', 'WHILE', pattern(lambda tf, x: tf.Neg(tf.Mul(x, 4.0))),\n"
        "           lambda tfl, m: tfl.neg(doubled(tfl, m))),\n"
        "]\n",
    )
    fn = annotated(lambda x: x * 2.0**times, "acme.Fourfold")
    converted = check(lambda x: fn(x) + fn(tf.sin(x)), tf.TensorSpec([None, 3]), plugins=[plugin])
    assert converted.ops.count("WHILE") == (2 if times == 2 else 0), converted.refused
    converted = convert_function(lambda x: -(x * 4.0), tf.TensorSpec([None, 3]), plugins=[plugin])
    assert converted.ops == ["WHILE", "NEG", "LESS", "ADD", "ADD"]


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


def test_a_file_that_is_named_twice_counts_once(tmp_path):
    plugin = write(tmp_path, "FUSIONS = [Fusion('acme_add', 'ADD', ADD, lambda tfl, m: m.x)]\n")
    other = str(tmp_path / ".." / tmp_path.name / "mine.py")
    assert "acme_add" in [fusion.name for fusion in load_registry([plugin, plugin, other]).fusions]


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


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("FUSIONS = [3]\n", "must be a list of fusions"),
        ("FUSIONS = [Fusion('gelu', 'GELU', ADD, lambda tfl, m: m.x)]\n", r"gelu is claimed by both .*gelu and .*mine"),
        ("FUSIONS = [Fusion('a', 'A', ADD, None)]\n", r"rewrite of the fusion a is a function, not None .*mine\.py:5"),
        ("FUSIONS = [Fusion('a', 'A', 'acme.Add', print)]\n", r"the fusion a is of a composite, or .*mine\.py:5"),
        ("FUSIONS = [Fusion('a', 'A', pattern(lambda tf, x: 3), print)]\n", r"returns an op, or .*mine\.py:5"),
        ("FUSIONS = [Fusion(3, 'A', ADD, print)]\n", r"name of a fusion is a text, not 3 .*mine\.py:5"),
        ("FUSIONS = [Fusion('a', 'A', composite('acme', 'attrs -> y'), print)]\n", r"calls attrs what m.attrs is not"),
        ("FUSIONS = [Fusion('a', 'A', pattern(lambda tf, ops: tf.Neg(ops)), print)]\n", r"calls ops what m.ops is not"),
        ("composite(' ', 'x -> y')\n", r"a composite has a name .*mine\.py:5"),
        ("composite('acme', 'x y')\n", r"an interface is operands -> results, and not 'x y' .*mine\.py:5"),
        ("composite('acme', 'x x -> y')\n", r"of acme have a name each, and not \('x', 'x'\)"),
        ("composite('acme', 'x* y -> z')\n", r"what may be missing stands at the end"),
        ("composite('acme', 'x? y -> z')\n", r"what may be missing stands at the end"),
        ("ADD = composite('acme.Add', 'x -> y', ['limit'])\n", r"attributes of a composite are a map .*mine\.py:5"),
        ("1 / 0\n", r"cannot be loaded: ZeroDivisionError: .*mine\.py:5"),
        ("def f(:\n", r"cannot be loaded: SyntaxError"),
        ("raise SystemExit(0)\n", r"cannot be loaded: SystemExit: 0 .*mine\.py:5"),
    ],
)
def test_a_module_that_is_wrong_is_named(tmp_path, text, why):
    with pytest.raises(InputError, match=why):
        load_registry([write(tmp_path, text)])


def test_a_file_whose_name_lacks_its_end_is_told(tmp_path, monkeypatch):
    (tmp_path / "acme_audio.py").write_text("FUSIONS = []")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"there is no module acme_audio; did you mean the file acme_audio.py\?"):
        load_registry(["acme_audio"])


def test_a_file_that_is_not_there():
    with pytest.raises(InputError, match=r"no plug-in file nowhere\.py"):
        load_registry(["nowhere.py"])


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
    with pytest.raises(InputError, match=rf"Relu is claimed by both fuseconv\.tf\.{owner}\..* and .*mine\.py"):
        load_registry([write(tmp_path, text)])
