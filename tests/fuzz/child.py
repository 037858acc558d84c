"""What the forked child of a case does: limits, watches, runs the command.

Python's audit hooks see what a process does through Python: files that it opens, programs that it starts, sockets,
libraries, bytecode. What native code does they do not see: that is judged by what is left (`server`).
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Stands in every payload of a hostile model, and in the file that no model may read.
CANARY = "fuzz-canary-5eb1"
# In that file, line after line: a payload that an output quotes is none of its bytes.
SECRET = f"{CANARY}\n" * 1000
_PR_SET_PDEATHSIG = 1
_CPU_SECONDS = 300
# Installed modules whose import does something, which the configurations of hostile models name.
TELLTALE_MODULES = frozenset({"this", "antigravity", "webbrowser", "ftplib", "smtplib", "turtle", "idlelib", "pip"})

_GIGABYTE = 1 << 30
_ADDRESS_SPACE = 4 * _GIGABYTE  # on top of what the server has mapped
_LARGEST_FILE = _GIGABYTE
_PATHS = {
    "open": 1, "os.listdir": 1, "os.scandir": 1, "os.remove": 1, "os.rename": 2, "os.mkdir": 1, "os.rmdir": 1,
    "os.link": 2, "os.symlink": 2, "os.truncate": 1, "os.chmod": 1, "shutil.rmtree": 1, "shutil.copyfile": 2,
    "shutil.move": 2, "ctypes.dlopen": 1, "os.utime": 1,
}  # fmt: skip
_PROGRAMS = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile"})
_NETWORK = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request")
# What the machine answers about itself: processors, memory, time zone, sources of randomness.
_SYSTEM = ("/proc/", "/sys/devices/system/", "/sys/fs/cgroup/", "/dev/null", "/dev/urandom", "/dev/shm",
           "/etc/localtime", os.path.expanduser("~/.keras/"))  # fmt: skip


def become(folder: Path, streams: Path) -> None:
    """Turns this process into the one of a case: a group of its own, limits, streams to files, the watch."""
    os.setsid()
    # Whatever it does, it ends with the server: a group of its own would outlive that.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + _ADDRESS_SPACE, mapped + _ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, name in ((0, os.devnull), (1, os.fspath(streams / "stdout")), (2, os.fspath(streams / "stderr"))):
        opened = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdout = open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    sys.stderr = open(2, "w", 1, closefd=False, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    os.environ["TMPDIR"] = tempfile.tempdir = os.fspath(folder / "tmp")
    os.chdir(folder / "tmp")


def watch(folder: Path, model: Path, log: Path) -> None:
    """Writes each thing that a conversion has no business to do to `log`, a JSON string a line."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    own = [os.fspath(folder / "out"), os.fspath(folder / "tmp"), os.path.realpath(model)]
    installed = [os.path.realpath(p) for p in (sys.prefix, sys.base_prefix, Path(__file__).parents[2] / "fuseconv")]
    installed += [os.path.realpath(path) for path in sys.path if path and path.endswith("site-packages")]
    watcher = _Watcher(own, installed)
    busy = False

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal busy
        if busy:
            return
        busy = True
        try:
            found = watcher.judge(event, args)
            if found:
                os.write(descriptor, (json.dumps(f"{event}: {found}"[:400]) + "\n").encode())
        finally:
            busy = False

    sys.addaudithook(hook)


class _Watcher:
    def __init__(self, own: list[str], installed: list[str]) -> None:
        self.own = own
        self.installed = installed
        self.searched = {os.path.realpath(path) for path in sys.path}  # an import lists one again that has changed

    def judge(self, event: str, args: tuple[Any, ...]) -> str:
        """What is wrong with an event, or ""."""
        if event in _PATHS:
            return self._paths(event, args)
        if event in _PROGRAMS:
            return "" if _is_own_program(args) else f"starts {args[:2]!r}"
        if event.startswith(_NETWORK):
            # Importing urllib3, as TensorFlow does, asks whether this machine has IPv6.
            return "" if args[-1] == ("::1", 0) else f"reaches for {args[-1]!r}"
        if event in ("marshal.loads", "pickle.find_class"):
            caller = sys._getframe(2).f_code.co_filename
            return "" if caller.startswith("<frozen importlib") else f"from {caller}"
        if event == "import":
            return str(args[0]) if str(args[0]).partition(".")[0] in TELLTALE_MODULES else ""
        if event in ("compile", "exec") and CANARY in repr(args[0])[:10_000]:
            return "code of the model's"
        return ""

    def _paths(self, event: str, args: tuple[Any, ...]) -> str:
        for path in args[: _PATHS[event]]:
            if isinstance(path, bytes):
                path = os.fsdecode(path)
            if not isinstance(path, str):  # a descriptor, or the current directory
                continue
            real = os.path.realpath(path)
            if event == "os.listdir" and real in self.searched:
                continue
            writes = event not in ("open", "os.listdir", "os.scandir", "ctypes.dlopen") or (
                event == "open" and isinstance(args[2], int) and bool(args[2] & (os.O_WRONLY | os.O_RDWR))
            )
            within = self.own[:2] if writes else self.own
            if any(real == root or real.startswith(root + os.sep) for root in within):
                continue
            if writes and real != os.devnull:
                return f"writes {path}"
            if not real.startswith((*self.installed, *_SYSTEM)) and (event != "ctypes.dlopen" or os.sep in path):
                return f"reads {path}"
        return ""


def _is_own_program(args: tuple[Any, ...]) -> bool:
    """Whether a program is the child that fuseconv itself starts to run a function's body: this very Python."""
    command = [os.fspath(part) for part in (args[1] or ())] if len(args) > 1 else []
    modules = [after for part, after in itertools.pairwise(command) if part == "-m"]
    return bool(command) and command[0] == sys.executable and bool(modules) and modules[0].startswith("fuseconv.")


def find(command: str) -> Callable[..., Any]:
    """The function of "module:function"."""
    module, _, name = command.partition(":")
    return getattr(importlib.import_module(module), name)


def call(function: Callable[..., Any], args: list[str]) -> int:
    """Runs a function as the command line `args`; returns its exit code."""
    try:
        function(args, prog_name="fuseconv")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def load(path: Path) -> str:
    """Why LiteRT does not load a file or allocate its tensors, or "". It gives no reason where memory does not
    suffice, which is no refusal."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = None
    try:
        interpreter = Interpreter(
            os.fspath(path), experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        )
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError) as error:
        # A size that is not fixed is written as 1, and an unknown rank as a scalar: the model may want other ones.
        details = [] if interpreter is None else interpreter.get_input_details()
        is_open = any(not detail["shape"].size or (detail["shape_signature"] < 0).any() for detail in details)
        return "" if is_open else _said(error)
    return ""


def _said(error: Exception) -> str:
    why = " ".join(str(error).split())[:300]
    return "" if why.startswith("Node number") else why
