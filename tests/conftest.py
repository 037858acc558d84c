"""What holds for all tests, set before TensorFlow is imported by any of them."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from fuseconv.pass_manager import PassManager
from tests.fast import SLOW_FIXTURES, TENSORFLOW, is_fast

# TensorFlow's own CPU kernels take no channels first, oneDNN's do. It turns these on by itself only where the CPU
# has certain instructions, so that the reference would refuse models on one machine that it runs on another.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

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
    for item in items:
        slow = item.get_closest_marker("slow") or SLOW_FIXTURES & {*getattr(item, "fixturenames", ())}
        if not slow and is_fast(item.path):
            item.add_marker(pytest.mark.fast)


@pytest.fixture(autouse=True)
def _fast_tests_import_nothing_slow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails a fast test that imports TensorFlow or the like by way of the converter."""
    if request.node.get_closest_marker("fast"):
        real = builtins.__import__

        def guarded(name: str, *args: Any, **kwargs: Any) -> Any:
            if name.partition(".")[0] in TENSORFLOW:
                raise AssertionError(f"a fast test imports {name}: import it in the test's file, if it needs it")
            return real(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", guarded)
    yield
