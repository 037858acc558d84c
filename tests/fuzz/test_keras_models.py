"""Files of random valid Keras models, read as data, compute what the models' own calls do."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv import convert
from fuseconv.load.keras import UnknownLayer, load
from fuseconv.load.keras.model import flat
from tests.fuzz.keras_models import draw, model, sizes

# `python -m pytest tests/fuzz/test_keras_models.py` with another range finds what these do not.
SEEDS = range(8)
# A refusal is right, too, as Keras loads such a file then; but most are to be read.
_LEAST_READ = 6
_TOLERANCE = 1e-4
_RESOLVERS = (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)


@pytest.mark.parametrize("library", ["keras", "tf_keras"])
def test_files_compute_what_models_do(library: str, tmp_path: Path) -> None:
    read = 0
    for seed in SEEDS:
        made, steps = model(seed, importlib.import_module(library))
        path = tmp_path / f"{seed}.{'h5' if seed % 4 == 3 else 'keras'}"
        try:
            made.save(path)
            read += _check(made, path, seed)
        except Exception as error:
            raise AssertionError(f"model({seed}) of {library}, steps {steps}: {error}") from error
    assert read >= _LEAST_READ


def _check(made: Any, path: Path, seed: int) -> bool:
    """Return whether a file is read as data; assert that it computes what the model does then, on two batches of each
    size, with delegates and without."""
    try:
        (signature,) = load(path).signatures
    except UnknownLayer:
        return False
    data = convert(path, keras_loader="data").data
    specs = [(getattr(x, "name", name), tuple(x.shape), tf.as_dtype(x.dtype)) for x, name in zip(made.inputs, "xyz")]
    random = np.random.default_rng(seed)
    feeds = [{name: draw(random, sizes(shape, batch), dtype.name) for name, shape, dtype in specs}
             for batch in (1, 3) for _ in range(2)]  # fmt: skip
    called = [made([tf.constant(value) for value in feed.values()], training=False) for feed in feeds]
    wanted = [[np.asarray(value) for value in flat(outputs)] for outputs in called]
    spans = [max(np.abs(value).max() for value in values) for values in zip(*wanted)]
    for resolver in _RESOLVERS:
        run = Interpreter(model_content=data, experimental_op_resolver_type=resolver).get_signature_runner()
        for feed, outputs in zip(feeds, wanted):
            results = run(**feed)
            for name, value, span in zip(signature.outputs, outputs, spans):
                assert results[name].shape == value.shape, (name, results[name].shape, value.shape)
                np.testing.assert_allclose(results[name], value, rtol=0, atol=_TOLERANCE * span, err_msg=name)
    return True
