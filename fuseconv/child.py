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
from collections.abc import Callable, Iterator
from typing import Any

# Of a child that waits for what no other thread of it will do, seconds of the clock for each of the processor.
_CLOCK = 8
# What work on a file may take: so many seconds, and one more for each of so many bytes; so many bytes of memory beyond
# those of this process, and so many more for each of the file.
_SECONDS, _BYTES_A_SECOND = 30, 100_000
_MEMORY, _MEMORY_PER_BYTE = 4 << 30, 16
_PR_SET_PDEATHSIG = 1
_OVERDUE = frozenset(getattr(signal, name, None) for name in ("SIGXCPU", "SIGALRM", "SIGKILL"))


def try_in_child(work: Callable[[], object], seconds: int, memory: int) -> int | None:
    """Do work in a child that may take so many seconds, and so many bytes of memory beyond those of this process.

    Return how it ended, as `subprocess` counts: 0, 1 after an error (which this process meets too, and tells), or less
    than 0, by a signal. None where there are no forks."""
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
            _become_child(parent, seconds, memory)
            work()
            failed = 0
        except MemoryError:  # which this process, without that limit, would not meet
            os.kill(os.getpid(), signal.SIGKILL)
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


def survive(work: Callable[[], object], size: int) -> None:
    """Do first in a child what LiteRT may end the process over, with files of so many bytes. Raises RuntimeError if it
    does, as LiteRT for a file that it refuses; and what the work raises."""
    memory = memory_to_run(size)
    code = try_in_child(work, _SECONDS + size // _BYTES_A_SECOND, memory)
    ended = how_it_ended(code)
    if ended:
        raise RuntimeError(f"it {ended}")
    if code:
        with _limited_memory(memory):  # what failed for want of memory does not find more of it here
            work()


def memory_to_run(size: int) -> int:
    """Return how many bytes of memory work on files of so many bytes may take."""
    return _MEMORY + _MEMORY_PER_BYTE * size


def how_it_ended(code: int | None) -> str:
    """Return what a child's end says of its work: "ends the process (SIGABRT)"; "" if it is survived."""
    if code is None or code >= 0:
        return ""
    if -code in _OVERDUE:
        return "takes too much time or memory"
    return f"ends the process ({signal.Signals(-code).name})"


def limit_memory(more: int, before: int | None = None) -> int:
    """Limit the memory of this process to `more` bytes above `before`, or above its present use; return the limit in
    bytes."""
    if sys.platform != "linux":
        return 0  # elsewhere the limit is not kept, or there is none
    import resource

    if before is None:
        with open("/proc/self/statm") as file:
            before = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = before + more if hard == resource.RLIM_INFINITY else min(before + more, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    return before + more


@contextlib.contextmanager
def _limited_memory(more: int) -> Iterator[None]:
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    limit_memory(more)
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # LiteRT's says nothing where memory is short
        if str(error):
            raise
        raise RuntimeError("it takes too much memory") from error
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _become_child(parent: int, seconds: int, memory: int) -> None:
    import resource

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    faulthandler.disable()  # a crash is told in a sentence
    end_with(parent)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    most = seconds if hard == resource.RLIM_INFINITY else min(seconds, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_memory(memory)
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
