"""`fuseconv new-plugin`: a package with a fusion, a rule, their tests and an entry point, to begin with."""

from __future__ import annotations

import keyword
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from fuseconv.errors import InputError

_PYPROJECT = '''[build-system]
requires = ["setuptools>=64"]
build-backend = "setuptools.build_meta"

[project]
name = "{package}"
version = "0.1.0"
description = "Fusions and rules for fuseconv."
dependencies = ["fuseconv"]

# An installed package is found by this; until then, `--plugin {name}.py` loads the file.
[project.entry-points."fuseconv.plugins"]
{name} = "{name}"

[tool.setuptools]
py-modules = ["{name}"]

[tool.pytest.ini_options]
pythonpath = ["."]
'''

_MODULE = '''"""A converter module of fuseconv: a fusion of a function that models annotate, and a rule for an op."""

from fuseconv.fuse.match import Fusion, composite
from fuseconv.lower.rules import lowers
from fuseconv.tf.shape_functions.registry import infers

# What the function implements, its operands and results, and its attributes with their defaults.
CLIPPED_ADD = composite("{name}.ClippedAdd", "x y -> sum", {{"limit": 6.0}})


def check(m):
    """Refuse what the fused op does not compute; only read."""
    m.require(m.x.dtype.name == "float32", f"ADD clips float32 only, not {{m.x.dtype}}")
    m.require(m.attrs["limit"] == 6.0, "ADD clips at 6 or not at all")


def rewrite(tfl, m):
    """{name}.ClippedAdd(x, y) -> ADD with a fused activation."""
    return tfl.add(m.x, m.y, fused_activation_function="RELU6")


FUSIONS = [Fusion("{name}_clipped_add", "ADD", CLIPPED_ADD, rewrite, check)]


@lowers("{title}Scale")
def scale(tfl, x, *, factor=1.0, T=None):
    """x * factor"""
    return tfl.mul(x, factor)


@infers("{title}Scale")
def scale_shape(op, x):
    return x.shape
'''

_TEST = '''"""The fusion and the rule compute what they stand for."""

import {name}
import numpy as np
import tensorflow as tf

import fuseconv
from fuseconv.runners import TFLiteFile
from fuseconv.testing import check, implements

X = tf.TensorSpec([None, 3])


def clipped_add(limit):
    annotation = implements("{name}.ClippedAdd", limit=limit)
    return tf.function(lambda x, y: tf.clip_by_value(x + y, 0.0, limit), experimental_implements=annotation)


def test_the_fusion_is_made():
    converted = check(clipped_add(6.0), X, X, ops=["ADD"], plugins=["{name}"])
    assert converted.fused == ["{name}_clipped_add"]


def test_another_limit_is_refused():
    converted = check(clipped_add(5.0), X, X, plugins=["{name}"])
    assert "clips at 6 or not at all" in converted.refused["{name}_clipped_add"]


def test_the_rule_computes_the_op():
    graph = tf.compat.v1.GraphDef()
    float32 = tf.compat.v1.AttrValue(type=tf.float32.as_datatype_enum)
    graph.node.add(name="x", op="Placeholder").attr["dtype"].CopyFrom(float32)
    graph.node[0].attr["shape"].shape.CopyFrom(tf.TensorShape([2, 3]).as_proto())
    node = graph.node.add(name="y", op="{title}Scale", input=["x"])
    node.attr["T"].CopyFrom(float32)
    node.attr["factor"].f = 2.5
    data = fuseconv.convert(graph, outputs=["y"], plugins=["{name}"]).data
    file = fuseconv.inspect(data)
    y = file["subgraphs"][0]["tensors"][file["signatures"][0]["outputs"]["y"]]
    assert y["shape"] == [2, 3]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(TFLiteFile(data).run("serving_default", {{"x": x}})["y"], 2.5 * x)


def test_the_module_offers_what_it_says():
    assert [fusion.name for fusion in {name}.FUSIONS] == ["{name}_clipped_add"]
'''


def write_plugin(package: str, folder: Path) -> list[Path]:
    """Write the package into `folder`, which is made; return its files. Its module has "_" for the "-" of its name.
    Raises InputError for a name that Python cannot import, or imports already, and for a folder that is there."""
    name = package.replace("-", "_")
    if not name.isidentifier() or keyword.iskeyword(name) or not name.islower() or name.startswith("_"):
        raise InputError(f"{package} is no name of a package: take lower-case letters, digits, - and _")
    found = PathFinder.find_spec(name)
    if name in sys.stdlib_module_names or (found is not None and found.origin is not None):
        raise InputError(f"there is a module {name} already, in whose place yours would be imported: take another name")
    texts = {"pyproject.toml": _PYPROJECT, f"{name}.py": _MODULE, f"test_{name}.py": _TEST}
    title = "".join(part.capitalize() for part in name.split("_"))
    try:
        folder.mkdir(parents=True)
        for file, text in texts.items():
            (folder / file).write_text(text.format(package=package, name=name, title=title), "utf-8")
    except FileExistsError:
        raise InputError(f"{folder} is there already: take another name, or remove it") from None
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from error
    return [folder / file for file in texts]
