"""Files run in a child that cannot harm: it is killed when it takes too long, and ends with the conversion."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fuseconv.fuse import isolation
from fuseconv.fuse.isolation import ChildEnded, Failed, Sandbox
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Signature
from fuseconv.tfl.builder import Builder
from fuseconv.write.flatbuffer_export import to_bytes


def doubled(*shape: int) -> bytes:
    """A file of one signature: y0 = x0 + x0."""
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, shape, "x0")
    ops: list[Op] = []
    graph.outputs = [Builder(ops).add(x, x)]
    graph.ops = ops
    return to_bytes(Module([Signature(["check"], graph, ["x0"], ["y0"])]))


@pytest.fixture
def sandbox():
    sandbox = Sandbox()
    yield sandbox
    sandbox.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def children() -> list[int]:
    path = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return list(map(int, path.read_text().split())) if path.exists() else []


def test_a_file_is_run_on_arrays(sandbox):
    number = sandbox.load(doubled(2, 3), 30.0)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for _ in range(2):
        (y,) = sandbox.run(number, [x], 30.0)
        np.testing.assert_array_equal(y, 2 * x)
    other = sandbox.load(doubled(1), 30.0)
    assert sandbox.run(other, [np.ones(1, np.float32)], 30.0)[0] == 2
    assert sandbox.seconds >= 0


def test_what_the_runtime_refuses_is_told(sandbox):
    with pytest.raises(Failed, match=r"."):
        sandbox.load(b"no file at all, but long enough to be one", 30.0)
    number = sandbox.load(doubled(2), 30.0)
    with pytest.raises(Failed, match=r"[Dd]imension|shape"):
        sandbox.run(number, [np.ones(3, np.float32)], 30.0)
    sandbox.forget()
    assert sandbox.run(sandbox.load(doubled(1), 30.0), [np.ones(1, np.float32)], 30.0)[0] == 2


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_nothing_outlives_it():
    before = set(children())
    sandbox = Sandbox()
    assert set(children()) == before, "it is started when it is needed"
    sandbox.load(doubled(1), 30.0)
    (pid,) = set(children()) - before
    sandbox.close()
    sandbox.close()
    assert not is_alive(pid) and set(children()) == before


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_one_that_hangs_or_crashes_is_replaced(sandbox):
    number = sandbox.load(doubled(1), 30.0)
    before = set(children())
    os.kill(sandbox.pid, signal.SIGSTOP)
    with pytest.raises(ChildEnded) as late:
        sandbox.run(number, [np.ones(1, np.float32)], 0.2)
    assert late.value.overdue and len(children()) == len(before) - 1
    number = sandbox.load(doubled(1), 30.0)
    os.kill(sandbox.pid, signal.SIGSEGV)
    with pytest.raises(ChildEnded) as crash:
        sandbox.run(number, [np.ones(1, np.float32)], 30.0)
    assert not crash.value.overdue
    assert sandbox.load(doubled(1), 30.0) == 0


def test_one_that_is_killed_as_it_answers_was_late(monkeypatch, sandbox):
    number = sandbox.load(doubled(1), 30.0)
    receive, watch = isolation._receive, sandbox._child.watch

    def slow(*args):
        answer = receive(*args)
        watch._thread.join(30.0)
        return answer

    monkeypatch.setattr(isolation, "_receive", slow)
    with pytest.raises(ChildEnded) as late:
        sandbox.run(number, [np.ones(1, np.float32)], 0.5)
    monkeypatch.undo()
    assert late.value.overdue
    assert sandbox.run(sandbox.load(doubled(1), 30.0), [np.ones(1, np.float32)], 30.0)[0] == 2


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is the system's")
def test_its_memory_is_limited(sandbox):
    with pytest.raises((Failed, ChildEnded)):
        sandbox.run(sandbox.load(doubled(1 << 15, 1 << 15), 30.0), [np.ones(1, np.float32)], 30.0)
    assert sandbox.load(doubled(1), 30.0) >= 0


@pytest.mark.skipif(sys.platform != "linux", reason="the system kills it elsewhere when it reads")
def test_it_ends_with_a_parent_that_is_killed():
    program = (
        "import sys, time\n"
        "from fuseconv.fuse.isolation import Sandbox\n"
        "from tests.fuse.test_isolation import doubled\n"
        "sandbox = Sandbox(); sandbox.load(doubled(1), 60.0); print(sandbox.pid, flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_where_there_is_no_fork_it_is_a_python_of_its_own(monkeypatch, sandbox):
    monkeypatch.setattr(isolation, "_start", isolation._spawned)
    number = sandbox.load(doubled(2), 60.0)
    assert sandbox.run(number, [np.ones(2, np.float32)], 60.0)[0].tolist() == [2, 2]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int64).reshape(2, 3), np.array(True), np.zeros((0, 3), np.float32),
        np.array([[b"a", b""], [b"\x00b", b"ccc"]], object), np.array(b"word", object), np.ones(2, np.complex64),
    ],
)  # fmt: skip
def test_arrays_come_through(array):
    stream = io.BytesIO()
    isolation._send(stream, {"do": "run"}, [array, array])
    stream.seek(0)
    header, arrays = isolation._receive(stream)
    assert header["do"] == "run"
    for back in arrays:
        assert back.dtype == array.dtype and back.shape == array.shape
        np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize(
    "header",
    [
        b'{"arrays": [{"type": "<f4", "shape": [1000000000000]}]}', b'{"arrays": [{"type": "<f4", "shape": [-1]}]}',
        b'{"arrays": [{"type": "O", "shape": [1], "lengths": [9999999999]}]}', b"no JSON", b'{"arrays": 3}', b"{}",
        b'{"arrays": [{"type": "|V8", "shape": []}]}', b"[]", b" " * 2000000,
    ],
)  # fmt: skip
def test_an_answer_that_is_none_takes_no_memory(header):
    stream = io.BytesIO(isolation._LENGTH.pack(len(header)) + header)
    with pytest.raises(isolation._NO_ANSWER):
        isolation._receive(stream, isolation._MAX_HEADER, isolation._MAX_ANSWER)
