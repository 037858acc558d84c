"""A child process that does first what may end this one."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuseconv
from fuseconv import child
from fuseconv.child import how_it_ended, survive, try_in_child
from fuseconv.collector import collector_paused
from fuseconv.errors import FuseconvError, InputError, VerificationError
from fuseconv.ir import types
from fuseconv.profiling import profile
from fuseconv.runners import TFLiteFile
from fuseconv.verification_layers import compare_layers
from fuseconv.write.flatbuffer_export import to_bytes
from tests.load.tflite.files import changed, dense
from tests.tfl.interpret import module_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux alone")


def _raises() -> None:
    raise ValueError("damaged")


def _takes() -> None:
    np.zeros(1 << 26, np.uint8)


def _spins() -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("work", "code", "told"),
    [
        (lambda: None, 0, ""),
        (_raises, 1, ""),
        (os.abort, -signal.SIGABRT, "ends the process (SIGABRT)"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), -signal.SIGSEGV, "ends the process (SIGSEGV)"),
        (_spins, -signal.SIGKILL, "takes too much time or memory"),
        (_takes, -signal.SIGKILL, "takes too much time or memory"),
    ],
)
def test_how_work_ends(work: Callable[[], object], code: int, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    found = try_in_child(work, 1, 1 << 25)
    assert (found, how_it_ended(found)) == (code, told)
    assert capfd.readouterr() == ("", "")


def test_a_child_that_waits_for_ever_is_ended_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "_CLOCK", 1)
    code = try_in_child(lambda: time.sleep(60), 1, 1 << 25)
    assert code == -signal.SIGALRM and how_it_ended(code) == "takes too much time or memory"


def test_what_is_not_survived_is_an_error() -> None:
    survive(lambda: None, 1)
    with pytest.raises(ValueError, match=r"^damaged$"):
        survive(_raises, 1)
    with pytest.raises(RuntimeError, match=r"^it ends the process \(SIGABRT\)$"):
        survive(os.abort, 1)


def test_a_child_does_not_outlive_an_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, waiting, wait = tmp_path / "pid", threading.Event(), os.waitpid

    def waitpid(pid: int, options: int) -> tuple[int, int]:
        waiting.set()
        return wait(pid, options)

    def work() -> None:
        place.write_text(f"{os.getpid()}")
        time.sleep(60)

    def interrupt() -> None:
        waiting.wait()  # Python drops what is raised in its callbacks after a fork, as in those of its collector
        while not place.exists() or not place.read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("fuseconv.child.os.waitpid", waitpid)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts with & ignores it
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        # Hypothesis has a callback of the collector.
        with collector_paused(), pytest.raises(KeyboardInterrupt):
            try_in_child(work, 5, 1 << 25)
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int(place.read_text()), 0)


def test_where_there_are_no_forks_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuseconv.child.sys.platform", "darwin")
    assert try_in_child(os.abort, 1, 1 << 25) is None and how_it_ended(None) == ""


def test_want_of_memory_is_met_again_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 1 kB whose activations take 800 MB."""
    size = np.array([10_000, 10_000], np.int32)
    path = tmp_path / "large.tflite"
    path.write_bytes(to_bytes(module_of(lambda tfl, x: tfl.exp(tfl.fill(size, x)), (types.FLOAT32, ()))))
    monkeypatch.setattr(child, "_MEMORY", 1 << 27)
    before = resource.getrlimit(resource.RLIMIT_AS)
    for run in (profile, lambda file: fuseconv.verify(file, file)):
        with pytest.raises(VerificationError, match=r"^LiteRT cannot run the "):
            run(path)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    with pytest.raises(RuntimeError, match=r"^it takes too much memory$"):
        survive(_raises_nothing_but_its_type, 1)


def _raises_nothing_but_its_type() -> None:
    raise RuntimeError


_FEED = {"x0": np.ones((1, 3), np.float32)}
_DIES = r"LiteRT cannot .*: it ends the process \(SIGABRT\)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "dense.tflite"
    path.write_bytes(to_bytes(dense()))
    return path


def _quantize(file: Path, **options: object) -> None:
    fuseconv.quantize_file(file, file.with_name("out.tflite"), quantize="int8", calibration_data=[_FEED] * 4, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("run", "error"),
    [
        (TFLiteFile, VerificationError),
        (profile, VerificationError),
        (lambda file: fuseconv.verify(file, file), VerificationError),
        (lambda file: compare_layers(file.read_bytes(), file.read_bytes(), [_FEED]), VerificationError),
        (_quantize, InputError),
    ],
    ids=["load", "profile", "verify", "layers", "quantize"],
)
def test_a_runtime_that_aborts_over_a_file(
    run: Callable[[Path], object], error: type[FuseconvError], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ai_edge_litert.interpreter.Interpreter", lambda **options: os.abort())
    with pytest.raises(error, match=_DIES):
        run(file)
    assert [path.name for path in file.parent.iterdir()] == ["dense.tflite"]


def test_the_file_that_quantization_makes_is_tried_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuseconv.quantize.tensor_errors._Runner", lambda data: os.abort())
    _quantize(file)
    for options in ({"compare_quantized": True}, {"keep_float_under": 0.1}):
        with pytest.raises(InputError, match=_DIES):
            _quantize(file, **options)


def test_each_shape_is_tried_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    monkeypatch.setattr("fuseconv.runners.survive", lambda work, size: tried.append(size))
    runner = TFLiteFile(file)
    for rows in (1, 1, 2, 1):
        runner.run("serve", {"x0": np.ones((rows, 3), np.float32)})
    assert tried == [file.stat().st_size] * 3  # as it is loaded, and for each of two shapes
    TFLiteFile(file.read_bytes()).run("serve", _FEED)
    assert len(tried) == 3  # what was converted just now is not


@pytest.mark.parametrize("scale", [1e-45, 1e-30, 1e30, 3e38])
def test_absurd_scales_end_in_a_sentence(scale: float, file: Path) -> None:
    made = file.with_name("int8.tflite")
    fuseconv.quantize_file(file, made, quantize="int8", calibration_data=[_FEED] * 4)

    def change(model: Any) -> None:
        found = [tensor.quantization for tensor in model.subgraphs[0].tensors if tensor.quantization is not None]
        found[0].scale = [scale]

    made.write_bytes(changed(made.read_bytes(), change))
    code = try_in_child(lambda: _profiled(made), 60, 1 << 30)
    assert code == 0


def _profiled(file: Path) -> None:
    """Profile a file, or be told why not."""
    try:
        profile(file, runs=1)
    except VerificationError as error:
        assert str(error).startswith("LiteRT cannot ")
