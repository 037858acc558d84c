"""What holds for all tests, set before TensorFlow is imported by any of them."""

from __future__ import annotations

import builtins
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from fuseconv.fuse import numeric_check
from fuseconv.fuse.isolation import Sandbox
from fuseconv.pass_manager import PassManager
from tests.fast import SLOW_FIXTURES, TENSORFLOW, is_fast

# TensorFlow's own CPU kernels take no channels first, oneDNN's do. It turns these on by itself only where the CPU
# has certain instructions, so that the reference would refuse models on one machine that it runs on another.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

# The models are too small for a second thread to help; idle threads look for work for a while before they sleep, which
# takes a tenth of the processor's time.
for _threads in ("TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

# Whether a case leaves out what `check` does with fixed sizes.
_SIZES_STAY_UNKNOWN = pytest.StashKey[bool]()

# A conversion in a test verifies the IR after every pass, and the facts that passes require and ensure.
PassManager.verify_each = True

# No test measures time: another program on the machine would make it fail.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def tf() -> Any:
    """TensorFlow, for tests whose files do not import it."""
    return pytest.importorskip("tensorflow")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files without fast tests where no others are asked for: to import them takes longest."""
    only_fast = config.option.markexpr == "fast" and collection_path.name.startswith("test_")
    return True if only_fast and collection_path.suffix == ".py" and not is_fast(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    cases: dict[tuple[Path, str], int] = {}
    for item in items:
        slow = item.get_closest_marker("slow") or SLOW_FIXTURES & {*getattr(item, "fixturenames", ())}
        if not item.get_closest_marker("slow"):
            test = item.path, item.nodeid.partition("[")[0]
            number = cases[test] = cases.get(test, -1) + 1
            # The parity of its binary ones: every other number would go with the values of one parameter.
            item.stash[_SIZES_STAY_UNKNOWN] = number.bit_count() % 2 == 1
        if not slow and is_fast(item.path):
            item.add_marker(pytest.mark.fast)


@pytest.fixture(autouse=True)
def _sizes_are_fixed_in_half_of_the_cases(request: pytest.FixtureRequest) -> Iterator[None]:
    """Lets half of the cases of a test convert their models only once, with the sizes unknown: what a rule does
    with known ones shows in the cases beside it. Slow tests do both in all cases."""
    if not request.node.stash.get(_SIZES_STAY_UNKNOWN, False):
        yield
        return
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("fuseconv.testing._fixes_sizes", lambda: False)
        yield


def pytest_collection_finish() -> None:
    """Let the garbage collector leave alone what was imported: it would go through millions of objects of TensorFlow
    again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _keras_2_without_spare_functions() -> None:
    """Leaves out of the graphs of Keras 2's LSTM and GRU the functions that no node calls, gradients and those of the
    other device: they take longer to trace than the layers. The SavedModels of testdata/ have them."""
    if "tensorflow" in sys.modules:
        from tensorflow.python.eager.polymorphic_function.concrete_function import ConcreteFunction

        ConcreteFunction.add_gradient_functions_to_graph = lambda self, g=None: None
    if "tf_keras" in sys.modules:
        from tf_keras.src.layers.rnn import gru_lstm_utils

        gru_lstm_utils.function_register = lambda *args, **kwargs: None


@pytest.fixture(autouse=True, scope="session")
def _one_sandbox() -> Iterator[None]:
    """Lets all conversions check bodies in one child process: to fork a process that has loaded TensorFlow, and to
    copy the pages that either then writes to, takes longer than a check."""
    shared = Sandbox()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(numeric_check, "Sandbox", lambda: shared)
        patched.setattr(numeric_check.NumericCheck, "close", lambda self: None)
        yield
    shared.close()


@pytest.fixture(autouse=True)
def _fast_tests_import_nothing_slow(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a fast test that imports TensorFlow or the like by way of the converter."""
    if not request.node.get_closest_marker("fast"):
        yield
        return
    real = builtins.__import__

    def guarded(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] in TENSORFLOW:
            raise AssertionError(f"a fast test imports {name}: import it in the test's file, if it needs it")
        return real(name, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(builtins, "__import__", guarded)
        yield
