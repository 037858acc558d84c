"""Converter modules that users write: found, listed and used."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.errors import InputError
from fuseconv.fuse import plugins
from fuseconv.fuse.plugins import load_module, load_registry
from fuseconv.testing import check, convert_function
from tests.annotated import annotated
from tests.fuse.plugin_file import write

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
    assert "none of the fusions" in convert_function(layer(), X).refused["acme.ProjectedLSTM"]


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


def test_a_file_that_is_named_twice_counts_once(tmp_path):
    plugin = write(tmp_path, "FUSIONS = [Fusion('acme_add', 'ADD', ADD, lambda tfl, m: m.x)]\n")
    other = str(tmp_path / ".." / tmp_path.name / "mine.py")
    assert "acme_add" in [fusion.name for fusion in load_registry([plugin, plugin, other]).fusions]


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
        ("CUSTOM_OBJECTS = 1\n", r"CUSTOM_OBJECTS of .* must be a dict of objects by their names, not 1"),
        ("CUSTOM_OBJECTS = {1: 2}\n", r"CUSTOM_OBJECTS of .* must be a dict of objects by their names"),
        ("class E(Exception):\n    def __str__(self): 1/0\nraise E\n", r"cannot be loaded: E \(.*mine\.py:7"),
        ("import asyncio\nraise asyncio.CancelledError\n", r"cannot be loaded: CancelledError: .*mine\.py:6"),
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


@pytest.mark.parametrize("name", ["./acme", "../acme"])
def test_a_folder_is_no_plug_in(name):
    with pytest.raises(InputError, match=rf"no plug-in file {re.escape(name)}$"):
        load_registry([name])


def test_a_file_that_is_not_there():
    with pytest.raises(InputError, match=r"no plug-in file nowhere\.py"):
        load_registry(["nowhere.py"])
