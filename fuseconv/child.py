"""A forked child that does first what may end the process: native code reads files that it was not made for.

Python can neither stop nor survive it: a library that comes to no end, or aborts. `fuse/isolation.py` has a child that
answers; here the work is done again in this process, once it is known to be survived.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

# Of a child that waits for what no other thread of it will do, seconds of the clock for each of the processor.
_CLOCK = 8
# What a run of a .tflite file may take: so long, and a second more for each of so many bytes.
_SECONDS, _BYTES_A_SECOND = 30, 100_000
_PR_SET_PDEATHSIG = 1
_OVERDUE = frozenset(getattr(signal, name, None) for name in ("SIGXCPU", "SIGALRM", "SIGKILL"))


def try_in_child(work: Callable[[], object], seconds: int) -> int | None:
    """Do work in a child that may take so many seconds; return how it ended, as `subprocess` counts: 0, 1 after an
    error (which this process meets too, and tells), or less than 0, by a signal. None where there are no forks."""
    if sys.platform != "linux":
        return None
    libc()
    parent = os.getpid()
    with warnings.catch_warnings():
        # Newer Pythons warn of forks beside threads: a child that waits for their locks is ended by the clock.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)  # JAX's of the same
        pid = os.fork()
    if pid == 0:
        failed = 1
        try:
            _become_child(parent, seconds)
            work()
            failed = 0
        finally:
            os._exit(failed)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except BaseException:  # a signal to this process
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        raise


def survive(work: Callable[[], object], seconds: int) -> None:
    """Do first in a child what LiteRT may end the process over. Raises RuntimeError if it does, as LiteRT for a file
    that it refuses."""
    ended = how_it_ended(try_in_child(work, seconds))
    if ended:
        raise RuntimeError(f"it {ended}")


def seconds_to_run(size: int) -> int:
    """Return how many seconds of the processor a run of a file of so many bytes may take."""
    return _SECONDS + size // _BYTES_A_SECOND


def how_it_ended(code: int | None) -> str:
    """Return what a child's end says of its work: "ends the process (SIGABRT)"; "" if it is survived."""
    if code is None or code >= 0:
        return ""
    if -code in _OVERDUE:
        return "takes too much time or memory"
    return f"ends the process ({signal.Signals(-code).name})"


def _become_child(parent: int, seconds: int) -> None:
    import resource

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    faulthandler.disable()  # a crash is told in a sentence
    end_with(parent)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    most = seconds if hard == resource.RLIM_INFINITY else min(seconds, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(_CLOCK * seconds)
    null = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(null, descriptor)


@functools.cache
def libc() -> Any:
    """Return the C library; it is loaded before a fork, not in the child."""
    import ctypes

    return ctypes.CDLL(None)


def end_with(parent: int) -> None:
    """Let the system kill this process when its parent ends."""
    libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
