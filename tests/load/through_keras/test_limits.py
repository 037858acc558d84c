"""What Keras may take for a model is what the file can justify."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.load.through_keras import limits
from fuseconv.load.through_keras.model_file import load
from tests.load.through_keras.test_model_file_exploits import layer, older, write_hdf5

HUGE = {
    "dense": layer("Dense", units=5_000_000_000),
    "embedding": layer("Embedding", input_dim=1 << 40, output_dim=8),
    "convolution": layer("Conv1D", filters=1 << 30, kernel_size=9),
    "lstm": layer("LSTM", units=1 << 20),
}


@pytest.mark.parametrize("kind", ["dense", "embedding", "convolution", "lstm"])
def test_weights_that_the_file_does_not_hold(kind: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(write_hdf5(tmp_path / "m.h5", older(HUGE[kind])))
    assert "ask for weights of" in str(caught.value) or "cannot be loaded" in str(caught.value)


@pytest.mark.parametrize("library", ["keras", "tf_keras"])
def test_variables_are_counted_before_they_are_made(library: str) -> None:
    layers = pytest.importorskip(library).layers
    words = r"weights of 4\d{9} bytes, where the file justifies 67108864"
    with pytest.raises(limits.Exceeded, match=words), limits.limited(0):
        layers.Dense(1 << 20).build((None, 1 << 10))


def test_a_call_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_SECONDS", 0.2)
    with pytest.raises(limits.Exceeded, match="takes more time or memory"), limits.limited(0):
        while True:
            pass


def test_memory_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_GROWTH_BYTES", -(1 << 40))
    with pytest.raises(limits.Exceeded, match="takes more time or memory"), limits.limited(0):
        while True:
            np.ones(10)


def test_nothing_is_raised_once_the_block_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_SECONDS", 1e-3)
    monkeypatch.setattr(limits, "_INTERVAL", 1e-4)
    for _ in range(50):
        with contextlib.suppress(limits.Exceeded), limits.limited(0):
            sum(range(50_000))
    assert sum(range(100_000))


def test_a_profiler_may_listen_once_the_block_is_left() -> None:
    """CPython 3.11 hangs in a profiled call while an exception from elsewhere is announced that never comes."""
    code = """
import contextlib, cProfile
def called(): return 7
from fuseconv.load.through_keras import limits
limits._SECONDS = 0.2
for endless in (False, True):
    with contextlib.suppress(limits.Exceeded), limits.limited(0):
        while endless: pass
    print(cProfile.Profile().runcall(sum, map(abs, range(10))))
    print(cProfile.Profile().runcall(lambda: called()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["45", "7", "45", "7"]
